/* kind_graph.cu: a captured graph that allocates, uses and frees memory of its own, launched thrice. */
#include "cu.h"

__global__ void fill(char *at, size_t n)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

	if (i < n)
		at[i] = 1;
}

int main(void)
{
	size_t bytes = 64 * MIB, reserved = 0;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	cudaStream_t s;
	char *at;

	OK(cudaStreamCreate(&s));
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	OK(cudaMallocAsync(&at, bytes, s));
	fill<<<(unsigned)(bytes / 256), 256, 0, s>>>(at, bytes);
	OK(cudaFreeAsync(at, s));
	OK(cudaStreamEndCapture(s, &graph));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		OK(cudaGraphLaunch(exec, s));
	OK(cudaStreamSynchronize(s));
	OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved));
	printf("expect-peak graph %zu\n", reserved); /* captured allocations are none of the pool's */
	expect("async", 0, 0, 0);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaDeviceGraphMemTrim(0));
	return finish();
}
