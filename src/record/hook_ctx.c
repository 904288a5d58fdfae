/* hook_ctx.c: contexts: which is current in a thread, so which device an event is about; and how
 * they come and go, because memory dies with them.
 */
#include "record/hook.h"
#include <stdlib.h>

uint32_t rec_generation = 1;
uint64_t rec_sampled_ns[REC_DEVICES];
static bool described[REC_DEVICES];
static uint64_t primary[REC_DEVICES]; /* handle of the device's primary context, 0 = not retained here */

void rec_contexts_forked(void)
{
	unsigned d;

	for (d = 0; d < REC_DEVICES; d++) {
		rec_sampled_ns[d] = primary[d] = 0;
		described[d] = false;
	}
	rec_forget_places();
}

/* --- the device's own numbers ------------------------------------------------------------------------ */
void rec_memory_info(uint64_t *free, uint64_t *total)
{
	size_t f, t;

	if (!rec_real_exists(DRIVER_FN_cuMemGetInfo_v2) || REAL(cuMemGetInfo_v2)(&f, &t) != CUDA_SUCCESS)
		return;
	*free = f;
	*total = t;
}

/* A MEMORY.info event; at most one per device and sampling time. The device is the current one. */
void rec_sample(struct rec_lane *lane, uint8_t device, uint64_t now)
{
	struct rec_event ev = {.op = GMS_OP(GMS_K_MEMORY, GMS_A_INFO), .device = device};
	uint64_t last = __atomic_load_n(&rec_sampled_ns[device], __ATOMIC_RELAXED);

	if (!rec_options.sample && last)
		return;
	if (!__atomic_compare_exchange_n(&rec_sampled_ns[device], &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	ev.addr = ev.size = UINT64_MAX;
	rec_memory_info(&ev.addr, &ev.size);
	if (ev.size != UINT64_MAX)
		rec_put(lane, &ev, rec_now(), 0, false);
}

static void describe(struct rec_lane *lane, uint8_t device)
{
	struct spool_device record = {.w = {.kind = SPOOL_DEVICE, .device = device}, .total = UINT64_MAX};
	size_t total;
	int version;

	if (described[device] || !rec_tables_lock(lane))
		return;
	described[device] = true;
	if (REAL(cuDeviceGetName)(record.name, sizeof record.name, device) != CUDA_SUCCESS)
		record.name[0] = '\0';
	if (REAL(cuDeviceTotalMem_v2)(&total, device) == CUDA_SUCCESS)
		record.total = total;
	REAL(cuDeviceGetUuid)((CUuuid *)record.uuid, device);
	if (!rec_head->driver_version && REAL(cuDriverGetVersion)(&version) == CUDA_SUCCESS)
		rec_head->driver_version = (uint32_t)version;
	rec_table_put(lane, &record, sizeof record, NULL, 0);
	rec_tables_unlock();
}

/* --- the current context ------------------------------------------------------------------------------- */
static uint8_t look_up(struct rec_lane *lane)
{
	struct rec_thread *t = lane->thread;
	uint32_t generation = __atomic_load_n(&rec_generation, __ATOMIC_RELAXED);
	CUcontext ctx = NULL;
	CUdevice device;

	t->device = REC_NO_DEVICE;
	t->context = 0;
	if (REAL(cuCtxGetCurrent)(&ctx) != CUDA_SUCCESS || !ctx || REAL(cuCtxGetDevice)(&device) != CUDA_SUCCESS)
		return t->device;
	if (device < 0 || device >= REC_DEVICES)
		return t->device;
	t->device = (uint8_t)device;
	t->context = rec_context(lane, (uintptr_t)ctx, t->device);
	t->ctx_generation = generation;
	if (!described[device])
		describe(lane, t->device);
	return t->device;
}

uint8_t rec_device(struct rec_lane *lane, uint16_t *context)
{
	const struct rec_thread *t = lane->thread;
	uint8_t device;

	if (__builtin_expect(t->ctx_generation == __atomic_load_n(&rec_generation, __ATOMIC_RELAXED), 1))
		device = t->device;
	else
		device = look_up(lane);
	*context = t->context;
	return device;
}

/* The device of a stream seen for the first time: nearly always the current one. */
uint8_t rec_device_of_stream(uint64_t stream, uint8_t current)
{
	CUcontext ctx = NULL, now = NULL;
	uint8_t device;

	if (stream <= 2 || !rec_real_exists(DRIVER_FN_cuStreamGetCtx) ||
	    REAL(cuStreamGetCtx)((CUstream)(uintptr_t)stream, &ctx) != CUDA_SUCCESS || !ctx)
		return current;
	if (REAL(cuCtxGetCurrent)(&now) == CUDA_SUCCESS && now == ctx)
		return current;
	device = rec_context_device((uintptr_t)ctx);
	return device == REC_NO_DEVICE ? current : device;
}

HOOK cuCtxSetCurrent(CUcontext ctx)
{
	CUresult r = REAL(cuCtxSetCurrent)(ctx);

	rec_thread_context_stale();
	return r;
}

#define PUSH_POP(symbol, type)                                                                               \
	HOOK symbol(type ctx)                                                                                \
	{                                                                                                    \
		CUresult r = REAL(symbol)(ctx);                                                              \
                                                                                                             \
		rec_thread_context_stale();                                                                  \
		return r;                                                                                    \
	}
PUSH_POP(cuCtxPushCurrent, CUcontext)
PUSH_POP(cuCtxPushCurrent_v2, CUcontext)
PUSH_POP(cuCtxPopCurrent, CUcontext *)
PUSH_POP(cuCtxPopCurrent_v2, CUcontext *)

/* --- coming and going ---------------------------------------------------------------------------------- */
static struct rec_about about(uint64_t handle, CUdevice device)
{
	return (struct rec_about){.kind = GMS_K_CONTEXT,
				  .addr = handle,
				  .known_device = device >= 0 && device < REC_DEVICES,
				  .device = (uint8_t)device};
}

static CUresult created(struct rec_site site, CUresult r, CUcontext *ctx, CUdevice device)
{
	rec_thread_context_stale();
	rec_got(site, r, about(r ? 0 : (uintptr_t)*ctx, device));
	return r;
}

HOOK cuCtxCreate(CUcontext *ctx, unsigned flags, CUdevice device)
{
	return created(REC_SITE, REAL(cuCtxCreate)(ctx, flags, device), ctx, device);
}

HOOK cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice device)
{
	return created(REC_SITE, REAL(cuCtxCreate_v2)(ctx, flags, device), ctx, device);
}

HOOK cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *affinity, int n, unsigned flags, CUdevice device)
{
	return created(REC_SITE, REAL(cuCtxCreate_v3)(ctx, affinity, n, flags, device), ctx, device);
}

