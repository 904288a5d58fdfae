/* gma_bench.cu: ns per pair of allocation and free: cudaMalloc, cudaMallocAsync and this allocator, by
 * 1, 4 and 16 threads, each on its own stream. The best of three runs. */
#include <cstdint>
#include <thread>
#include <time.h>
#include <vector>

#include "../cu.h"
#include "gpumemalloc.h"

static struct gma *g;

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
	for (int threads = 1; threads <= 16; threads *= 4) {
		double best = 1e18;

		for (int run = 0; run < 4; run++) { /* the first warms up */
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
			if (run && now() - start < best)
				best = now() - start;
		}
		printf("%s threads=%d ns_per_pair=%.1f\n", name, threads, best / (pairs / threads * threads));
	}
}

int main(void)
{
	unsigned long long keep = ~0ull;
	cudaMemPool_t pool;

	OK(cudaSetDevice(0));
	OK(cudaFree(0));
	OK(cudaDeviceGetDefaultMemPool(&pool, 0));
	OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	g = gma_for_device(0);
	if (!g) {
		fprintf(stderr, "%s\n", gma_error_text());
		return 1;
	}
	measure("cudaMalloc", plain, 1600);
	measure("cudaMallocAsync", async, 160000);
	measure("gma_malloc", cached, 1600000);
	return 0;
}
