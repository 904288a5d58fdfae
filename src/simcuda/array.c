/* array.c: CUDA arrays and mipmapped arrays: device memory behind an opaque handle.
 *
 * A real device keeps arrays in tiles of its own; here rows follow each other, each padded to 512
 * bytes, and the whole is padded to 64 KiB, which comes close to what such tiles take.
 */
#include <stdlib.h>

#include "simcuda/sim.h"

enum { ROW = 512, TILE = 64 * 1024 };

struct array {
	CUDA_ARRAY3D_DESCRIPTOR shape;
	uint64_t addr, bytes;
	struct context *context;
	struct array *levels; /* of a mipmapped array: its levels, chained by next */
	bool level;           /* lives in a mipmapped array's memory */
	struct array *next;
};

static unsigned format_bytes(CUarray_format format)
{
	switch ((int)format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

static uint64_t row_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return sim_round(d->Width * d->NumChannels * format_bytes(d->Format), ROW);
}

static uint64_t rows_of(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return d->Height ? d->Height : 1;
}

static bool shape_ok(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return d->Width && d->Width <= 1 << 17 && d->Height <= 1 << 17 && d->Depth <= 1 << 14 &&
	       (d->NumChannels == 1 || d->NumChannels == 2 || d->NumChannels == 4) && format_bytes(d->Format);
}

static uint64_t shape_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return sim_round(row_bytes(d) * rows_of(d) * (d->Depth ? d->Depth : 1), TILE);
}

static struct array *array_new(struct context *ctx, const CUDA_ARRAY3D_DESCRIPTOR *shape,
                               enum handle_kind kind)
{
	struct array *a = calloc(1, sizeof(*a));

	if (!a || !sim_handle_add(a, kind)) {
		free(a);
		return NULL;
	}
	a->shape = *shape;
	a->context = ctx;
	return a;
}

static void array_forget(struct array *a)
{
	while (a->levels) {
		struct array *level = a->levels;

		a->levels = level->next;
		array_forget(level);
	}
	sim_handle_drop(a);
	free(a);
}

/* Get the memory of an array whose size is known, and make it the context's. */
static CUresult array_back(struct array *a, uint64_t bytes)
{
	CUdeviceptr addr;
	CUresult result = sim_device_alloc(a->context, bytes, &addr);

	if (result != CUDA_SUCCESS) {
		array_forget(a);
		return result;
	}
	a->addr = addr;
	a->bytes = bytes;
	a->next = a->context->arrays;
	a->context->arrays = a;
	return CUDA_SUCCESS;
}

static CUresult array_create(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	struct array *a;
	CUresult result;

	SIM_CONTEXT(ctx);
	if (!out || !shape_ok(shape))
		return CUDA_ERROR_INVALID_VALUE;
	a = array_new(ctx, shape, HANDLE_ARRAY);
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = array_back(a, shape_bytes(shape));
	if (result == CUDA_SUCCESS)
		*out = (CUarray)a;
	return result;
}

CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;

	SIM_ENTER(cuArrayCreate_v2);
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	shape = (CUDA_ARRAY3D_DESCRIPTOR){
	    .Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels};
	return array_create(out, &shape);
}

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	SIM_ENTER(cuArray3DCreate_v2);
	return d ? array_create(out, d) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult array_destroy(struct array *a)
{
	struct array **at = &a->context->arrays;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	sim_streams_finish(a->context);
	sim_device_free(a->addr);
	array_forget(a);
	return CUDA_SUCCESS;
}

CUresult cuArrayDestroy(CUarray handle)
{
	SIM_ENTER(cuArrayDestroy);
	if (!sim_handle_is(handle, HANDLE_ARRAY) || ((struct array *)handle)->level)
		return CUDA_ERROR_INVALID_HANDLE;
	return array_destroy((struct array *)handle);
}

