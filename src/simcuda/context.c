/* context.c: contexts, created and primary, and each thread's stack of them.
 *
 * Always holds: a struct context is never given back to the heap, so that a thread that still has a
 * destroyed one current gets CUDA_ERROR_CONTEXT_IS_DESTROYED. A context takes device memory for
 * itself; all it allocated goes with it, except stream-ordered memory and cuMemCreate's, which belong
 * to no context.
 */
#include <stdlib.h>

#include "simcuda/sim.h"

static CUresult context_begin(struct context *ctx, int device, unsigned flags)
{
	if (!sim_charge(device, sim.config.context))
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx->device = device;
	ctx->alive = true;
	ctx->flags = flags;
	ctx->id = ++sim.next_id;
	ctx->limit[CU_LIMIT_STACK_SIZE] = KIB;
	ctx->limit[CU_LIMIT_PRINTF_FIFO_SIZE] = MIB;
	ctx->limit[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 * MIB;
	return CUDA_SUCCESS;
}

static struct context *context_new(void)
{
	struct context *ctx = calloc(1, sizeof(*ctx));

	if (ctx && !sim_handle_add(ctx, HANDLE_CONTEXT)) {
		free(ctx);
		return NULL;
	}
	return ctx;
}

static void context_end(struct context *ctx)
{
	sim_streams_drain(ctx);
	sim_streams_end(ctx);
	sim_arrays_end(ctx);
	sim_registered_end(ctx);
	sim_mem_end(ctx);
	sim_refund(ctx->device, sim.config.context);
	ctx->alive = false;
	ctx->refs = 0;
}

static bool context_ok(CUcontext handle)
{
	return sim_handle_is(handle, HANDLE_CONTEXT);
}

/* --- created contexts ----------------------------------------------------------------------- */

static CUresult context_create(CUcontext *out, unsigned flags, CUdevice dev)
{
	struct context *ctx;
	CUresult result;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (sim_thread.depth == SIM_STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx = context_new();
	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = context_begin(ctx, dev, flags);
	if (result != CUDA_SUCCESS) {
		sim_handle_drop(ctx);
		return result;
	}
	ctx->refs = 1;
	sim_thread.stack[sim_thread.depth++] = ctx;
	*out = (CUcontext)ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	SIM_ENTER(cuCtxCreate);
	return context_create(ctx, flags, dev);
}

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	SIM_ENTER(cuCtxCreate_v2);
	return context_create(ctx, flags, dev);
}

#if CUDA_VERSION >= 11040
CUresult cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *affinity, int count, unsigned int flags,
                        CUdevice dev)
{
	SIM_ENTER(cuCtxCreate_v3);
	(void)affinity;
	return count ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : context_create(ctx, flags, dev);
}
#endif

#if CUDA_VERSION >= 12050
CUresult cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
{
	SIM_ENTER(cuCtxCreate_v4);
	return params ? CUDA_ERROR_NOT_SUPPORTED : context_create(ctx, flags, dev);
}
#endif

