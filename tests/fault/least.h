/* least.h: what every stand-in driver here answers: it starts, and has one context on one device. */
#ifndef TESTS_FAULT_LEAST_H
#define TESTS_FAULT_LEAST_H

#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>

CUresult CUDAAPI cuInit(unsigned flags)
{
	(void)flags;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	(void)device;
	*context = (CUcontext)0x1000;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context)
{
	(void)context;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
	*context = (CUcontext)0x1000;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}

#endif