/* Each level is half as large as the one before; all lie one after the other. */
CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int count)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;
	struct array *a, **end;
	uint64_t bytes = 0;
	CUresult result;

	SIM_ENTER(cuMipmappedArrayCreate);
	SIM_CONTEXT(ctx);
	if (!out || !d || !shape_ok(d) || !count)
		return CUDA_ERROR_INVALID_VALUE;
	a = array_new(ctx, d, HANDLE_MIPMAP);
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	shape = *d;
	end = &a->levels;
	for (unsigned i = 0; i < count && i < 18; i++) {
		struct array *level = array_new(ctx, &shape, HANDLE_ARRAY);

		if (!level) {
			array_forget(a);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		level->level = true;
		level->addr = bytes;
		level->bytes = shape_bytes(&shape);
		bytes += level->bytes;
		*end = level;
		end = &level->next;
		shape.Width = shape.Width > 1 ? shape.Width / 2 : 1;
		shape.Height = shape.Height > 1 ? shape.Height / 2 : shape.Height;
		shape.Depth = shape.Depth > 1 ? shape.Depth / 2 : shape.Depth;
	}
	result = array_back(a, bytes);
	if (result != CUDA_SUCCESS)
		return result;
	for (struct array *level = a->levels; level; level = level->next)
		level->addr += a->addr;
	*out = (CUmipmappedArray)a;
	return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray handle, unsigned int level)
{
	struct array *a;

	SIM_ENTER(cuMipmappedArrayGetLevel);
	if (!out || !sim_handle_is(handle, HANDLE_MIPMAP))
		return CUDA_ERROR_INVALID_VALUE;
	for (a = ((struct array *)handle)->levels; a && level; a = a->next)
		level--;
	*out = (CUarray)a;
	return a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle)
{
	SIM_ENTER(cuMipmappedArrayDestroy);
	if (!sim_handle_is(handle, HANDLE_MIPMAP))
		return CUDA_ERROR_INVALID_HANDLE;
	return array_destroy((struct array *)handle);
}

void sim_arrays_end(struct context *ctx)
{
	while (ctx->arrays) {
		struct array *a = ctx->arrays;

		ctx->arrays = a->next;
		array_forget(a);
	}
}

bool sim_array_rows(CUarray handle, uint64_t *addr, uint64_t *row, uint64_t *rows)
{
	const struct array *a = (const struct array *)handle;

	if (!sim_handle_is(handle, HANDLE_ARRAY))
		return false;
	*addr = a->addr;
	*row = row_bytes(&a->shape);
	*rows = rows_of(&a->shape);
	return true;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *out, CUarray handle)
{
	const struct array *a = (const struct array *)handle;

	SIM_ENTER(cuArrayGetDescriptor_v2);
	if (!out || !sim_handle_is(handle, HANDLE_ARRAY))
		return CUDA_ERROR_INVALID_HANDLE;
	*out = (CUDA_ARRAY_DESCRIPTOR){.Width = a->shape.Width,
	                               .Height = a->shape.Height,
	                               .Format = a->shape.Format,
	                               .NumChannels = a->shape.NumChannels};
	return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray handle)
{
	SIM_ENTER(cuArray3DGetDescriptor_v2);
	if (!out || !sim_handle_is(handle, HANDLE_ARRAY))
		return CUDA_ERROR_INVALID_HANDLE;
	*out = ((const struct array *)handle)->shape;
	return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 11060
/* Only arrays whose memory the program maps itself answer; the others have theirs already. */
static CUresult requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, const struct array *a, CUdevice dev)
{
	if (!out || !(a->shape.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING))
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*out = (CUDA_ARRAY_MEMORY_REQUIREMENTS){.size = a->bytes, .alignment = TILE};
	return CUDA_SUCCESS;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUarray handle, CUdevice dev)
{
	SIM_ENTER(cuArrayGetMemoryRequirements);
	if (!sim_handle_is(handle, HANDLE_ARRAY))
		return CUDA_ERROR_INVALID_HANDLE;
	return requirements(out, (const struct array *)handle, dev);
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUmipmappedArray handle,
                                               CUdevice dev)
{
	SIM_ENTER(cuMipmappedArrayGetMemoryRequirements);
	if (!sim_handle_is(handle, HANDLE_MIPMAP))
		return CUDA_ERROR_INVALID_HANDLE;
	return requirements(out, (const struct array *)handle, dev);
}
#endif