static CUresult context_destroy(CUcontext handle)
{
	struct context *ctx = (struct context *)handle;

	if (!context_ok(handle) || ctx->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	context_end(ctx);
	sim_handle_drop(ctx);
	if (sim_current() == ctx)
		sim_thread.depth--;
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	SIM_ENTER(cuCtxDestroy_v2);
	return context_destroy(ctx);
}

CUresult cuCtxDestroy(CUcontext ctx)
{
	SIM_ENTER(cuCtxDestroy);
	return context_destroy(ctx);
}

/* The usage count of old: contexts began with one, and ended with the last. */
CUresult cuCtxAttach(CUcontext *out, unsigned int flags)
{
	SIM_ENTER(cuCtxAttach);
	SIM_CONTEXT(ctx);
	if (!out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	ctx->refs++;
	*out = (CUcontext)ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext handle)
{
	struct context *ctx = (struct context *)handle;

	SIM_ENTER(cuCtxDetach);
	if (!context_ok(handle) || ctx != sim_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ctx->refs > 1) {
		ctx->refs--;
		return CUDA_SUCCESS;
	}
	return context_destroy(handle);
}

/* --- primary contexts ----------------------------------------------------------------------- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev)
{
	struct context *ctx;
	CUresult result = CUDA_SUCCESS;

	SIM_ENTER(cuDevicePrimaryCtxRetain);
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = sim_device_primary(dev);
	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!ctx->alive)
		result = context_begin(ctx, dev, ctx->flags);
	if (result != CUDA_SUCCESS)
		return result;
	ctx->refs++;
	*out = (CUcontext)ctx;
	return CUDA_SUCCESS;
}

struct context *sim_device_primary(int dev)
{
	struct device *d = &sim.device[dev];

	if (!d->primary) {
		d->primary = context_new();
		if (d->primary) {
			d->primary->primary = true;
			d->primary->device = dev;
		}
	}
	return d->primary;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct context *ctx;

	SIM_ENTER(cuDevicePrimaryCtxRelease_v2);
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = sim.device[dev].primary;
	if (!ctx || !ctx->refs)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (--ctx->refs == 0 && ctx->alive)
		context_end(ctx);
	return CUDA_SUCCESS;
}

/* Who retained it before still has to release it after. */
CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	struct context *ctx;
	unsigned refs;

	SIM_ENTER(cuDevicePrimaryCtxReset_v2);
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = sim.device[dev].primary;
	if (!ctx || !ctx->alive)
		return CUDA_SUCCESS;
	refs = ctx->refs;
	context_end(ctx);
	ctx->refs = refs;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	struct context *ctx;

	SIM_ENTER(cuDevicePrimaryCtxSetFlags_v2);
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = sim_device_primary(dev);
	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx->flags = flags;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
	return cuDevicePrimaryCtxReset_v2(dev);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	const struct context *ctx;

	SIM_ENTER(cuDevicePrimaryCtxGetState);
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = sim.device[dev].primary;
	*flags = ctx ? ctx->flags : 0;
	*active = ctx && ctx->alive;
	return CUDA_SUCCESS;
}

/* --- what is current ------------------------------------------------------------------------ */

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	SIM_ENTER(cuCtxPushCurrent_v2);
	if (!context_ok(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (sim_thread.depth == SIM_STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_thread.stack[sim_thread.depth++] = (struct context *)ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *out)
{
	SIM_ENTER(cuCtxPopCurrent_v2);
	if (!sim_thread.depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_thread.depth--;
	if (out)
		*out = (CUcontext)sim_thread.stack[sim_thread.depth];
	return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
	return cuCtxPushCurrent_v2(ctx);
}

CUresult cuCtxPopCurrent(CUcontext *ctx)
{
	return cuCtxPopCurrent_v2(ctx);
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	SIM_ENTER(cuCtxSetCurrent);
	if (ctx && !context_ok(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (sim_thread.depth)
		sim_thread.depth--;
	if (ctx)
		sim_thread.stack[sim_thread.depth++] = (struct context *)ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *out)
{
	SIM_ENTER(cuCtxGetCurrent);
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUcontext)sim_current();
	return CUDA_SUCCESS;
}

/* --- what a context says about itself ------------------------------------------------------- */

CUresult cuCtxGetDevice(CUdevice *dev)
{
	SIM_ENTER(cuCtxGetDevice);
	SIM_CONTEXT(ctx);
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	*dev = ctx->device;
	return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
CUresult cuCtxGetDevice_v2(CUdevice *dev, CUcontext handle)
{
	const struct context *ctx;

	SIM_ENTER(cuCtxGetDevice_v2);
	ctx = handle ? (const struct context *)handle : sim_current();
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context_ok((CUcontext)ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	*dev = ctx->device;
	return CUDA_SUCCESS;
}
#endif

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	const struct context *ctx;

	SIM_ENTER(cuCtxGetId);
	ctx = handle ? (const struct context *)handle : sim_current();
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context_ok((CUcontext)ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	*id = ctx->id;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
	SIM_ENTER(cuCtxGetFlags);
	SIM_CONTEXT(ctx);
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = ctx->flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	SIM_ENTER(cuCtxGetApiVersion);
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	if (ctx && !context_ok(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	*version = 3020;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	SIM_ENTER(cuCtxGetStreamPriorityRange);
	SIM_CONTEXT(ctx);
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
	SIM_ENTER(cuCtxGetLimit);
	SIM_CONTEXT(ctx);
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if ((unsigned)limit >= SIM_LIMITS)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	*value = ctx->limit[limit];
	return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	SIM_ENTER(cuCtxSetLimit);
	SIM_CONTEXT(ctx);
	if ((unsigned)limit >= SIM_LIMITS)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	ctx->limit[limit] = value;
	return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	SIM_ENTER(cuCtxEnablePeerAccess);
	SIM_CONTEXT(ctx);
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return !context_ok(peer)                                 ? CUDA_ERROR_INVALID_CONTEXT
	       : ((struct context *)peer)->device == ctx->device ? CUDA_ERROR_INVALID_DEVICE
	                                                         : CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
	SIM_ENTER(cuCtxSynchronize);
	SIM_CONTEXT(ctx);
	sim_streams_drain(ctx);
	sim_streams_finish(ctx);
	sim_pool_sync(ctx->device);
	return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
CUresult cuCtxSynchronize_v2(CUcontext handle)
{
	struct context *ctx;

	SIM_ENTER(cuCtxSynchronize_v2);
	ctx = handle ? (struct context *)handle : sim_current();
	if (!context_ok((CUcontext)ctx) || !ctx->alive)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_streams_drain(ctx);
	sim_streams_finish(ctx);
	sim_pool_sync(ctx->device);
	return CUDA_SUCCESS;
}
#endif
