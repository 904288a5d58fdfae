/* report_json.c: struct report → JSON. Numbers are bytes or ns; what is not known is null. */
#include "render/report_json.h"
#include "analyze/ranks.h"
#include "analyze/verdict.h"
#include "render/accounting_out.h"
#include "render/json_out.h"
#include <math.h>

#define FINDINGS 1000 /* rows of a list of findings, at least */

static void stack_rows(cJSON *list, const struct model *m, const struct live *l, size_t top)
{
	size_t i;

	for (i = 0; i < l->n && (!top || i < top); i++) {
		cJSON *o = json_item(list);

		json_u64(o, "bytes", l->rows[i].bytes);
		json_u64(o, "count", l->rows[i].count);
		json_stack(o, "stack", m, l->rows[i].stack);
		json_i64(o, "first_t_ns", l->rows[i].first_t_ns);
		json_i64(o, "last_t_ns", l->rows[i].last_t_ns);
	}
}

static void kinds(cJSON *device, const struct device_totals *t)
{
	cJSON *o = json_object(device, "kinds");
	unsigned k;

	for (k = 0; k < GMS_KINDS; k++) {
		const struct kind_total *kind = &t->kind[k];
		cJSON *row;

		if (!kind->peak && !kind->end && !kind->allocs && !kind->frees && !kind->failed)
			continue;
		row = json_object(o, gms_kind_info[k].name);
		json_u64(row, "peak_bytes", kind->peak);
		json_u64(row, "end_bytes", kind->end);
		json_u64(row, "allocs", kind->allocs);
		json_u64(row, "frees", kind->frees);
		json_u64(row, "failed", kind->failed);
	}
}

static cJSON *amount(cJSON *device, const char *key, const struct amount *a)
{
	cJSON *o = json_object(device, key);

	json_u64(o, "start", a->start);
	json_u64(o, "peak", a->peak);
	json_u64(o, "end", a->end);
	return o;
}

/* Where a sum is highest: null where the peak is not known, -1 for the state before the window. */
static void peak_place(cJSON *o, const struct model *m, uint8_t device, const struct amount *a)
{
	int64_t event = a->peak == MODEL_UNKNOWN ? -2 : totals_event(m, device, a->peak_row);

	if (event == -2)
		cJSON_AddNullToObject(o, "peak_event");
	else
		json_i64(o, "peak_event", event);
	if (event >= 0 && m->has_time)
		json_i64(o, "peak_t_ns", m->ev.t_ns[a->peak_row]);
	else
		cJSON_AddNullToObject(o, "peak_t_ns");
}

static void amounts(cJSON *device, const struct model *m, const struct report_device *d)
{
	static const char *const name[] = {"requested", "allocated", "active", "reserved"};
	uint64_t active = d->t->amount[TOTAL_ACTIVE].end, reserved = d->t->amount[TOTAL_RESERVED].end;
	unsigned which;

	for (which = 0; which < TOTALS; which++) {
		struct amount a = d->t->amount[which];

		/* At the end, blocks still awaiting other streams count as handed out. */
		if (which == TOTAL_ALLOCATED) {
			a.start = d->t->amount[TOTAL_ACTIVE].start;
			a.end = active;
		}
		peak_place(amount(device, name[which], &a), m, d->device, &a);
	}
	json_u64(device, "pending_end", d->t->pending);
	json_u64(device, "inactive_end",
	         active == MODEL_UNKNOWN || reserved == MODEL_UNKNOWN ? MODEL_UNKNOWN
	         : active > reserved                                  ? 0
	                                                              : reserved - active);
	json_u64(device, "live_blocks_end", d->t->live_blocks);
}

/* Findings are told in full, but for a file with a million of them. */
static size_t findings(size_t top)
{
	return !top || top > FINDINGS ? top : FINDINGS;
}

