/* spool_requests.c: the snapshots a recorded process asked for, so far. */
#include "base/mem.h"
#include "format/spool_reader.h"
#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
	const struct spool_request *x = a, *y = b;

	return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

/* Names become parts of file names: nothing that could lead elsewhere, or not be typed, is kept. */
static void take_name(const struct spool_reader *r, uint32_t id, char *name, size_t size)
{
	const char *text = id < r->n_string ? model_text(r->m, r->string[id]) : "";
	size_t n;

	for (n = 0; text[n] && n + 1 < size; n++) {
		unsigned char c = (unsigned char)text[n];

		name[n] = c <= ' ' || c == '/' || c == 127 || (c == '.' && !n) ? '_' : text[n];
	}
	name[n] = '\0';
}

static void scan_run(const struct spool_reader *r, const struct spool_run *run, struct spool_requests *out)
{
	struct spool_word w;
	size_t at, n;

	for (at = run->at; (n = spool_record(r, at, run->end, &w)); at += n) {
		struct spool_snapshot s;
		struct spool_request *q;

		if (w.kind != SPOOL_SNAPSHOT)
			continue;
		spool_copy(r, at, n, &s, sizeof s);
		q = VEC_PUSH(out->v, out->n, out->cap);
		q->t_ns = (int64_t)(s.t_ns - r->h.start_ns);
		q->by_signal = s.by == 1;
		take_name(r, s.name, q->name, sizeof q->name);
	}
}

int spool_requests(const char *path, struct spool_requests *out, struct err *e)
{
	struct spool_reader r = {0};
	struct input in;
	struct model m;
	size_t i;

	*out = (struct spool_requests){0};
	if (input_open_live(&in, path, e))
		return -1;
	model_init(&m, in.name);
	r.m = &m;
	if (!spool_open(&r, &in, e)) {
		spool_tables_read(&r);
		for (i = 0; i < r.n_runs; i++)
			scan_run(&r, &r.runs[i], out);
		if (out->n)
			qsort(out->v, out->n, sizeof *out->v, by_time);
		spool_close(&r);
	}
	model_free(&m);
	input_close(&in);
	return e->kind == ERR_NONE ? 0 : -1;
}
