/* core_region.c: growth:False: one range of the device, taken at the start; segments are cut out of it.
 *
 * The cutting is done by a second core: its only segment is the range, its requests are whole
 * segments, multiples of 2 MiB. Its own device refuses everything, so the range never grows.
 * Expandable segments make no sense inside it and are not offered.
 */
#include "alloc/core_region.h"
#include "alloc/core.h"
#include "alloc/core_addr.h"
#include <string.h>

struct gma_region {
	struct gma_core *core;
	struct gma_backend below; /* the real device */
	struct gma_addr cut;
	uint64_t addr, size;
};

static int refuse_alloc(void *ctx, uint64_t size, uint64_t *addr)
{
	(void)ctx;
	(void)size;
	(void)addr;
	return GMA_OUT_OF_MEMORY;
}

static int refuse_free(void *ctx, uint64_t addr, uint64_t size)
{
	(void)ctx;
	(void)addr;
	(void)size;
	return GMA_NOT_SUPPORTED;
}

static int region_alloc(void *ctx, uint64_t size, uint64_t *addr)
{
	struct gma_region *r = ctx;
	struct gma_request q = {.size = size};
	struct gma_block *b;
	int e;

	if (!gma_addr_room(&r->cut))
		return GMA_NO_HOST_MEMORY;
	e = gma_core_malloc(r->core, &q, &b);
	if (e)
		return e;
	gma_addr_put(&r->cut, b->addr, b);
	*addr = b->addr;
	return GMA_OK;
}

static int region_free(void *ctx, uint64_t addr, uint64_t size)
{
	struct gma_region *r = ctx;
	struct gma_block *b = gma_addr_take(&r->cut, addr);

	(void)size;
	if (!b)
		return GMA_INVALID_POINTER;
	gma_core_free(r->core, b);
	return GMA_OK;
}

static int region_event_record(void *ctx, gma_stream stream, uint64_t *event)
{
	struct gma_region *r = ctx;

	return r->below.event_record(r->below.ctx, stream, event);
}

static int region_event_query(void *ctx, uint64_t event)
{
	struct gma_region *r = ctx;

	return r->below.event_query(r->below.ctx, event);
}

static int region_event_wait(void *ctx, uint64_t event)
{
	struct gma_region *r = ctx;

	return r->below.event_wait(r->below.ctx, event);
}

static void region_event_destroy(void *ctx, uint64_t event)
{
	struct gma_region *r = ctx;

	r->below.event_destroy(r->below.ctx, event);
}

static int region_info(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes)
{
	struct gma_region *r = ctx;
	int e = r->below.device_info(r->below.ctx, free_bytes, total_bytes);

	if (!e)
		*free_bytes += r->size - gma_core_active(r->core); /* what is not cut yet */
	return e;
}

static void *region_page_get(void *ctx, size_t bytes)
{
	struct gma_region *r = ctx;

	return r->below.page_get(r->below.ctx, bytes);
}

static void region_page_put(void *ctx, void *page, size_t bytes)
{
	struct gma_region *r = ctx;

	r->below.page_put(r->below.ctx, page, bytes);
}

static void fill(struct gma_backend *b, struct gma_region *r)
{
	bool events = r->below.event_record != NULL;

	*b = (struct gma_backend){.ctx = r,
				  .segment_alloc = region_alloc,
				  .segment_free = region_free,
				  .event_record = events ? region_event_record : NULL,
				  .event_query = events ? region_event_query : NULL,
				  .event_wait = events ? region_event_wait : NULL,
				  .event_destroy = events ? region_event_destroy : NULL,
				  .device_info = region_info,
				  .page_get = region_page_get,
				  .page_put = region_page_put};
}

int gma_region_create(struct gma_region **out, const struct gma_backend *below, uint64_t bytes, struct gma_backend *b)
{
	struct gma_region *r = below->page_get(below->ctx, sizeof *r);
	struct gma_backend inner;
	struct gma_conf conf;
	int e;

	*out = r;
	if (!r)
		return GMA_NO_HOST_MEMORY;
	memset(r, 0, sizeof *r);
	r->below = *below;
	r->cut.be = &r->below;
	r->size = bytes & ~(GMA_SEGMENT_ROUND - 1);
	if (!r->size)
		return GMA_INVALID_VALUE;
	e = below->segment_alloc(below->ctx, r->size, &r->addr);
	if (e)
		return e;
	fill(b, r);
	inner = *b;
	inner.segment_alloc = refuse_alloc;
	inner.segment_free = refuse_free;
	gma_conf_default(&conf);
	e = gma_core_create(&r->core, &conf, &inner);
	return e ? e : gma_core_adopt(r->core, r->addr, r->size, 0, NULL, false, false, NULL, 0, NULL);
}

void gma_region_destroy(struct gma_region *r)
{
	struct gma_backend below;

	if (!r)
		return;
	gma_core_destroy(r->core);
	if (r->addr)
		r->below.segment_free(r->below.ctx, r->addr, r->size);
	gma_addr_free(&r->cut);
	below = r->below;
	below.page_put(below.ctx, r, sizeof *r);
}

uint64_t gma_region_size(const struct gma_region *r)
{
	return r->size;
}

uint64_t gma_region_usual(uint64_t free_bytes)
{
	return free_bytes - free_bytes / 16;
}
