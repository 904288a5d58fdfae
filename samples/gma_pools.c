/* gma_pools.c: memory of a CUDA graph: a private pool, whose addresses stay the graph's.
 *
 * What is allocated while the graph is captured comes from the pool, and what the rest of the program
 * does never gets these addresses, although they were freed, until the pool is released.
 *
 * Expected story: the temporary of the capture is not reused outside; after the release the cache gives
 * the pool's segment back.
 */
#include "gpumemalloc.h"
#include "sample.h"

int main(void)
{
	struct gma_pool *pool;
	struct gma_stats before, after;
	CUstream stream;
	struct gma *g;
	void *temporary, *other;

	use_device(0);
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	g = gma_for_device(0);
	if (!g || gma_pool_create(g, 0, &pool)) {
		fprintf(stderr, "%s\n", gma_error_text());
		return 1;
	}
	gma_pool_begin(g, pool, 1); /* here cuStreamBeginCapture … */
	gma_malloc(g, &temporary, MIB, (uintptr_t)stream);
	gma_free(g, temporary);
	gma_pool_end(g, pool); /* … and cuStreamEndCapture */

	gma_malloc(g, &other, MIB, (uintptr_t)stream);
	printf("outside the graph its memory is %s\n", other == temporary ? "reused" : "left alone");
	gma_free(g, other);
	gma_empty_cache(g);
	gma_stats(g, &before);
	gma_pool_release(g, pool);
	gma_empty_cache(g);
	gma_stats(g, &after);
	printf("reserved %lld MiB for the graph, %lld MiB after it\n", (long long)(before.reserved_bytes[0].current >> 20),
	       (long long)(after.reserved_bytes[0].current >> 20));
	return 0;
}
