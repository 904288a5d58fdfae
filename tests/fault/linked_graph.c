/* linked_graph.c: memory of a captured graph: it has an address at once, and bytes only when it runs. */
#include "../../samples/sample.h"

int main(void)
{
	CUdeviceptr captured, p;
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;

	use_device(0);
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuMemAllocAsync(&captured, 5 * MIB, stream));
	CU(cuMemFreeAsync(captured, stream));
	CU(cuStreamEndCapture(stream, &graph));
	CU(cuMemAllocAsync(&p, 3 * MIB, stream));
	CU(cuMemFreeAsync(p, stream));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphLaunch(exec, stream));
	CU(cuStreamSynchronize(stream));
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	CU(cuDeviceGraphMemTrim(0));
	return 0;
}
