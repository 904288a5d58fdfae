/* pool.c: memory pools and the stream-ordered allocations made from them.
 *
 * A pool reserves ranges of device memory, 32 MiB at a time, and cuts them into blocks of 512-byte
 * steps; what it says it uses is the bytes asked for. A block freed on a stream that still has work is
 * pending: that stream may have it again at once, another only under one of the pool's three reuse
 * policies, everyone once the host knows that the stream got there. Order of search, as measured on a
 * real driver: the stream's own pending blocks; those whose free it is ordered after by events; blocks
 * free to all; blocks of other streams that it can be made to wait for; new memory. Synchronising gives
 * back ranges that are wholly free, until no more than the threshold is left.
 */
#include <stdlib.h>

#include "simcuda/sim.h"

enum { POOL_STEP = 32 * 1024 * 1024 };

/* --- life ----------------------------------------------------------------------------------- */

struct pool *sim_pool_new(int device)
{
	struct pool *p = calloc(1, sizeof(*p));
	struct pool **end = &sim.pools;

	if (!p || !sim_handle_add(p, HANDLE_POOL)) {
		free(p);
		return NULL;
	}
	p->device = device;
	p->id = ++sim.next_id;
	p->follow_events = p->opportunistic = p->internal = 1;
	p->access[device] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	p->is_default = !sim.device[device].default_pool;
	while (*end)
		end = &(*end)->next;
	*end = p;
	return p;
}

static void pool_end(struct pool *p)
{
	struct pool **at = &sim.pools;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	while (p->pendings) {
		struct pending *q = p->pendings, **s = &q->stream->pendings;

		p->pendings = q->next_in_pool;
		while (*s != q)
			s = &(*s)->next_in_stream;
		*s = q->next_in_stream;
		free(q);
	}
	while (p->ranges)
		sim_range_free(p->ranges);
	free(p);
}

/* --- free blocks ---------------------------------------------------------------------------- */

static bool whole(const struct block *b)
{
	return b->len * SIM_UNIT == ((const struct range *)b->range)->size;
}

/* A block has come to be free for all: remember the memory that could go back to the device. */
static void note_ready(struct pool *p, const struct block *b)
{
	if (whole(b))
		p->idle += b->len * SIM_UNIT;
}

static struct block *take(struct pool *p, struct block *b, uint64_t units)
{
	bool idle = b->bins == &p->ready && whole(b);

	b = sim_block_take(b, units);
	if (b && idle)
		p->idle -= ((struct range *)b->range)->size;
	return b;
}

static struct pending *pending_of(struct pool *p, struct stream *s, bool create)
{
	struct pending *q;

	for (q = s->pendings; q; q = q->next_in_stream)
		if (q->pool == p)
			return q;
	q = create ? calloc(1, sizeof(*q)) : NULL;
	if (!q)
		return NULL;
	q->pool = p;
	q->stream = s;
	q->next_in_pool = p->pendings;
	p->pendings = q;
	q->next_in_stream = s->pendings;
	s->pendings = q;
	return q;
}

void sim_pool_ready(struct stream *s)
{
	for (struct pending *q = s->pendings; q; q = q->next_in_stream)
		for (unsigned c = 0; q->bins.blocks && c < BIN_CLASSES; c++)
			for (struct block *b = q->bins.list[c], *next; b; b = next) {
				next = b->next;
				if (b->ready <= s->completed)
					note_ready(q->pool, sim_block_move(b, &q->pool->ready));
			}
}

/* The stream is over; so is its work. */
void sim_pool_forget(struct stream *s)
{
	s->completed = UINT64_MAX;
	sim_pool_ready(s);
	while (s->pendings) {
		struct pending *q = s->pendings, **at = &q->pool->pendings;

		s->pendings = q->next_in_stream;
		while (*at != q)
			at = &(*at)->next_in_pool;
		*at = q->next_in_pool;
		free(q);
	}
}

/* --- memory from and to the device ---------------------------------------------------------- */

static struct block *grow_by(struct pool *p, uint64_t size)
{
	struct range *r;
	struct block *b;

	if (p->limit && size > p->limit - p->reserved)
		return NULL;
	r = sim_range_charged(RANGE_POOL, p->device, size);
	if (!r)
		return NULL;
	b = sim_heap_region(r, 0, size / SIM_UNIT);
	if (!b) {
		sim_range_free(r);
		return NULL;
	}
	r->first = b;
	r->pool = p;
	sim_range_own(r, &p->ranges);
	p->reserved += size;
	if (p->reserved_high < p->reserved)
		p->reserved_high = p->reserved;
	b = sim_block_free(b, &p->ready);
	note_ready(p, b);
	return b;
}

