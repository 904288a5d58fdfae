/* sample.h: what every sample starts with: check each driver call, and make a device current. */
#ifndef SAMPLES_SAMPLE_H
#define SAMPLES_SAMPLE_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define KIB 1024ull
#define MIB (1024ull * 1024)

/* Functions that a report should name: the compiler must not fold them into their callers. */
#define NAMED __attribute__((noinline))

#define CU(call) cu_check((call), #call, __FILE__, __LINE__)

static inline void cu_check(CUresult result, const char *call, const char *file, int line)
{
	const char *name = NULL;

	if (result == CUDA_SUCCESS)
		return;
	cuGetErrorName(result, &name);
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, name ? name : "unknown error");
	exit(1);
}

static inline CUcontext use_device(int ordinal)
{
	CUdevice device;
	CUcontext context;

	CU(cuInit(0));
	CU(cuDeviceGet(&device, ordinal));
	CU(cuDevicePrimaryCtxRetain(&context, device));
	CU(cuCtxSetCurrent(context));
	return context;
}

#endif