static void leak_rows(cJSON *list, const struct model *m, const struct leak_row *rows, size_t n, bool kinds, size_t top)
{
	size_t i;

	for (i = 0; i < n && (!top || i < top); i++) {
		cJSON *o = json_item(list);

		if (kinds)
			json_text(o, "kind", gms_kind_info[rows[i].kind].name);
		json_u64(o, "bytes", rows[i].bytes);
		json_u64(o, "count", rows[i].count);
		json_stack(o, "stack", m, rows[i].stack);
		json_i64(o, "first_t_ns", rows[i].first_t_ns);
		json_i64(o, "last_t_ns", rows[i].last_t_ns);
		cJSON_AddBoolToObject(o, "library", rows[i].library);
	}
}

static void leaks(cJSON *device, const struct model *m, const struct report_device *d, size_t top)
{
	static const char *const basis[] = {"live at the end", "growing", "unreliable"};
	const char *doubt = leak_doubt(m, d->device);

	leak_rows(json_array(device, "leaks"), m, d->leaks.rows, d->leaks.n, false, top);
	leak_rows(json_array(device, "leaks_apart"), m, d->leaks.apart, d->leaks.n_apart, true, top);
	json_text(device, "leaks_basis", basis[d->leaks.basis]);
	json_text(device, "leaks_doubt", doubt);
	json_u64(device, "leaked_bytes", doubt ? MODEL_UNKNOWN : d->leaks.bytes);
	json_u64(device, "leaked_count", doubt ? MODEL_UNKNOWN : d->leaks.count);
}

static void ooms(cJSON *device, const struct model *m, const struct report_device *d, size_t top)
{
	cJSON *list = json_array(device, "ooms");
	size_t i;

	json_u64(device, "ooms_count", d->ooms.n);
	for (i = 0; i < d->ooms.n && (!top || i < top); i++) {
		const struct oom *x = &d->ooms.v[i];
		cJSON *o = json_item(list);

		json_i64(o, "event", x->event);
		if (m->has_time)
			json_i64(o, "t_ns", x->t_ns);
		else
			cJSON_AddNullToObject(o, "t_ns");
		json_u64(o, "size", x->size);
		json_u64(o, "free", x->free);
		json_u64(o, "total", x->total);
		json_i64(o, "error", x->error);
		json_text(o, "cause", oom_cause_name(x->cause));
		json_u64(o, "live", x->live);
		json_u64(o, "reserved", x->reserved);
		json_u64(o, "cached", x->cached);
		json_u64(o, "largest_free_block", x->largest);
		json_u64(o, "holes", x->holes);
		json_u64(o, "others", x->others);
		json_u64(o, "other_processes", x->processes);
		json_u64(o, "stranded", x->stranded);
		json_u64(o, "missing", x->missing);
		json_stack(o, "stack", m, x->stack);
	}
}

static void anomalies(cJSON *device, const struct model *m, const struct report_device *d)
{
	const struct anomalies *a = &m->device[d->device].anomalies;
	cJSON *o;

	json_u64(device, "unmatched_frees", d->t->unmatched_frees);
	o = json_object(device, "anomalies");
	json_u64(o, "free_unknown", a->free_unknown);
	json_u64(o, "double_free", a->double_free);
	json_u64(o, "alloc_live", a->alloc_live);
	json_u64(o, "free_null", a->free_null);
	json_u64(o, "checksums", d->t->checksums);
	json_u64(o, "checksums_wrong", d->t->checksums_wrong);
}

static void anomaly_stacks(cJSON *device, const struct model *m, const struct report_device *d, size_t top)
{
	cJSON *list = json_array(device, "anomaly_stacks");
	size_t i;

	for (i = 0; i < d->anomalies.n && (!top || i < top); i++) {
		const struct anomaly_row *r = &d->anomalies.rows[i];
		cJSON *o = json_item(list);

		json_text(o, "what", anomaly_name(r->what));
		json_u64(o, "count", r->count);
		json_i64(o, "first_event", totals_event(m, d->device, r->first_row));
		json_stack(o, "stack", m, r->stack);
	}
}

