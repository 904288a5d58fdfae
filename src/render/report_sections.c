/* report_sections.c: the tables of the report, one function each. */
#include "analyze/frames.h"
#include "render/chart.h"
#include "render/report_text.h"
#include "render/stack_text.h"
#include "render/table.h"

#define HELD_MAX 80
/* "360.02 MiB in 115 blocks" */
static char *held(char buf[HELD_MAX], uint64_t bytes, uint64_t count)
{
	char size[TEXT_SIZE_MAX], n[TEXT_SIZE_MAX];

	snprintf(buf, HELD_MAX, "%s in %s block%s", text_bytes(size, bytes), text_count(n, count),
	         count == 1 ? "" : "s");
	return buf;
}

static size_t limit(const struct section *s, size_t n)
{
	return s->o->top && s->o->top < n ? s->o->top : n;
}

static void rest(const struct section *s, size_t shown, size_t n)
{
	if (shown < n)
		page_line(s->p, "  ... and %zu more (--top 0 shows all)", n - shown);
}

static void stack_cell(struct table *t, const struct section *s, uint32_t stack)
{
	struct text line = {0};

	stack_line(&line, s->p, s->r->m, stack);
	table_cell(t, "%s", line.s);
	text_free(&line);
}

static void time_cell(struct table *t, const struct section *s, int64_t t_ns)
{
	char buf[TEXT_SIZE_MAX];

	table_cell(t, "%s", s->r->m->has_time ? text_ns(buf, t_ns) : "n/a");
}

static void live_table(const struct section *s, const struct live *l)
{
	size_t n = limit(s, l->n), i;
	struct table t;

	table_begin(&t, "rrrl", "BYTES", "SHARE", "BLOCKS", "WHERE");
	for (i = 0; i < n; i++) {
		table_bytes(&t, l->rows[i].bytes);
		table_share(&t, l->rows[i].bytes, l->bytes);
		table_count(&t, l->rows[i].count);
		stack_cell(&t, s, l->rows[i].stack);
	}
	table_end(&t, s->p);
	rest(s, n, l->n);
}

static void group_table(const struct section *s, const struct groups *g, const char *title)
{
	size_t n = limit(s, g->n), i;
	struct table t;

	table_begin(&t, "rrrrrl", "AT PEAK", "SHARE", "AT END", "ALLOCS", "ALLOCATED", title);
	for (i = 0; i < n; i++) {
		const struct group_row *r = &g->rows[i];
		struct text name = {0};

		if (g->by == BY_STACK)
			stack_line(&name, s->p, s->r->m, r->key);
		else
			group_label(&name, s->r->m, g->by, r->key);
		table_bytes(&t, s->r->m->history == HISTORY_NONE ? MODEL_UNKNOWN : r->peak_bytes);
		table_share(&t, r->peak_bytes, s->d->peak.bytes);
		table_bytes(&t, r->end_bytes);
		table_count(&t, r->allocs);
		table_bytes(&t, r->alloc_bytes);
		table_cell(&t, "%s", name.s);
		text_free(&name);
	}
	table_end(&t, s->p);
	rest(s, n, g->n);
}

void section_groups(const struct section *s, enum group_by by, const char *title)
{
	const struct groups *g = &s->d->groups[by];

	page_heading(s->p, "BY %s", title);
	if (g->n)
		group_table(s, g, title);
	else
		page_line(s->p, "  Nothing was allocated.");
}

void section_peak(const struct section *s)
{
	static const char *const title[] = {"STACK",  "FUNCTION", "FILE", "MODULE", "PHASE",
	                                    "STREAM", "THREAD",   "POOL", "SIZE",   "KIND"};
	bool known = s->r->m->history != HISTORY_NONE;
	const struct live *l = known ? &s->d->peak : &s->d->end;
	char text[HELD_MAX];

	if (!l->n && !s->asked)
		return;
	page_heading(s->p, "%s: %s",
	             known ? "AT THE PEAK" : "LIVE NOW (no history recorded: the peak is unknown)",
	             held(text, l->bytes, l->count));
	if (s->o->by != BY_STACK)
		group_table(s, &s->d->groups[s->o->by], title[s->o->by]);
	else if (l->n)
		live_table(s, l);
}

static void leak_cells(struct table *t, const struct section *s, const struct leak_row *r)
{
	table_count(t, r->count);
	time_cell(t, s, r->first_t_ns);
	time_cell(t, s, r->last_t_ns);
	stack_cell(t, s, r->stack);
}

