/* whatif_compile.c: from the rows of a recording to the requests of its program. */
#include "analyze/whatif_compile.h"
#include "analyze/live.h"
#include "analyze/whatif_va.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

void compile_op(struct compiler *k, enum whatif_what what, uint32_t row, uint32_t slot)
{
	struct whatif_trace *t = k->t;

	*VEC_PUSH(t->ops, t->n, t->cap) = (struct whatif_op){.what = (uint8_t)what, .row = row, .slot = slot,
		.size = k->c->size[row], .stream = k->c->stream[row], .pool = k->c->pool[row]};
}

static uint64_t least(uint64_t size)
{
	return (size + GMA_MIN_BLOCK - 1) & ~(uint64_t)(GMA_MIN_BLOCK - 1);
}

uint32_t compile_slot(struct compiler *k, uint32_t row)
{
	struct whatif_trace *t = k->t;
	uint32_t slot = (uint32_t)t->n_slots;

	*VEC_PUSH(t->alloc_row, t->n_slots, t->cap_slots) = row;
	k->slot_of[row] = slot;
	k->active += least(k->c->size[row]);
	if (k->active > t->lower_bound)
		t->lower_bound = k->active;
	return slot;
}

void compile_end(struct compiler *k, uint32_t alloc_row)
{
	k->active -= least(k->c->size[alloc_row]);
	k->d.blocks[k->slot_of[alloc_row]] = NULL;
	k->slot_of[alloc_row] = UINT32_MAX;
}

uint64_t compile_reserved(const struct columns *c, uint32_t row)
{
	switch (c->op[row]) {
	case SEGMENT(ALLOC):
	case SEGMENT(MAP):
		return c->size[row];
	case SEGMENT(FREE):
	case SEGMENT(UNMAP):
		return -c->size[row];
	default:
		return 0;
	}
}

/* A recording may show an allocation where a block still lives: that one must be gone. */
void compile_replaced(struct compiler *k, uint32_t row)
{
	uint32_t *old = map64_find(&k->replaced, row), slot;
	struct gma_block *b;

	if (!old || k->slot_of[*old] == UINT32_MAX)
		return;
	slot = k->slot_of[*old];
	b = whatif_block(&k->d, slot);
	compile_op(k, WHATIF_FREE, row, slot);
	compile_end(k, *old);
	k->quiet = true;
	if (b && b->state == GMA_LIVE)
		gma_core_free(k->d.core, b);
	k->quiet = false;
}

static void collect_rows(struct compiler *k, enum gms_level level)
{
	const struct model *m = k->t->m;
	uint32_t number = 0;
	size_t row;

	k->rows = mem_zalloc(m->ev.n + 1, sizeof *k->rows);
	k->number = mem_zalloc(m->ev.n + 1, sizeof *k->number);
	for (row = m->n_initial; row < m->ev.n; row++) {
		enum gms_kind of = GMS_OP_KIND(m->ev.op[row]);
		bool block_level = of == GMS_K_BLOCK || of == GMS_K_SEGMENT || of == GMS_K_TRACE;

		if (m->ev.device[row] != k->t->device)
			continue;
		if (level == GMS_FRAMEWORK ? block_level : gms_kind_info[of].level == GMS_DRIVER) {
			if (GMS_OP_ACTION(m->ev.op[row]) == GMS_A_FAIL && k->t->recorded_oom < 0)
				k->t->recorded_oom = number;
			k->rows[k->n] = (uint32_t)row;
			k->number[k->n++] = number;
		}
		number++;
	}
}

static void take_initial(struct compiler *k, enum gms_level level)
{
	const struct model *m = k->t->m;
	size_t row;

	for (row = 0; row < m->n_initial; row++) {
		if (m->ev.device[row] != k->t->device)
			continue;
		if (level == GMS_FRAMEWORK)
			k->reserved += compile_reserved(k->c, (uint32_t)row);
		if (k->c->op[row] == BLOCK(ALLOC))
			compile_op(k, WHATIF_ALLOC, (uint32_t)row, compile_slot(k, (uint32_t)row));
	}
	k->t->n_initial = k->t->n;
}

