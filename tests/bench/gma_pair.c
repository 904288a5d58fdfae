/* gma_pair.c: what one cached gma_malloc + gma_free pair costs, on a device that exists only in numbers.
 *
 *   gma_pair [THREADS]…     nanoseconds per pair for 1, 4 and 16 threads
 * "mixed" keeps 200 blocks of many sizes live while pairs come and go, so that blocks split and merge.
 */
#include "alloc/core_sim.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PAIRS = 300000, KEPT = 200 };

static struct gma *g;
static int mixed;

static void *page_get(void *ctx, size_t bytes)
{
	(void)ctx;
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void page_put(void *ctx, void *page, size_t bytes)
{
	(void)ctx;
	munmap(page, bytes);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t size_of(unsigned i)
{
	return mixed ? 512 + (i * 2654435761u) % (3u << 20) : 64 << 10;
}

static void *pairs(void *arg)
{
	gma_stream stream = (gma_stream)(size_t)arg;
	void *kept[KEPT] = {0}, *p;
	unsigned i;

	for (i = 0; mixed && i < KEPT; i++)
		gma_malloc(g, &kept[i], size_of(i * 7), stream);
	for (i = 0; i < PAIRS; i++) {
		gma_malloc(g, &p, size_of(i), stream);
		gma_free(g, mixed ? kept[i % KEPT] : p);
		if (mixed)
			kept[i % KEPT] = p;
	}
	for (i = 0; mixed && i < KEPT; i++)
		gma_free(g, kept[i]);
	return NULL;
}

static void run(int threads)
{
	pthread_t t[64];
	double start;
	int i;

	start = now_ns();
	for (i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, pairs, (void *)(size_t)i);
	for (i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("%-6s %2d thread%s %7.1f ns per pair\n", mixed ? "mixed" : "same", threads, threads == 1 ? " " : "s",
	       (now_ns() - start) / ((double)PAIRS * threads));
}

int main(int argc, char **argv)
{
	struct gma_sim sim;
	struct gma_backend be;
	int i;

	gma_sim_init(&sim, 1ull << 40);
	gma_sim_backend(&sim, &be, page_get, page_put);
	g = gma_create("", &be);
	if (!g) {
		fprintf(stderr, "%s\n", gma_error_text());
		return 1;
	}
	for (mixed = 0; mixed < 2; mixed++) {
		if (argc > 1)
			for (i = 1; i < argc; i++)
				run(atoi(argv[i]));
		else
			for (i = 1; i <= 16; i *= 4)
				run(i);
	}
	gma_destroy(g);
	return 0;
}
