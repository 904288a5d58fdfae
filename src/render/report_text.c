/* report_text.c: the order of the report: what it is about, the verdict, memory, then sections. */
#include "render/report_text.h"
#include "analyze/verdict.h"
#include "render/chart.h"
#include "render/explain_out.h"
#include "render/table.h"
#include <string.h>

static const char *source_name(const struct model *m)
{
	static const char *const name[] = {"gpumemsnap recording", "PyTorch snapshot", "RMM log",
	                                   "JAX memory profile"};

	return name[m->source];
}

/* The command without its folder. */
static void add_command(struct text *line, const char *dot, const char *command)
{
	const char *end = command + strcspn(command, " "), *base = end;

	while (base > command && base[-1] != '/')
		base--;
	text_printf(line, "%s%s", dot, base);
}

/* One line: which file, what it is, how much of it there is. */
static void title(struct page *p, const struct model *m)
{
	char count[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX];
	const char *dot = p->unicode ? " \xc2\xb7 " : ", ";
	struct text line = {0}, fits = {0};

	text_printf(&line, "%s%s%s", m->file, dot, source_name(m));
	if (m->version && *m->version)
		text_printf(&line, " (%s)", m->version);
	if (m->command && *m->command)
		add_command(&line, dot, m->command);
	if (m->rank >= 0)
		text_printf(&line, "%srank %d", dot, m->rank);
	text_printf(&line, "%s%s event%s", dot, text_count(count, m->ev.n - m->n_initial),
	            m->ev.n - m->n_initial == 1 ? "" : "s");
	if (m->has_time && m->ev.n > m->n_initial + 1)
		text_printf(&line, " over %s",
		            text_ns(time, m->duration_ns > 0
		                              ? m->duration_ns
		                              : m->ev.t_ns[m->ev.n - 1] - m->ev.t_ns[m->n_initial]));
	page_elide(&fits, p, line.s, p->width);
	page_ink(p, INK_BOLD);
	fputs(fits.s, p->f);
	page_ink(p, INK_PLAIN);
	fputs("\n\n", p->f);
	text_free(&line);
	text_free(&fits);
}

static void verdict(struct page *p, const struct report *r)
{
	struct verdict v;

	verdict_make(r, &v);
	verdict_page(p, &v);
	verdict_free(&v);
}

static void when(struct text *t, const struct model *m, int64_t event, int64_t t_ns)
{
	char time[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];

	if (event < 0)
		text_puts(t, "before the recording");
	else if (m->has_time)
		text_printf(t, "%s, event %s", text_ns(time, t_ns), text_count(count, (uint64_t)event));
	else
		text_printf(t, "event %s", text_count(count, (uint64_t)event));
}

static void memory_row(struct table *t, const struct report *r, const struct report_device *d,
                       enum total which, const char *name)
{
	const struct amount *a = &d->t->amount[which];
	struct text at = {0};

	if (which != TOTAL_REQUESTED && a->peak == MODEL_UNKNOWN && a->end == MODEL_UNKNOWN)
		return;
	text_puts(&at, "");
	if (a->peak != MODEL_UNKNOWN && a->peak == a->start && a->peak == a->end)
		text_puts(&at, "all the time");
	else if (a->peak != MODEL_UNKNOWN)
		when(&at, r->m, totals_event(r->m, d->device, a->peak_row),
		     a->peak_row < r->m->ev.n ? r->m->ev.t_ns[a->peak_row] : 0);
	table_cell(t, "%s", name);
	table_bytes(t, a->start);
	table_bytes(t, a->peak);
	table_bytes(t, a->end);
	table_cell(t, "%s", at.s);
	text_free(&at);
}

static bool differ(const struct amount *a, const struct amount *b)
{
	return a->start != b->start || a->peak != b->peak || a->end != b->end;
}

static void memory(struct page *p, const struct report *r, const struct report_device *d)
{
	struct table t;

	table_begin(&t, "lrrrl", "MEMORY", "START", "PEAK", "END", "PEAK AT");
	memory_row(&t, r, d, TOTAL_REQUESTED, "requested");
	if (d->t->level == GMS_FRAMEWORK)
		memory_row(&t, r, d, TOTAL_ALLOCATED, "allocated");
	if (d->t->level == GMS_FRAMEWORK && differ(&d->t->amount[TOTAL_ACTIVE], &d->t->amount[TOTAL_ALLOCATED]))
		memory_row(&t, r, d, TOTAL_ACTIVE, "active");
	if (d->t->level == GMS_FRAMEWORK ||
	    d->t->amount[TOTAL_RESERVED].peak != d->t->amount[TOTAL_REQUESTED].peak)
		memory_row(&t, r, d, TOTAL_RESERVED, "reserved");
	if (d->t->used_peak != MODEL_UNKNOWN) {
		table_cell(&t, "device used");
		table_bytes(&t, d->t->used_start);
		table_bytes(&t, d->t->used_peak);
		table_bytes(&t, d->t->used_end);
		table_cell(&t, "as sampled, all processes");
	}
	table_end(&t, p);
}

static bool kind_is_used(const struct kind_total *k)
{
	return k->allocs || k->frees || k->failed || k->end || (k->peak && k->peak != MODEL_UNKNOWN);
}

