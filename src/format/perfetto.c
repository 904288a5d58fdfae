/* perfetto.c: memory over time in Chrome's trace format, which ui.perfetto.dev opens: a counter track per
 * sum and device, the phases as slices per thread, refused allocations as instants.
 *
 * Times are microseconds with three decimals, so no nanosecond is lost.
 */
#include "format/export.h"

int export_perfetto(const struct export_view *v, struct output *o, struct err *e);

static void put_us(struct text *t, const char *key, int64_t ns)
{
	uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	text_printf(t, ",\"%s\":%s%llu.%03u", key, ns < 0 ? "-" : "", (unsigned long long)(v / 1000), (unsigned)(v % 1000));
}

/* The begin of an event; its own keys follow. */
static void begin(struct export_text *x, const char *phase, uint32_t pid, uint64_t tid, const char *name)
{
	text_printf(&x->t, ",\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%llu,\"name\":", phase, pid, (unsigned long long)tid);
	text_json(&x->t, name);
}

static void put_names(struct export_text *x, const struct export_view *v)
{
	const struct model *m = v->m;
	size_t i;

	text_printf(&x->t, "{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":", m->pid);
	text_json(&x->t, m->command ? m->command : m->file);
	text_puts(&x->t, "}}");
	for (i = 1; i < m->n_threads; i++) {
		if (!m->threads[i].name)
			continue;
		begin(x, "M", m->pid, m->threads[i].tid, "thread_name");
		text_puts(&x->t, ",\"args\":{\"name\":");
		text_json(&x->t, model_text(m, m->threads[i].name));
		text_puts(&x->t, "}}");
	}
}

static void put_counter(struct export_text *x, const struct export_view *v, const struct export_counter *c)
{
	struct text name = {0};
	size_t i;

	text_printf(&name, "GPU %u %s", c->device, c->name);
	for (i = 0; i < c->n && !x->failed; i++) {
		if (c->points[i].value == MODEL_UNKNOWN)
			continue;
		begin(x, "C", v->m->pid, 0, name.s);
		put_us(&x->t, "ts", c->points[i].t_ns);
		text_puts(&x->t, ",\"args\":{\"bytes\":");
		text_u64(&x->t, c->points[i].value);
		text_puts(&x->t, "}}");
		export_flush(x);
	}
	text_free(&name);
}

static void put_phase(struct export_text *x, const struct export_view *v, const struct phase *p)
{
	const struct model *m = v->m;
	int64_t end = p->end_ns == INT64_MAX ? m->duration_ns : p->end_ns;
	bool mark = end == p->begin_ns;

	begin(x, mark ? "i" : "X", m->pid, m->threads[p->thread].tid, model_text(m, p->name));
	put_us(&x->t, "ts", p->begin_ns);
	if (mark)
		text_puts(&x->t, ",\"s\":\"t\"");
	else
		put_us(&x->t, "dur", end > p->begin_ns ? end - p->begin_ns : 0);
	text_puts(&x->t, ",\"cat\":\"phase\"}");
	export_flush(x);
}

static void put_failure(struct export_text *x, const struct export_view *v, const struct failure *f)
{
	const struct model *m = v->m;
	struct event ev = model_event(m, f->event);

	begin(x, "i", m->pid, m->threads[ev.thread].tid, "allocation refused");
	put_us(&x->t, "ts", ev.t_ns);
	text_puts(&x->t, ",\"s\":\"p\",\"cat\":\"failure\",\"args\":{\"bytes\":");
	text_u64(&x->t, ev.size);
	text_printf(&x->t, ",\"error\":%d", f->error);
	if (f->free != MODEL_UNKNOWN) {
		text_puts(&x->t, ",\"device_free\":");
		text_u64(&x->t, f->free);
	}
	text_puts(&x->t, "}}");
}

int export_perfetto(const struct export_view *v, struct output *o, struct err *e)
{
	struct export_text x = {.o = o, .e = e};
	size_t i;

	text_puts(&x.t, "{\"traceEvents\":[\n");
	put_names(&x, v);
	for (i = 0; i < v->n_counters; i++)
		put_counter(&x, v, &v->counters[i]);
	for (i = 0; i < v->m->n_phases; i++)
		put_phase(&x, v, &v->m->phases[i]);
	for (i = 0; i < v->m->n_failures; i++)
		put_failure(&x, v, &v->m->failures[i]);
	text_puts(&x.t, "\n]}\n");
	return export_done(&x);
}
