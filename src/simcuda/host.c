/* host.c: memory that the host can touch too: managed, page-locked, and registered.
 *
 * Managed and page-locked memory lies in the devices' address space with host memory mapped right
 * there, so that one address serves both sides. Registered memory stays where the program has it.
 */
#include <stdlib.h>

#include "simcuda/sim.h"

struct registered {
	uint64_t base, bytes;
	unsigned flags;
	struct registered *next;
};

static CUresult host_alloc(struct context *ctx, enum range_kind kind, uint64_t bytes, unsigned flags,
                           uint64_t *out)
{
	uint64_t size = sim_round(bytes, SIM_PAGE);
	struct range *r = size < bytes ? NULL : sim_range_new(kind, size);

	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!sim_space_host(r, bytes)) {
		sim_range_free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r->device = ctx->device;
	r->bytes = bytes;
	r->flags = flags;
	r->context = ctx;
	sim_range_own(r, &ctx->ranges);
	*out = r->base;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned int flags)
{
	uint64_t at = 0;
	CUresult result;

	SIM_ENTER(cuMemAllocManaged);
	SIM_CONTEXT(ctx);
	if (!out || !bytes || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	result = host_alloc(ctx, RANGE_MANAGED, bytes, flags, &at);
	if (result == CUDA_SUCCESS)
		*out = at;
	return result;
}

static CUresult pinned_alloc(void **out, size_t bytes, unsigned flags)
{
	uint64_t at = 0;
	CUresult result;

	SIM_CONTEXT(ctx);
	if (!out || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	if (!bytes) {
		*out = NULL;
		return CUDA_SUCCESS;
	}
	result = host_alloc(ctx, RANGE_PINNED, bytes, flags, &at);
	if (result == CUDA_SUCCESS)
		*out = (void *)at;
	return result;
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned int flags)
{
	SIM_ENTER(cuMemHostAlloc);
	return pinned_alloc(out, bytes, flags);
}

CUresult cuMemAllocHost_v2(void **out, size_t bytes)
{
	SIM_ENTER(cuMemAllocHost_v2);
	return pinned_alloc(out, bytes, CU_MEMHOSTALLOC_DEVICEMAP);
}

CUresult cuMemFreeHost(void *at)
{
	struct range *r;

	SIM_ENTER(cuMemFreeHost);
	SIM_CONTEXT(ctx);
	if (!at)
		return CUDA_SUCCESS;
	r = sim_range_at((uint64_t)at);
	if (!r || r->kind != RANGE_PINNED || r->base != (uint64_t)at)
		return CUDA_ERROR_INVALID_VALUE;
	sim_streams_finish(ctx);
	sim_range_free(r);
	return CUDA_SUCCESS;
}

/* --- registered ----------------------------------------------------------------------------- */

static struct registered **registered_at(struct context *ctx, uint64_t addr)
{
	struct registered **at = &ctx->registered;

	while (*at && addr - (*at)->base >= (*at)->bytes)
		at = &(*at)->next;
	return at;
}

CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags)
{
	uint64_t base = (uint64_t)p;
	struct registered *r;

	SIM_ENTER(cuMemHostRegister_v2);
	SIM_CONTEXT(ctx);
	if (!p || !bytes || flags & ~15u || base + bytes < base)
		return CUDA_ERROR_INVALID_VALUE;
	for (r = ctx->registered; r; r = r->next)
		if (base < r->base + r->bytes && r->base < base + bytes)
			return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	r = malloc(sizeof(*r));
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*r = (struct registered){base, bytes, flags, ctx->registered};
	ctx->registered = r;
	return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *p, size_t bytes, unsigned int flags)
{
	return cuMemHostRegister_v2(p, bytes, flags);
}

CUresult cuMemHostUnregister(void *p)
{
	struct registered **at, *r;

	SIM_ENTER(cuMemHostUnregister);
	SIM_CONTEXT(ctx);
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	at = registered_at(ctx, (uint64_t)p);
	r = *at;
	if (!r)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	if (r->base != (uint64_t)p)
		return CUDA_ERROR_INVALID_VALUE;
	*at = r->next;
	free(r);
	return CUDA_SUCCESS;
}

void sim_registered_end(struct context *ctx)
{
	while (ctx->registered) {
		struct registered *r = ctx->registered;

		ctx->registered = r->next;
		free(r);
	}
}

bool sim_registered(struct context *ctx, uint64_t addr, struct place *place)
{
	const struct registered *r = *registered_at(ctx, addr);

	if (r)
		*place = (struct place){NULL, NULL, r->base, r->bytes};
	return r != NULL;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned int flags)
{
	struct place place;

	SIM_ENTER(cuMemHostGetDevicePointer_v2);
	SIM_CONTEXT(ctx);
	if (!out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!(sim_place((uint64_t)p, &place) && place.range->kind == RANGE_PINNED) &&
	    !sim_registered(ctx, (uint64_t)p, &place))
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUdeviceptr)p;
	return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *p)
{
	struct place place;

	SIM_ENTER(cuMemHostGetFlags);
	SIM_CONTEXT(ctx);
	(void)ctx;
	if (!flags || !sim_place((uint64_t)p, &place) || place.range->kind != RANGE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = place.range->flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return CUDA_SUCCESS;
}

/* --- managed memory moves by hints ---------------------------------------------------------- */

static CUresult managed_span(CUdeviceptr addr, size_t bytes)
{
	struct place p;

	if (!bytes || !sim_place(addr, &p) || p.range->kind != RANGE_MANAGED ||
	    bytes > p.base + p.bytes - addr)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult prefetch(CUdeviceptr addr, size_t bytes, CUstream stream)
{
	SIM_STREAM(s, stream);
	sim_stream_work(s);
	return managed_span(addr, bytes);
}

CUresult cuMemPrefetchAsync(CUdeviceptr addr, size_t bytes, CUdevice dev, CUstream stream)
{
	SIM_ENTER(cuMemPrefetchAsync);
	if (dev != CU_DEVICE_CPU && !sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return prefetch(addr, bytes, stream);
}

CUresult cuMemAdvise(CUdeviceptr addr, size_t bytes, CUmem_advise advice, CUdevice dev)
{
	SIM_ENTER(cuMemAdvise);
	(void)advice;
	if (dev != CU_DEVICE_CPU && !sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return managed_span(addr, bytes);
}

#if CUDA_VERSION >= 12020
static bool location_ok(CUmemLocation where)
{
	return where.type != CU_MEM_LOCATION_TYPE_DEVICE || sim_device_ok(where.id);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr addr, size_t bytes, CUmemLocation where, unsigned int flags,
                               CUstream stream)
{
	SIM_ENTER(cuMemPrefetchAsync_v2);
	if (flags || !location_ok(where))
		return CUDA_ERROR_INVALID_VALUE;
	return prefetch(addr, bytes, stream);
}

CUresult cuMemAdvise_v2(CUdeviceptr addr, size_t bytes, CUmem_advise advice, CUmemLocation where)
{
	SIM_ENTER(cuMemAdvise_v2);
	(void)advice;
	return location_ok(where) ? managed_span(addr, bytes) : CUDA_ERROR_INVALID_VALUE;
}
#endif
