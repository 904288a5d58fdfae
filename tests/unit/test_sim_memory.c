/* test_sim_memory.c: the simulated driver's device memory, contexts, copies and faults. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "sim.h"

static CUdeviceptr alloc(size_t bytes)
{
	CUdeviceptr at;

	OK(cuMemAlloc(&at, bytes));
	return at;
}

SIM_CASE(small_allocations_share_a_page, "mem=64MiB,context=0")
{
	CUdeviceptr a, b, c;

	sim_use(0);
	a = alloc(1);
	CHECK(sim_free() == 62 * MIB);
	b = alloc(513);
	c = alloc(1 * MIB);
	CHECK(b == a + 512 && c == b + 1024);
	CHECK(sim_free() == 62 * MIB);
	alloc(1 * MIB); /* what is left of the page is too small */
	CHECK(sim_free() == 60 * MIB);
}

SIM_CASE(a_page_goes_back_with_its_last_piece, "mem=64MiB,context=0")
{
	CUdeviceptr at[4];

	sim_use(0);
	for (int i = 0; i < 4; i++)
		at[i] = alloc(512 * KIB);
	for (int i = 0; i < 3; i++) {
		OK(cuMemFree(at[i]));
		CHECK(sim_free() == 62 * MIB);
	}
	OK(cuMemFree(at[3]));
	CHECK(sim_free() == 64 * MIB);
}

SIM_CASE(large_allocations_take_whole_pages, "mem=64MiB,context=0")
{
	CUdeviceptr a, b;

	sim_use(0);
	a = alloc(1 * MIB + 1);
	CHECK(a % (2 * MIB) == 0 && sim_free() == 62 * MIB);
	b = alloc(2 * MIB + 1);
	CHECK(b % (2 * MIB) == 0 && sim_free() == 58 * MIB);
	OK(cuMemFree(a));
	OK(cuMemFree(b));
	CHECK(sim_free() == 64 * MIB);
}

SIM_CASE(the_last_page_can_be_used_and_not_one_more, "mem=64MiB,context=4MiB")
{
	CUdeviceptr big, more = 7;

	sim_use(0);
	CHECK(sim_free() == 60 * MIB);
	big = alloc(60 * MIB);
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&more, 1));
	CHECK(more == 7 && sim_free() == 0);
	OK(cuMemFree(big));
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&more, 60 * MIB + 1));
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&more, SIZE_MAX));
	CHECK(sim_free() == 60 * MIB);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&more, 0));
}

SIM_CASE(an_80_gib_device_costs_nothing_until_touched, "mem=80GiB,context=0")
{
	CUdeviceptr at;
	unsigned char byte = 0;

	sim_use(0);
	at = alloc(80 * 1024 * MIB);
	OK(cuMemsetD8(at + 79 * 1024 * MIB, 9, 1));
	OK(cuMemcpyDtoH(&byte, at + 79 * 1024 * MIB, 1));
	CHECK(byte == 9);
}

SIM_CASE(pinned_pages_make_a_device_full_that_is_mostly_free, "mem=64MiB,context=0")
{
	CUdeviceptr at[128], big;

	sim_use(0);
	for (int i = 0; i < 128; i++)
		at[i] = alloc(512 * KIB);
	for (int i = 0; i < 128; i++)
		if (i % 4)
			OK(cuMemFree(at[i]));
	CHECK(sim_free() == 0);
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&big, 2 * MIB));
	for (int i = 0; i < 32; i++)
		alloc(1 * MIB); /* small ones still fit */
}

SIM_CASE(a_hole_of_exactly_the_size_is_found, "mem=2MiB,context=0")
{
	CUdeviceptr hole, again;

	sim_use(0);
	alloc(300 * KIB);
	hole = alloc(700 * KIB - 512);
	alloc(1024 * KIB);
	alloc(24 * KIB + 512);
	CHECK(sim_free() == 0);
	OK(cuMemFree(hole));
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&again, 700 * KIB));
	CHECK(alloc(700 * KIB - 512) == hole);
}

/* --- addresses ------------------------------------------------------------------------------ */

static uint64_t *shared;

