/* together.c: reading several recordings and finding how their clocks stand to each other. */
#include "cli/together.h"
#include "base/mem.h"
#include "cli/snapshot.h"
#include <stdlib.h>

#define FAR_START (INT64_MAX / 2) /* clocks beyond are nonsense */

void together_span(const struct model *m, int64_t *from, int64_t *to)
{
	*from = 0;
	*to = m->duration_ns > 0 && m->has_time ? m->duration_ns : 0;
	*to = *to < CUTS_FAR ? *to : CUTS_FAR;
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
		int64_t from = t->span[i].from, to = t->span[i].to, start = t->m[i].start_wall_ns;
		if (start <= 0 || start > FAR_START || to > CUTS_FAR || from < -CUTS_FAR || !t->m[i].has_time)
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
	t->span = mem_zalloc(t->n + 1, sizeof *t->span);
	for (size_t i = 0; i < t->n; i++)
		together_span(&t->m[i], &t->span[i].from, &t->span[i].to);
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
	free(t->span);
	*t = (struct together){0};
}

#define PARTS 100 /* of the time */
#define FEW   15  /* of them, in which nine of ten events happen */
#define ENOUGH 50000 /* events to look at */

bool together_crowded(const struct together *t, size_t i)
{
	const struct model *m = &t->m[i];
	size_t in_part[PARTS] = {0}, n = m->ev.n - m->n_initial, sum = 0;
	int64_t from = t->span[i].from, to = t->span[i].to;

	if (!m->has_time || n < 2 * PARTS || from < -CUTS_FAR || to > CUTS_FAR || to <= from)
		return false;
	double scale = (PARTS - 1) / (double)(to - from);
	size_t step = n / ENOUGH + 1;
	n = (n - 1) / step + 1;
	for (size_t row = m->n_initial; row < m->ev.n; row += step)
		in_part[(size_t)((double)(m->ev.t_ns[row] - from) * scale)]++;
	for (int k = 0; k < FEW; k++) {
		size_t best = 0;
		for (size_t part = 1; part < PARTS; part++)
			best = in_part[part] > in_part[best] ? part : best;
		sum += in_part[best];
		in_part[best] = 0;
	}
	return sum >= n - n / 10;
}

/* The number of the first event at or after t. */
static int64_t number_at(const struct model *m, int64_t t)
{
	size_t low = m->n_initial, high = m->ev.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->ev.t_ns[middle] < t)
			low = middle + 1;
		else
			high = middle;
	}
	return (int64_t)(low - m->n_initial);
}

static void count_one(const struct model *m, struct model *copy)
{
	*copy = *m;
	copy->has_time = false;
	copy->duration_ns = 0;
	copy->ev.t_ns = mem_alloc((m->ev.n + 1) * sizeof *copy->ev.t_ns);
	for (size_t row = 0; row < m->ev.n; row++)
		copy->ev.t_ns[row] = row < m->n_initial ? 0 : (int64_t)(row - m->n_initial);
	copy->phases = mem_alloc((m->n_phases + 1) * sizeof *copy->phases);
	for (size_t i = 0; i < m->n_phases; i++) {
		copy->phases[i] = m->phases[i];
		copy->phases[i].begin_ns = number_at(m, m->phases[i].begin_ns);
		if (m->phases[i].end_ns != INT64_MAX)
			copy->phases[i].end_ns = number_at(m, m->phases[i].end_ns);
	}
}

void together_count(const struct together *t, struct together *counted)
{
	*counted = (struct together){.m = mem_zalloc(t->n, sizeof *t->m), .n = t->n};
	counted->shift = mem_zalloc(t->n, sizeof *t->shift);
	counted->span = mem_zalloc(t->n, sizeof *t->span);
	for (size_t i = 0; i < t->n; i++) {
		count_one(&t->m[i], &counted->m[i]);
		together_span(&counted->m[i], &counted->span[i].from, &counted->span[i].to);
	}
}

/* A phase may begin or end at no time. */
static int64_t shown(const struct cuts *c, int64_t t, int64_t shift)
{
	return t < -CUTS_FAR || t > CUTS_FAR ? t : cuts_shown(c, t + shift);
}

static void cut_one(const struct model *m, const struct cuts *c, int64_t shift, struct model *copy)
{
	*copy = *m;
	copy->ev.t_ns = mem_alloc((m->ev.n + 1) * sizeof *copy->ev.t_ns);
	for (size_t row = 0; row < m->ev.n; row++)
		copy->ev.t_ns[row] = cuts_shown(c, m->ev.t_ns[row] + shift);
	copy->phases = mem_alloc((m->n_phases + 1) * sizeof *copy->phases);
	for (size_t i = 0; i < m->n_phases; i++) {
		copy->phases[i] = m->phases[i];
		copy->phases[i].begin_ns = shown(c, m->phases[i].begin_ns, shift);
		copy->phases[i].end_ns = shown(c, m->phases[i].end_ns, shift);
	}
}

void together_cut(const struct together *t, const struct cuts *c, struct together *cut)
{
	*cut = (struct together){.m = mem_zalloc(t->n, sizeof *t->m), .n = t->n, .same_clock = t->same_clock};
	cut->shift = mem_zalloc(t->n, sizeof *t->shift);
	cut->span = mem_zalloc(t->n, sizeof *t->span);
	for (size_t i = 0; i < t->n; i++) {
		cut_one(&t->m[i], c, t->shift[i], &cut->m[i]);
		cut->span[i].from = cuts_shown(c, t->span[i].from + t->shift[i]);
		cut->span[i].to = cuts_shown(c, t->span[i].to + t->shift[i]);
	}
}

void together_uncount(struct together *counted)
{
	for (size_t i = 0; i < counted->n; i++) {
		free(counted->m[i].ev.t_ns);
		free(counted->m[i].phases);
	}
	free(counted->m);
	free(counted->shift);
	free(counted->span);
}
