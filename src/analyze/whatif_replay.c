/* whatif_replay.c: the requests of a recording through the allocator's core under one configuration.
 *
 * The replay ends where the program would have: at the first request that fails, unless that
 * request failed in the recording too (then the program is known to have gone on).
 */
#include "analyze/whatif_device.h"
#include "analyze/whatif_va.h"
#include "base/mem.h"
#include <stdlib.h>

struct replay {
	const struct whatif_trace *t;
	struct whatif_run *r;
	struct whatif_device d;
	int64_t peak; /* reserved, as last seen */
	struct gma_backend sim;
	struct va *va;
	uint32_t row; /* being replayed */
};

/* The numbers come from the simulated device, the addresses from what is known about the driver. */
static int place_segment(void *ctx, uint64_t size, uint64_t *addr)
{
	struct replay *p = ctx;
	int r = p->sim.segment_alloc(p->sim.ctx, size, addr);

	if (!r)
		*addr = va_alloc(p->va, p->row, size);
	return r;
}

static int drop_segment(void *ctx, uint64_t addr, uint64_t size)
{
	struct replay *p = ctx;

	va_free(p->va, addr, size);
	return p->sim.segment_free(p->sim.ctx, addr, size);
}

static int sim_reserve(void *ctx, uint64_t size, uint64_t *addr)
{
	struct replay *p = ctx;

	return p->sim.reserve(p->sim.ctx, size, addr);
}

static int sim_unreserve(void *ctx, uint64_t addr, uint64_t size)
{
	struct replay *p = ctx;

	return p->sim.unreserve(p->sim.ctx, addr, size);
}

static int sim_map(void *ctx, uint64_t addr, uint64_t size, uint64_t page)
{
	struct replay *p = ctx;

	return p->sim.map(p->sim.ctx, addr, size, page);
}

static int sim_unmap(void *ctx, uint64_t addr, uint64_t size, uint64_t page)
{
	struct replay *p = ctx;

	return p->sim.unmap(p->sim.ctx, addr, size, page);
}

static int sim_info(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes)
{
	struct replay *p = ctx;

	return p->sim.device_info(p->sim.ctx, free_bytes, total_bytes);
}

static int64_t event_number(const struct whatif_trace *t, uint32_t row)
{
	const struct model *m = t->m;
	int64_t number = 0;
	size_t i;

	if (row < m->n_initial)
		return -1;
	for (i = m->n_initial; i < row; i++)
		number += m->ev.device[i] == t->device;
	return number;
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
		gma_core_explain(o, NULL, NULL, r->oom_text, sizeof r->oom_text);
	}
	return op->what != WHATIF_TRY;
}

/* How cut up the free memory is when more was reserved than ever before. */
static void look_at_peak(struct replay *p)
{
	const struct gma_stat *s = gma_core_stats(p->d.core)->reserved_bytes;
	struct gma_holes h;

	if (s->peak <= p->peak)
		return;
	p->peak = s->peak;
	gma_core_holes(p->d.core, &h);
	p->r->fragmentation_at_peak = h.bytes ? 1 - (double)h.largest / (double)h.bytes : 0;
}

/* Returns false if the program ends here. */
static bool step(struct replay *p, const struct whatif_op *op)
{
	struct gma_core *c = p->d.core;
	struct gma_block *b = whatif_block(&p->d, op->slot);
	struct gma_request q;
	int e;

	p->row = op->row;
	switch ((enum whatif_what)op->what) {
	case WHATIF_ALLOC:
	case WHATIF_TRY:
		q = whatif_request(&p->d, op->size, op->stream, op->pool, op->slot);
		e = gma_core_malloc(c, &q, &b);
		if (e == GMA_OUT_OF_MEMORY && failed(p, op))
			return false;
		look_at_peak(p);
		if (op->what == WHATIF_ALLOC)
			p->d.blocks[op->slot] = b;
		else if (b)
			gma_core_free(c, b); /* what the program would have done with it is not known */
		break;
	case WHATIF_FREE:
	case WHATIF_PENDING:
		if (!b || b->state != GMA_LIVE)
			break;
		if (op->what == WHATIF_PENDING)
			gma_core_record_stream(c, b, UINT64_MAX);
		gma_core_free(c, b);
		if (op->what == WHATIF_FREE)
			p->d.blocks[op->slot] = NULL;
		break;
	case WHATIF_SETTLE:
		if (b && b->state == GMA_LIVE)
			gma_core_free(c, b);
		else if (b)
			gma_core_settle(c, b);
		p->d.blocks[op->slot] = NULL;
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

	r->known = true;
	r->reserved_peak = (uint64_t)s->reserved_bytes[GMA_STAT_ALL].peak;
	r->allocated_peak = (uint64_t)s->allocated_bytes[GMA_STAT_ALL].peak;
	r->requested_peak = (uint64_t)s->requested_bytes[GMA_STAT_ALL].peak;
	r->device_allocs = s->num_device_alloc;
	r->device_frees = s->num_device_free;
	r->retries = s->num_alloc_retries;
}

static uint64_t limit_of(const struct gma_conf *c, uint64_t total)
{
	uint64_t limit = c->memory_limit;

	if (c->has_fraction && c->memory_fraction < 1 && (uint64_t)(c->memory_fraction * (double)total) < limit)
		limit = (uint64_t)(c->memory_fraction * (double)total);
	return limit;
}

void whatif_replay(const struct whatif_trace *t, const struct gma_conf *conf, struct whatif_run *r, bool curve)
{
	struct replay p = {.t = t, .r = r, .d = {.m = t->m}};
	struct gma_backend be;
	size_t i;

	gma_sim_init(&p.d.sim, r->device_mem);
	p.d.sim.no_events = true;
	gma_sim_backend(&p.d.sim, &p.sim, whatif_page_get, whatif_page_put);
	be = (struct gma_backend){&p, place_segment, drop_segment, sim_reserve, sim_unreserve, sim_map, sim_unmap, NULL, NULL, NULL, NULL, sim_info, whatif_page_get, whatif_page_put};
	struct va_lesson lesson; va_learn(&lesson, t->m, t->device); p.va = va_new(&lesson);
	p.d.pools = mem_zalloc(t->m->n_pools, sizeof *p.d.pools);
	p.d.blocks = mem_zalloc(t->n_slots + 1, sizeof *p.d.blocks);
	r->curve = curve ? mem_zalloc(t->n + 1, sizeof *r->curve) : NULL;
	r->first_oom_event = -1;
	r->lower_bound = t->lower_bound;
	gma_core_create(&p.d.core, conf, &be);
	gma_core_set_limit(p.d.core, limit_of(conf, r->device_mem));
	for (i = 0; i < t->n && step(&p, &t->ops[i]); i++)
		if (curve)
			r->curve[i] = (uint64_t)gma_core_stats(p.d.core)->reserved_bytes[GMA_STAT_ALL].current;
	conclude(&p);
	{const struct gma_stats*ss=gma_core_stats(p.d.core);extern int printf(const char*,...);printf("   [alloc %ld  isplit %ld]\n",ss->allocated_bytes[0].allocated,ss->inactive_split_bytes[0].allocated);}
	gma_core_destroy(p.d.core);
	free(p.d.pools);
	free(p.d.blocks);
}
