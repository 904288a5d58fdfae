/* kind_managed.cu: managed memory, three blocks of which one stays. */
#include "cu.h"

NAMED static void *table(size_t bytes)
{
	void *at;

	OK(cudaMallocManaged(&at, bytes));
	OK(cudaMemset(at, 1, bytes));
	return at;
}

int main(void)
{
	void *a = table(8 * MIB), *b = table(16 * MIB);

	table(3 * MIB);
	OK(cudaFree(a));
	OK(cudaFree(b));
	expect("managed", 3, 2, 3 * MIB);
	return finish();
}
