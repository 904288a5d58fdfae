/* facts.c: how the driver behaves with memory, as "name = value" lines.
 *
 * Run on a real driver and on the simulated one, and compare: a line that differs is either a free
 * choice (how much a context takes) or something that the simulated driver gets wrong. Needs 4 GiB.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static void fact(const char *name, long long value)
{
	printf("%s = %lld\n", name, value);
	fflush(stdout);
}

static size_t available(void)
{
	size_t free_bytes = 0, total;

	cuMemGetInfo(&free_bytes, &total);
	return free_bytes;
}

static size_t mark;
static long long taken(void)
{
	return (long long)mark - (long long)available();
}

/* --- cuMemAlloc ----------------------------------------------------------------------------- */

static void small_allocations(void)
{
	CUdeviceptr a, b, c;

	mark = available();
	cuMemAlloc(&a, 1);
	fact("small.first_takes", taken());
	cuMemAlloc(&b, 1);
	fact("small.second_takes", taken());
	fact("small.distance", (long long)(b - a));
	cuMemAlloc(&c, 513);
	fact("small.distance_after_513", (long long)(c - b));
	fact("small.alignment_512", a % 512 == 0 && c % 512 == 0);
	cuMemFree(b);
	cuMemFree(c);
	cuMemFree(a);
	fact("small.left_after_freeing_all", taken());
	cuMemAlloc(&b, 1);
	fact("small.address_comes_back", b == a);
	cuMemFree(b);
}

/* What eight allocations of one size take: whether they share pages. */
static void packing(void)
{
	static const size_t kib[] = {4,    100,  256,  500,  512,  513,  700,  1000,
	                             1024, 1025, 1100, 1500, 2048, 2049, 3000, 4096};
	CUdeviceptr at[8];

	for (size_t i = 0; i < sizeof(kib) / sizeof(kib[0]); i++) {
		char name[64];

		mark = available();
		for (int k = 0; k < 8; k++)
			cuMemAlloc(&at[k], kib[i] * KIB);
		snprintf(name, sizeof(name), "packing.8_x_%zu_kib_take", kib[i]);
		fact(name, taken());
		for (int k = 0; k < 8; k++)
			cuMemFree(at[k]);
		snprintf(name, sizeof(name), "packing.8_x_%zu_kib_leave", kib[i]);
		fact(name, taken());
	}
}

static void pinned_pages(void)
{
	enum { N = 64 };
	CUdeviceptr at[N], big;

	mark = available();
	for (int i = 0; i < N; i++)
		cuMemAlloc(&at[i], 512 * KIB);
	fact("pages.64_tiles_take", taken());
	for (int i = 0; i < N; i++)
		if (i % 4)
			cuMemFree(at[i]);
	fact("pages.a_quarter_of_them_still_takes", taken());
	cuMemAlloc(&big, 1 * MIB);
	fact("pages.then_1_mib_takes", taken());
	cuMemFree(big);
	for (int i = 0; i < N; i += 4)
		cuMemFree(at[i]);
	fact("pages.none_takes", taken());
}

static void refusals(void)
{
	CUdeviceptr a = 0, base;
	char host[2048];
	size_t size = 0;

	fact("refuse.alloc_0", cuMemAlloc(&a, 0));
	fact("refuse.alloc_too_much", cuMemAlloc(&a, (size_t)1 << 60));
	fact("refuse.free_0", cuMemFree(0));
	cuMemAlloc(&a, 1000);
	fact("refuse.free_inside", cuMemFree(a + 512));
	fact("refuse.range_of_inside", cuMemGetAddressRange(&base, &size, a + 999));
	fact("range.size_of_1000", (long long)size);
	fact("range.base_is_start", base == a);
	fact("refuse.copy_1_over_the_request", cuMemcpyDtoH(host, a, 1001));
	fact("refuse.copy_over_the_unit", cuMemcpyDtoH(host, a, 1025));
	fact("refuse.copy_to_host_as_device", cuMemcpyHtoD((CUdeviceptr)host, host, 4));
	fact("refuse.memset_misaligned", cuMemsetD32(a + 1, 0, 1));
	fact("refuse.free_async_of_sync", cuMemFreeAsync(a, NULL));
	fact("refuse.free", cuMemFree(a));
	fact("refuse.free_again", cuMemFree(a));
	fact("refuse.free_host_pointer", cuMemFree((CUdeviceptr)host));
	fact("refuse.range_of_host", cuMemGetAddressRange(&base, &size, (CUdeviceptr)host));
}