static void growth(cJSON *device, const struct model *m, const struct growth *g)
{
	static const char *const unit[] = {"step", "second", "event"};
	cJSON *list = json_array(device, "growth");
	size_t i;

	for (i = 0; i < g->n; i++) {
		const struct growth_row *r = &g->rows[i];
		cJSON *o = json_item(list);

		json_u64(o, "bytes", r->bytes);
		json_u64(o, "count", r->count);
		json_real(o, "slope", r->slope);
		json_text(o, "per", unit[g->unit]);
		json_real(o, "r2", r->r2);
		json_i64(o, "first_t_ns", r->first_t_ns);
		json_stack(o, "stack", m, r->stack);
	}
}

static void space(cJSON *parent, const char *key, const struct space *s)
{
	cJSON *o;

	if (!s->known) {
		cJSON_AddNullToObject(parent, key);
		return;
	}
	o = json_object(parent, key);
	json_real(o, "external", space_external(s));
	json_real(o, "utilisation", space_utilisation(s));
	json_u64(o, "internal_bytes", s->exact ? s->used - s->requested : MODEL_UNKNOWN);
	json_u64(o, "reserved", s->reserved);
	json_u64(o, "free", s->free);
	json_u64(o, "largest_free_block", s->largest);
	json_u64(o, "free_blocks", s->holes);
	json_u64(o, "free_segments_bytes", s->whole);
	json_u64(o, "segments", s->n);
}

static void pinned(cJSON *device, const struct model *m, const struct report_device *d, size_t top)
{
	cJSON *list = json_array(device, "pinned_segments");
	size_t i, b;

	for (i = 0; i < d->pinned.n && (!top || i < top); i++) {
		const struct space_segment *g = d->pinned.rows[i].segment;
		cJSON *o = json_item(list), *blocks;

		json_u64(o, "address", g->addr);
		json_u64(o, "size", g->size);
		json_u64(o, "free", d->pinned.rows[i].free);
		blocks = json_array(o, "blocks");
		for (b = 0; b < g->n && (!top || b < top); b++) {
			const struct space_block *k = &d->end_space.blocks[g->first + b];
			cJSON *row = json_item(blocks);

			json_u64(row, "address", k->addr);
			json_u64(row, "size", k->size);
			json_stack(row, "stack", m, m->ev.stack[k->row]);
		}
	}
	json_u64(device, "pinned_free_bytes", d->end_space.known ? d->pinned.free : MODEL_UNKNOWN);
}

static void moment(cJSON *parent, const char *key, const struct model *m, uint8_t device,
                   const struct frag_moment *f)
{
	cJSON *o;

	if (!f->reserved) {
		cJSON_AddNullToObject(parent, key);
		return;
	}
	o = json_object(parent, key);
	json_i64(o, "event", totals_event(m, device, f->row));
	json_real(o, "external", frag_external(f));
	json_real(o, "utilisation", (double)f->used / (double)f->reserved);
	json_u64(o, "reserved", f->reserved);
	json_u64(o, "free", f->free);
	json_u64(o, "largest_free_block", f->largest);
}

static void fragmentation(cJSON *device, const struct model *m, const struct report_device *d)
{
	cJSON *o = json_object(device, "fragmentation");

	space(o, "peak", m->history == HISTORY_NONE ? &(struct space){0} : &d->peak_space);
	space(o, "end", &d->end_space);
	moment(o, "worst", m, d->device, &d->frag.worst);
	moment(o, "most_cached", m, d->device, &d->frag.idlest);
}

static void coverage(cJSON *device, const struct coverage *c)
{
	cJSON *o = json_object(device, "coverage"), *without;
	unsigned op;

	json_u64(o, "events", c->events);
	json_u64(o, "with_stack", c->with_stack);
	json_real(o, "percent", c->events ? 100.0 * (double)c->with_stack / (double)c->events : NAN);
	without = json_object(o, "without_stack");
	for (op = 0; op < 256; op++) {
		char name[64];

		if (!c->without[op])
			continue;
		snprintf(name, sizeof name, "%s.%s", gms_kind_info[op >> 3].name, gms_action_name[op & 7]);
		json_u64(without, name, c->without[op]);
	}
}

