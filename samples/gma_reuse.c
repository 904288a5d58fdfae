/* gma_reuse.c: a training loop's temporaries on the caching allocator.
 *
 * Each of 100 steps allocates a batch, four activations and a gradient, and frees them. The driver is
 * asked only in the first step; all others live on cached segments.
 *
 * Expected story: 600 blocks, 3 segments, and the peak of what is handed out is one step's worth.
 */
#include "gpumemalloc.h"
#include "sample.h"

enum { STEPS = 100, LAYERS = 4 };

static struct gma *g;

NAMED static void *tensor(size_t bytes)
{
	void *p;

	if (gma_malloc(g, &p, bytes, 0)) {
		fprintf(stderr, "%s\n", gma_error_text());
		exit(1);
	}
	return p;
}

NAMED static void step(int number)
{
	void *batch = tensor(3 * MIB + 1000 * (size_t)(number % 7)), *layer[LAYERS], *gradient;

	for (int i = 0; i < LAYERS; i++)
		layer[i] = tensor(12 * MIB >> i);
	gradient = tensor(200 * KIB);
	for (int i = LAYERS; i-- > 0;)
		gma_free(g, layer[i]);
	gma_free(g, gradient);
	gma_free(g, batch);
}

int main(void)
{
	struct gma_stats s;

	use_device(0);
	g = gma_for_device(0);
	if (!g) {
		fprintf(stderr, "%s\n", gma_error_text());
		return 1;
	}
	for (int i = 0; i < STEPS; i++)
		step(i);
	gma_stats(g, &s);
	printf("%lld blocks, %lld segments, peak %.1f MiB in %.1f MiB\n", (long long)s.allocation[0].allocated,
	       (long long)s.segment[0].allocated, (double)s.allocated_bytes[0].peak / MIB,
	       (double)s.reserved_bytes[0].peak / MIB);
	return 0;
}