static void pitched(void)
{
	CUdeviceptr a = 0;
	size_t pitch = 0;

	fact("pitch.element_5", cuMemAllocPitch(&a, &pitch, 100, 10, 5));
	cuMemAllocPitch(&a, &pitch, 100, 10, 4);
	fact("pitch.of_100", (long long)pitch);
	cuMemFree(a);
	cuMemAllocPitch(&a, &pitch, 1025, 10, 4);
	fact("pitch.of_1025", (long long)pitch);
	cuMemFree(a);
}

/* --- pools ---------------------------------------------------------------------------------- */

static CUmemoryPool pool;
static CUstream stream_a, stream_b;
static CUdeviceptr ballast; /* to keep streams busy with */
static size_t ballast_bytes;
static int busy_rounds;

static long long attribute(CUmemPool_attribute what)
{
	cuuint64_t value = 0;

	cuMemPoolGetAttribute(pool, what, &value);
	return (long long)value;
}

static long long reserved(void)
{
	return attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

static long long used(void)
{
	return attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
}

static void threshold(cuuint64_t bytes)
{
	cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes);
}

static void policy(CUmemPool_attribute what, int on)
{
	cuMemPoolSetAttribute(pool, what, &on);
}

static void keep_busy(CUstream s)
{
	for (int i = 0; i < busy_rounds; i++)
		cuMemsetD8Async(ballast, 0, ballast_bytes, s);
}

static void empty_pool(void)
{
	cuCtxSynchronize();
	cuMemPoolTrimTo(pool, 0);
}

static void pool_sizes(void)
{
	static const size_t mib[] = {1, 31, 32, 33, 64, 100, 1024};
	CUdeviceptr a, b;
	char name[64];

	threshold(0);
	empty_pool();
	fact("pool.empty_reserves", reserved());
	for (size_t i = 0; i < sizeof(mib) / sizeof(mib[0]); i++) {
		mark = available();
		cuMemAllocAsync(&a, mib[i] * MIB, stream_a);
		snprintf(name, sizeof(name), "pool.%zu_mib_reserve", mib[i]);
		fact(name, reserved());
		snprintf(name, sizeof(name), "pool.%zu_mib_take", mib[i]);
		fact(name, taken());
		cuMemFreeAsync(a, stream_a);
		empty_pool();
	}
	cuMemAllocAsync(&a, 1, stream_a);
	fact("pool.1_byte_uses", used());
	fact("pool.1_byte_reserves", reserved());
	cuMemAllocAsync(&b, 513, stream_a);
	fact("pool.1_and_513_bytes_use", used());
	fact("pool.distance", (long long)(b - a));
	cuMemFreeAsync(a, stream_a);
	cuMemFreeAsync(b, stream_a);
	fact("pool.reserved_after_free_before_sync", reserved());
	cuStreamSynchronize(stream_a);
	fact("pool.reserved_after_sync", reserved());
	fact("pool.used_after_sync", used());
}

static void pool_release(void)
{
	CUdeviceptr at[3], small;

	empty_pool();
	threshold(40 * MIB);
	for (int i = 0; i < 3; i++)
		cuMemAllocAsync(&at[i], 30 * MIB, stream_a);
	fact("release.3_x_30_mib_reserve", reserved());
	for (int i = 0; i < 3; i++)
		cuMemFreeAsync(at[i], stream_a);
	cuStreamSynchronize(stream_a);
	fact("release.threshold_40_mib_keeps", reserved());
	cuMemPoolTrimTo(pool, 10 * MIB);
	fact("release.trim_to_10_mib_keeps", reserved());
	threshold(0);
	empty_pool();
	cuMemAllocAsync(&at[0], 31 * MIB, stream_a);
	cuMemAllocAsync(&small, 512, stream_a);
	fact("release.31_mib_and_512_reserve", reserved());
	cuMemFreeAsync(at[0], stream_a);
	cuStreamSynchronize(stream_a);
	fact("release.512_bytes_hold", reserved());
	cuMemFreeAsync(small, stream_a);
	cuStreamSynchronize(stream_a);
	fact("release.nothing_holds", reserved());
}