/* A recording of plain driver calls: no allocator to compare with, only requests. */
static void compile_driver(struct compiler *k)
{
	const struct columns *c = k->c;
	size_t async = 0, i;

	for (i = 0; i < k->n; i++) {
		uint32_t row = k->rows[i], peer = c->peer[row];
		enum gms_action what = GMS_OP_ACTION(c->op[row]);
		enum gms_kind of = GMS_OP_KIND(c->op[row]);
		bool request = of == GMS_K_DEVICE || of == GMS_K_ASYNC;

		if (request && what == GMS_A_ALLOC && c->size[row]) {
			compile_replaced(k, row);
			compile_op(k, WHATIF_ALLOC, row, compile_slot(k, row));
			async += of == GMS_K_ASYNC;
		} else if (request && what == GMS_A_FAIL) {
			compile_op(k, WHATIF_TRY, row, 0);
		} else if (what == GMS_A_FREE && peer != MODEL_NO_PEER && k->slot_of[peer] != UINT32_MAX) {
			compile_op(k, WHATIF_FREE, row, k->slot_of[peer]);
			compile_end(k, peer);
		}
	}
	k->t->does = 2 * async > k->t->n_slots ? WHATIF_POOL : WHATIF_PLAIN;
}

static void find_replaced(struct compiler *k)
{
	size_t row;
	bool fresh;

	for (row = 0; row < k->c->n; row++) {
		uint32_t end = k->c->peer[row];

		if (GMS_OP_ACTION(k->c->op[row]) == GMS_A_ALLOC && end != MODEL_NO_PEER &&
		    GMS_OP_ACTION(k->c->op[end]) == GMS_A_ALLOC)
			*map64_put(&k->replaced, end, &fresh) = (uint32_t)row;
	}
}

/* One pass over the recording. */
static void compile(struct whatif_trace *t, const struct model *m, uint8_t device, const struct gma_conf *own,
		    uint64_t limit, bool probe, struct whatif_fidelity *f)
{
	struct compiler k = {.t = t, .f = f, .c = &m->ev, .d = {.m = m}, .probe = probe};
	enum gms_level level = live_level(m, device);

	*t = (struct whatif_trace){.m = m, .device = device, .recorded_peak = MODEL_UNKNOWN, .recorded_oom = -1,
				    .limit = limit, .available = MODEL_UNKNOWN};
	gma_sim_init(&k.d.sim, m->device[device].total);
	k.slot_of = mem_alloc((m->ev.n + 1) * sizeof *k.slot_of);
	memset(k.slot_of, 0xff, (m->ev.n + 1) * sizeof *k.slot_of);
	k.d.pools = mem_zalloc(m->n_pools, sizeof *k.d.pools);
	k.d.blocks = mem_zalloc(m->ev.n + 1, sizeof *k.d.blocks);
	find_replaced(&k);
	collect_rows(&k, level);
	take_initial(&k, level);
	if (level == GMS_FRAMEWORK) {
		f->known = true;
		compile_blocks(&k, own, limit);
	} else {
		compile_driver(&k);
	}
	map64_free(&k.replaced);
	free(k.slot_of);
	free(k.d.pools);
	free(k.d.blocks);
	free(k.rows);
	free(k.number);
}

/* Garbage collection depends on a limit that the recording does not state. When memory went back,
 * and when not, tells it: halve the interval until the replay agrees. */
static uint64_t find_limit(const struct model *m, uint8_t device, const struct gma_conf *own, uint64_t peak)
{
	uint64_t low = peak, high = (uint64_t)((double)peak / own->gc_threshold) + 1, limit = GMA_UNLIMITED;

	while (low < high) {
		struct whatif_fidelity f = {0};
		struct whatif_trace t;

		limit = low + (high - low) / 2;
		compile(&t, m, device, own, limit, true, &f);
		whatif_trace_free(&t);
		if (f.matched == f.events)
			return limit;
		if (f.first.predicted_op == SEGMENT(FREE))
			low = limit + 1; /* it collected too early or too much */
		else if (f.first.recorded_op == SEGMENT(FREE))
			high = limit;
		else
			break;
	}
	return limit;
}

void whatif_compile(struct whatif_trace *t, const struct model *m, uint8_t device, const struct gma_conf *own,
		    struct whatif_fidelity *f)
{
	struct whatif_fidelity before = *f;

	compile(t, m, device, own, GMA_UNLIMITED, false, f);
	if (own->gc_threshold > 0 && f->matched < f->events && t->recorded_peak && t->recorded_peak < INT64_MAX) {
		uint64_t limit = find_limit(m, device, own, t->recorded_peak);

		whatif_trace_free(t);
		*f = before;
		compile(t, m, device, own, limit, false, f);
	}
	t->va = mem_zalloc(1, sizeof *t->va);
	va_learn(t->va, m, device);
}

void whatif_trace_free(struct whatif_trace *t)
{
	if (t->va)
		va_forget(t->va);
	free(t->va);
	free(t->ops);
	free(t->alloc_row);
	*t = (struct whatif_trace){0};
}