static void some_addresses(void)
{
	CUdeviceptr at[64];

	sim_use(0);
	for (int i = 0; i < 64; i++)
		at[i] = alloc((size_t)(i * i * 977 + 1));
	for (int i = 0; i < 64; i += 3)
		OK(cuMemFree(at[i]));
	for (int i = 0; i < 64; i += 3)
		at[i] = alloc((size_t)(i * 1013 + 1));
	for (int i = 0; i < 64; i++)
		*shared = *shared * 31 + at[i];
}

static void the_same_calls_give_the_same_addresses(void **state)
{
	uint64_t first;

	(void)state;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(sim_case("", some_addresses), 0);
	first = *shared;
	*shared = 0;
	assert_int_equal(sim_case("", some_addresses), 0);
	assert_true(first != 0 && first == *shared);
}

static void touch_from_the_host(void)
{
	sim_use(0);
	*(volatile char *)alloc(4096) = 1;
}

static void a_host_dereference_faults(void **state)
{
	int status;

	(void)state;
	status = sim_case("", touch_from_the_host);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

SIM_CASE(freeing_what_is_not_an_allocation_is_refused, "mem=64MiB,context=0")
{
	CUdeviceptr a, b;
	void *host = malloc(64);

	sim_use(0);
	a = alloc(4096);
	b = alloc(4 * MIB);
	OK(cuMemFree(0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(a + 512));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(b + 2 * MIB));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree((CUdeviceptr)host));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(b + 1024 * MIB));
	OK(cuMemFree(a));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(a));
	OK(cuMemFree(b));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(b));
}

SIM_CASE(the_range_of_an_inner_address_is_known, "")
{
	CUdeviceptr at[100], base;
	size_t size;

	sim_use(0);
	for (size_t i = 0; i < 100; i++)
		at[i] = alloc(1000 * (i + 1));
	for (size_t i = 0; i < 100; i++) {
		size_t bytes = 1000 * (i + 1);

		OK(cuMemGetAddressRange(&base, &size, at[i] + bytes - 1));
		CHECK(base == at[i] && size == bytes);
		/* The unit that follows is another allocation's, or nobody's. */
		if (cuMemGetAddressRange(&base, &size, at[i] + (bytes + 511) / 512 * 512) == CUDA_SUCCESS)
			CHECK(base != at[i]);
	}
}

SIM_CASE(memory_freed_on_a_stream_goes_when_the_stream_was_waited_for, "mem=64MiB,context=0")
{
	CUdeviceptr small, large, kept;

	sim_use(0);
	small = alloc(1000);
	large = alloc(30 * MIB);
	kept = alloc(30 * MIB);
	OK(cuMemFreeAsync(small, NULL));
	OK(cuMemFreeAsync(large, NULL));
	OK(cuMemFreeAsync(kept, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(small, NULL));
	CHECK(sim_free() == 2 * MIB);
	OK(cuMemFree(kept)); /* waits for the others, too */
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(kept));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(small));
	CHECK(sim_free() == 64 * MIB);
	for (int i = 0; i < 10; i++) /* a full device does not need the waiting */
		OK(cuMemFreeAsync(alloc(30 * MIB), NULL));
	OK(cuCtxSynchronize());
	CHECK(sim_free() == 64 * MIB);
}

SIM_CASE(memory_freed_on_another_contexts_stream_may_end_before, "mem=64MiB,context=0")
{
	CUcontext ctx;
	CUdeviceptr at, again;
	CUstream s;

	sim_use(0);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuCtxCreate_v2(&ctx, 0, 0));
	at = alloc(4 * MIB);
	OK(cuMemFreeAsync(at, s));
	OK(cuCtxDestroy(ctx));
	again = alloc(4 * MIB);
	CHECK(again == at);
	OK(cuStreamSynchronize(s));
	OK(cuMemFree(again));
}

SIM_CASE(pitch_is_a_multiple_of_512, "")
{
	CUdeviceptr at;
	size_t pitch;

	sim_use(0);
	OK(cuMemAllocPitch(&at, &pitch, 1000, 3, 4));
	CHECK(pitch == 1024);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch(&at, &pitch, 1000, 3, 5));
}

/* --- bytes ---------------------------------------------------------------------------------- */

