/* kind_pinned.cu: page-locked host memory by both functions, and memory registered in place. */
#include "cu.h"

int main(void)
{
	static char page[1 << 20] __attribute__((aligned(4096)));
	void *a, *b, *c;

	OK(cudaMallocHost(&a, 4 * MIB));
	OK(cudaHostAlloc(&b, 2 * MIB, cudaHostAllocMapped));
	OK(cudaHostAlloc(&c, 1 * MIB, cudaHostAllocDefault));
	OK(cudaHostRegister(page, sizeof(page), cudaHostRegisterDefault));
	OK(cudaHostUnregister(page));
	OK(cudaHostRegister(page, sizeof(page) / 2, cudaHostRegisterDefault));
	OK(cudaFreeHost(a));
	OK(cudaFreeHost(b));
	expect("pinned", 3, 2, 1 * MIB);
	expect("registered", 2, 1, sizeof(page) / 2);
	return finish();
}
