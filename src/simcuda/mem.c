/* mem.c: device memory of cuMemAlloc and cuMemAllocPitch, and cuMemGetInfo.
 *
 * Up to 1 MiB an allocation is a piece of a 2 MiB page that it may share with others of its context,
 * in steps of 512 bytes; above that it has whole pages to itself. A page goes back to the device when
 * its last piece is freed.
 */
#include <stdlib.h>

#include "simcuda/sim.h"

enum { SMALL_MAX = SIM_PAGE / 2, PITCH = 512 };

/* A range with its own backing, charged to the device. */
struct range *sim_range_charged(enum range_kind kind, int device, uint64_t bytes)
{
	uint64_t size = sim_round(bytes, SIM_PAGE);
	struct range *r;

	if (size < bytes || !sim_charge(device, size))
		return NULL;
	r = sim_range_new(kind, size);
	if (r)
		r->backing = sim_backing_new(device, size);
	if (!r || !r->backing) {
		sim_refund(device, size);
		if (r)
			sim_range_free(r);
		return NULL;
	}
	r->device = device;
	r->bytes = bytes;
	return r;
}

/* One more page to cut small pieces from. */
static struct block *page_new(struct context *ctx)
{
	struct range *r = sim_range_charged(RANGE_SMALL, ctx->device, SIM_PAGE);
	struct block *b;

	if (!r)
		return NULL;
	b = sim_heap_region(r, 0, SIM_PAGE_UNITS);
	if (!b) {
		sim_range_free(r);
		return NULL;
	}
	r->context = ctx;
	sim_range_own(r, &ctx->ranges);
	r->first = b;
	return sim_block_free(b, &ctx->small);
}

static void piece_free(struct block *b, struct bins *bins)
{
	struct range *r = b->range;

	b = sim_block_free(b, bins);
	if (b->len == SIM_PAGE_UNITS)
		sim_range_free(r);
}

static CUresult small_alloc(struct context *ctx, uint64_t bytes, CUdeviceptr *out)
{
	uint64_t units = sim_round(bytes, SIM_UNIT) / SIM_UNIT;
	struct block *b = sim_bins_find(&ctx->small, units);

	if (!b)
		b = page_new(ctx);
	if (b)
		b = sim_block_take(b, units);
	if (!b)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!sim_piece_index(b)) {
		piece_free(b, &ctx->small);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	b->bytes = bytes;
	b->id = ++sim.next_id;
	*out = sim_piece_addr(b);
	return CUDA_SUCCESS;
}

static CUresult large_alloc(struct context *ctx, uint64_t bytes, CUdeviceptr *out)
{
	struct range *r = sim_range_charged(RANGE_DEVICE, ctx->device, bytes);

	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->context = ctx;
	sim_range_own(r, &ctx->ranges);
	*out = r->base;
	return CUDA_SUCCESS;
}