static void leak_table(const struct section *s, bool library)
{
	const struct leaks *k = &s->d->leaks;
	size_t i, n = 0, shown = 0;
	struct table t;

	table_begin(&t, "rrrrrl", "BYTES", "SHARE", "BLOCKS", "FIRST", "LAST", "WHERE");
	for (i = 0; i < k->n; i++) {
		const struct leak_row *r = &k->rows[i];

		if (r->library != library)
			continue;
		n++;
		if (s->o->top && shown == s->o->top)
			continue;
		shown++;
		table_bytes(&t, r->bytes);
		table_share(&t, r->bytes, library ? k->library_bytes : k->bytes);
		leak_cells(&t, s, r);
	}
	table_end(&t, s->p);
	rest(s, shown, n);
}

/* Managed, pinned, registered: in no sum of the device. What libraries keep of it is told only if asked for. */
void section_leaks_apart(const struct section *s)
{
	const struct leaks *k = &s->d->leaks;
	uint64_t bytes = 0, count = 0;
	size_t i, n = 0, shown = 0;
	char text[HELD_MAX];
	struct table t;

	for (i = 0; i < k->n_apart; i++)
		if (!k->apart[i].library || s->asked) {
			bytes += k->apart[i].bytes;
			count += k->apart[i].count;
			n++;
		}
	if (!n)
		return;
	page_heading(s->p, "%s, NOT COUNTED AS DEVICE MEMORY: %s",
	             s->r->m->source == SOURCE_NATIVE ? "NEVER FREED" : "LIVE AT THE END", held(text, bytes, count));
	table_begin(&t, "rlrrrl", "BYTES", "KIND", "BLOCKS", "FIRST", "LAST", "WHERE");
	for (i = 0; i < k->n_apart; i++) {
		const struct leak_row *r = &k->apart[i];

		if ((r->library && !s->asked) || (s->o->top && shown == s->o->top))
			continue;
		shown++;
		table_bytes(&t, r->bytes);
		table_cell(&t, "%s", gms_kind_info[r->kind].name);
		leak_cells(&t, s, r);
	}
	table_end(&t, s->p);
	rest(s, shown, n);
}

static void still_live(const struct section *s)
{
	const struct survivors *v = &s->d->survivors;
	char text[HELD_MAX];

	page_heading(s->p, "STILL LIVE: %s", held(text, s->d->end.bytes, s->d->end.count));
	if (s->d->end.n)
		live_table(s, &s->d->end);
	if (!v->live.n)
		return;
	page_heading(s->p, "SURVIVORS: %s outlived two or more of %zu times %s",
	             held(text, v->live.bytes, v->live.count), v->steps.n,
	             model_text(s->r->m, v->steps.name));
	live_table(s, &v->live);
}

void section_leaks(const struct section *s)
{
	const struct leaks *k = &s->d->leaks;
	const char *doubt = leak_doubt(s->r->m, s->d->device);
	char text[HELD_MAX];

	if (doubt && (s->asked || s->d->end.count)) {
		page_heading(s->p, "LEAKS");
		page_line(s->p, "  %s (%s were live when it ended)", doubt,
		          held(text, s->d->end.bytes, s->d->end.count));
	}
	if (!doubt && k->count) {
		page_heading(s->p, "%s: %s",
		             k->basis == LEAK_GROWING ? "LEAKS (stacks that only grow)" : "LEAKS",
		             held(text, k->bytes, k->count));
		leak_table(s, false);
	} else if (!doubt && s->asked) {
		page_heading(s->p, "LEAKS");
		page_line(s->p, "  None.");
	}
	if (k->library_count && s->asked) {
		page_heading(s->p, "KEPT BY LIBRARIES: %s", held(text, k->library_bytes, k->library_count));
		leak_table(s, true);
	}
	if (s->asked && k->basis != LEAK_LIVE_AT_END)
		still_live(s);
}

static void slope_cell(struct table *t, const struct growth *g, const struct growth_row *r)
{
	static const char *const per[] = {"/step", "/s", "/event"};
	char size[TEXT_SIZE_MAX];

	table_cell(t, "%s%s", text_bytes(size, (uint64_t)(r->slope + 0.5)), per[g->unit]);
}

void section_growth(const struct section *s)
{
	const struct growth *g = &s->d->growth;
	size_t n = limit(s, g->n), i;
	struct table t;

	if (!g->n && !s->asked)
		return;
	page_heading(s->p, "GROWTH");
	if (!g->n) {
		page_line(s->p,
		          g->samples ? "  No stack keeps growing (%zu samples)."
		                     : "  The recording is too short to tell (%zu samples).",
		          g->samples);
		return;
	}
	table_begin(&t, "rrrrrl", "GROWN", "RATE", "BLOCKS", "FIT", "SINCE", "WHERE");
	for (i = 0; i < n; i++) {
		table_bytes(&t, g->rows[i].bytes);
		slope_cell(&t, g, &g->rows[i]);
		table_count(&t, g->rows[i].count);
		table_cell(&t, "%.2f", g->rows[i].r2);
		time_cell(&t, s, g->rows[i].first_t_ns);
		stack_cell(&t, s, g->rows[i].stack);
	}
	table_end(&t, s->p);
	rest(s, n, g->n);
}