static void churn(cJSON *device, const struct churn *c)
{
	cJSON *o = json_object(device, "churn");

	json_u64(o, "allocs", c->allocs);
	json_u64(o, "alloc_bytes", c->alloc_bytes);
	json_u64(o, "temporaries", c->temporaries);
	json_u64(o, "temporary_bytes", c->temporary_bytes);
	json_real(o, "allocs_per_second", c->allocs_per_s);
	json_real(o, "bytes_per_second", c->bytes_per_s);
	json_u64(o, "device_allocs", c->device_allocs);
	json_u64(o, "device_frees", c->device_frees);
	json_u64(o, "late_device_allocs", c->late_device_allocs);
	json_u64(o, "flushes", c->flushes);
	json_u64(o, "flushed_bytes", c->flushed_bytes);
}

static void group(cJSON *device, const char *key, const struct model *m, const struct groups *g, size_t top)
{
	cJSON *list = json_array(device, key);
	size_t i;

	for (i = 0; i < g->n && (!top || i < top); i++) {
		const struct group_row *r = &g->rows[i];
		cJSON *o = json_item(list);
		struct text name = {0};

		group_label(&name, m, g->by, r->key);
		json_text(o, "name", name.s);
		text_free(&name);
		if (g->by == BY_STREAM)
			json_u64(o, "handle", m->streams[r->key].handle);
		if (g->by == BY_THREAD)
			json_u64(o, "tid", m->threads[r->key].tid);
		json_u64(o, "allocs", r->allocs);
		json_u64(o, "alloc_bytes", r->alloc_bytes);
		json_u64(o, "peak_bytes", m->history == HISTORY_NONE ? MODEL_UNKNOWN : r->peak_bytes);
		json_u64(o, "end_bytes", r->end_bytes);
		json_u64(o, "end_count", r->end_count);
	}
}

static void survivors(cJSON *device, const struct model *m, const struct survivors *s, size_t top)
{
	cJSON *o;

	if (!s->steps.n) {
		cJSON_AddNullToObject(device, "survivors");
		return;
	}
	o = json_object(device, "survivors");
	json_text(o, "phase", model_text(m, s->steps.name));
	json_u64(o, "phases", s->steps.n);
	json_u64(o, "bytes", s->live.bytes);
	json_u64(o, "count", s->live.count);
	stack_rows(json_array(o, "stacks"), m, &s->live, top);
}

static void one_device(cJSON *list, const struct report *r, const struct report_device *d,
                       const struct report_json_options *opt)
{
	const struct model *m = r->m;
	cJSON *o = json_item(list);

	if (d->device == MODEL_NO_DEVICE)
		cJSON_AddNullToObject(o, "device");
	else
		json_u64(o, "device", d->device);
	json_text(o, "name", model_text(m, m->device[d->device].name));
	json_u64(o, "total", m->device[d->device].total);
	json_u64(o, "events", d->t->events);
	json_text(o, "level", d->t->level == GMS_FRAMEWORK ? "framework" : "driver");
	kinds(o, d->t);
	amounts(o, m, d);
	leaks(o, m, d, findings(opt->top));
	ooms(o, m, d, findings(opt->top));
	anomalies(o, m, d);
	anomaly_stacks(o, m, d, opt->top);
	stack_rows(json_array(o, "peak_stacks"), m, m->history == HISTORY_NONE ? &(struct live){0} : &d->peak,
	           opt->top);
	stack_rows(json_array(o, "live_stacks"), m, &d->end, opt->top);
	survivors(o, m, &d->survivors, findings(opt->top));
	growth(o, m, &d->growth);
	fragmentation(o, m, d);
	pinned(o, m, d, opt->top);
	churn(o, &d->churn);
	if (d->accounting)
		accounting_json(json_object(o, "accounting"), d->accounting, m);
	coverage(o, &d->coverage);
	group(o, "phases", m, &d->groups[BY_PHASE], opt->top);
	group(o, "streams", m, &d->groups[BY_STREAM], opt->top);
	group(o, "threads", m, &d->groups[BY_THREAD], opt->top);
	group(o, "pools", m, &d->groups[BY_POOL], opt->top);
	group(o, "sizes", m, &d->groups[BY_SIZE], 0);
	json_u64(o, "device_used_start", d->t->used_start);
	json_u64(o, "device_used_peak", d->t->used_peak);
	json_u64(o, "device_used_end", d->t->used_end);
}

