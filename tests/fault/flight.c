/* flight.c STEPS [wait]: a deterministic crowd of allocations from three call sites. Prints what is live at the
 * end: the number and the bytes from each site; then it may wait to be killed. */
#include "gpu.h"

#define SLOTS 500

static struct {
	CUdeviceptr p;
	size_t bytes;
	int site;
} slot[SLOTS];
static uint64_t state = 42;

static uint64_t next(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 33;
}

__attribute__((noinline)) static CUdeviceptr site_one(size_t n)
{
	CUdeviceptr p = gpu_get(n);

	__asm__ volatile("" ::: "memory");
	return p;
}

__attribute__((noinline)) static CUdeviceptr site_two(size_t n)
{
	CUdeviceptr p = gpu_get(n);

	__asm__ volatile("nop" ::: "memory");
	return p;
}

__attribute__((noinline)) static CUdeviceptr site_early(size_t n)
{
	CUdeviceptr p = gpu_get(n);

	__asm__ volatile("nop\nnop" ::: "memory");
	return p;
}

int main(int argc, char **argv)
{
	long steps = argc > 1 ? atol(argv[1]) : 1000, i;
	size_t count[3] = {0}, bytes[3] = {0};

	gpu_start();
	for (i = 0; i < 7; i++) { /* never given back, long forgotten by the events */
		site_early(1000 + (size_t)i);
		count[2]++;
		bytes[2] += 1000 + (size_t)i;
	}
	for (i = 0; i < steps; i++) {
		size_t k = next() % SLOTS, n = 1 + next() % 5000;

		if (slot[k].p) {
			gpu_put(slot[k].p);
			count[slot[k].site]--;
			bytes[slot[k].site] -= slot[k].bytes;
		}
		slot[k].site = (int)(next() & 1);
		slot[k].p = slot[k].site ? site_two(n) : site_one(n);
		slot[k].bytes = n;
		count[slot[k].site]++;
		bytes[slot[k].site] += n;
	}
	printf("site_one %zu %zu\nsite_two %zu %zu\nsite_early %zu %zu\n", count[0], bytes[0], count[1], bytes[1],
	       count[2], bytes[2]);
	fflush(stdout);
	if (argc > 2)
		pause();
	return 0;
}
