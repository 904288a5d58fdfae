/* pair.cu: what a pair of cudaMallocAsync and cudaFreeAsync costs, called from fifteen functions deep.
 *
 * pair [PAUSE] prints "shared|own THREADS NS" lines, the best of several runs: threads that share the device's
 * pool, then threads with a pool of their own each. With PAUSE, each call is preceded by so many ns of doing
 * nothing: what the driver's locks make of threads that come a little later, without any recorder. */
#include <pthread.h>
#include <time.h>

#include "cu.h"

#define RUNS 3

static const int counts[] = {1, 2, 4, 16};
static int pairs;
static double pause_ns;
static bool own;
static pthread_barrier_t start, end;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void rest(void)
{
	double until;

	if (!pause_ns)
		return;
	until = now() + pause_ns;
	while (now() < until)
		;
}

NAMED static int deep(int depth, cudaMemPool_t pool, cudaStream_t s)
{
	void *at;

	if (depth)
		return deep(depth - 1, pool, s) + 1;
	for (int i = 0; i < pairs; i++) {
		rest();
		if (pool)
			OK(cudaMallocFromPoolAsync(&at, 4096, pool, s));
		else
			OK(cudaMallocAsync(&at, 4096, s));
		rest();
		OK(cudaFreeAsync(at, s));
	}
	return 0;
}

static void keep_all(cudaMemPool_t pool)
{
	unsigned long long keep = ~0ull;

	OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
}

static void *work(void *unused)
{
	cudaMemPool_t pool = NULL;
	cudaMemPoolProps props = {};
	cudaStream_t s;

	(void)unused;
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	if (own) {
		OK(cudaMemPoolCreate(&pool, &props));
		keep_all(pool);
	}
	for (int i = 0; i <= RUNS; i++) {
		pthread_barrier_wait(&start);
		deep(12, pool, s);
		pthread_barrier_wait(&end);
	}
	OK(cudaStreamSynchronize(s));
	if (pool)
		OK(cudaMemPoolDestroy(pool));
	OK(cudaStreamDestroy(s));
	return NULL;
}

static double best_of(int threads)
{
	double best = 1e18;
	pthread_t thread[16];

	pairs = 30000 / threads;
	pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&end, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, NULL) != 0)
			exit(1);
	for (int i = 0; i <= RUNS; i++) { /* the first warms up */
		double took, from;

		pthread_barrier_wait(&start);
		from = now();
		pthread_barrier_wait(&end);
		took = (now() - from) / pairs;
		if (i && took < best)
			best = took;
	}
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return best;
}

int main(int argc, char **argv)
{
	cudaMemPool_t pool;

	pause_ns = argc > 1 ? atof(argv[1]) : 0;
	OK(cudaDeviceGetDefaultMemPool(&pool, 0));
	keep_all(pool);
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
			own = k;
			printf("%s %d %.1f\n", own ? "own" : "shared", counts[i], best_of(counts[i]));
		}
	return 0;
}
