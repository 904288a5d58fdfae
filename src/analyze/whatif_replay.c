/* whatif_replay.c: the requests of a recording through the allocator's core under one configuration.
 *
 * The replay ends where the program would have: at the first request that fails, unless that
 * request failed in the recording too (then the program is known to have gone on).
 */
#include "alloc/core_region.h"
#include "analyze/whatif_device.h"
#include "analyze/whatif_va.h"
#include "base/mem.h"
#include <stdio.h>
#include <stdlib.h>

struct replay {
	const struct whatif_trace *t;
	struct whatif_run *r;
	struct whatif_device d;
	struct va *va;
	struct gma_region *region; /* growth:False */
	uint64_t taken;            /* by it; 0: nothing was taken at the start */
	uint32_t row;              /* being replayed */
	uint64_t peak;             /* reserved, as last seen */
};

static uint64_t place(void *ctx, uint64_t size)
{
	struct replay *p = ctx;

	return va_alloc(p->va, p->row, size);
}

static void leave(void *ctx, uint64_t addr, uint64_t size)
{
	struct replay *p = ctx;

	va_free(p->va, addr, size);
}

static int64_t event_number(const struct whatif_trace *t, uint32_t row)
{
	const struct model *m = t->m;
	int64_t number = 0;
	size_t i;

	for (i = m->n_initial; i < row; i++)
		number += m->ev.device[i] == t->device;
	return row < m->n_initial ? -1 : number;
}

static void name_stack(void *ctx, uint64_t slot, char *buf, size_t n)
{
	const struct replay *p = ctx;
	const struct model *m = p->t->m;
	size_t frames;
	const uint32_t *f = model_stack_frames(m, m->ev.stack[p->t->alloc_row[slot]], &frames);

	if (frames)
		snprintf(buf, n, "%s", model_text(m, m->frames.v[f[0]].function));
}

/* A request failed. Returns true if the program ends here. */
static bool failed(struct replay *p, const struct whatif_op *op)
{
	const struct gma_oom *o = gma_core_last_oom(p->d.core);
	struct whatif_run *r = p->r;

	if (!r->ooms++) {
		r->first_oom_event = event_number(p->t, op->row);
		r->first_oom_size = o->segment;
		r->first_oom_stack = p->t->m->ev.stack[op->row];
		gma_core_explain(o, name_stack, p, r->oom_text, sizeof r->oom_text);
	}
	return op->what != WHATIF_TRY;
}

/* How cut up the free memory is when more was reserved than ever before. */
static void look_at_peak(struct replay *p)
{
	struct gma_holes h;

	if (gma_core_reserved(p->d.core) <= p->peak)
		return;
	p->peak = gma_core_reserved(p->d.core);
	gma_core_holes(p->d.core, &h);
	p->r->fragmentation_at_peak = h.bytes ? 1 - (double)h.largest / (double)h.bytes : 0;
}

/* Returns false if the program ends here. */
static bool request(struct replay *p, const struct whatif_op *op)
{
	struct gma_request q = whatif_request(&p->d, op->size, op->stream, op->pool, op->slot);
	struct gma_block *b;
	int e;

	if (p->r->kind == WHATIF_POOL)
		q.stream = 0; /* the driver's pool reuses memory across streams */
	e = gma_core_malloc(p->d.core, &q, &b);
	if (e == GMA_OUT_OF_MEMORY && failed(p, op))
		return false;
	look_at_peak(p);
	if (op->what == WHATIF_ALLOC)
		p->d.blocks[op->slot] = b;
	else if (b)
		gma_core_free(p->d.core, b); /* what the program would have done with it is not known */
	return true;
}

static bool step(struct replay *p, const struct whatif_op *op)
{
	struct gma_core *c = p->d.core;
	struct gma_block *b = whatif_block(&p->d, op->slot);

	p->row = op->row;
	switch ((enum whatif_what)op->what) {
	case WHATIF_ALLOC:
	case WHATIF_TRY:
		return request(p, op);
	case WHATIF_PENDING:
		if (b && b->state == GMA_LIVE) {
			gma_core_record_stream(c, b, UINT64_MAX);
			gma_core_free(c, b);
		}
		break;
	case WHATIF_FREE:
	case WHATIF_SETTLE:
		if (b && b->state == GMA_LIVE)
			gma_core_free(c, b);
		else if (b)
			gma_core_settle(c, b);
		p->d.blocks[op->slot] = NULL;
		break;
	case WHATIF_GIVEN_UP:
		whatif_pool_dead(&p->d, op->pool);
		break;
	case WHATIF_EMPTY:
		gma_core_empty_cache(c, NULL);
		break;
	}
	return true;
}

