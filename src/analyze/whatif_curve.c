/* whatif_curve.c: what a picture of predictions needs: curves by columns, and which runs are worth one. */
#include "alloc/conf.h"
#include "analyze/whatif.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

void whatif_curve_begin(struct whatif_curve *c, const struct bands_axis *x)
{
	*c = (struct whatif_curve){.x = x, .at = -1};
	if (!x)
		return;
	c->high = mem_alloc((size_t)x->columns * sizeof *c->high);
	memset(c->high, 0xff, (size_t)x->columns * sizeof *c->high);
}

void whatif_curve_put(struct whatif_curve *c, const struct whatif_trace *t, uint32_t row, uint64_t value)
{
	int column;

	if (!c->x)
		return;
	column = bands_column(c->x, (int64_t)row - (int64_t)t->m->n_initial);
	while (c->at < column)
		c->high[++c->at] = c->last; /* what a column begins with counts too */
	if (value > c->high[c->at])
		c->high[c->at] = value;
	c->last = value;
}

uint64_t *whatif_curve_end(struct whatif_curve *c, bool through)
{
	while (c->x && through && c->at + 1 < c->x->columns)
		c->high[++c->at] = c->last;
	return c->high;
}

uint64_t *whatif_in_use(const struct whatif_trace *t, const struct bands_axis *x)
{
	uint64_t *size = mem_zalloc(t->n_slots + 1, sizeof *size), now = 0; /* by slot; 0: not live */
	struct whatif_curve c;
	size_t i;

	whatif_curve_begin(&c, x);
	for (i = 0; i < t->n; i++) {
		const struct whatif_op *op = &t->ops[i];

		if (op->what == WHATIF_ALLOC)
			now += size[op->slot] = (op->size + GMA_MIN_BLOCK - 1) & ~(uint64_t)(GMA_MIN_BLOCK - 1);
		if (op->what == WHATIF_FREE || op->what == WHATIF_SETTLE) {
			now -= size[op->slot];
			size[op->slot] = 0;
		}
		whatif_curve_put(&c, t, op->row, now);
	}
	free(size);
	return whatif_curve_end(&c, true);
}

bool whatif_as_recorded(const struct whatif *w, const struct whatif_run *r)
{
	size_t i;

	for (i = 0; i < w->n_traces && w->traces[i].device != r->device; i++)
		;
	return i < w->n_traces && r->kind == w->traces[i].does && (r->own || r->kind != WHATIF_CACHING || r == &w->base[i]);
}

static bool looks_like(const struct whatif_run *a, const struct whatif_run *b)
{
	return a->reserved_peak == b->reserved_peak && a->device_allocs == b->device_allocs && !a->ooms == !b->ooms;
}

static bool among(const struct whatif_run *r, const struct whatif_run **v, size_t n)
{
	while (n)
		if (looks_like(r, v[--n]))
			return true;
	return false;
}

/* Runs through before runs out, then less memory before more. */
static bool better(const struct whatif_run *a, const struct whatif_run *b)
{
	if (!a->ooms != !b->ooms)
		return !a->ooms;
	return a->reserved_peak < b->reserved_peak;
}

/* The best of runs that differs from those there are, and is no worse than the first of them. */
static const struct whatif_run *best_beside(const struct whatif_run *runs, size_t n, const struct whatif_run **have,
					    size_t n_have)
{
	const struct whatif_run *best = NULL;
	size_t i;

	for (i = 0; i < n; i++)
		if ((runs[i].kind == WHATIF_CACHING || runs[i].kind == WHATIF_POOL) && !among(&runs[i], have, n_have) &&
		    better(&runs[i], best ? best : have[0]))
			best = &runs[i];
	return best;
}

static int most_first(const void *a, const void *b)
{
	const struct whatif_run *x = *(const struct whatif_run *const *)a, *y = *(const struct whatif_run *const *)b;

	if (x->reserved_peak != y->reserved_peak)
		return x->reserved_peak > y->reserved_peak ? -1 : 1;
	return x < y ? -1 : x > y;
}

size_t whatif_best(const struct whatif *w, size_t trace, bool asked, const struct whatif_run **best, size_t max)
{
	size_t per_trace = w->n_runs / w->n_traces, n = 0, i;
	const struct whatif_run *runs = w->runs + trace * per_trace, *next;

	best[n++] = &w->base[trace];
	if (asked) {
		for (i = 0; i < per_trace && n < max; i++)
			if (strcmp(runs[i].conf, w->own_conf))
				best[n++] = &runs[i];
	} else {
		for (i = 0; i < per_trace && n < max; i++)
			if (runs[i].kind != WHATIF_CACHING && whatif_as_recorded(w, &runs[i]))
				best[n++] = &runs[i];
		while (n < max && (next = best_beside(runs, per_trace, best, n)))
			best[n++] = next;
	}
	qsort(best, n, sizeof *best, most_first);
	return n;
}
