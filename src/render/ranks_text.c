/* ranks_text.c: several recordings as one table. */
#include "render/ranks_out.h"
#include "render/table.h"

static void name_cells(struct table *t, const struct model *m)
{
	if (m->rank >= 0)
		table_cell(t, "%d", m->rank);
	else
		table_cell(t, "-");
	if (m->pid)
		table_cell(t, "%u", m->pid);
	else
		table_cell(t, "-");
}

static void sum_row(struct table *t, const struct ranks *r)
{
	table_cell(t, " ");
	table_cell(t, " ");
	table_bytes(t, r->sum_peak);
	table_bytes(t, r->sum_reserved);
	table_bytes(t, r->sum_end);
	table_bytes(t, r->sum_leaked);
	table_count(t, r->sum_failures);
	table_cell(t, "all at the same time");
}

void ranks_text(struct page *p, const struct ranks *r)
{
	struct table t;
	size_t i;

	if (r->odd < r->n) {
		const struct model *m = r->rows[r->odd].report->m;
		struct text s = {0};

		text_printf(&s, "%s differs most from the others", m->file);
		if (m->rank >= 0)
			text_printf(&s, " (rank %d)", m->rank);
		text_printf(&s, ": %s.", r->odd_text);
		page_paragraph(p, INK_YELLOW, "! ", s.s);
		text_free(&s);
	} else if (r->n > 2) {
		page_paragraph(p, INK_GREEN, "  ", "No recording stands out from the others.");
	}
	fputc('\n', p->f);
	table_begin(&t, "rrrrrrrl", "RANK", "PID", "PEAK", "RESERVED", "AT END", "LEAKED", "FAILED", "FILE");
	for (i = 0; i < r->n; i++) {
		const struct rank_row *row = &r->rows[i];

		name_cells(&t, row->report->m);
		table_bytes(&t, row->peak);
		table_bytes(&t, row->reserved);
		table_bytes(&t, row->end);
		table_bytes(&t, row->leaked);
		table_count(&t, row->failures);
		table_cell(&t, "%s", row->report->m->file);
	}
	sum_row(&t, r);
	table_end(&t, p);
}
