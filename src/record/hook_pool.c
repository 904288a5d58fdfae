/* hook_pool.c: stream-ordered memory and the pools it comes from. */
#include "record/hook.h"

/* --- the pool a device's cuMemAllocAsync takes from --------------------------------------------- */
static uint64_t current_pool[REC_DEVICES]; /* 0 = to be asked */

uint64_t rec_current_pool(uint8_t device)
{
	CUmemoryPool pool = NULL;
	uint64_t known;

	if (device >= REC_DEVICES)
		return 0;
	known = __atomic_load_n(&current_pool[device], __ATOMIC_RELAXED);
	if (known)
		return known;
	if (!rec_real_exists(DRIVER_FN_cuDeviceGetMemPool) || REAL(cuDeviceGetMemPool)(&pool, device) != CUDA_SUCCESS)
		return 0;
	known = (uintptr_t)pool;
	__atomic_store_n(&current_pool[device], known, __ATOMIC_RELAXED);
	return known;
}

static void pools_changed(void)
{
	unsigned d;

	for (d = 0; d < REC_DEVICES; d++)
		__atomic_store_n(&current_pool[d], 0, __ATOMIC_RELAXED);
	rec_forget_places();
}

/* What a pool holds, as a POOL.info event, at most so often. Pools change faster than the device. */
static uint64_t *sampled_ns; /* of each pool's number */

static void put_sample(struct rec_lane *lane, uint64_t handle, uint16_t pool, uint8_t device)
{
	struct rec_event ev = {.op = GMS_OP(GMS_K_POOL, GMS_A_INFO), .device = device, .pool = pool};
	CUmemoryPool p = (CUmemoryPool)(uintptr_t)handle;
	cuuint64_t reserved, used;

	if (!handle || REAL(cuMemPoolGetAttribute)(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved) ||
	    REAL(cuMemPoolGetAttribute)(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used))
		return;
	ev.addr = used;
	ev.size = reserved;
	rec_put(lane, &ev, rec_now(), 0, false);
}

void rec_pool_sample(struct rec_lane *lane, uint64_t handle, uint16_t pool, uint8_t device, uint64_t now)
{
	uint64_t *all = __atomic_load_n(&sampled_ns, __ATOMIC_ACQUIRE), last;

	if (!all) {
		uint64_t *none = NULL;

		all = rec_memory((SPOOL_MANY + 1) * sizeof *all);
		if (!all || !__atomic_compare_exchange_n(&sampled_ns, &none, all, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return;
	}
	last = __atomic_load_n(&all[pool], __ATOMIC_RELAXED);
	if (!rec_due(now, last, rec_options.sample / 8))
		return;
	if (__atomic_compare_exchange_n(&all[pool], &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		put_sample(lane, handle, pool, device);
}

/* Now, whatever the time: after a call that changes what a pool holds. */
static void sample(struct rec_site site, uint64_t pool)
{
	struct rec_lane *lane;
	uint8_t device;
	int saved;

	if (rec_mode() != REC_ALL || !(lane = rec_begin(site, &saved)))
		return;
	device = rec_device_of_pool(pool);
	put_sample(lane, pool, rec_pool(lane, pool, device), device);
	rec_end(lane, saved);
}

HOOK cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
	CUresult r = REAL(cuDeviceSetMemPool)(device, pool);

	pools_changed();
	return r;
}

#if CUDA_VERSION >= 13000
HOOK cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	CUresult r = REAL(cuMemSetMemPool)(location, type, pool);

	pools_changed();
	return r;
}
#endif

/* --- allocations ------------------------------------------------------------------------------------ */
static struct rec_about got(uint64_t stream, CUmemoryPool pool, CUresult r, const CUdeviceptr *p, size_t bytes)
{
	return (struct rec_about){.kind = GMS_K_ASYNC,
				  .addr = r ? 0 : *p,
				  .size = bytes,
				  .stream = stream,
				  .pool = (uintptr_t)pool,
				  .stream_ordered = true};
}

static struct rec_about giving(uint64_t stream, CUdeviceptr p)
{
	return (struct rec_about){.kind = GMS_K_ASYNC, .addr = p, .stream = stream, .stream_ordered = true};
}

HOOK cuMemAllocAsync(CUdeviceptr *p, size_t bytes, CUstream stream)
{
	CUresult r;

	REC_SERVE(alloc_async, (uint64_t *)p, bytes, STREAM(stream));
	r = REAL(cuMemAllocAsync)(p, bytes, stream);
	rec_got(REC_SITE, r, got(STREAM(stream), NULL, r, p, bytes));
	return r;
}

HOOK cuMemAllocAsync_ptsz(CUdeviceptr *p, size_t bytes, CUstream stream)
{
	CUresult r;

	REC_SERVE(alloc_async, (uint64_t *)p, bytes, PER_THREAD_STREAM(stream));
	r = REAL(cuMemAllocAsync_ptsz)(p, bytes, stream);
	rec_got(REC_SITE, r, got(PER_THREAD_STREAM(stream), NULL, r, p, bytes));
	return r;
}

HOOK cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	CUresult r = REAL(cuMemAllocFromPoolAsync)(p, bytes, pool, stream);

	rec_got(REC_SITE, r, got(STREAM(stream), pool, r, p, bytes));
	return r;
}

HOOK cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *p, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	CUresult r = REAL(cuMemAllocFromPoolAsync_ptsz)(p, bytes, pool, stream);

	rec_got(REC_SITE, r, got(PER_THREAD_STREAM(stream), pool, r, p, bytes));
	return r;
}

