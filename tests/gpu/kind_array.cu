/* kind_array.cu: CUDA arrays, 2D, 3D and mipmapped; one of each, the 3D one stays. */
#include "cu.h"

int main(void)
{
	cudaChannelFormatDesc d = cudaCreateChannelDesc<float4>();
	cudaMipmappedArray_t pyramid;
	cudaArray_t flat, deep;

	OK(cudaMallocArray(&flat, &d, 1024, 1024));
	OK(cudaMalloc3DArray(&deep, &d, make_cudaExtent(128, 128, 64)));
	OK(cudaMallocMipmappedArray(&pyramid, &d, make_cudaExtent(512, 512, 0), 4));
	OK(cudaFreeArray(flat));
	OK(cudaFreeMipmappedArray(pyramid));
	expect("array", 3, 2, 128 * 128 * 64 * 16);
	return finish();
}
