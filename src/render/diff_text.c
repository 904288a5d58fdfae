/* diff_text.c: what changed between two recordings, for people. */
#include "render/diff_out.h"
#include "render/stack_text.h"
#include "render/table.h"

/* "+1.00 MiB", "-20 B", "=". */
static void change(struct text *t, const uint64_t v[2])
{
	char size[TEXT_SIZE_MAX];

	if (v[0] == v[1])
		text_puts(t, "=");
	else
		text_printf(t, "%s%s", v[1] > v[0] ? "+" : "-",
		            text_bytes(size, v[1] > v[0] ? v[1] - v[0] : v[0] - v[1]));
}

static void change_cell(struct table *t, const uint64_t v[2])
{
	struct text text = {0};

	change(&text, v);
	table_cell(t, "%s", text.s);
	text_free(&text);
}

static void amount_row(struct table *t, const struct diff *d, enum total which, bool peak, const char *name)
{
	const struct amount *a = &d->totals[0].amount[which], *b = &d->totals[1].amount[which];
	uint64_t v[2] = {peak ? a->peak : a->end, peak ? b->peak : b->end};
	bool known = v[0] != MODEL_UNKNOWN && v[1] != MODEL_UNKNOWN;

	table_cell(t, "%s", name);
	table_bytes(t, v[0]);
	table_bytes(t, v[1]);
	if (known)
		change_cell(t, v);
	else
		table_cell(t, "-");
	if (known && v[0])
		table_cell(t, "%+.1f %%", 100.0 * ((double)v[1] - (double)v[0]) / (double)v[0]);
	else
		table_cell(t, "-");
}

static void amounts(struct page *p, const struct diff *d)
{
	struct table t;

	table_begin(&t, "lrrrr", "MEMORY", "A", "B", "CHANGE", "");
	amount_row(&t, d, TOTAL_REQUESTED, true, "requested, peak");
	amount_row(&t, d, TOTAL_REQUESTED, false, "requested, end");
	if (d->totals[0].level == GMS_FRAMEWORK || d->totals[1].level == GMS_FRAMEWORK)
		amount_row(&t, d, TOTAL_ALLOCATED, true, "allocated, peak");
	amount_row(&t, d, TOTAL_RESERVED, true, "reserved, peak");
	amount_row(&t, d, TOTAL_RESERVED, false, "reserved, end");
	table_end(&t, p);
}

static void stacks(struct page *p, const struct diff_set *s, const struct diff *d, size_t top)
{
	size_t i, shown = 0, changed = 0;
	struct table t;

	table_begin(&t, "rrrrll", "AT PEAK", "NOW", "AT END", "BLOCKS", "", "WHERE");
	for (i = 0; i < d->n; i++) {
		const struct diff_row *r = &d->rows[i];
		unsigned side = r->has[DIFF_B] ? DIFF_B : DIFF_A;
		struct text where = {0};

		if (diff_status(r) == DIFF_SAME)
			continue;
		changed++;
		if (top && shown == top)
			continue;
		shown++;
		stack_line(&where, p, s->m[side], r->stack[side]);
		change_cell(&t, r->peak);
		table_bytes(&t, r->peak[1]);
		change_cell(&t, r->end);
		table_cell(&t, "%+lld", (long long)r->peak_count[1] - (long long)r->peak_count[0]);
		table_cell(&t, "%s", diff_status_name(diff_status(r)));
		table_cell(&t, "%s", where.s);
		text_free(&where);
	}
	if (!changed) {
		page_line(p, "\n  No stack holds more or less than before.");
		t.n_cells = 0;
		return;
	}
	fputc('\n', p->f);
	table_end(&t, p);
	if (shown < changed)
		page_line(p, "  ... and %zu more (--top 0 shows all)", changed - shown);
}

static void sentence(struct page *p, const struct diff *d)
{
	uint64_t v[2] = {d->totals[0].amount[TOTAL_REQUESTED].peak,
	                 d->totals[1].amount[TOTAL_REQUESTED].peak};
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];
	struct text t = {0};

	if (d->present[0] != d->present[1]) {
		text_printf(&t, "GPU %u occurs in %s only.", d->device, d->present[0] ? "A" : "B");
	} else if (v[0] == MODEL_UNKNOWN || v[1] == MODEL_UNKNOWN) {
		text_printf(&t, "GPU %u: the peak of %s is unknown (no history).", d->device,
		            v[0] == MODEL_UNKNOWN ? "A" : "B");
	} else if (v[0] == v[1]) {
		text_printf(&t, "GPU %u needs as much as before: %s.", d->device, text_bytes(a, v[1]));
	} else {
		text_printf(&t, "GPU %u needs %s than before: %s instead of %s (", d->device,
		            v[1] > v[0] ? "more" : "less", text_bytes(b, v[1]), text_bytes(a, v[0]));
		change(&t, v);
		if (v[0])
			text_printf(&t, ", %+.1f %%", 100.0 * ((double)v[1] - (double)v[0]) / (double)v[0]);
		text_puts(&t, ").");
	}
	page_paragraph(p, INK_PLAIN, "  ", t.s);
	text_free(&t);
}

static void nothing(struct page *p, const struct model *m, char side)
{
	struct text t = {0};

	if (!m->why_nothing)
		return;
	text_printf(&t, "Nothing in %c is what was asked for: %s.", side, m->why_nothing);
	page_paragraph(p, INK_YELLOW, "! ", t.s);
	text_free(&t);
}

void diff_text(struct page *p, const struct diff_set *s, size_t top)
{
	size_t i;

	page_line(p, "A  %s\nB  %s\n", s->m[0]->file, s->m[1]->file);
	for (i = 0; i < 2; i++)
		nothing(p, s->m[i], "AB"[i]);
	for (i = 0; i < s->n; i++)
		sentence(p, &s->devices[i]);
	for (i = 0; i < s->n; i++) {
		page_heading(p, "GPU %u", s->devices[i].device);
		amounts(p, &s->devices[i]);
		stacks(p, s, &s->devices[i], top);
	}
}
