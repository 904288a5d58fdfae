/* libfake.c: the least driver there can be, without locks, for what the simulated one cannot be asked:
 * calls from signal handlers, a driver too old for some functions, and one that unwinds its caller. */
#include "least.h"
#include <pthread.h>
#include <stdlib.h>

static CUdeviceptr next_address = 0x700000000000;

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *p, size_t bytes)
{
	if (bytes == 13) /* forced unwinding through whoever called */
		pthread_exit((void *)13);
	*p = __atomic_fetch_add(&next_address, 4096, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr p)
{
	(void)p;
	return CUDA_SUCCESS;
}
