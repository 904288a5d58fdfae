/* linger.c SECONDS: a program for looking at while it runs. It holds 64 MiB of weights, keeps 1 MiB
 * more every 20 ms up to 32 MiB, has one allocation refused, says "ready" and waits for the end of
 * its standard input, or SECONDS. */
#include <cuda.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MIB (1ull << 20)

static CUresult (*alloc)(CUdeviceptr *, size_t);

__attribute__((noinline)) static CUdeviceptr load_weights(void)
{
	CUdeviceptr at = 0;

	return alloc(&at, 64 * MIB) ? 0 : at;
}
__attribute__((noinline)) static CUdeviceptr keep_for_later(void)
{
	CUdeviceptr at = 0;

	return alloc(&at, MIB) ? 0 : at;
}
__attribute__((noinline)) static CUdeviceptr ask_for_too_much(void)
{
	CUdeviceptr at = 0;

	return alloc(&at, (size_t)1 << 50) ? 0 : at;
}

int main(int argc, char **argv)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*init)(unsigned) = cuda ? (CUresult(*)(unsigned))dlsym(cuda, "cuInit") : NULL;
	CUresult (*retain)(CUcontext *, CUdevice) = NULL;
	CUresult (*set)(CUcontext) = NULL;
	struct pollfd in = {.fd = 0, .events = POLLIN};
	CUcontext context;
	int i;

	if (!init)
		return 2;
	alloc = (CUresult(*)(CUdeviceptr *, size_t))dlsym(cuda, "cuMemAlloc_v2");
	retain = (CUresult(*)(CUcontext *, CUdevice))dlsym(cuda, "cuDevicePrimaryCtxRetain");
	set = (CUresult(*)(CUcontext))dlsym(cuda, "cuCtxSetCurrent");
	if (init(0) || retain(&context, 0) || set(context) || !load_weights() || ask_for_too_much())
		return 3;
	for (i = 0; i < 32; i++) {
		if (!keep_for_later())
			return 3;
		usleep(20000);
	}
	puts("ready");
	fflush(stdout);
	poll(&in, 1, argc > 1 ? atoi(argv[1]) * 1000 : 60000);
	return 0;
}
