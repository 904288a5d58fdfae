/* kinds.c: every way to get memory from the driver, once each with a sound end and once without.
 *
 * Each function below makes two things of its kind and gives one of them back.
 *
 * Expected story: one live thing of each kind at the end: 3 MiB of device memory, 3 MiB managed,
 * 3 MiB stream-ordered, 4 MiB of physical memory behind virtual addresses, a CUDA array of 4 MiB;
 * on the host 3 MiB page-locked and 1 MiB registered. A pool, and a context, of the program's own
 * came and went.
 */
#include "sample.h"

NAMED static void device_memory(void)
{
	CUdeviceptr a, b;
	size_t pitch;

	CU(cuMemAlloc(&a, 3 * MIB));
	CU(cuMemAllocPitch(&b, &pitch, 1000, 1000, 4));
	CU(cuMemFree(b));
}

NAMED static void managed_memory(void)
{
	CUdeviceptr a, b;

	CU(cuMemAllocManaged(&a, 3 * MIB, CU_MEM_ATTACH_GLOBAL));
	CU(cuMemAllocManaged(&b, 5 * MIB, CU_MEM_ATTACH_GLOBAL));
	CU(cuMemFree(b));
}

NAMED static void pinned_memory(void)
{
	void *a, *b;

	CU(cuMemHostAlloc(&a, 3 * MIB, 0));
	CU(cuMemAllocHost(&b, 5 * MIB));
	CU(cuMemFreeHost(b));
}

NAMED static void registered_memory(void)
{
	static char page[2 * 1024 * 1024] __attribute__((aligned(4096)));

	CU(cuMemHostRegister(page, MIB, 0));
	CU(cuMemHostRegister(page + MIB, MIB, 0));
	CU(cuMemHostUnregister(page + MIB));
}

NAMED static void stream_ordered_memory(void)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
	                        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemoryPool pool;
	CUdeviceptr a, b, none;
	CUstream stream;

	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CU(cuMemPoolCreate(&pool, &props));
	CU(cuMemAllocAsync(&a, 3 * MIB, stream));
	CU(cuMemAllocFromPoolAsync(&b, 5 * MIB, pool, stream));
	CU(cuMemFreeAsync(b, stream));
	CU(cuMemAllocAsync(&none, 0, stream)); /* granted, and nothing to give back */
	CU(cuStreamSynchronize(stream));
	CU(cuMemPoolTrimTo(pool, 0));
	CU(cuMemPoolDestroy(pool));
}

/* The first handle is mapped twice and released before it is unmapped; the second stays mapped. */
NAMED static void virtual_memory(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle gone, kept;
	CUdeviceptr at;

	CU(cuMemAddressReserve(&at, 64 * MIB, 0, 0, 0));
	CU(cuMemCreate(&gone, 6 * MIB, &prop, 0));
	CU(cuMemMap(at, 6 * MIB, 0, gone, 0));
	CU(cuMemMap(at + 6 * MIB, 6 * MIB, 0, gone, 0));
	CU(cuMemRelease(gone));
	CU(cuMemUnmap(at, 12 * MIB));
	CU(cuMemCreate(&kept, 4 * MIB, &prop, 0));
	CU(cuMemMap(at, 4 * MIB, 0, kept, 0));
	CU(cuMemSetAccess(at, 4 * MIB, &access, 1));
	CU(cuMemsetD8(at, 1, 4 * MIB));
}

NAMED static void arrays(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = {
	    .Width = 512, .Height = 512, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
	CUDA_ARRAY3D_DESCRIPTOR deep = {
	    .Width = 64, .Height = 64, .Depth = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	CUarray a, b;

	CU(cuArrayCreate(&a, &flat));
	CU(cuArray3DCreate(&b, &deep));
	CU(cuArrayDestroy(b));
}

/* Memory that nobody frees, but that goes with its context. */
NAMED static void context_memory(void)
{
	/* The form that takes no parameters, in every version of the driver. */
	CUresult (*create)(CUcontext *, unsigned int, CUdevice) = NULL;
	CUdriverProcAddressQueryResult found;
	CUcontext own;
	CUdeviceptr a;

	CU(cuGetProcAddress("cuCtxCreate", (void **)&create, 3020, 0, &found));
	CU(create(&own, 0, 0));
	CU(cuMemAlloc(&a, 7 * MIB));
	CU(cuCtxDestroy(own));
}

int main(void)
{
	use_device(0);
	device_memory();
	managed_memory();
	pinned_memory();
	registered_memory();
	stream_ordered_memory();
	virtual_memory();
	arrays();
	context_memory();
	printf("kinds: two of each made, one of each left\n");
	return 0;
}
