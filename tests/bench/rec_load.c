/* rec_load.c PAIRS LIVE STACKS THREADS: a program as large as wanted, on the driver API.
 *
 * PAIRS allocations of 512 bytes by THREADS threads, from STACKS different call paths 20 calls deep; each is freed
 * once LIVE younger ones exist, so that LIVE stay at the end.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH 20 /* two to the power of this: how many paths there are */

static CUresult (*get)(CUdeviceptr *, size_t);
static CUresult (*put)(CUdeviceptr);
static CUresult (*set_current)(CUcontext);
static CUcontext context;
static long pairs, live, stacks, threads;

/* Each bit of the path chooses one of two calls. */
__attribute__((noinline)) static CUdeviceptr down(int depth, unsigned long path)
{
	CUdeviceptr p = 0;

	if (!depth)
		get(&p, 512);
	else if (path & 1)
		p = down(depth - 1, path >> 1);
	else {
		p = down(depth - 1, path >> 1);
		__asm__ volatile("nop"); /* the two are not one */
	}
	__asm__ volatile("" ::: "memory"); /* no tail call */
	return p;
}

static void *work(void *number)
{
	long first = (long)(size_t)number, each = pairs / threads, keep = live / threads, i;
	CUdeviceptr *held = calloc((size_t)keep + 1, sizeof *held);

	set_current(context);
	for (i = 0; held && i < each; i++) {
		CUdeviceptr *p = &held[i % (keep + 1)];

		*p = down(DEPTH, (unsigned long)((first * each + i) % stacks));
		p = &held[(i + 1) % (keep + 1)]; /* the oldest */
		if (*p)
			put(*p);
		*p = 0;
	}
	free(held);
	return NULL;
}

int main(int argc, char **argv)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	pthread_t thread[64];
	long i;

	if (!lib || argc != 5)
		return 2;
	pairs = atol(argv[1]), live = atol(argv[2]), stacks = atol(argv[3]), threads = atol(argv[4]);
	if (threads < 1 || threads > 64 || stacks < 1 || stacks > 1 << DEPTH || live < 0)
		return 2;
	get = (CUresult(*)(CUdeviceptr *, size_t))dlsym(lib, "cuMemAlloc_v2");
	put = (CUresult(*)(CUdeviceptr))dlsym(lib, "cuMemFree_v2");
	set_current = (CUresult(*)(CUcontext))dlsym(lib, "cuCtxSetCurrent");
	if (((CUresult(*)(unsigned))dlsym(lib, "cuInit"))(0) ||
	    ((CUresult(*)(CUcontext *, CUdevice))dlsym(lib, "cuDevicePrimaryCtxRetain"))(&context, 0))
		return 3;
	for (i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(size_t)i))
			return 4;
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
