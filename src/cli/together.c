/* together.c: reading several recordings and finding how their clocks stand to each other. */
#include "cli/together.h"
#include "base/mem.h"
#include "cli/snapshot.h"
#include <stdlib.h>

/* Clocks beyond these are nonsense, and sums of them must not overflow. */
#define FAR_START (INT64_MAX / 2)
#define FAR       (INT64_MAX / 4)

void together_span(const struct model *m, int64_t *from, int64_t *to)
{
	*from = 0;
	*to = m->duration_ns > 0 && m->has_time ? m->duration_ns : 0;
	for (size_t row = m->n_initial; row < m->ev.n; row++) {
		*to = m->ev.t_ns[row] > *to ? m->ev.t_ns[row] : *to;
		*from = m->ev.t_ns[row] < *from ? m->ev.t_ns[row] : *from;
	}
}

/* Do all of them have a wall clock, and is there an instant at which all were running? */
static bool ran_together(const struct together *t)
{
	int64_t begin = INT64_MIN, end = INT64_MAX;

	for (size_t i = 0; i < t->n; i++) {
		int64_t from, to, start = t->m[i].start_wall_ns;
		together_span(&t->m[i], &from, &to);
		if (start <= 0 || start > FAR_START || to > FAR || from < -FAR || !t->m[i].has_time)
			return false;
		begin = start > begin ? start : begin;
		end = start + to < end ? start + to : end;
	}
	return t->n > 1 && begin < end;
}

static void find_shifts(struct together *t)
{
	int64_t first = INT64_MAX;

	t->shift = mem_zalloc(t->n + 1, sizeof *t->shift);
	t->same_clock = ran_together(t);
	for (size_t i = 0; t->same_clock && i < t->n; i++)
		first = t->m[i].start_wall_ns < first ? t->m[i].start_wall_ns : first;
	for (size_t i = 0; t->same_clock && i < t->n; i++)
		t->shift[i] = t->m[i].start_wall_ns - first;
}

int together_read(struct together *t, char *const *files, size_t n, struct err *e)
{
	int rc = 0;

	*t = (struct together){.m = mem_zalloc(n, sizeof *t->m)};
	for (; t->n < n && !rc; t->n += !rc) {
		rc = snapshot_read(&t->m[t->n], files[t->n], e);
		if (!rc && t->m[t->n].has_time != t->m[0].has_time) {
			rc = err_set(e, ERR_USAGE, NULL, -1,
			             "of %s and %s only one has times: they have no axis in common", files[0],
			             files[t->n]);
			model_free(&t->m[t->n]);
		}
	}
	if (rc)
		together_free(t);
	else
		find_shifts(t);
	return rc;
}

void together_free(struct together *t)
{
	while (t->n)
		model_free(&t->m[--t->n]);
	free(t->m);
	free(t->shift);
	*t = (struct together){0};
}