CUresult sim_device_alloc(struct context *ctx, uint64_t bytes, CUdeviceptr *out)
{
	if (!out || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	return bytes <= SMALL_MAX ? small_alloc(ctx, bytes, out) : large_alloc(ctx, bytes, out);
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
	SIM_ENTER(cuMemAlloc_v2);
	SIM_CONTEXT(ctx);
	return sim_device_alloc(ctx, bytes, out);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
                            unsigned int element)
{
	uint64_t row, bytes;
	CUresult result;

	SIM_ENTER(cuMemAllocPitch_v2);
	SIM_CONTEXT(ctx);
	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	row = sim_round(width, PITCH);
	if (row < width || __builtin_mul_overflow(row, (uint64_t)height, &bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = sim_device_alloc(ctx, bytes, out);
	if (result == CUDA_SUCCESS)
		*pitch = row;
	return result;
}

/* Of sim_device_alloc's memory. */
void sim_device_free(uint64_t addr)
{
	struct range *r = sim_range_at(addr);
	struct block *b;

	if (r->kind == RANGE_DEVICE) {
		sim_range_free(r);
		return;
	}
	b = sim_piece_at(addr);
	sim_piece_unindex(b);
	piece_free(b, &r->context->small);
}

/* --- cuMemFreeAsync of it ------------------------------------------------------------------- */

/* Memory of cuMemAlloc that was freed on a stream: it goes when the host knows that the stream got
 * there, and until then cuMemFree may still take it. */
static struct leaving {
	uint64_t addr, id; /* of the allocation: it may have ended with its context */
	uint64_t stream, upto;
	struct leaving *next;
} *leavings;

static uint64_t place_id(const struct place *p)
{
	return p->piece ? p->piece->id : p->range->id;
}

static void leaving_drop(uint64_t addr)
{
	struct leaving **at = &leavings, *l;

	while (*at && (*at)->addr != addr)
		at = &(*at)->next;
	l = *at;
	if (l)
		*at = l->next;
	free(l);
}

CUresult sim_device_free_on(uint64_t addr, struct stream *s)
{
	struct leaving *l;
	struct place p;

	if (!sim_place(addr, &p))
		return CUDA_ERROR_INVALID_VALUE;
	for (l = leavings; l; l = l->next)
		if (l->addr == addr && l->id == place_id(&p))
			return CUDA_ERROR_INVALID_VALUE;
	leaving_drop(addr);
	l = malloc(sizeof(*l));
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_stream_work(s);
	*l = (struct leaving){addr, place_id(&p), s->id, s->submitted, leavings};
	leavings = l;
	return CUDA_SUCCESS;
}

/* Those that this stream has got to; with no stream, all. */
static void leavings_end(const struct stream *s)
{
	for (struct leaving *l = leavings, *next; l; l = next) {
		struct place p;

		next = l->next;
		if (s && (l->stream != s->id || l->upto > s->completed))
			continue;
		if (sim_place(l->addr, &p) && p.base == l->addr && place_id(&p) == l->id)
			sim_device_free(l->addr);
		leaving_drop(l->addr);
	}
}

void sim_device_ready(const struct stream *s)
{
	leavings_end(s);
}

void sim_device_reclaim(void)
{
	leavings_end(NULL);
}

/* Freeing waits for the work of the context, which may still use the memory. */
CUresult cuMemFree_v2(CUdeviceptr addr)
{
	struct place p;

	SIM_ENTER(cuMemFree_v2);
	SIM_CONTEXT(ctx);
	if (!addr)
		return CUDA_SUCCESS;
	if (!sim_place(addr, &p) || p.base != addr)
		return CUDA_ERROR_INVALID_VALUE;
	leaving_drop(addr);
	sim_streams_finish(p.range->context ? p.range->context : ctx);
	switch (p.range->kind) {
	case RANGE_SMALL:
	case RANGE_DEVICE:
		sim_device_free(addr);
		return CUDA_SUCCESS;
	case RANGE_POOL:
		return sim_pool_free(p.piece, NULL);
	case RANGE_GRAPH:
		return sim_graph_mem_free(p.range);
	case RANGE_IMPORTED:
		if (p.range->imported) /* cuIpcCloseMemHandle's */
			return CUDA_ERROR_INVALID_VALUE;
		/* fall through */
	case RANGE_MANAGED:
		sim_range_free(p.range);
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* A context ends: everything in it goes. */
void sim_mem_end(struct context *ctx)
{
	while (ctx->ranges)
		sim_range_free(ctx->ranges);
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total)
{
	const struct device *d;

	SIM_ENTER(cuMemGetInfo_v2);
	SIM_CONTEXT(ctx);
	d = &sim.device[ctx->device];
	if (available)
		*available = d->total - d->used;
	if (total)
		*total = d->total;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr addr)
{
	struct place p;

	SIM_ENTER(cuMemGetAddressRange_v2);
	if (!sim_place(addr, &p))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = p.base;
	if (size)
		*size = p.bytes;
	return CUDA_SUCCESS;
}
