/* rec_pair.c: what one pair of cuMemAllocAsync and cuMemFreeAsync costs, called 15 frames deep.
 *
 * rec_pair [threads [pairs]] prints "threads N ns_per_pair X"; run it with and without recording and
 * compare within one run. The driver is whatever libcuda.so.1 the loader finds.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static CUresult (*alloc_async)(CUdeviceptr *, size_t, CUstream);
static CUresult (*free_async)(CUdeviceptr, CUstream);
static CUresult (*set_current)(CUcontext);
static CUcontext context;
static long pairs = 200000;

static void *driver(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	if (!p) {
		fprintf(stderr, "rec_pair: no %s\n", name);
		exit(2);
	}
	return p;
}

static void must(CUresult r, const char *what)
{
	if (r != CUDA_SUCCESS) {
		fprintf(stderr, "rec_pair: %s: error %d\n", what, (int)r);
		exit(2);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Several call sites at each depth, so that not all stacks are the same one. */
__attribute__((noinline)) static void down(int depth, int path, CUstream s)
{
	CUdeviceptr p;

	if (depth) {
		if (path & 1)
			down(depth - 1, path >> 1, s);
		else
			down(depth - 1, path >> 1, s);
		__asm__ volatile("" ::: "memory"); /* no tail call */
		return;
	}
	must(alloc_async(&p, 4096, s), "cuMemAllocAsync");
	must(free_async(p, s), "cuMemFreeAsync");
	__asm__ volatile("" ::: "memory");
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The lower decile of many short rounds: what it costs when nobody else disturbs. */
static void *work(void *result)
{
	enum { ROUNDS = 100 };
	double took[ROUNDS];
	long each = pairs / ROUNDS, i, round;

	must(set_current(context), "cuCtxSetCurrent");
	for (i = 0; i < 2000; i++)
		down(10, (int)(i & 7), NULL);
	for (round = 0; round < ROUNDS; round++) {
		double begin = now();

		for (i = 0; i < each; i++)
			down(10, (int)(i & 7), NULL);
		took[round] = (now() - begin) / (double)each;
	}
	qsort(took, ROUNDS, sizeof *took, ascending);
	*(double *)result = took[ROUNDS / 10];
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1, i;
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	double sum = 0, result[64] = {0};
	pthread_t thread[64];

	if (!lib || threads < 1 || threads > 64)
		return 2;
	if (argc > 2)
		pairs = atol(argv[2]);
	alloc_async = driver(lib, "cuMemAllocAsync");
	free_async = driver(lib, "cuMemFreeAsync");
	set_current = driver(lib, "cuCtxSetCurrent");
	must(((CUresult(*)(unsigned))driver(lib, "cuInit"))(0), "cuInit");
	must(((CUresult(*)(CUcontext *, CUdevice))driver(lib, "cuDevicePrimaryCtxRetain"))(&context, 0), "retain");
	for (i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, &result[i]);
	for (i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		sum += result[i];
	}
	printf("threads %d ns_per_pair %.1f\n", threads, sum / threads);
	return 0;
}