static void pool_order(void)
{
	CUdeviceptr a, b;
	CUevent e;

	threshold(UINT64_MAX);
	empty_pool();
	cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
	cuMemAllocAsync(&a, 20 * MIB, stream_a);
	keep_busy(stream_a);
	cuMemFreeAsync(a, stream_a);
	cuMemAllocAsync(&b, 20 * MIB, stream_a);
	fact("order.same_stream_reuses", a == b);
	cuMemFreeAsync(b, stream_a);
	a = b;
	cuMemAllocAsync(&b, 20 * MIB, stream_b);
	fact("order.other_stream_reuses", a == b);
	fact("order.other_stream_reserves", reserved());
	cuMemFreeAsync(b, stream_b);
	empty_pool();
	cuMemAllocAsync(&a, 20 * MIB, stream_a);
	keep_busy(stream_a);
	cuMemFreeAsync(a, stream_a);
	cuEventRecord(e, stream_a);
	cuStreamWaitEvent(stream_b, e, 0);
	cuMemAllocAsync(&b, 20 * MIB, stream_b);
	fact("order.event_reuses", a == b);
	cuMemFreeAsync(b, stream_b);
	empty_pool();
	cuMemAllocAsync(&a, 20 * MIB, stream_a);
	keep_busy(stream_a);
	cuMemFreeAsync(a, stream_a);
	cuMemAllocAsync(&b, 20 * MIB, NULL);
	fact("order.legacy_stream_reuses_non_blocking", a == b);
	cuMemFreeAsync(b, NULL);
	empty_pool();
	policy(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 0);
	cuMemAllocAsync(&a, 20 * MIB, stream_a);
	cuMemFreeAsync(a, stream_a);
	cuStreamSynchronize(stream_a);
	cuMemAllocAsync(&b, 20 * MIB, stream_b);
	fact("order.not_opportunistic_reuses_after_sync", a == b);
	cuMemFreeAsync(b, stream_b);
	policy(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 1);
	empty_pool();
	cuEventDestroy(e);
}