static void space_row(struct table *t, const char *when, const struct space *s)
{
	table_cell(t, "%s", when);
	table_bytes(t, s->reserved);
	table_share(t, s->used, s->reserved);
	table_bytes(t, s->free);
	table_bytes(t, s->largest);
	table_count(t, s->holes);
	table_cell(t, "%.1f %%", 100 * space_external(s));
	if (s->exact)
		table_bytes(t, s->used - s->requested);
	else
		table_cell(t, "-");
}

static void moment_row(struct table *t, const struct section *s, const char *when,
                       const struct frag_moment *f)
{
	char count[TEXT_SIZE_MAX];

	if (!f->reserved)
		return;
	table_cell(t, "%s, event %s", when,
	           text_count(count, (uint64_t)totals_event(s->r->m, s->d->device, f->row)));
	table_bytes(t, f->reserved);
	table_share(t, f->used, f->reserved);
	table_bytes(t, f->free);
	table_bytes(t, f->largest);
	table_cell(t, "-");
	table_cell(t, "%.1f %%", 100 * frag_external(f));
	table_cell(t, "-");
}

static void pinned_table(const struct section *s)
{
	const struct pinned *k = &s->d->pinned;
	size_t n = limit(s, k->n), i;
	struct table t;

	table_begin(&t, "lrrrl", "SEGMENT", "SIZE", "FREE", "BLOCKS", "FIRST BLOCK FROM");
	for (i = 0; i < n; i++) {
		const struct space_segment *g = k->rows[i].segment;

		table_cell(&t, "0x%llx", (unsigned long long)g->addr);
		table_bytes(&t, g->size);
		table_bytes(&t, k->rows[i].free);
		table_count(&t, g->n);
		stack_cell(&t, s, s->r->m->ev.stack[s->d->end_space.blocks[g->first].row]);
	}
	table_end(&t, s->p);
	rest(s, n, k->n);
}

void section_frag(const struct section *s)
{
	const struct space *end = &s->d->end_space;
	char size[TEXT_SIZE_MAX];
	struct table t;

	page_heading(s->p, "FRAGMENTATION");
	if (!end->known) {
		page_line(s->p, "  No segments are recorded: every allocation is its own.");
		return;
	}
	table_begin(&t, "lrrrrrrr", "WHEN", "RESERVED", "USED", "FREE", "LARGEST", "HOLES", "EXTERNAL",
	            "INTERNAL");
	if (s->r->m->history != HISTORY_NONE)
		space_row(&t, "at the peak", &s->d->peak_space);
	space_row(&t, "at the end", end);
	moment_row(&t, s, "most fragmented", &s->d->frag.worst);
	moment_row(&t, s, "most cached", &s->d->frag.idlest);
	table_end(&t, s->p);
	if (s->d->frag.known && s->o->charts) {
		fputc('\n', s->p->f);
		chart_strip(s->p, "external", s->d->frag.external, FRAG_COLUMNS);
		chart_strip(s->p, "utilisation", s->d->frag.utilisation, FRAG_COLUMNS);
	}
	if (s->d->pinned.n) {
		page_heading(s->p, "PINNED SEGMENTS: %s free that cannot be returned",
		             text_bytes(size, s->d->pinned.free));
		pinned_table(s);
	}
}

/* The failures that are alike: the first, how many, the last. */
static void one_failure(const struct section *s, const struct oom *x)
{
	char size[TEXT_SIZE_MAX], event[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];
	struct text line = {0}, where = {0};

	text_printf(&line, "event %s%s%s: %s, %s", text_count(event, (uint64_t)x->event),
	            s->r->m->has_time ? ", " : "", s->r->m->has_time ? text_ns(time, x->t_ns) : "",
	            text_bytes(size, x->size), oom_cause_name(x->cause));
	if (x->alike > 1)
		text_printf(&line, "; %s like it, the last at event %s", text_count(count, x->alike),
		            text_count(event, (uint64_t)s->d->ooms.v[x->last].event));
	page_line(s->p, "  %s", line.s);
	stack_line(&where, s->p, s->r->m, x->stack);
	line.n = 0;
	page_elide_steps(&line, s->p, where.s, s->p->width - 4);
	page_line(s->p, "    %s", line.s);
	text_free(&line);
	text_free(&where);
}

