/* rec_sites.c [ROUNDS]: allocations from ten thousand call sites, so that a recording has as many frames to name. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>

static CUresult (*get)(CUdeviceptr *, size_t);
static CUresult (*put)(CUdeviceptr);

__attribute__((noinline)) static void site(void)
{
	CUdeviceptr p;

	if (!get(&p, 4096))
		put(p);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

#define TEN(x) x x x x x x x x x x
static void sites(void)
{
	TEN(TEN(TEN(TEN(site();))))
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 50;
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext context;

	if (!lib)
		return 2;
	get = (CUresult(*)(CUdeviceptr *, size_t))dlsym(lib, "cuMemAlloc_v2");
	put = (CUresult(*)(CUdeviceptr))dlsym(lib, "cuMemFree_v2");
	if (((CUresult(*)(unsigned))dlsym(lib, "cuInit"))(0) ||
	    ((CUresult(*)(CUcontext *, CUdevice))dlsym(lib, "cuDevicePrimaryCtxRetain"))(&context, 0) ||
	    ((CUresult(*)(CUcontext))dlsym(lib, "cuCtxSetCurrent"))(context))
		return 3;
	while (rounds-- > 0)
		sites();
	return 0;
}