static void conclude(struct replay *p)
{
	const struct gma_stats *s = gma_core_stats(p->d.core);
	struct whatif_run *r = p->r;

	r->reserved_peak = p->taken ? p->taken : (uint64_t)s->reserved_bytes[GMA_STAT_ALL].peak;
	r->allocated_peak = (uint64_t)s->allocated_bytes[GMA_STAT_ALL].peak;
	r->requested_peak = (uint64_t)s->requested_bytes[GMA_STAT_ALL].peak;
	r->device_allocs = p->taken ? 1 : s->num_device_alloc;
	r->device_frees = p->taken ? 0 : s->num_device_free;
	r->retries = s->num_alloc_retries;
}

/* growth:False takes its memory now. False: the device does not have it. */
static bool take_region(struct replay *p, const struct gma_conf *conf, struct gma_backend *be)
{
	struct gma_backend device = *be;
	uint64_t bytes = conf->memory_limit != GMA_UNLIMITED ? conf->memory_limit : gma_region_usual(p->d.sim.capacity);

	if (!gma_region_create(&p->region, &device, bytes, be)) {
		p->taken = gma_region_size(p->region);
		return true;
	}
	p->r->ooms = 1;
	p->r->first_oom_size = bytes;
	snprintf(p->r->oom_text, sizeof p->r->oom_text, "the device does not give the %llu bytes that are to be taken at the start",
		 (unsigned long long)bytes);
	return false;
}

/* False: the program does not even begin. */
static bool begin(struct replay *p, const struct gma_conf *conf)
{
	const struct model *m = p->t->m;
	/* Under its own settings a late recording starts from the segments that were really there. */
	bool adopt = p->r->alike && conf->growth && p->t->n_initial && m->n_segments;
	struct gma_backend be;

	gma_sim_init(&p->d.sim, p->r->device_mem);
	p->d.sim.no_events = true;
	p->d.sim.place = place;
	p->d.sim.leave = leave;
	p->d.sim.place_ctx = p;
	gma_sim_backend(&p->d.sim, &be, whatif_page_get, whatif_page_put);
	p->d.m = m;
	p->d.pools = mem_zalloc(m->n_pools, sizeof *p->d.pools);
	p->d.blocks = mem_zalloc(p->t->n_slots + 1, sizeof *p->d.blocks);
	p->va = va_new(p->t->va, adopt ? (uint32_t)m->n_initial : 0);
	if (!conf->growth && !take_region(p, conf, &be))
		return false;
	gma_core_create(&p->d.core, conf, &be);
	gma_core_set_limit(p->d.core, p->taken && p->taken < conf->memory_limit ? p->taken : conf->memory_limit);
	if (adopt)
		whatif_adopt(&p->d, p->t);
	look_at_peak(p);
	return true;
}

static uint64_t reserved(const struct replay *p)
{
	return p->taken ? p->taken : gma_core_reserved(p->d.core);
}

void whatif_replay(const struct whatif_trace *t, const struct gma_conf *conf, struct whatif_run *r,
		   const struct bands_axis *axis)
{
	struct replay p = {.t = t, .r = r};
	struct whatif_curve curve;
	bool begun;
	size_t i;

	whatif_curve_begin(&curve, axis);
	r->lower_bound = t->lower_bound;
	begun = begin(&p, conf);
	for (i = 0; begun && i < t->n; i++) {
		if (i < t->n_initial && p.d.blocks[t->ops[i].slot])
			continue; /* adopted */
		if (!step(&p, &t->ops[i]))
			break;
		whatif_curve_put(&curve, t, t->ops[i].row, reserved(&p));
	}
	r->curve = whatif_curve_end(&curve, begun && i == t->n);
	if (begun)
		conclude(&p);
	gma_core_destroy(p.d.core);
	gma_region_destroy(p.region);
	va_delete(p.va);
	free(p.d.pools);
	free(p.d.blocks);
}
