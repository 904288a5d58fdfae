/* rec_pair.c: what one pair of cuMemAllocAsync and cuMemFreeAsync costs, called 15 frames deep.
 *
 * rec_pair [threads [pairs [shared|own]]] prints "threads N ns_per_pair X"; run it with and without recording
 * and compare within one run. own: each thread has a stream and a pool of its own, so that the driver's lock
 * on a pool is not what is measured. The driver is whatever libcuda.so.1 the loader finds.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static CUresult (*alloc_async)(CUdeviceptr *, size_t, CUstream);
static CUresult (*alloc_from)(CUdeviceptr *, size_t, CUmemoryPool, CUstream);
static CUresult (*free_async)(CUdeviceptr, CUstream);
static CUresult (*pool_create)(CUmemoryPool *, const CUmemPoolProps *);
static CUresult (*stream_create)(CUstream *, unsigned);
static CUresult (*set_current)(CUcontext);
static CUcontext context;
static long pairs = 200000;
static int own;

struct place {
	CUmemoryPool pool; /* NULL: the device's */
	CUstream stream;
};

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
__attribute__((noinline)) static void down(int depth, int path, const struct place *at)
{
	CUdeviceptr p;

	if (depth) {
		if (path & 1)
			down(depth - 1, path >> 1, at);
		else
			down(depth - 1, path >> 1, at);
		__asm__ volatile("" ::: "memory"); /* no tail call */
		return;
	}
	if (at->pool)
		must(alloc_from(&p, 4096, at->pool, at->stream), "cuMemAllocFromPoolAsync");
	else
		must(alloc_async(&p, 4096, at->stream), "cuMemAllocAsync");
	must(free_async(p, at->stream), "cuMemFreeAsync");
	__asm__ volatile("" ::: "memory");
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct place place_of_its_own(void)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	struct place at;

	must(stream_create(&at.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(pool_create(&at.pool, &props), "cuMemPoolCreate");
	return at;
}

/* The lower decile of many short rounds: what it costs when nobody else disturbs. */
static void *work(void *result)
{
	enum { ROUNDS = 100 };
	double took[ROUNDS];
	long each = pairs / ROUNDS, i, round;
	struct place at = {NULL, NULL};

	must(set_current(context), "cuCtxSetCurrent");
	if (own)
		at = place_of_its_own();
	for (i = 0; i < 2000; i++)
		down(10, (int)(i & 7), &at);
	for (round = 0; round < ROUNDS; round++) {
		double begin = now();

		for (i = 0; i < each; i++)
			down(10, (int)(i & 7), &at);
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
	own = argc > 3 && !strcmp(argv[3], "own");
	alloc_async = driver(lib, "cuMemAllocAsync");
	alloc_from = driver(lib, "cuMemAllocFromPoolAsync");
	pool_create = driver(lib, "cuMemPoolCreate");
	stream_create = driver(lib, "cuStreamCreate");
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
