/* cu.h: what the CUDA runtime programs here start with. Each prints, for the script that runs it,
 * "expect KIND allocs=N frees=N end=BYTES" lines: what a report on it has to say. */
#ifndef TESTS_GPU_CU_H
#define TESTS_GPU_CU_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB ((size_t)1 << 20)
#define NAMED __attribute__((noinline))
#define OK(call)                                                                                             \
	do {                                                                                                 \
		cudaError_t error_ = (call);                                                                 \
		if (error_ != cudaSuccess) {                                                                 \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
			exit(1);                                                                             \
		}                                                                                            \
	} while (0)

static inline void expect(const char *kind, int allocs, int frees, size_t end)
{
	printf("expect %s allocs=%d frees=%d end=%zu\n", kind, allocs, frees, end);
}

/* A leak checker reports when the device is reset; a recording should see the program end as it is. */
static inline int finish(void)
{
	if (getenv("GPU_TEST_RESET"))
		OK(cudaDeviceReset());
	return 0;
}

#endif
