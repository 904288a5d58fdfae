/* linked_pool.c [STEPS]: what a program sets of its pool and context, and frees that the driver refuses: twice, of
 * something unknown, and of stream-ordered memory by the other function. Then so many more pairs. */
#include "../../samples/sample.h"

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 0, off = 0;
	cuuint64_t threshold = 64 * MIB, all = UINT64_MAX;
	CUmemoryPool pool;
	CUdeviceptr a, b, c, d;

	use_device(0);
	CU(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32 * MIB));
	CU(cuDeviceGetDefaultMemPool(&pool, 0));
	CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &off));
	CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	CU(cuMemAlloc(&a, MIB));
	CU(cuMemAlloc(&d, MIB)); /* stays */
	CU(cuMemAllocAsync(&b, MIB, NULL));
	CU(cuMemAllocAsync(&c, MIB, NULL));
	CU(cuMemFree(a));
	printf("again %d", (int)cuMemFree(a));
	printf(", unknown %d", (int)cuMemFree(0x1000));
	CU(cuMemFreeAsync(b, NULL));
	printf(", after async %d", (int)cuMemFree(b));
	printf(", async after async %d", (int)cuMemFreeAsync(b, NULL));
	printf(", inside %d", (int)cuMemFree(d + 256));
	CU(cuMemFree(c)); /* which is allowed */
	printf(", after sync %d\n", (int)cuMemFreeAsync(c, NULL));
	while (steps-- > 0) {
		CU(cuMemAlloc(&a, KIB));
		CU(cuMemFree(a));
	}
	return 0;
}
