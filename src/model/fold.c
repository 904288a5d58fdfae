/* fold.c: see fold.h. One pass marks the rows that stay. */
#include "model/fold.h"
#include "base/mem.h"
#include <stdlib.h>

struct fold {
	struct model *m;
	bool *keep; /* of each row */
	struct map64 sample; /* (device, kind, pool) → row of the last sample */
};

static void keep_last(struct fold *f, uint64_t key, size_t row)
{
	bool fresh;
	uint32_t *at = map64_put(&f->sample, key, &fresh);

	if (!fresh)
		f->keep[*at] = false;
	*at = (uint32_t)row;
	f->keep[row] = true;
}

static void see(struct fold *f, size_t row)
{
	const struct columns *c = &f->m->ev;
	enum gms_kind kind = GMS_OP_KIND(c->op[row]);
	uint32_t peer = c->peer[row];

	switch (GMS_OP_ACTION(c->op[row])) {
	case GMS_A_ALLOC:
		f->keep[row] = peer == MODEL_NO_PEER;
		break;
	case GMS_A_FREE_REQUESTED: /* other streams still use it */
		f->keep[row] = peer != MODEL_NO_PEER && f->keep[peer];
		break;
	case GMS_A_INFO:
		keep_last(f, (uint64_t)c->device[row] << 32 | (uint64_t)kind << 16 | c->pool[row], row);
		break;
	default:
		break;
	}
}

/* Blocks or segments of which no row is left: the last becomes one that says only that there were some. */
static void leave_witnesses(struct fold *f)
{
	struct columns *c = &f->m->ev;
	static const enum gms_kind kinds[] = {GMS_K_BLOCK, GMS_K_SEGMENT};
	size_t row, k;

	for (k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		bool known[256] = {false};

		for (row = 0; row < c->n; row++)
			known[c->device[row]] |= f->keep[row] && GMS_OP_KIND(c->op[row]) == kinds[k];
		for (row = c->n; row-- > 0;)
			if (GMS_OP_KIND(c->op[row]) == kinds[k] && !known[c->device[row]]) {
				known[c->device[row]] = f->keep[row] = true;
				c->op[row] = GMS_OP(kinds[k], GMS_A_INFO);
			}
	}
}

static void keep_failures(struct fold *f)
{
	struct model *m = f->m;
	size_t i, gone = m->n_failures > FOLD_FAILURES ? m->n_failures - FOLD_FAILURES : 0;

	for (i = gone; i < m->n_failures; i++) {
		m->failures[i - gone] = m->failures[i];
		f->keep[m->failures[i].event] = true;
	}
	m->n_failures -= gone;
}

static void reduce(struct fold *f)
{
	struct model *m = f->m;
	uint32_t *order = mem_alloc((m->ev.n + 1) * sizeof *order);
	size_t row, i, n = 0;

	for (row = i = 0; row < m->ev.n; row++) {
		if (!f->keep[row])
			continue;
		if (i < m->n_failures && m->failures[i].event == row)
			m->failures[i++].event = (uint32_t)n;
		order[n++] = (uint32_t)row;
	}
	model_reorder(m, order, n);
	m->n_initial = n;
	m->linked = false;
	free(order);
}

bool model_maps(const struct model *m)
{
	size_t row;

	for (row = 0; row < m->ev.n; row++)
		if (m->ev.op[row] == GMS_OP(GMS_K_SEGMENT, GMS_A_MAP))
			return true;
	return false;
}

void model_fold(struct model *m)
{
	struct fold f = {.m = m, .keep = mem_zalloc(m->ev.n + 1, sizeof *f.keep)};
	size_t row;

	for (row = 0; row < m->ev.n; row++)
		see(&f, row);
	leave_witnesses(&f);
	keep_failures(&f);
	reduce(&f);
	free(f.keep);
	map64_free(&f.sample);
}
