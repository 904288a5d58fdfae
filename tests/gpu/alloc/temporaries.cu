/* temporaries.cu: an ordinary program that allocates its temporaries by cudaMalloc in every step, a dozen
 * and more of them as a solver does. It knows nothing of us; `record --allocator caching` makes it faster.
 * Prints the sum it computed, which must not change, and the ns per step. */
#include <time.h>

#include "../cu.h"

enum { TEMPORARIES = 16 };

struct temporaries {
	float *at[TEMPORARIES];
};

/* Every temporary is written from the one before and read for the next; the last becomes the state. */
__global__ void relax(struct temporaries t, float *state, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		float x = state[i];

		for (int k = 0; k < TEMPORARIES; k++) {
			t.at[k][i] = x * 0.5f + 1.0f;
			x = t.at[k][i];
		}
		state[i] = x;
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const int n = 16384, steps = argc > 1 ? atoi(argv[1]) : 1000;
	struct temporaries t;
	float *state, sum = 0, host[16];
	double start = 0;

	OK(cudaMalloc(&state, n * sizeof(float)));
	OK(cudaMemset(state, 0, n * sizeof(float)));
	for (int i = 0; i < steps; i++) {
		if (i == steps / 10)
			start = now();
		for (int k = 0; k < TEMPORARIES; k++)
			OK(cudaMalloc(&t.at[k], (1 + k % 4) * MIB));
		relax<<<8, 256>>>(t, state, n);
		for (int k = 0; k < TEMPORARIES; k++)
			OK(cudaFree(t.at[k]));
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