static struct block *grow(struct pool *p, uint64_t bytes)
{
	uint64_t step = sim_round(bytes, POOL_STEP), least = sim_round(bytes, SIM_PAGE);
	struct block *b = step < bytes ? NULL : grow_by(p, step);

	return b || least == step || least < bytes ? b : grow_by(p, least);
}

/* Give ranges back while more than most is reserved, and never so that less than least is left. */
static void release(struct pool *p, uint64_t most, uint64_t least)
{
	struct range *next;

	for (struct range *r = p->ranges; r && p->idle && p->reserved > most; r = next) {
		next = r->next;
		if (r->first->bins != &p->ready || !whole(r->first) || p->reserved - r->size < least)
			continue;
		p->reserved -= r->size;
		p->idle -= r->size;
		sim_range_free(r);
	}
}

void sim_pool_sync(int device)
{
	for (struct pool *p = sim.pools; p; p = p->next)
		if (p->device == device && p->idle && p->reserved > p->threshold)
			release(p, p->threshold, 0);
}

void sim_pool_reclaim(int device)
{
	for (struct pool *p = sim.pools; p; p = p->next)
		if (p->device == device && p->idle)
			release(p, 0, 0);
}

/* --- alloc and free ------------------------------------------------------------------------- */

/* A block whose free, on another stream, this stream comes after; or, with force, which it can be made
 * to come after. */
static struct block *find_other(struct pool *p, struct stream *s, uint64_t units, bool force)
{
	for (struct pending *q = p->pendings; q; q = q->next_in_pool) {
		uint64_t upto = force ? q->stream->submitted : sim_stream_order(s, q->stream);
		struct block *b = upto && q->bins.blocks ? sim_bins_find_ready(&q->bins, units, upto) : NULL;

		if (b && force)
			sim_stream_wait(s, q->stream, b->ready);
		if (b)
			return b;
	}
	return NULL;
}

static struct block *find(struct pool *p, struct stream *s, uint64_t units)
{
	struct pending *own = pending_of(p, s, false);
	struct block *b = own ? sim_bins_find(&own->bins, units) : NULL;

	if (!b && p->follow_events)
		b = find_other(p, s, units, false);
	if (!b)
		b = sim_bins_find(&p->ready, units);
	if (!b && p->internal)
		b = find_other(p, s, units, true);
	return b ? b : grow(p, units * SIM_UNIT);
}

CUresult sim_pool_alloc(struct pool *p, struct stream *s, uint64_t bytes, CUdeviceptr *out)
{
	uint64_t units = sim_round(bytes, SIM_UNIT) / SIM_UNIT;
	struct block *b;

	if (!bytes) { /* nothing, and no error */
		*out = 0;
		return CUDA_SUCCESS;
	}
	if (units * SIM_UNIT < bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	b = find(p, s, units);
	if (b)
		b = take(p, b, units);
	if (!b)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!sim_piece_index(b)) {
		note_ready(p, sim_block_free(b, &p->ready));
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	b->bytes = bytes;
	b->id = ++sim.next_id;
	p->live++;
	p->used += bytes;
	if (p->used_high < p->used)
		p->used_high = p->used;
	*out = sim_piece_addr(b);
	return CUDA_SUCCESS;
}

CUresult sim_pool_free(struct block *b, struct stream *s)
{
	struct pool *p = ((struct range *)b->range)->pool;
	struct pending *q = NULL;

	sim_piece_unindex(b);
	p->live--;
	if (s) /* a real driver's count keeps what cuMemFree took, too */
		p->used -= b->bytes;
	if (s && (!p->opportunistic || sim_stream_busy(s))) {
		sim_stream_work(s);
		q = pending_of(p, s, true);
		b->ready = s->submitted;
	}
	if (q)
		sim_block_free(b, &q->bins);
	else
		note_ready(p, sim_block_free(b, &p->ready));
	if (p->dying && !p->live)
		pool_end(p);
	return CUDA_SUCCESS;
}

/* --- the functions -------------------------------------------------------------------------- */

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream)
{
	SIM_ENTER(cuMemAllocAsync);
	SIM_STREAM(s, stream);
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->capture)
		return sim_capture_alloc(s, bytes, out);
	return sim_pool_alloc(sim.device[s->context->device].pool, s, bytes, out);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	SIM_ENTER(cuMemAllocFromPoolAsync);
	SIM_STREAM(s, stream);
	if (!out || !sim_pool_ok(pool) || ((struct pool *)pool)->imported)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->capture)
		return sim_capture_alloc(s, bytes, out);
	return sim_pool_alloc((struct pool *)pool, s, bytes, out);
}

