/* rank.c: weighing the stacks: one pass for every device's peak, one for what was live then. */
#include "analyze/rank.h"
#include "analyze/diff.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

struct peak {
	bool known;
	uint8_t role[256];
	uint64_t now, bytes;
	size_t row;
};

/* The alloc row whose bytes come or go with this row, and which of the two; MODEL_NO_PEER: neither. */
static uint32_t changes(const struct columns *c, const struct peak *p, size_t row, bool *begins)
{
	uint32_t alloc = (uint32_t)row;
	uint8_t role = p[c->device[row]].role[c->op[row]];

	*begins = role == LIVE_ALLOC;
	if (role == LIVE_FREE) {
		alloc = c->peer[row];
		if (alloc == MODEL_NO_PEER || c->peer[alloc] != row ||
		    p[c->device[alloc]].role[c->op[alloc]] != LIVE_ALLOC)
			return MODEL_NO_PEER;
	} else if (!*begins) {
		return MODEL_NO_PEER;
	}
	return alloc;
}

static void find_levels(struct peak *p, const struct model *m)
{
	for (unsigned d = 0; d < 256; d++)
		live_roles(live_level(m, (uint8_t)d), p[d].role);
}

static void find_peaks(struct peak *p, const struct model *m)
{
	const struct columns *c = &m->ev;
	bool begins;

	for (size_t row = 0; row < c->n; row++) {
		uint32_t alloc = changes(c, p, row, &begins);
		if (alloc == MODEL_NO_PEER)
			continue;
		struct peak *d = &p[c->device[alloc]];
		d->now += begins ? c->size[alloc] : 0 - c->size[alloc];
		if (begins && d->now > d->bytes) {
			d->bytes = d->now;
			d->row = row;
		}
	}
}

static void weigh(double *at_peak, double *area, const struct peak *p, const struct model *m)
{
	const struct columns *c = &m->ev;
	int64_t end = c->n ? c->t_ns[c->n - 1] : 0;

	for (size_t row = 0; row < c->n; row++) {
		const struct peak *d = &p[c->device[row]];
		if (d->role[c->op[row]] != LIVE_ALLOC)
			continue;
		size_t until = c->peer[row] == MODEL_NO_PEER ? SIZE_MAX : c->peer[row];
		int64_t t1 = until == SIZE_MAX ? end : c->t_ns[until];
		if (row <= d->row && until > d->row)
			at_peak[c->stack[row]] += (double)c->size[row];
		if (t1 > c->t_ns[row])
			area[c->stack[row]] += (double)c->size[row] * ((double)t1 - (double)c->t_ns[row]);
	}
}

void rank_make(struct rank *r, const struct model *m)
{
	struct peak *p = mem_zalloc(256, sizeof *p);
	double *at_peak = mem_zalloc(m->stacks.n + 1, sizeof *at_peak),
	       *area = mem_zalloc(m->stacks.n + 1, sizeof *area);
	double weight[RANK_MAX + 1] = {0}, peaks = 0, areas = 0;

	*r = (struct rank){0};
	find_levels(p, m);
	find_peaks(p, m);
	weigh(at_peak, area, p, m);
	for (size_t s = 0; s < m->stacks.n; s++) {
		peaks += at_peak[s];
		areas += area[s];
	}
	for (uint32_t s = 1; s < m->stacks.n; s++) {
		double w = (peaks > 0 ? at_peak[s] / peaks : 0) + (areas > 0 ? area[s] / areas : 0);
		size_t i = r->n;
		if (w <= 0 || (i == RANK_MAX && w <= weight[i - 1]))
			continue;
		for (i = r->n < RANK_MAX ? r->n++ : RANK_MAX - 1; i && weight[i - 1] < w; i--) {
			weight[i] = weight[i - 1];
			r->stack[i] = r->stack[i - 1];
		}
		weight[i] = w;
		r->stack[i] = s;
	}
	for (uint32_t i = 0; i < RANK_MAX; i++)
		r->place[i] = i;
	free(p);
	free(at_peak);
	free(area);
}

void rank_share(struct rank *r, const struct model *m, struct rank_places *p)
{
	for (size_t i = 0; i < r->n; i++) {
		bool fresh;
		uint32_t *at = map64_put(&p->by_stack, diff_identity(m, r->stack[i], false), &fresh);
		if (fresh)
			*at = p->n++;
		r->place[i] = *at;
	}
}

uint32_t rank_of(const struct rank *r, uint32_t stack)
{
	for (uint32_t i = 0; stack && i < r->n; i++)
		if (r->stack[i] == stack)
			return r->place[i];
	return RANK_NONE;
}
