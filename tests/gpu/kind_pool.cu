/* kind_pool.cu: stream-ordered memory from the default pool and from one of the program's own. */
#include "cu.h"

int main(void)
{
	cudaMemPoolProps props = {};
	cudaMemPool_t own;
	cudaStream_t s;
	void *a, *b, *c;

	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	OK(cudaStreamCreate(&s));
	OK(cudaMemPoolCreate(&own, &props));
	OK(cudaMallocAsync(&a, 10 * MIB, s));
	OK(cudaMallocFromPoolAsync(&b, 20 * MIB, own, s));
	OK(cudaMallocFromPoolAsync(&c, 5 * MIB, own, s));
	OK(cudaFreeAsync(a, s));
	OK(cudaFreeAsync(b, s));
	OK(cudaStreamSynchronize(s));
	expect("async", 3, 2, 5 * MIB);
	return finish();
}
