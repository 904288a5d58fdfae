/* gpu.h: the driver by dlopen and dlsym, for the programs here: they run wherever a libcuda.so.1 is. */
#ifndef FAULT_GPU_H
#define FAULT_GPU_H

#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CUresult (*gpu_alloc)(CUdeviceptr *, size_t);
static CUresult (*gpu_free)(CUdeviceptr);
static CUcontext gpu_context;

static inline void *gpu_fn(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	if (!p) {
		fprintf(stderr, "no %s\n", name);
		exit(90);
	}
	return p;
}

#define GPU(lib, name) ((__typeof__(&name))gpu_fn(lib, #name))

static inline void gpu_must(CUresult r, const char *what)
{
	if (r != CUDA_SUCCESS) {
		fprintf(stderr, "%s: error %d\n", what, (int)r);
		exit(91);
	}
}

/* Start the driver and make device 0 current. */
static inline void *gpu_start(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(92);
	}
	gpu_must(GPU(lib, cuInit)(0), "cuInit");
	gpu_must(GPU(lib, cuDevicePrimaryCtxRetain)(&gpu_context, 0), "cuDevicePrimaryCtxRetain");
	gpu_must(GPU(lib, cuCtxSetCurrent)(gpu_context), "cuCtxSetCurrent");
	gpu_alloc = (CUresult(*)(CUdeviceptr *, size_t))gpu_fn(lib, "cuMemAlloc_v2");
	gpu_free = (CUresult(*)(CUdeviceptr))gpu_fn(lib, "cuMemFree_v2");
	return lib;
}

static inline CUdeviceptr gpu_get(size_t bytes)
{
	CUdeviceptr p = 0;

	gpu_must(gpu_alloc(&p, bytes), "cuMemAlloc");
	return p;
}

static inline void gpu_put(CUdeviceptr p)
{
	gpu_must(gpu_free(p), "cuMemFree");
}

/* n allocations, every second one given back. */
static inline void gpu_work(int n)
{
	int i;

	for (i = 0; i < n; i++) {
		CUdeviceptr p = gpu_get(1000);

		if (i & 1)
			gpu_put(p);
	}
}

#endif