HOOK cuMemFreeAsync(CUdeviceptr p, CUstream stream)
{
	struct rec_about a = giving(STREAM(stream), p);
	CUresult r;
	bool told;

	REC_SERVE(free_async, p, STREAM(stream));
	told = rec_returning(REC_SITE, &a);
	r = REAL(cuMemFreeAsync)(p, stream);
	if (told)
		rec_gave(REC_SITE, r, a);
	return r;
}

HOOK cuMemFreeAsync_ptsz(CUdeviceptr p, CUstream stream)
{
	struct rec_about a = giving(PER_THREAD_STREAM(stream), p);
	CUresult r;
	bool told;

	REC_SERVE(free_async, p, PER_THREAD_STREAM(stream));
	told = rec_returning(REC_SITE, &a);
	r = REAL(cuMemFreeAsync_ptsz)(p, stream);
	if (told)
		rec_gave(REC_SITE, r, a);
	return r;
}

/* --- pools ------------------------------------------------------------------------------------------------ */
static struct rec_about about(uint64_t pool, const CUmemLocation *at)
{
	bool on_device = at && at->type == CU_MEM_LOCATION_TYPE_DEVICE;

	return (struct rec_about){.kind = GMS_K_POOL,
				  .addr = pool,
				  .pool = pool,
				  .known_device = true,
				  .device = on_device && at->id >= 0 && at->id < REC_DEVICES ? (uint8_t)at->id
											     : REC_NO_DEVICE};
}

HOOK cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	CUresult r = REAL(cuMemPoolCreate)(pool, props);

	rec_got(REC_SITE, r, about(r ? 0 : (uintptr_t)*pool, props ? &props->location : NULL));
	return r;
}

HOOK cuMemPoolDestroy(CUmemoryPool pool)
{
	struct rec_about a = about((uintptr_t)pool, NULL);
	CUresult r;

	a.device = rec_device_of_pool((uintptr_t)pool);
	rec_giving(REC_SITE, a);
	r = REAL(cuMemPoolDestroy)(pool);
	rec_gave(REC_SITE, r, a);
	if (r == CUDA_SUCCESS) {
		rec_pool_forget((uintptr_t)pool);
		pools_changed();
	}
	return r;
}

HOOK cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	CUresult r = REAL(cuMemPoolTrimTo)(pool, keep);

	if (r == CUDA_SUCCESS)
		sample(REC_SITE, (uintptr_t)pool);
	return r;
}

static void tell_setting(struct rec_site site, uint64_t pool, CUmemPool_attribute attribute, const void *value)
{
	struct spool_setting s = {.w = {.kind = SPOOL_SETTING}, .handle = pool, .what = attribute};
	struct rec_lane *lane;
	int saved;

	if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		s.value = *(const cuuint64_t *)value;
	else if (attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)
		s.value = *(const int *)value != 0;
	else /* a high-water mark is set back */
		return;
	if (rec_mode() != REC_ALL || !(lane = rec_begin(site, &saved)))
		return;
	s.w.device = rec_device_of_pool(pool);
	rec_setting(lane, &s);
	rec_end(lane, saved);
}

HOOK cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult r = REAL(cuMemPoolSetAttribute)(pool, attribute, value);

	if (r == CUDA_SUCCESS) {
		tell_setting(REC_SITE, (uintptr_t)pool, attribute, value);
		sample(REC_SITE, (uintptr_t)pool);
	}
	return r;
}

HOOK cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle, CUmemAllocationHandleType type,
					unsigned long long flags)
{
	CUresult r = REAL(cuMemPoolImportFromShareableHandle)(pool, handle, type, flags);

	rec_got(REC_SITE, r, about(r ? 0 : (uintptr_t)*pool, NULL));
	return r;
}

HOOK cuMemPoolExportToShareableHandle(void *handle, CUmemoryPool pool, CUmemAllocationHandleType type,
				      unsigned long long flags)
{
	return REAL(cuMemPoolExportToShareableHandle)(handle, pool, type, flags);
}

/* --- streams: a later one at the same address may be another device's ------------------------------------ */
HOOK cuStreamDestroy(CUstream stream)
{
	rec_stream_forget((uintptr_t)stream);
	return REAL(cuStreamDestroy)(stream);
}

HOOK cuStreamDestroy_v2(CUstream stream)
{
	rec_stream_forget((uintptr_t)stream);
	return REAL(cuStreamDestroy_v2)(stream);
}