static void pool_refusals(void)
{
	CUdeviceptr a = 0, b = 0;
	cuuint64_t value = 5;
	size_t most;

	fact("pool.alloc_0", cuMemAllocAsync(&a, 0, stream_a));
	fact("pool.free_0", cuMemFreeAsync(0, stream_a));
	fact("pool.alloc_too_much", cuMemAllocAsync(&a, (size_t)1 << 50, stream_a));
	fact("pool.set_high_to_5", cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
	fact("pool.destroy_default", cuMemPoolDestroy(pool));
	cuMemAllocAsync(&a, 1000, stream_a);
	fact("pool.sync_free_of_async", cuMemFree(a));
	fact("pool.free_again", cuMemFreeAsync(a, stream_a));
	/* What a pool holds without using it, against cuMemAlloc. */
	threshold(UINT64_MAX);
	most = available() / 4 * 3 / (2 * MIB) * 2 * MIB;
	fact("hoard.async", cuMemAllocAsync(&a, most, stream_a));
	cuMemFreeAsync(a, stream_a);
	cuStreamSynchronize(stream_a);
	fact("hoard.cuMemAlloc_gets_it", cuMemAlloc(&b, most));
	fact("hoard.pool_reserves_then", reserved() < (long long)most);
	cuMemFree(b);
	threshold(0);
	empty_pool();
}

/* --- virtual memory ------------------------------------------------------------------------- */

static void virtual_memory(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle h, again = 0;
	CUdeviceptr at = 0, odd = 0;
	size_t least = 0, best = 0;
	char byte;

	cuMemGetAllocationGranularity(&least, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	cuMemGetAllocationGranularity(&best, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
	fact("vmm.granularity_least", (long long)least);
	fact("vmm.granularity_best", (long long)best);
	fact("vmm.create_odd", cuMemCreate(&h, 4096, &prop, 0));
	fact("vmm.reserve_4096", cuMemAddressReserve(&odd, 4096, 0, 0, 0));
	mark = available();
	cuMemAddressReserve(&at, 64 * MIB, 0, 0, 0);
	fact("vmm.reserve_takes", taken());
	cuMemCreate(&h, 4 * MIB, &prop, 0);
	fact("vmm.create_takes", taken());
	fact("vmm.map_half", cuMemMap(at, 2 * MIB, 0, h, 0));
	fact("vmm.map_over_it", cuMemMap(at, 4 * MIB, 0, h, 0));
	fact("vmm.map_again_elsewhere", cuMemMap(at + 8 * MIB, 4 * MIB, 0, h, 0));
	fact("vmm.map_with_offset", cuMemMap(at + 16 * MIB, 2 * MIB, 2 * MIB, h, 0));
	fact("vmm.touch_without_access", cuMemcpyDtoH(&byte, at + 8 * MIB, 1));
	fact("vmm.access_half_of_it", cuMemSetAccess(at + 8 * MIB, 2 * MIB, &access, 1));
	fact("vmm.access", cuMemSetAccess(at + 8 * MIB, 4 * MIB, &access, 1));
	fact("vmm.access_unmapped", cuMemSetAccess(at + 32 * MIB, 4 * MIB, &access, 1));
	fact("vmm.touch", cuMemcpyDtoH(&byte, at + 8 * MIB, 1));
	fact("vmm.sync_free", cuMemFree(at + 8 * MIB));
	fact("vmm.unmap_half", cuMemUnmap(at + 8 * MIB, 2 * MIB));
	fact("vmm.release_while_mapped", cuMemRelease(h));
	fact("vmm.released_takes", taken());
	fact("vmm.release_again", cuMemRelease(h));
	fact("vmm.retain_after_release", cuMemRetainAllocationHandle(&again, (void *)(at + 9 * MIB)));
	fact("vmm.retained_is_the_same", again == h);
	if (again)
		cuMemRelease(again);
	fact("vmm.free_addresses_while_mapped", cuMemAddressFree(at, 64 * MIB));
	cuMemUnmap(at, 2 * MIB);
	cuMemUnmap(at + 8 * MIB, 4 * MIB);
	cuMemUnmap(at + 16 * MIB, 2 * MIB);
	fact("vmm.unmapped_takes", taken());
	fact("vmm.free_part_of_the_addresses", cuMemAddressFree(at, 32 * MIB));
	fact("vmm.free_addresses", cuMemAddressFree(at, 64 * MIB));
}

/* --- the rest ------------------------------------------------------------------------------- */

static void arrays(void)
{
	static const struct {
		const char *name;
		CUDA_ARRAY3D_DESCRIPTOR shape;
	} shapes[] = {
	    {"1024x1024_float4",
	     {.Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4}},
	    {"100x100_u8",
	     {.Width = 100, .Height = 100, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1}},
	    {"1000_float", {.Width = 1000, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1}},
	    {"640x480_u8x4",
	     {.Width = 640, .Height = 480, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4}},
	    {"64x64x64_half",
	     {.Width = 64, .Height = 64, .Depth = 64, .Format = CU_AD_FORMAT_HALF, .NumChannels = 1}},
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		CUDA_ARRAY_MEMORY_REQUIREMENTS need = {0};
		CUarray array = NULL;
		char name[64];

		mark = available();
		cuArray3DCreate(&array, &shapes[i].shape);
		snprintf(name, sizeof(name), "array.%s_takes", shapes[i].name);
		fact(name, taken());
		snprintf(name, sizeof(name), "array.%s_requirements", shapes[i].name);
		fact(name, cuArrayGetMemoryRequirements(&need, array, 0));
		snprintf(name, sizeof(name), "array.%s_size", shapes[i].name);
		fact(name, (long long)need.size);
		cuArrayDestroy(array);
	}
}

static void host_memory(void)
{
	CUdeviceptr managed = 0, other = 0;
	static char page[65536] __attribute__((aligned(4096)));
	void *pinned = NULL;
	unsigned type = 0;
	int local = 0;

	mark = available();
	cuMemHostAlloc(&pinned, 10 * MIB, 0);
	fact("host.pinned_takes", taken());
	fact("host.sync_free_of_pinned", cuMemFree((CUdeviceptr)pinned));
	fact("host.free", cuMemFreeHost(pinned));
	fact("host.alloc_0", cuMemHostAlloc(&pinned, 0, 0));
	fact("host.alloc_0_is_null", pinned == NULL);
	fact("host.register", cuMemHostRegister(page, sizeof(page), 0));
	fact("host.register_again", cuMemHostRegister(page, 4096, 0));
	fact("host.unregister_inside", cuMemHostUnregister(page + 4096));
	fact("host.unregister", cuMemHostUnregister(page));
	fact("host.unregister_again", cuMemHostUnregister(page));
	fact("managed.alloc_0", cuMemAllocManaged(&managed, 0, CU_MEM_ATTACH_GLOBAL));
	cuMemAllocManaged(&managed, 8 * MIB, CU_MEM_ATTACH_GLOBAL);
	fact("managed.takes", taken());
	cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, managed);
	fact("managed.type", type);
	cuMemFree(managed);
	fact("pointer.of_host",
	     cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&local));
	cuMemAlloc(&other, 1000);
	fact("pointer.host_side_of_device",
	     cuPointerGetAttribute(&pinned, CU_POINTER_ATTRIBUTE_HOST_POINTER, other));
	cuMemFree(other);
}

static void graphs(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {
	    .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
	                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}},
	    .bytesize = 3 * MIB};
	cuuint64_t value = 0;
	CUgraphNode alloc, end;
	CUgraphExec exec, second;
	CUgraph graph;

	mark = available();
	cuGraphCreate(&graph, 0);
	cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params);
	cuGraphAddMemFreeNode(&end, graph, &alloc, 1, params.dptr);
	fact("graph.instantiate", cuGraphInstantiateWithFlags(&exec, graph, 0));
	fact("graph.instantiate_twice", cuGraphInstantiateWithFlags(&second, graph, 0));
	fact("graph.instantiated_takes", taken());
	fact("graph.launch", cuGraphLaunch(exec, stream_a));
	cuStreamSynchronize(stream_a);
	fact("graph.launched_takes", taken());
	cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &value);
	fact("graph.reserved", (long long)value);
	cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value);
	fact("graph.used", (long long)value);
	cuDeviceGraphMemTrim(0);
	fact("graph.trimmed_takes", taken());
	cuGraphExecDestroy(exec);
	cuGraphDestroy(graph);
	cuDeviceGraphMemTrim(0);
	fact("graph.destroyed_takes", taken());
}