SIM_CASE(bytes_survive_the_way_there_and_back, "")
{
	enum { N = 3 * 1024 * 1024 };
	unsigned char *in = malloc(N), *out = calloc(1, N);
	CUdeviceptr a, b;

	sim_use(0);
	for (int i = 0; i < N; i++)
		in[i] = (unsigned char)(i * 7 + i / 256);
	a = alloc(N);
	b = alloc(N);
	OK(cuMemcpyHtoD(a, in, N));
	OK(cuMemcpyDtoD(b, a, N));
	OK(cuMemcpyDtoH(out, b, N));
	CHECK(memcmp(in, out, N) == 0);
	OK(cuMemsetD32(a, 0x01020304, N / 4));
	OK(cuMemcpy((CUdeviceptr)out, a, N));
	CHECK(out[0] == 4 && out[N - 1] == 1);
}

SIM_CASE(copying_over_the_end_is_refused, "")
{
	char host[2048];
	CUdeviceptr at;

	sim_use(0);
	at = alloc(1000);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(at, host, 1001));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host, at + 999, 2));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(at, 0, 1001));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(at + 1, 0, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD((CUdeviceptr)host, host, 4));
	OK(cuMemFree(at));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(at, host, 1));
}

SIM_CASE(rows_are_copied_with_their_pitches, "")
{
	unsigned char in[6 * 4], out[6 * 4] = {0};
	CUdeviceptr at;
	size_t pitch;
	CUDA_MEMCPY2D c = {0};

	sim_use(0);
	for (unsigned i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)i;
	OK(cuMemAllocPitch(&at, &pitch, 6, 4, 4));
	c = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
	                    .srcHost = in,
	                    .srcPitch = 6,
	                    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
	                    .dstDevice = at,
	                    .dstPitch = pitch,
	                    .WidthInBytes = 6,
	                    .Height = 4};
	OK(cuMemcpy2D(&c));
	for (unsigned y = 0; y < 4; y++)
		OK(cuMemcpyDtoH(out + 6 * y, at + y * pitch, 6));
	CHECK(memcmp(in, out, sizeof(in)) == 0);
}

SIM_CASE(managed_and_pinned_memory_is_the_hosts_too, "mem=64MiB,context=0")
{
	CUdeviceptr managed, device, mapped;
	char *pinned;
	char byte;

	sim_use(0);
	OK(cuMemAllocManaged(&managed, 5 * MIB, CU_MEM_ATTACH_GLOBAL));
	memset((void *)managed, 3, 5 * MIB);
	OK(cuMemHostAlloc((void **)&pinned, 100, 0));
	pinned[99] = 4;
	device = alloc(200);
	OK(cuMemcpyDtoD(device, managed + 5 * MIB - 100, 100));
	OK(cuMemHostGetDevicePointer(&mapped, pinned, 0));
	OK(cuMemcpyDtoD(device + 100, mapped, 100));
	OK(cuMemcpyDtoH(&byte, device + 99, 1));
	CHECK(byte == 3);
	OK(cuMemcpyDtoH(&byte, device + 199, 1));
	CHECK(byte == 4);
	CHECK(sim_free() == 62 * MIB); /* neither is device memory */
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree((CUdeviceptr)pinned));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost((void *)managed));
	OK(cuMemFreeHost(pinned));
	OK(cuMemFree(managed));
}

SIM_CASE(host_memory_is_registered_once, "")
{
	static char page[8192];

	sim_use(0);
	OK(cuMemHostRegister(page, sizeof(page), 0));
	GIVES(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(page + 4096, 10, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostUnregister(page + 4096));
	OK(cuMemHostUnregister(page));
	GIVES(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(page));
}

SIM_CASE(pointers_say_what_they_are, "devices=2")
{
	CUdeviceptr at, base;
	CUcontext ctx, of;
	unsigned type, managed;
	int device, local = 0;
	size_t size;

	ctx = sim_use(1);
	at = alloc(1000);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at + 5));
	OK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at + 5));
	OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, at + 5));
	OK(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at + 5));
	OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at + 5));
	OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at + 5));
	CHECK(type == CU_MEMORYTYPE_DEVICE && device == 1 && of == ctx && base == at && size == 1000 &&
	      !managed);
	GIVES(CUDA_ERROR_INVALID_VALUE,
	      cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&local));
}