#if CUDA_VERSION >= 12050
HOOK cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned flags, CUdevice device)
{
	return created(REC_SITE, REAL(cuCtxCreate_v4)(ctx, params, flags, device), ctx, device);
}
#endif

static CUresult destroy(struct rec_site site, CUresult (*real)(CUcontext), CUcontext ctx)
{
	struct rec_about a = about((uintptr_t)ctx, rec_context_device((uintptr_t)ctx));
	CUresult r;

	rec_giving(site, a);
	r = real(ctx);
	if (r == CUDA_SUCCESS)
		rec_context_forget((uintptr_t)ctx);
	rec_thread_context_stale();
	rec_forget_places();
	rec_gave(site, r, a);
	return r;
}

HOOK cuCtxDestroy(CUcontext ctx)
{
	return destroy(REC_SITE, REAL(cuCtxDestroy), ctx);
}

HOOK cuCtxDestroy_v2(CUcontext ctx)
{
	return destroy(REC_SITE, REAL(cuCtxDestroy_v2), ctx);
}

HOOK cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
	CUresult r = REAL(cuDevicePrimaryCtxRetain)(ctx, device);
	uint64_t handle = r ? 0 : (uintptr_t)*ctx;

	if (r == CUDA_SUCCESS && device >= 0 && device < REC_DEVICES &&
	    __atomic_exchange_n(&primary[device], handle, __ATOMIC_RELAXED) != handle)
		rec_got(REC_SITE, r, about(handle, device));
	return r;
}

