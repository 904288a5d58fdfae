/* pointer.c: what the driver says about an address. */
#include <string.h>

#include "simcuda/sim.h"

/* An address as the attributes see it. */
struct pointer {
	uint64_t addr;
	bool known;
	struct place place;
	bool host, device; /* which side can touch it */
};

static struct pointer look(CUdeviceptr addr)
{
	struct context *ctx = sim_current();
	struct pointer p = {.addr = addr};

	p.known = sim_place(addr, &p.place) || (ctx && sim_registered(ctx, addr, &p.place));
	if (!p.known)
		return p;
	p.host =
	    !p.place.range || p.place.range->kind == RANGE_PINNED || p.place.range->kind == RANGE_MANAGED;
	p.device = true;
	return p;
}

static struct pool *pool_of(const struct pointer *p)
{
	return p->place.range && p->place.range->kind == RANGE_POOL ? p->place.range->pool : NULL;
}

static unsigned handle_types(const struct pointer *p)
{
	const struct range *r = p->place.range;

	if (pool_of(p))
		return pool_of(p)->handle_types;
	return r && r->kind == RANGE_MAPPED ? sim_physical_handle_types(r->physical) : 0;
}

static int memory_type(const struct pointer *p)
{
	return !p->place.range || p->place.range->kind == RANGE_PINNED ? CU_MEMORYTYPE_HOST
	                                                               : CU_MEMORYTYPE_DEVICE;
}

static uint64_t buffer_id(const struct pointer *p)
{
	return p->place.piece ? p->place.piece->id : p->place.range ? p->place.range->id : 0;
}

static void *context_of(const struct pointer *p)
{
	const struct range *r = p->place.range;

	return !r ? sim_current() : r->kind == RANGE_POOL || r->kind == RANGE_MAPPED ? NULL : r->context;
}

/* One attribute; the values of an unknown pointer are what cuPointerGetAttributes gives for it. */
static CUresult attribute(const struct pointer *p, CUpointer_attribute what, void *data)
{
	const struct range *r = p->place.range;

	switch ((int)what) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(void **)data = p->known ? context_of(p) : NULL;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = p->known ? (unsigned)memory_type(p) : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = p->device ? p->addr : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(void **)data = p->host ? (void *)p->addr : NULL;
		return p->known && !p->host ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(unsigned *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = p->known ? buffer_id(p) : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)data = r && r->kind == RANGE_MANAGED;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = !p->known ? -2 : r ? r->device : sim_current()->device;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(unsigned *)data = r && (r->kind == RANGE_DEVICE || r->kind == RANGE_SMALL);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = p->known ? p->place.base : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = p->known ? p->place.bytes : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned *)data = p->known;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned long long *)data = p->known ? handle_types(p) : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned *)data = p->known ? 3 : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(void **)data = p->known ? pool_of(p) : NULL;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*(CUdeviceptr *)data = r ? r->base : p->known ? p->place.base : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*(size_t *)data = r ? r->size : p->known ? p->place.bytes : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned long long *)data = r ? r->id : 0;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute what, CUdeviceptr addr)
{
	struct pointer p;

	SIM_ENTER(cuPointerGetAttribute);
	SIM_CONTEXT(ctx);
	(void)ctx;
	if (!data)
		return CUDA_ERROR_INVALID_VALUE;
	p = look(addr);
	return p.known ? attribute(&p, what, data) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *what, void **data, CUdeviceptr addr)
{
	struct pointer p;

	SIM_ENTER(cuPointerGetAttributes);
	SIM_CONTEXT(ctx);
	(void)ctx;
	if (!count || !what || !data)
		return CUDA_ERROR_INVALID_VALUE;
	p = look(addr);
	for (unsigned i = 0; i < count; i++)
		attribute(&p, what[i], data[i]);
	return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute what, CUdeviceptr addr)
{
	SIM_ENTER(cuPointerSetAttribute);
	if (!value || what != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !look(addr).known)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