static void notes(cJSON *snapshot, const struct model *m)
{
	static const char *const kind[] = {"info", "warning", "inconsistent"};
	cJSON *list = json_array(snapshot, "notes");
	size_t i;

	for (i = 0; i < m->n_notes; i++) {
		cJSON *o = json_item(list);

		json_text(o, "kind", kind[m->notes[i].kind]);
		json_text(o, "text", m->notes[i].text);
	}
}

static void verdict(cJSON *snapshot, const struct report *r)
{
	static const char *const tone[] = {"plain", "good", "warning", "bad", "advice"};
	cJSON *list = json_array(snapshot, "verdict");
	struct verdict v;
	size_t i;

	verdict_make(r, &v);
	for (i = 0; i < v.n; i++) {
		cJSON *o = json_item(list);

		json_text(o, "tone", tone[v.v[i].tone]);
		json_text(o, "text", v.v[i].text);
	}
	verdict_free(&v);
}

static void one_snapshot(cJSON *list, const struct report *r, const struct report_json_options *opt)
{
	static const char *const source[] = {"gpumemsnap", "torch", "rmm", "jax"};
	static const char *const history[] = {"none", "partial", "complete"};
	const struct model *m = r->m;
	cJSON *o = json_item(list), *devices;
	size_t i;

	json_text(o, "file", m->file);
	json_text(o, "source", source[m->source]);
	cJSON_AddBoolToObject(o, "complete", m->complete);
	json_text(o, "why_incomplete", m->complete ? NULL : m->why_incomplete);
	json_text(o, "history", history[m->history]);
	json_text(o, "command", m->command);
	json_text(o, "host", m->host);
	json_u64(o, "pid", m->pid ? m->pid : MODEL_UNKNOWN);
	json_u64(o, "rank", m->rank >= 0 ? (uint64_t)m->rank : MODEL_UNKNOWN);
	json_u64(o, "duration_ns",
	         m->has_time && m->duration_ns >= 0 ? (uint64_t)m->duration_ns : MODEL_UNKNOWN);
	json_u64(o, "events", m->ev.n - m->n_initial);
	json_u64(o, "dropped_events", m->dropped_events);
	json_u64(o, "unknown_entries", m->unknown_entries);
	verdict(o, r);
	notes(o, m);
	devices = json_array(o, "devices");
	for (i = 0; i < r->n; i++)
		one_device(devices, r, &r->devices[i], opt);
}

static void comparison(cJSON *root, const struct report *reports, size_t n)
{
	struct ranks r;
	cJSON *o, *odd;

	ranks_make(&r, reports, n);
	o = json_object(root, "comparison");
	json_u64(o, "sum_peak", r.sum_peak);
	json_u64(o, "sum_reserved", r.sum_reserved);
	json_u64(o, "sum_end", r.sum_end);
	json_u64(o, "sum_leaked", r.sum_leaked);
	json_u64(o, "failures", r.sum_failures);
	json_u64(o, "median_peak", r.median_peak);
	if (r.odd < n) {
		odd = json_object(o, "odd");
		json_text(odd, "file", reports[r.odd].m->file);
		json_u64(odd, "index", r.odd);
		json_text(odd, "why", r.odd_text);
	} else {
		cJSON_AddNullToObject(o, "odd");
	}
	ranks_free(&r);
}

void report_json(FILE *f, const struct report *reports, size_t n, const struct report_json_options *o)
{
	cJSON *root = cJSON_CreateObject(), *list;
	size_t i;

	cJSON_AddStringToObject(root, "format", "gpumemsnap-report");
	cJSON_AddNumberToObject(root, "version", 1);
	list = json_array(root, "snapshots");
	for (i = 0; i < n; i++)
		one_snapshot(list, &reports[i], o);
	if (n > 1)
		comparison(root, reports, n);
	json_print(f, root);
}
