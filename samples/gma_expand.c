/* gma_expand.c: slowly growing buffers, with segments of fixed size and with expandable ones.
 *
 * Every round needs 24 MiB more than the one before, and something small from each round stays. Fixed
 * segments are too small for the next round and cannot go back; an expandable segment grows.
 *
 * Expected story: the same requests reserve about six times as much without expandable_segments.
 */
#include "gpumemalloc.h"
#include "sample.h"

enum { ROUNDS = 12 };

static double run(const char *conf)
{
	struct gma_backend cuda;
	struct gma_stats s;
	struct gma *g;
	void *buffer, *keep;

	if (gma_cuda_open(0, &cuda) || !(g = gma_create(conf, &cuda))) {
		fprintf(stderr, "%s\n", gma_error_text());
		exit(1);
	}
	for (size_t i = 1; i <= ROUNDS; i++) {
		if (gma_malloc(g, &buffer, 24 * MIB * i, 0) || gma_malloc(g, &keep, 2 * MIB, 0)) {
			fprintf(stderr, "%s\n", gma_error_text());
			exit(1);
		}
		gma_free(g, buffer);
	}
	gma_stats(g, &s);
	gma_destroy(g);
	gma_cuda_close(&cuda);
	return (double)s.reserved_bytes[GMA_STAT_ALL].peak / MIB;
}

int main(void)
{
	use_device(0);
	printf("reserved: %.0f MiB in fixed segments, ", run(""));
	printf("%.0f MiB in expandable ones\n", run("expandable_segments:True"));
	return 0;
}