CUresult cuMemFreeAsync(CUdeviceptr addr, CUstream stream)
{
	struct place p;

	SIM_ENTER(cuMemFreeAsync);
	SIM_STREAM(s, stream);
	if (!addr)
		return CUDA_SUCCESS;
	if (s->capture) /* also of an allocation that is only a node so far */
		return sim_capture_free(s, addr);
	if (!sim_place(addr, &p) || p.base != addr)
		return CUDA_ERROR_INVALID_VALUE;
	if (p.range->kind == RANGE_POOL)
		return sim_pool_free(p.piece, s);
	if (p.range->kind == RANGE_DEVICE || p.range->kind == RANGE_SMALL)
		return sim_device_free_on(addr, s);
	if (p.range->kind == RANGE_GRAPH)
		return sim_graph_mem_free(p.range);
	if (p.range->kind == RANGE_IMPORTED && p.range->pool) {
		sim_range_free(p.range);
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

bool sim_pool_ok(CUmemoryPool pool)
{
	return sim_handle_is(pool, HANDLE_POOL);
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
	struct pool *p;

	SIM_ENTER(cuMemPoolCreate);
	if (!out || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!sim_device_ok(props->location.id) ||
	    props->handleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	p = sim_pool_new(props->location.id);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->handle_types = props->handleTypes;
#if CUDA_VERSION >= 12020
	p->limit = props->maxSize;
#endif
	*out = (CUmemoryPool)p;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	struct pool *p = (struct pool *)pool;

	SIM_ENTER(cuMemPoolDestroy);
	if (!sim_pool_ok(pool) || p->is_default)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim.device[p->device].pool == p)
		sim.device[p->device].pool = sim.device[p->device].default_pool;
	sim_handle_drop(p);
	p->dying = true;
	if (!p->live)
		pool_end(p);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	SIM_ENTER(cuMemPoolTrimTo);
	if (!sim_pool_ok(pool))
		return CUDA_ERROR_INVALID_VALUE;
	release((struct pool *)pool, keep, keep);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	struct pool *p = (struct pool *)pool;

	SIM_ENTER(cuMemPoolSetAttribute);
	if (!sim_pool_ok(pool) || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
		p->follow_events = *(int *)value != 0;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
		p->opportunistic = *(int *)value != 0;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		p->internal = *(int *)value != 0;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		p->threshold = *(cuuint64_t *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		p->reserved_high = p->reserved;
		return *(cuuint64_t *)value ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		p->used_high = p->used;
		return *(cuuint64_t *)value ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	const struct pool *p = (const struct pool *)pool;

	SIM_ENTER(cuMemPoolGetAttribute);
	if (!sim_pool_ok(pool) || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
		*(int *)value = p->follow_events;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
		*(int *)value = p->opportunistic;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = p->internal;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(cuuint64_t *)value = p->threshold;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		*(cuuint64_t *)value = p->reserved;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)value = p->reserved_high;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)value = p->used;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = p->used_high;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	struct pool *p = (struct pool *)pool;

	SIM_ENTER(cuMemPoolSetAccess);
	if (!sim_pool_ok(pool) || (!map && count))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
			return CUDA_ERROR_INVALID_VALUE;
		if (!sim_device_ok(map[i].location.id))
			return CUDA_ERROR_INVALID_DEVICE;
		if (map[i].location.id == p->device && map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
			return CUDA_ERROR_INVALID_VALUE; /* the owner always has access */
	}
	for (size_t i = 0; i < count; i++)
		p->access[map[i].location.id] = map[i].flags;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
	SIM_ENTER(cuMemPoolGetAccess);
	if (!flags || !location || !sim_pool_ok(pool) || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_ok(location->id))
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = ((struct pool *)pool)->access[location->id];
	return CUDA_SUCCESS;
}

/* --- the pool of a device ------------------------------------------------------------------- */

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice dev)
{
	SIM_ENTER(cuDeviceGetDefaultMemPool);
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*out = (CUmemoryPool)sim.device[dev].default_pool;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice dev)
{
	SIM_ENTER(cuDeviceGetMemPool);
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*out = (CUmemoryPool)sim.device[dev].pool;
	return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	SIM_ENTER(cuDeviceSetMemPool);
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!sim_pool_ok(pool) || ((struct pool *)pool)->device != dev)
		return CUDA_ERROR_INVALID_VALUE;
	sim.device[dev].pool = (struct pool *)pool;
	return CUDA_SUCCESS;
}