SIM_CASE(arrays_take_device_memory, "mem=64MiB,context=0")
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
	    .Width = 1024, .Height = 1024, .NumChannels = 4, .Format = CU_AD_FORMAT_FLOAT};
	CUDA_ARRAY_MEMORY_REQUIREMENTS need;
	CUmipmappedArray pyramid;
	CUarray array, level;
	float in[4] = {1, 2, 3, 4}, out[4] = {0};

	sim_use(0);
	OK(cuArray3DCreate(&array, &d));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuArrayGetMemoryRequirements(&need, array, 0));
	CHECK(sim_free() == 48 * MIB);
	OK(cuMemcpyHtoA(array, 16, in, sizeof(in)));
	OK(cuMemcpyAtoH(out, array, 16, sizeof(out)));
	CHECK(memcmp(in, out, sizeof(in)) == 0);
	OK(cuArrayDestroy(array));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
	OK(cuMipmappedArrayCreate(&pyramid, &d, 3));
	CHECK(sim_free() == 42 * MIB); /* 16 + 4 + 1, in pages */
	OK(cuMipmappedArrayGetLevel(&level, pyramid, 2));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel(&level, pyramid, 3));
	OK(cuMipmappedArrayDestroy(pyramid));
	CHECK(sim_free() == 64 * MIB);
}

/* --- contexts ------------------------------------------------------------------------------- */

SIM_CASE(nothing_works_before_cuInit_or_without_a_context, "")
{
	CUdeviceptr at;
	int n;

	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&n));
	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&at, 1));
	OK(cuDriverGetVersion(&n));
	OK(cuInit(0));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&at, 1));
	OK(cuDeviceGet(&n, 1)); /* there are two, unless asked otherwise */
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&n, 2));
}

SIM_CASE(memory_dies_with_its_context, "mem=64MiB,context=2MiB")
{
	CUcontext ctx;
	CUdeviceptr at;
	void *host;

	sim_use(0);
	CHECK(sim_free() == 62 * MIB);
	OK(cuCtxCreate_v2(&ctx, 0, 0));
	CHECK(sim_free() == 60 * MIB);
	at = alloc(10 * MIB);
	alloc(100);
	OK(cuMemAllocHost(&host, 100));
	CHECK(sim_free() == 48 * MIB);
	OK(cuCtxDestroy(ctx));
	CHECK(sim_free() == 62 * MIB); /* the primary one is current again */
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(at));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(ctx));
}

static void *use_destroyed(void *ctx)
{
	CUdeviceptr at;

	OK(cuCtxSetCurrent(ctx));
	pthread_barrier_t *barrier = (pthread_barrier_t *)shared;

	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&at, 1));
	return NULL;
}

SIM_CASE(another_thread_learns_that_its_context_was_destroyed, "")
{
	pthread_barrier_t barrier;
	pthread_t thread;
	CUcontext ctx;

	shared = (uint64_t *)&barrier;
	pthread_barrier_init(&barrier, NULL, 2);
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&ctx, 0, 0));
	pthread_create(&thread, NULL, use_destroyed, ctx);
	pthread_barrier_wait(&barrier);
	OK(cuCtxDestroy(ctx));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
}

SIM_CASE(the_primary_context_is_counted, "mem=64MiB,context=2MiB")
{
	CUcontext a, b;
	CUdeviceptr at;
	unsigned flags;
	int active;

	a = sim_use(0);
	OK(cuDevicePrimaryCtxRetain(&b, 0));
	CHECK(a == b);
	at = alloc(4 * MIB);
	OK(cuDevicePrimaryCtxRelease(0));
	OK(cuMemsetD8(at, 0, 1));
	OK(cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(!active);
	GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&at, 1));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxRetain(&b, 0));
	CHECK(a == b && sim_free() == 62 * MIB);
	alloc(4 * MIB);
	OK(cuDevicePrimaryCtxReset(0));
	OK(cuDevicePrimaryCtxRetain(&b, 0));
	CHECK(sim_free() == 62 * MIB);
	OK(cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxRelease(0));
}

