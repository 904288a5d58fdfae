/* pair.cu: what a cudaMallocAsync + cudaFreeAsync pair costs, in ns, the best of several runs, called
 * from fifteen functions deep. Usage: pair [PAIRS [THREADS [RUNS]]] */
#include <pthread.h>
#include <time.h>

#include "cu.h"

static int pairs = 100000, threads = 1, runs = 5;
static pthread_barrier_t start, end;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

NAMED static int deep(int depth, cudaStream_t s)
{
	void *at;

	if (depth)
		return deep(depth - 1, s) + 1;
	for (int i = 0; i < pairs; i++) {
		OK(cudaMallocAsync(&at, 4096, s));
		OK(cudaFreeAsync(at, s));
	}
	return 0;
}

static void *work(void *unused)
{
	cudaStream_t s;

	(void)unused;
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	for (int i = 0; i <= runs; i++) {
		pthread_barrier_wait(&start);
		deep(12, s);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long long keep = ~0ull;
	double best = 1e18;
	cudaMemPool_t pool;
	pthread_t thread;

	if (argc > 1)
		pairs = atoi(argv[1]);
	if (argc > 2)
		threads = atoi(argv[2]);
	if (argc > 3)
		runs = atoi(argv[3]);
	OK(cudaDeviceGetDefaultMemPool(&pool, 0));
	OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&end, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			return 1;
	for (int i = 0; i <= runs; i++) { /* the first warms up */
		double took, from;

		pthread_barrier_wait(&start);
		from = now();
		pthread_barrier_wait(&end);
		took = (now() - from) / pairs;
		if (i && took < best)
			best = took;
	}
	printf("%.1f\n", best);
	return 0;
}
