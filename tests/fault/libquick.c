/* libquick.c: a driver whose stream-ordered calls take no time and no lock: what is left of a recorded call is
 * the recorder's own cost. */
#include "least.h"

static CUdeviceptr next_address = 0x700000000000, next_handle = 0x10000;

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
	(void)device;
	*pool = (CUmemoryPool)0x2000;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	(void)props;
	*pool = (CUmemoryPool)__atomic_add_fetch(&next_handle, 64, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned flags)
{
	(void)flags;
	*stream = (CUstream)__atomic_add_fetch(&next_handle, 64, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

/* Each thread has one address. */
static CUresult get(CUdeviceptr *p)
{
	static __thread CUdeviceptr mine;

	if (!mine)
		mine = __atomic_add_fetch(&next_address, 1ull << 32, __ATOMIC_RELAXED);
	*p = mine;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *p, size_t bytes, CUstream stream)
{
	(void)bytes;
	(void)stream;
	return get(p);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	(void)bytes;
	(void)pool;
	(void)stream;
	return get(p);
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr p, CUstream stream)
{
	(void)p;
	(void)stream;
	return CUDA_SUCCESS;
}