static void kinds(struct page *p, const struct report_device *d)
{
	struct table t;
	unsigned k, n = 0;

	for (k = 0; k < GMS_KINDS; k++)
		n += kind_is_used(&d->t->kind[k]);
	if (!n)
		return;
	if (d->device != MODEL_NO_DEVICE)
		fputc('\n', p->f);
	table_begin(&t, "lrrrrr", "KIND", "PEAK", "END", "ALLOCS", "FREES", "FAILED");
	for (k = 0; k < GMS_KINDS; k++) {
		const struct kind_total *kind = &d->t->kind[k];

		if (!kind_is_used(kind))
			continue;
		table_cell(&t, "%s", gms_kind_info[k].name);
		table_bytes(&t, kind->peak);
		table_bytes(&t, kind->end);
		table_count(&t, kind->allocs);
		table_count(&t, kind->frees);
		table_count(&t, kind->failed);
	}
	table_end(&t, p);
}

static void sections(const struct section *base, unsigned wanted)
{
	struct section s = *base;
	unsigned usual = SECTION_PEAK | SECTION_LEAKS | SECTION_GROWTH | SECTION_OOM;

	s.asked = s.o->sections;
	wanted = wanted ? wanted : usual;
	if (wanted & SECTION_OOM)
		section_oom(&s);
	if (wanted & SECTION_PEAK)
		section_peak(&s);
	if (wanted & SECTION_LEAKS && s.d->device != MODEL_NO_DEVICE)
		section_leaks(&s);
	if (wanted & SECTION_LEAKS)
		section_leaks_apart(&s);
	if (!s.asked)
		section_anomalies(&s);
	if (wanted & SECTION_GROWTH)
		section_growth(&s);
	if (wanted & SECTION_FRAG)
		section_frag(&s);
	if (wanted & SECTION_ACCOUNTING)
		section_accounting(&s);
	if (wanted & SECTION_CHURN)
		section_churn(&s);
	if (wanted & SECTION_PHASES)
		section_groups(&s, BY_PHASE, "PHASE");
	if (wanted & SECTION_STREAMS)
		section_groups(&s, BY_STREAM, "STREAM");
	if (wanted & SECTION_THREADS)
		section_groups(&s, BY_THREAD, "THREAD");
	if (wanted & SECTION_POOLS)
		section_groups(&s, BY_POOL, "POOL");
	if (wanted & SECTION_SIZES)
		section_groups(&s, BY_SIZE, "SIZE");
	if (wanted & SECTION_STACKS)
		section_stacks(&s);
}

static bool any_kind(const struct report_device *d)
{
	unsigned k;

	for (k = 0; k < GMS_KINDS; k++)
		if (kind_is_used(&d->t->kind[k]))
			return true;
	return false;
}

/* What is no device's: host memory, address space, requests for them that failed. */
static void host(struct page *p, const struct report *r, const struct report_device *d,
                 const struct report_text_options *o)
{
	unsigned told = (d->ooms.n ? SECTION_OOM : 0u) | (d->leaks.n_apart ? SECTION_LEAKS : 0u);

	told &= o->sections ? o->sections : ~0u;
	if (!told && (o->sections || !any_kind(d)))
		return;
	page_heading(p, "HOST");
	if (!o->sections)
		kinds(p, d);
	if (told)
		sections(&(struct section){.p = p, .r = r, .d = d, .o = o, .asked = o->sections}, told);
}

static void one_device(struct page *p, const struct report *r, const struct report_device *d,
                       const struct report_text_options *o)
{
	char size[TEXT_SIZE_MAX];
	uint64_t total = r->m->device[d->device].total;
	const char *name = model_text(r->m, r->m->device[d->device].name);

	if (d->device == MODEL_NO_DEVICE) {
		host(p, r, d, o);
		return;
	}
	page_heading(p, "GPU %u%s%s%s%s", d->device, *name ? ", " : "", name,
	             total == MODEL_UNKNOWN ? "" : ", ",
	             total == MODEL_UNKNOWN ? "" : text_bytes(size, total));
	if (!o->sections) {
		memory(p, r, d);
		kinds(p, d);
		if (o->charts && d->t->profile && r->m->history != HISTORY_NONE)
			chart_memory(p, r->m, d->t);
	}
	sections(&(struct section){.p = p, .r = r, .d = d, .o = o}, o->sections);
}

static void notes(struct page *p, const struct model *m)
{
	static const char *const mark[] = {"- ", "! ", "! "};
	size_t i;

	if (m->n_notes)
		page_heading(p, "NOTES");
	for (i = 0; i < m->n_notes; i++)
		page_paragraph(p, m->notes[i].kind == NOTE_INFO ? INK_PLAIN : INK_YELLOW,
		               mark[m->notes[i].kind], m->notes[i].text);
}

void report_text(struct page *p, const struct report *r, const struct report_text_options *o)
{
	size_t i;

	title(p, r->m);
	verdict(p, r);
	if (o->brief)
		return;
	for (i = 0; i < r->n; i++)
		one_device(p, r, &r->devices[i], o);
	notes(p, r->m);
}