SIM_CASE(devices_have_memory_of_their_own, "devices=2,mem=64MiB,context=0")
{
	CUdeviceptr at;
	size_t total;
	int n;

	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	OK(cuDeviceTotalMem(&total, 1));
	CHECK(n == 2 && total == 64 * MIB);
	sim_use(0);
	alloc(60 * MIB);
	sim_use(1);
	CHECK(sim_free() == 64 * MIB);
	OK(cuMemAlloc(&at, 64 * MIB));
	sim_use(0);
	CHECK(sim_free() == 4 * MIB);
	OK(cuMemFree(at)); /* any context may free it */
	sim_use(1);
	CHECK(sim_free() == 64 * MIB);
}

/* --- settings and faults -------------------------------------------------------------------- */

SIM_CASE(the_nth_call_fails_as_asked,
         "fail=cuMemAlloc:3,fail=cuMemAlloc:5-6:NOT_PERMITTED,fail=cuMemFree:2+:719")
{
	static const CUresult expected[] = {
	    0, 0, CUDA_ERROR_OUT_OF_MEMORY, 0, CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED, 0};
	CUdeviceptr at = 0;

	sim_use(0);
	for (int i = 0; i < 7; i++)
		GIVES(expected[i], cuMemAlloc(&at, 1));
	OK(cuMemFree(0));
	GIVES(CUDA_ERROR_LAUNCH_FAILED, cuMemFree(at));
	GIVES(CUDA_ERROR_LAUNCH_FAILED, cuMemFree(at));
}

SIM_CASE(a_fault_names_every_variant_of_a_function, "fail=cuMemAllocAsync:2")
{
	CUresult (*own)(CUdeviceptr *, size_t, CUstream) = NULL;
	CUdeviceptr at;

	sim_use(0);
	OK(cuGetProcAddress("cuMemAllocAsync", (void **)&own, 11020,
	                    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	OK(cuMemAllocAsync(&at, 1, NULL));
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, own(&at, 1, NULL));
	OK(own(&at, 1, NULL));
}

SIM_CASE(there_may_be_no_device, "devices=0")
{
	GIVES(CUDA_ERROR_NO_DEVICE, cuInit(0));
}

static void bad_setting(void)
{
	freopen("/dev/null", "w", stderr);
	if (cuInit(0) != CUDA_ERROR_SYSTEM_NOT_READY)
		_exit(1);
}

static void a_setting_that_is_not_understood_is_an_error(void **state)
{
	static const char *const bad[] = {"mem=1XB",
	                                  "mem=-1",
	                                  "devices=17",
	                                  "speed=9",
	                                  "fail=cuMemAlloc",
	                                  "fail=cuNoSuch:1",
	                                  "fail=cuMemAlloc:0",
	                                  "fail=cuMemAlloc:2-1",
	                                  "driver=99999",
	                                  "fail=cuMemAlloc:1:NO_SUCH",
	                                  "devices"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int status = sim_case(bad[i], bad_setting);

		if (status)
			print_message("# accepted: %s\n", bad[i]);
		assert_int_equal(status, 0);
	}
}

SIM_CASE(a_forked_child_cannot_use_its_parents_driver, "")
{
	int status, n;
	pid_t pid;

	sim_use(0);
	pid = fork();
	if (pid == 0) {
		GIVES(CUDA_ERROR_NOT_INITIALIZED, cuInit(0));
		GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&n));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK(status == 0);
	OK(cuDeviceGetCount(&n));
}

SIM_CASE(errors_have_names_and_texts, "")
{
	const char *text;

	OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
	CHECK(strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
	OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
	CHECK(strcmp(text, "out of memory") == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &text));
	CHECK(text == NULL);
}

/* --- many at once --------------------------------------------------------------------------- */

struct worker {
	pthread_t thread;
	unsigned seed;
	CUcontext ctx;
};

