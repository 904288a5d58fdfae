/* gma_streams.c: a buffer that a second stream still reads when it is freed.
 *
 * The batch is allocated for the copy stream and used by the compute stream too. After gma_record_stream
 * the allocator may not hand it out again before the compute stream has passed this point, however
 * early it is freed.
 *
 * Expected story: while the compute stream is busy the next batch gets another address; once it is
 * idle the first address comes back.
 */
#include "gpumemalloc.h"
#include "sample.h"

static void *take(struct gma *g, size_t bytes, CUstream stream)
{
	void *p;

	if (gma_malloc(g, &p, bytes, (uintptr_t)stream)) {
		fprintf(stderr, "%s\n", gma_error_text());
		exit(1);
	}
	return p;
}

int main(void)
{
	CUstream copy, compute;
	struct gma *g;
	void *first, *second, *third;

	use_device(0);
	CU(cuStreamCreate(&copy, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
	g = gma_for_device(0);
	if (!g) {
		fprintf(stderr, "%s\n", gma_error_text());
		return 1;
	}
	first = take(g, 64 * KIB, copy);
	CU(cuMemsetD8Async((CUdeviceptr)(uintptr_t)first, 1, 64 * KIB, compute));
	gma_record_stream(g, first, (uintptr_t)compute);
	gma_free(g, first);
	second = take(g, 64 * KIB, copy);
	CU(cuStreamSynchronize(compute));
	third = take(g, 64 * KIB, copy);
	printf("the second batch is %s, the third %s\n", second == first ? "where the first was" : "elsewhere",
	       third == first ? "where the first was" : "elsewhere");
	gma_free(g, second);
	gma_free(g, third);
	return 0;
}
