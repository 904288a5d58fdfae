/* growth.c: memory that grows a little with every step, among much that comes and goes.
 *
 * A training loop of 50 steps. Each step makes a dozen temporaries of changing sizes, up to 80 MiB,
 * and frees them all; that is what one sees. It also keeps 6.4 MiB of activations "for the plot".
 *
 * Expected story: weights of 256 MiB stay flat; keep_for_plot grows by 6,710,886 bytes per step and
 * holds 50 blocks, 320 MiB, at the end; forward and backward hold nothing between steps. The peak is
 * in the last steps. The weights are freed at the end.
 */
#include <unistd.h>

#include "sample.h"

enum { STEPS = 50, LAYERS = 12 };

static unsigned seed = 1;

/* Noise, but the same on every run. */
static size_t noisy(size_t around)
{
	seed = seed * 1664525u + 1013904223u;
	return around / 2 + (size_t)((double)around * (seed >> 8) / (1 << 24));
}

NAMED static CUdeviceptr load_weights(void)
{
	CUdeviceptr at;

	CU(cuMemAlloc(&at, 256 * MIB));
	return at;
}

NAMED static CUdeviceptr forward(int layer)
{
	CUdeviceptr at;

	CU(cuMemAlloc(&at, noisy((size_t)(1 + layer % 4) * 2 * MIB)));
	return at;
}

NAMED static void backward(CUdeviceptr activation)
{
	CUdeviceptr gradient;

	CU(cuMemAlloc(&gradient, noisy(4 * MIB)));
	CU(cuMemFree(activation));
	CU(cuMemFree(gradient));
}

NAMED static void keep_for_plot(void)
{
	CUdeviceptr at;

	CU(cuMemAlloc(&at, 6710886)); /* the bug: one more in every step */
}

NAMED static void train_step(void)
{
	CUdeviceptr activation[LAYERS];

	for (int i = 0; i < LAYERS; i++)
		activation[i] = forward(i);
	keep_for_plot();
	for (int i = LAYERS - 1; i >= 0; i--)
		backward(activation[i]);
	usleep(4000); /* what a real step takes for its arithmetic */
}

int main(void)
{
	CUdeviceptr weights;

	use_device(0);
	weights = load_weights();
	for (int i = 0; i < STEPS; i++)
		train_step();
	CU(cuMemFree(weights));
	printf("growth: %d steps done\n", STEPS);
	return 0;
}