/* DEVICE = FREE + IN USE + CACHED + OTHERS: of a driver's memory nothing is cached. */
static void failure_facts(struct page *p, const struct oom *x)
{
	bool cached = x->framework && x->cached != MODEL_UNKNOWN && x->reserved != MODEL_UNKNOWN;
	struct table t;

	if (x->framework)
		table_begin(&t, "rrrrrrrrr", "ASKED FOR", "DEVICE", "FREE", "IN USE", "CACHED", "OTHERS", "HOLES",
		            "LARGEST", "MISSING");
	else
		table_begin(&t, "rrrrrrr", "ASKED FOR", "DEVICE", "FREE", "IN USE", "OTHERS", "STRANDED", "MISSING");
	table_bytes(&t, x->size);
	table_bytes(&t, x->total);
	table_bytes(&t, x->free);
	table_bytes(&t, cached ? x->reserved - x->cached : x->framework ? x->live : x->reserved);
	if (x->framework)
		table_bytes(&t, x->cached);
	table_bytes(&t, x->others);
	if (x->framework) {
		table_count(&t, x->holes);
		table_bytes(&t, x->largest);
	} else {
		table_bytes(&t, x->stranded);
	}
	table_bytes(&t, x->missing ? x->missing : MODEL_UNKNOWN); /* nothing was missing, or who knows */
	table_end(&t, p);
}

void section_oom(const struct section *s)
{
	const struct ooms *o = &s->d->ooms;
	size_t n = limit(s, o->groups), shown = 0, i;

	if (!o->n && !s->asked)
		return;
	page_heading(s->p, "FAILED ALLOCATIONS");
	for (i = 0; i < o->n && shown < n; i++)
		if (o->v[i].group == i) {
			one_failure(s, &o->v[i]);
			failure_facts(s->p, &o->v[i]);
			shown++;
		}
	rest(s, shown, o->groups);
	if (!o->n)
		page_line(s->p, "  None.");
}

/* Where the recording began late, frees of what was there before are no anomaly. */
void section_anomalies(const struct section *s)
{
	const struct anomaly_list *l = &s->d->anomalies;
	size_t n = limit(s, l->n), i;
	struct table t;

	if (!l->n || s->r->m->history != HISTORY_COMPLETE)
		return;
	page_heading(s->p, "ANOMALIES");
	table_begin(&t, "rlrl", "TIMES", "WHAT", "FIRST", "WHERE");
	for (i = 0; i < n; i++) {
		table_count(&t, l->rows[i].count);
		table_cell(&t, "%s", anomaly_name(l->rows[i].what));
		time_cell(&t, s, l->rows[i].first_t_ns);
		stack_cell(&t, s, l->rows[i].stack);
	}
	table_end(&t, s->p);
	rest(s, n, l->n);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

void section_churn(const struct section *s)
{
	const struct churn *c = &s->d->churn;
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];

	page_heading(s->p, "CHURN");
	page_line(s->p, "  %s allocation%s of %s", text_count(a, c->allocs), plural(c->allocs), text_bytes(b, c->alloc_bytes));
	if (c->allocs_per_s == c->allocs_per_s)
		page_line(s->p, "  %s per second, %s per second", text_count(a, (uint64_t)c->allocs_per_s),
		          text_bytes(b, (uint64_t)c->bytes_per_s));
	page_line(s->p, "  %s temporar%s (%.1f %%) given back within %s", text_count(a, c->temporaries),
	          c->temporaries == 1 ? "y" : "ies",
	          c->allocs ? 100.0 * (double)c->temporaries / (double)c->allocs : 0,
	          s->r->m->has_time ? "1 ms" : "32 events");
	if (!s->d->end_space.known)
		return;
	page_line(s->p, "  %s segment%s asked of the device, %s of them in the second half; %s given back",
	          text_count(a, c->device_allocs), plural(c->device_allocs), text_count(b, c->late_device_allocs),
	          text_count((char[TEXT_SIZE_MAX]){0}, c->device_frees));
	page_line(s->p, "  The cache was emptied %s time%s (%s)", text_count(a, c->flushes), plural(c->flushes),
	          text_bytes(b, c->flushed_bytes));
}

void section_stacks(const struct section *s)
{
	const struct coverage *c = &s->d->coverage;
	const struct live *l = s->r->m->history == HISTORY_NONE ? &s->d->end : &s->d->peak;
	size_t n = limit(s, l->n), i;
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], text[HELD_MAX];
	unsigned op;

	page_heading(s->p, "STACKS");
	if (c->events)
		page_line(s->p, "  %.1f %% of the events have a stack (%s of %s)",
		          100.0 * (double)c->with_stack / (double)c->events, text_count(a, c->with_stack),
		          text_count(b, c->events));
	for (op = 0; op < 256; op++)
		if (c->without[op])
			page_line(s->p, "  %s %s.%s event%s none", text_count(a, c->without[op]), gms_kind_info[op >> 3].name,
			          gms_action_name[op & 7], c->without[op] == 1 ? " has" : "s have");
	for (i = 0; i < n; i++) {
		page_line(s->p, "\n  %s", held(text, l->rows[i].bytes, l->rows[i].count));
		stack_lines(s->p, s->r->m, l->rows[i].stack, 4);
	}
	rest(s, n, l->n);
}
