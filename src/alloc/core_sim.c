/* core_sim.c: see core_sim.h. */
#include "alloc/core_sim.h"
#include <string.h>

/* A device of "unlimited" memory: its bytes, and the address space it asks for. */
#define VAST  (1ull << 44)
#define SPACE (1ull << 40)

void gma_sim_init(struct gma_sim *s, uint64_t total)
{
	memset(s, 0, sizeof *s);
	s->capacity = total < VAST ? total : VAST;
	s->total = total < VAST ? total : SPACE;
	s->next = 0x700000000000ull;
}

static uint64_t granules(uint64_t size)
{
	return (size + GMA_SIM_GRANULE - 1) & ~(GMA_SIM_GRANULE - 1);
}

static bool fails(struct gma_sim *s)
{
	return ++s->calls == s->fail_at;
}

static int take(struct gma_sim *s, uint64_t size)
{
	if (fails(s) || size > s->capacity || s->used > s->capacity - size)
		return GMA_OUT_OF_MEMORY;
	s->used += size;
	return GMA_OK;
}

static int sim_segment_alloc(void *ctx, uint64_t size, uint64_t *addr)
{
	struct gma_sim *s = ctx;
	int r = take(s, granules(size));

	if (r)
		return r;
	*addr = s->place ? s->place(s->place_ctx, granules(size)) : s->next;
	s->next += s->place ? 0 : granules(size);
	return GMA_OK;
}

static int sim_segment_free(void *ctx, uint64_t addr, uint64_t size)
{
	struct gma_sim *s = ctx;

	if (fails(s))
		return GMA_DRIVER_ERROR;
	if (s->leave)
		s->leave(s->place_ctx, addr, granules(size));
	s->used -= granules(size);
	return GMA_OK;
}

static int sim_reserve(void *ctx, uint64_t size, uint64_t *addr)
{
	struct gma_sim *s = ctx;

	if (fails(s))
		return GMA_OUT_OF_MEMORY;
	*addr = s->next;
	s->next += granules(size);
	return GMA_OK;
}

static int sim_unreserve(void *ctx, uint64_t addr, uint64_t size)
{
	(void)addr;
	(void)size;
	return fails(ctx) ? GMA_DRIVER_ERROR : GMA_OK;
}

static int sim_map(void *ctx, uint64_t addr, uint64_t size, uint64_t page)
{
	(void)addr;
	(void)page;
	return take(ctx, size);
}

static int sim_unmap(void *ctx, uint64_t addr, uint64_t size, uint64_t page)
{
	struct gma_sim *s = ctx;

	(void)addr;
	(void)page;
	if (fails(s))
		return GMA_DRIVER_ERROR;
	s->used -= size;
	return GMA_OK;
}

static int sim_event_record(void *ctx, gma_stream stream, uint64_t *event)
{
	struct gma_sim *s = ctx;

	(void)stream;
	if (fails(s))
		return GMA_DRIVER_ERROR;
	*event = ++s->events;
	return GMA_OK;
}

static int sim_event_query(void *ctx, uint64_t event)
{
	struct gma_sim *s = ctx;

	if (fails(s))
		return GMA_DRIVER_ERROR;
	return event <= s->events_done ? GMA_OK : GMA_NOT_READY;
}

static int sim_event_wait(void *ctx, uint64_t event)
{
	struct gma_sim *s = ctx;

	if (fails(s))
		return GMA_DRIVER_ERROR;
	if (s->events_done < event)
		s->events_done = event;
	return GMA_OK;
}

static void sim_event_destroy(void *ctx, uint64_t event)
{
	(void)ctx;
	(void)event;
}

static int sim_device_info(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes)
{
	struct gma_sim *s = ctx;

	if (fails(s))
		return GMA_DRIVER_ERROR;
	*free_bytes = s->capacity - s->used;
	*total_bytes = s->total;
	return GMA_OK;
}

void gma_sim_backend(struct gma_sim *s, struct gma_backend *b, void *(*page_get)(void *, size_t),
		     void (*page_put)(void *, void *, size_t))
{
	*b = (struct gma_backend){
		.ctx = s,
		.segment_alloc = sim_segment_alloc,
		.segment_free = sim_segment_free,
		.reserve = sim_reserve,
		.unreserve = sim_unreserve,
		.map = sim_map,
		.unmap = sim_unmap,
		.event_record = s->no_events ? NULL : sim_event_record,
		.event_query = s->no_events ? NULL : sim_event_query,
		.event_wait = s->no_events ? NULL : sim_event_wait,
		.event_destroy = sim_event_destroy,
		.device_info = sim_device_info,
		.page_get = page_get,
		.page_put = page_put,
	};
}
