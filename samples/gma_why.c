/* gma_why.c: four requests that fail for four reasons, and what the allocator says.
 *
 * Expected story: a limit, a real shortage, fragmentation (with what pins it and the setting that would
 * have helped) and memory cached for another stream are told apart.
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
	printf("%s: %s\n", what, result == GMA_OUT_OF_MEMORY ? gma_error_text() : "it worked?");
	gma_destroy(g);
	gma_cuda_close(cuda);
}

NAMED static void *small_result(size_t bytes)
{
	void *p = NULL;

	gma_malloc(g, &p, bytes, 0);
	return p;
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

	begin(&cuda, "memory_limit:640MiB");
	for (int i = 0; i < 32; i++) { /* 20 MiB segments, a little left in each */
		gma_malloc(g, &q[i], 17 * MIB, 0);
		small_result(2 * MIB);
	}
	for (int i = 0; i < 32; i++)
		gma_free(g, q[i]);
	r = gma_malloc(g, &p, 100 * MIB, 0);
	end(&cuda, "fragmentation", r);

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
