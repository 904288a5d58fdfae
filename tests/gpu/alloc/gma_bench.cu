/* gma_bench.cu [PAIRS [THREADS]]: ns per pair of allocation and free: cudaMalloc, cudaMallocAsync and this
 * allocator, by 1, 4 and 16 threads (or up to THREADS), each on its own stream. The median of five runs, after
 * one that warms up. PAIRS (1000000) are this allocator's; the others do fewer. */
#include <algorithm>
#include <cstdint>
#include <thread>
#include <time.h>
#include <vector>

#include "../cu.h"
#include "gpumemalloc.h"

static struct gma *g;
static int most_threads = 16;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void plain(cudaStream_t, int pairs)
{
	void *p;

	for (int i = 0; i < pairs; i++) {
		OK(cudaMalloc(&p, 1 << 20));
		OK(cudaFree(p));
	}
}

static void async(cudaStream_t s, int pairs)
{
	void *p;

	for (int i = 0; i < pairs; i++) {
		OK(cudaMallocAsync(&p, 1 << 20, s));
		OK(cudaFreeAsync(p, s));
	}
}

static void cached(cudaStream_t s, int pairs)
{
	void *p;

	for (int i = 0; i < pairs; i++) {
		if (gma_malloc(g, &p, 1 << 20, (gma_stream)(uintptr_t)s))
			exit(1);
		gma_free(g, p);
	}
}

static void measure(const char *name, void (*f)(cudaStream_t, int), int pairs)
{
	for (int threads = 1; threads <= most_threads; threads *= 4) {
		double took[6];

		for (int run = 0; run < 6; run++) {
			std::vector<std::thread> t;
			double start = now();

			for (int i = 0; i < threads; i++)
				t.emplace_back([=] {
					cudaStream_t s;

					OK(cudaSetDevice(0));
					OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
					f(s, pairs / threads);
					OK(cudaStreamDestroy(s));
				});
			for (auto &x : t)
				x.join();
			took[run] = now() - start;
		}
		std::sort(took + 1, took + 6);
		printf("%s threads=%d ns_per_pair=%.1f\n", name, threads, took[3] / (pairs / threads * threads));
	}
}

int main(int argc, char **argv)
{
	int pairs = argc > 1 ? atoi(argv[1]) : 1000000;
	unsigned long long keep = ~0ull;
	cudaMemPool_t pool;

	if (argc > 2)
		most_threads = atoi(argv[2]);
	OK(cudaSetDevice(0));
	OK(cudaFree(0));
	OK(cudaDeviceGetDefaultMemPool(&pool, 0));
	OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	g = gma_for_device(0);
	if (!g) {
		fprintf(stderr, "%s\n", gma_error_text());
		return 1;
	}
	measure("cudaMalloc", plain, pairs / 2000 + 16);
	measure("cudaMallocAsync", async, pairs / 20 + 16);
	measure("gma_malloc", cached, pairs + 16);
	return 0;
}
