/* gma_why.c: four requests that fail for four reasons, and what the allocator says.
 *
 * Expected story: a limit, a real shortage, fragmentation (with what pins it and the setting that would have
 * helped, which then does) and memory cached for another stream are told apart.
 */
#include "gpumemalloc.h"
#include "sample.h"

static struct gma *g;

static struct gma *begin(struct gma_backend *cuda, const char *conf)
{
	if (gma_cuda_open(0, cuda) || !(g = gma_create(conf, cuda))) {
		fprintf(stderr, "%s\n", gma_error_text());
		exit(1);
	}
	return g;
}

static void end(struct gma_backend *cuda, const char *what, int result)
{
	printf("%s: %s\n", what, result == GMA_OUT_OF_MEMORY ? gma_error_text() : "it fits");
	gma_destroy(g);
	gma_cuda_close(cuda);
}

NAMED static void *small_result(size_t bytes)
{
	void *p = NULL;

	gma_malloc(g, &p, bytes, 0);
	return p;
}

/* Small results at the ends of large segments keep them when everything else is gone. */
static int fragment(void)
{
	void *p, *large[4];

	for (int i = 0; i < 4; i++) {
		gma_malloc(g, &large[i], 56 * MIB + MIB / 2, 0);
		small_result(MIB + MIB / 2);
	}
	for (int i = 0; i < 4; i++)
		gma_free(g, large[i]);
	return gma_malloc(g, &p, 100 * MIB, 0);
}

int main(void)
{
	struct gma_backend cuda;
	void *p, *q[32];
	size_t free_bytes, total;
	int r;

	use_device(0);

	begin(&cuda, "memory_limit:64MiB");
	end(&cuda, "limit", gma_malloc(g, &p, 100 * MIB, 0));

	begin(&cuda, "");
	CU(cuMemGetInfo(&free_bytes, &total));
	end(&cuda, "shortage", gma_malloc(g, &p, total + MIB, 0));

	begin(&cuda, "memory_limit:300MiB");
	end(&cuda, "fragmentation", fragment());
	begin(&cuda, "memory_limit:300MiB,expandable_segments:True");
	end(&cuda, "the same with expandable segments", fragment());

	begin(&cuda, "memory_limit:200MiB");
	for (int i = 0; i < 9; i++)
		gma_malloc(g, &q[i], 9 * MIB + 512 * KIB, 1);
	for (int i = 0; i < 9; i += 2)
		gma_free(g, q[i]);
	r = gma_malloc(g, &p, 12 * MIB, 2);
	for (int i = 0; r == GMA_OK && i < 16; i++)
		r = gma_malloc(g, &p, 12 * MIB, 2);
	end(&cuda, "streams", r);
	return 0;
}