static void lookups(void)
{
	CUdriverProcAddressQueryResult status = 9;
	void *f = &status;

	fact("lookup.unknown", cuGetProcAddress("cuNoSuch", &f, 12000, 0, &status));
	fact("lookup.unknown_status", status);
	fact("lookup.unknown_pointer", f != NULL);
	fact("lookup.unknown_without_status", cuGetProcAddress("cuNoSuch", &f, 12000, 0, NULL));
	fact("lookup.too_early", cuGetProcAddress("cuMemAllocAsync", &f, 11000, 0, &status));
	fact("lookup.too_early_status", status);
	fact("lookup.suffixed", cuGetProcAddress("cuMemAlloc_v2", &f, 12000, 0, &status));
	fact("lookup.suffixed_status", status);
	fact("lookup.from_the_future", cuGetProcAddress("cuInit", &f, 99000, 0, &status));
	fact("lookup.bad_flags", cuGetProcAddress("cuInit", &f, 12000, 64, &status));
}

static void contexts(void)
{
	CUresult (*create)(CUcontext *, unsigned, CUdevice) = NULL;
	CUdriverProcAddressQueryResult status;
	CUcontext primary = NULL, ctx = NULL, now = NULL;
	CUdeviceptr a = 0, async = 0;
	CUipcMemHandle handle;
	int active = 0;
	unsigned flags;

	cuMemAlloc(&a, 1000);
	fact("ipc.export", cuIpcGetMemHandle(&handle, a));
	fact("ipc.open_ones_own", cuIpcOpenMemHandle(&async, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	cuMemFree(a);
	cuCtxGetCurrent(&primary);
	cuGetProcAddress("cuCtxCreate", (void **)&create, 3020, 0, &status);
	mark = available();
	fact("ctx.create", create(&ctx, 0, 0));
	fact("ctx.takes_memory", taken() > 0);
	mark = available();
	cuMemAlloc(&a, 64 * MIB);
	cuMemAllocAsync(&async, 64 * MIB, NULL);
	fact("ctx.allocations_take", taken());
	cuCtxDestroy(ctx);
	cuCtxGetCurrent(&now);
	fact("ctx.destroy_pops", now == primary);
	fact("ctx.async_memory_survives_it", cuMemFreeAsync(async, NULL));
	fact("ctx.sync_memory_does_not", cuMemFree(a));
	cuCtxSynchronize();
	cuMemAllocAsync(&async, 64 * MIB, NULL);
	cuMemAlloc(&a, 64 * MIB);
	fact("primary.reset", cuDevicePrimaryCtxReset(0));
	cuDevicePrimaryCtxGetState(0, &flags, &active);
	fact("primary.active_after_reset", active);
	fact("primary.alloc_after_reset", cuMemAlloc(&a, 1000));
	cuDevicePrimaryCtxRetain(&ctx, 0);
	fact("primary.same_handle_again", ctx == primary);
	cuCtxSetCurrent(ctx);
	cuDeviceGetDefaultMemPool(&pool, 0);
	fact("primary.pool_reserves_after_reset", reserved());
	fact("primary.pool_uses_after_reset", used());
	fact("primary.async_memory_survives_it", cuMemFreeAsync(async, NULL));
	fact("primary.release_once", cuDevicePrimaryCtxRelease(0));
	fact("primary.release_twice", cuDevicePrimaryCtxRelease(0));
	fact("primary.release_thrice", cuDevicePrimaryCtxRelease(0));
	fact("primary.alloc_after_release", cuMemAlloc(&a, 1000));
	cuCtxSetCurrent(NULL);
	fact("none.alloc", cuMemAlloc(&a, 1000));
	fact("none.sync", cuCtxSynchronize());
}

int main(void)
{
	CUcontext ctx;
	CUdeviceptr a;
	char name[100] = "";
	int n = 0;

	fact("start.count_before_init", cuDeviceGetCount(&n));
	fact("start.alloc_before_init", cuMemAlloc(&a, 1));
	if (cuInit(0) != CUDA_SUCCESS)
		return 1;
	fact("start.alloc_without_context", cuMemAlloc(&a, 1));
	fact("start.get_device_99", cuDeviceGet(&n, 99));
	cuDeviceGetName(name, sizeof(name), 0);
	if (cuDevicePrimaryCtxRetain(&ctx, 0) != CUDA_SUCCESS || cuCtxSetCurrent(ctx) != CUDA_SUCCESS)
		return 1;
	small_allocations();
	packing();
	pinned_pages();
	refusals();
	pitched();
	/* The simulated device is done at once, so one byte keeps it as busy as anything. */
	busy_rounds = strstr(name, "simulated") ? 1 : 400;
	ballast_bytes = strstr(name, "simulated") ? 1 : 256 * MIB;
	cuMemAlloc(&ballast, 256 * MIB);
	cuDeviceGetDefaultMemPool(&pool, 0);
	cuStreamCreate(&stream_a, CU_STREAM_NON_BLOCKING);
	cuStreamCreate(&stream_b, CU_STREAM_NON_BLOCKING);
	pool_sizes();
	pool_release();
	pool_order();
	pool_refusals();
	virtual_memory();
	arrays();
	host_memory();
	graphs();
	lookups();
	contexts();
	return 0;
}
