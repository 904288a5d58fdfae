/* temporaries.cu: an ordinary program that allocates its temporaries by cudaMalloc in every step. It
 * knows nothing of us; `record --allocator caching` makes it faster. Prints the sum it computed, which
 * must not change, and the ns per step. */
#include <time.h>

#include "../cu.h"

__global__ void scale(float *out, const float *in, int n, float by)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = in[i] * by + 1.0f;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const int n = 16384, steps = argc > 1 ? atoi(argv[1]) : 2000;
	float *state, *a, *b, sum = 0, host[16];
	double start = 0;

	OK(cudaMalloc(&state, n * sizeof(float)));
	OK(cudaMemset(state, 0, n * sizeof(float)));
	for (int i = 0; i < steps; i++) {
		if (i == steps / 10)
			start = now();
		OK(cudaMalloc(&a, n * sizeof(float)));
		scale<<<8, 256>>>(a, state, n, 0.5f);
		OK(cudaMalloc(&b, 8 * MIB));
		scale<<<8, 256>>>(b, a, n, 0.25f);
		scale<<<8, 256>>>(state, b, n, 0.125f);
		OK(cudaFree(a));
		OK(cudaFree(b));
	}
	OK(cudaDeviceSynchronize());
	fprintf(stderr, "ns_per_step=%.0f\n", (now() - start) / (steps - steps / 10));
	OK(cudaMemcpy(host, state, sizeof host, cudaMemcpyDeviceToHost));
	for (float x : host)
		sum += x;
	printf("sum=%.6f\n", sum);
	OK(cudaFree(state));
	return 0;
}
