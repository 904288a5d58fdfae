/* launch.cu: what launching an empty kernel costs, in ns, the best of several runs: a recording must
 * not be felt where no memory is allocated. */
#include <time.h>

#include "cu.h"

__global__ void nothing(void)
{
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void)
{
	enum { LAUNCHES = 50000, RUNS = 3 };
	double best = 1e18;

	for (int run = 0; run <= RUNS; run++) {
		double from = now(), took;

		for (int i = 0; i < LAUNCHES; i++)
			nothing<<<1, 1>>>();
		OK(cudaDeviceSynchronize());
		took = (now() - from) / LAUNCHES;
		if (run && took < best)
			best = took;
	}
	printf("%.1f\n", best);
	return 0;
}