/* The last release, or a reset, is the end of the primary context. That is known only afterwards, so
 * the event says "now" although another thread may already have got memory of the next one. */
static void primary_gone(struct rec_site site, CUdevice device, bool reset)
{
	unsigned flags;
	int active = 1;
	uint64_t handle;

	if (device < 0 || device >= REC_DEVICES)
		return;
	if (!reset && (REAL(cuDevicePrimaryCtxGetState)(device, &flags, &active) != CUDA_SUCCESS || active))
		return;
	if (rec_served)
		rec_served->reset(device);
	handle = __atomic_exchange_n(&primary[device], 0, __ATOMIC_RELAXED);
	rec_forget_places();
	if (!handle)
		return;
	rec_giving(site, about(handle, device));
	rec_context_forget(handle);
}

#define PRIMARY_GONE(symbol, reset)                                                                          \
	HOOK symbol(CUdevice device)                                                                         \
	{                                                                                                    \
		CUresult r = REAL(symbol)(device);                                                           \
                                                                                                             \
		if (r == CUDA_SUCCESS)                                                                       \
			primary_gone(REC_SITE, device, reset);                                               \
		return r;                                                                                    \
	}
PRIMARY_GONE(cuDevicePrimaryCtxRelease, false)
PRIMARY_GONE(cuDevicePrimaryCtxRelease_v2, false)
PRIMARY_GONE(cuDevicePrimaryCtxReset, true)
PRIMARY_GONE(cuDevicePrimaryCtxReset_v2, true)

/* --- start and end ------------------------------------------------------------------------------------- */
/* What the devices hold when the program ends. */
static void last_samples(void)
{
	struct rec_lane *lane;
	CUcontext dropped;
	unsigned d;
	int saved;

	/* A fork's child that never touched the GPU stays asleep. */
	if (!rec_running() || rec_mode() != REC_ALL || !(lane = rec_begin(REC_SITE, &saved)))
		return;
	for (d = 0; d < REC_DEVICES; d++) {
		if (!described[d] || !primary[d] ||
		    REAL(cuCtxPushCurrent_v2)((CUcontext)(uintptr_t)primary[d]) != CUDA_SUCCESS)
			continue;
		rec_sample(lane, (uint8_t)d, rec_now());
		REAL(cuCtxPopCurrent_v2)(&dropped);
	}
	rec_end(lane, saved);
}

HOOK cuInit(unsigned flags)
{
	static bool registered;
	CUresult r = REAL(cuInit)(flags);

	rec_mode(); /* a process that uses the driver has a spool, whatever it does next */
	rec_head->gpu_calls++;
	/* Registered after the driver's own exit handler, so it runs before it. */
	if (r == CUDA_SUCCESS && rec_running() && !__atomic_exchange_n(&registered, true, __ATOMIC_RELAXED))
		atexit(last_samples);
	return r;
}

/* --- limits: what kernels may use besides what the program asks for ------------------------------------- */
HOOK cuCtxSetLimit(CUlimit limit, size_t value)
{
	CUresult r = REAL(cuCtxSetLimit)(limit, value);
	struct spool_setting s = {.w = {.kind = SPOOL_SETTING, .op = 1}, .what = limit, .value = value};
	struct rec_lane *lane;
	CUcontext ctx = NULL;
	uint16_t index;
	int saved;

	if (r != CUDA_SUCCESS || limit > CU_LIMIT_MALLOC_HEAP_SIZE || rec_mode() != REC_ALL ||
	    !(lane = rec_begin(REC_SITE, &saved)))
		return r;
	if (REAL(cuCtxGetCurrent)(&ctx) == CUDA_SUCCESS)
		s.handle = (uintptr_t)ctx;
	s.w.device = rec_device(lane, &index);
	rec_setting(lane, &s);
	rec_end(lane, saved);
	return r;
}