/* Every block is filled with its owner's pattern; whoever overlaps another's is found out. */
static void *alloc_and_free(void *arg)
{
	struct worker *w = arg;
	struct {
		CUdeviceptr at;
		size_t bytes;
		unsigned char fill;
	} held[32] = {0};

	OK(cuCtxSetCurrent(w->ctx));
	for (int i = 0; i < 4000; i++) {
		unsigned k = (unsigned)rand_r(&w->seed) % 32;
		unsigned char first, last;

		if (held[k].at) {
			OK(cuMemcpyDtoH(&first, held[k].at, 1));
			OK(cuMemcpyDtoH(&last, held[k].at + held[k].bytes - 1, 1));
			CHECK(first == held[k].fill && last == held[k].fill);
			if (held[k].bytes % 2)
				OK(cuMemFree(held[k].at));
			else
				OK(cuMemFreeAsync(held[k].at, CU_STREAM_PER_THREAD));
			held[k].at = 0;
			continue;
		}
		held[k].bytes = 1 + (unsigned)rand_r(&w->seed) % 20000;
		held[k].fill = (unsigned char)rand_r(&w->seed);
		if (held[k].bytes % 2)
			OK(cuMemAlloc(&held[k].at, held[k].bytes));
		else
			OK(cuMemAllocAsync(&held[k].at, held[k].bytes, CU_STREAM_PER_THREAD));
		OK(cuMemsetD8(held[k].at, held[k].fill, held[k].bytes));
	}
	for (int k = 0; k < 32; k++)
		OK(cuMemFree(held[k].at));
	return NULL;
}

SIM_CASE(eight_threads_never_get_the_same_memory, "mem=1GiB,context=0")
{
	struct worker w[8];
	CUcontext ctx = sim_use(0);

	for (unsigned i = 0; i < 8; i++) {
		w[i].seed = i + 1;
		w[i].ctx = ctx;
		CHECK(pthread_create(&w[i].thread, NULL, alloc_and_free, &w[i]) == 0);
	}
	for (unsigned i = 0; i < 8; i++)
		pthread_join(w[i].thread, NULL);
	OK(cuCtxSynchronize());
	CHECK(sim_free() == 1024 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(small_allocations_share_a_page),
	    cmocka_unit_test(a_page_goes_back_with_its_last_piece),
	    cmocka_unit_test(large_allocations_take_whole_pages),
	    cmocka_unit_test(the_last_page_can_be_used_and_not_one_more),
	    cmocka_unit_test(an_80_gib_device_costs_nothing_until_touched),
	    cmocka_unit_test(pinned_pages_make_a_device_full_that_is_mostly_free),
	    cmocka_unit_test(a_hole_of_exactly_the_size_is_found),
	    cmocka_unit_test(the_same_calls_give_the_same_addresses),
	    cmocka_unit_test(a_host_dereference_faults),
	    cmocka_unit_test(freeing_what_is_not_an_allocation_is_refused),
	    cmocka_unit_test(the_range_of_an_inner_address_is_known),
	    cmocka_unit_test(memory_freed_on_a_stream_goes_when_the_stream_was_waited_for),
	    cmocka_unit_test(memory_freed_on_another_contexts_stream_may_end_before),
	    cmocka_unit_test(pitch_is_a_multiple_of_512),
	    cmocka_unit_test(bytes_survive_the_way_there_and_back),
	    cmocka_unit_test(copying_over_the_end_is_refused),
	    cmocka_unit_test(rows_are_copied_with_their_pitches),
	    cmocka_unit_test(managed_and_pinned_memory_is_the_hosts_too),
	    cmocka_unit_test(host_memory_is_registered_once),
	    cmocka_unit_test(pointers_say_what_they_are),
	    cmocka_unit_test(arrays_take_device_memory),
	    cmocka_unit_test(nothing_works_before_cuInit_or_without_a_context),
	    cmocka_unit_test(memory_dies_with_its_context),
	    cmocka_unit_test(another_thread_learns_that_its_context_was_destroyed),
	    cmocka_unit_test(the_primary_context_is_counted),
	    cmocka_unit_test(devices_have_memory_of_their_own),
	    cmocka_unit_test(the_nth_call_fails_as_asked),
	    cmocka_unit_test(a_fault_names_every_variant_of_a_function),
	    cmocka_unit_test(there_may_be_no_device),
	    cmocka_unit_test(a_setting_that_is_not_understood_is_an_error),
	    cmocka_unit_test(a_forked_child_cannot_use_its_parents_driver),
	    cmocka_unit_test(errors_have_names_and_texts),
	    cmocka_unit_test(eight_threads_never_get_the_same_memory),
	};

	return cmocka_run_group_tests_name("sim_memory", tests, NULL, NULL);
}
