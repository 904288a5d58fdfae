/* hook_graph.c: memory of CUDA graphs.
 *
 * A graph's allocation nodes have an address from the start but memory only while it runs, out of what
 * the device reserves for all graphs: that is sampled (GRAPH.info), and the nodes' addresses are no
 * allocations. The same holds for cuMemAllocAsync on a stream that is being captured.
 */
#include "record/hook.h"

bool rec_any_capture;
static bool any_graph_memory; /* some graph has memory of its own */
static uint64_t sampled_ns[REC_DEVICES];

void rec_graphs_forked(void)
{
	unsigned d;

	for (d = 0; d < REC_DEVICES; d++)
		sampled_ns[d] = 0;
}

static void sample(struct rec_site site, uint8_t device, bool now)
{
	cuuint64_t reserved, used;
	uint64_t t = rec_now();
	struct rec_about a = {.kind = GMS_K_GRAPH, .known_device = true, .device = device};

	if (device >= REC_DEVICES || !rec_real_exists(DRIVER_FN_cuDeviceGetGraphMemAttribute))
		return;
	if (!now && !rec_due(t, sampled_ns[device], rec_options.sample))
		return;
	sampled_ns[device] = t;
	if (REAL(cuDeviceGetGraphMemAttribute)(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved) ||
	    REAL(cuDeviceGetGraphMemAttribute)(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used))
		return;
	a.addr = used;
	a.size = reserved;
	rec_note(site, GMS_A_INFO, a);
}

/* --- nodes ----------------------------------------------------------------------------------------------- */
static void node_address(CUdeviceptr p)
{
	bool first;

	__atomic_store_n(&any_graph_memory, true, __ATOMIC_RELAXED);
	rec_borrow(p, REC_GRAPH, &first);
}

HOOK cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t n,
			    CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	CUresult r = REAL(cuGraphAddMemAllocNode)(node, graph, dependencies, n, params);

	if (r == CUDA_SUCCESS && params)
		node_address(params->dptr);
	return r;
}

HOOK cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t n, CUdeviceptr p)
{
	return REAL(cuGraphAddMemFreeNode)(node, graph, dependencies, n, p);
}

#if CUDA_VERSION >= 12020
static void added(CUresult r, const CUgraphNodeParams *params)
{
	if (r == CUDA_SUCCESS && params && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		node_address(params->alloc.dptr);
}

HOOK cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t n,
		    CUgraphNodeParams *params)
{
	CUresult r = REAL(cuGraphAddNode)(node, graph, dependencies, n, params);

	added(r, params);
	return r;
}

#if CUDA_VERSION >= 12030
HOOK cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
		       size_t n, CUgraphNodeParams *params)
{
	CUresult r = REAL(cuGraphAddNode_v2)(node, graph, dependencies, edges, n, params);

	added(r, params);
	return r;
}
#endif
#endif

/* --- capture ----------------------------------------------------------------------------------------------- */
#define BEGIN_CAPTURE(symbol, parameters, arguments)                                                         \
	HOOK symbol parameters                                                                               \
	{                                                                                                    \
		__atomic_store_n(&rec_any_capture, true, __ATOMIC_RELAXED);                                      \
		return REAL(symbol) arguments;                                                               \
	}
#define TO_GRAPH                                                                                             \
	(CUstream s, CUgraph g, const CUgraphNode *d, const CUgraphEdgeData *e, size_t n, CUstreamCaptureMode m)
BEGIN_CAPTURE(cuStreamBeginCapture, (CUstream s), (s))
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, (CUstream s), (s))
BEGIN_CAPTURE(cuStreamBeginCapture_v2, (CUstream s, CUstreamCaptureMode m), (s, m))
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, (CUstream s, CUstreamCaptureMode m), (s, m))
#if CUDA_VERSION >= 12030
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph, TO_GRAPH, (s, g, d, e, n, m))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz, TO_GRAPH, (s, g, d, e, n, m))
#endif

bool rec_capturing(uint64_t stream)
{
	CUstreamCaptureStatus status;

	return rec_real_exists(DRIVER_FN_cuStreamIsCapturing) &&
	       REAL(cuStreamIsCapturing)((CUstream)(uintptr_t)stream, &status) == CUDA_SUCCESS &&
	       status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

bool rec_captured_alloc(uint64_t stream, uint64_t addr)
{
	if (!rec_capturing(stream))
		return false;
	node_address(addr);
	return true;
}

/* --- running ------------------------------------------------------------------------------------------------ */
static void launched(struct rec_site site)
{
	CUdevice device;

	if (__atomic_load_n(&any_graph_memory, __ATOMIC_RELAXED) && REAL(cuCtxGetDevice)(&device) == CUDA_SUCCESS)
		sample(site, (uint8_t)device, false);
}

HOOK cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
	CUresult r = REAL(cuGraphLaunch)(graph, stream);

	launched(REC_SITE);
	return r;
}

HOOK cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream)
{
	CUresult r = REAL(cuGraphLaunch_ptsz)(graph, stream);

	launched(REC_SITE);
	return r;
}

HOOK cuDeviceGraphMemTrim(CUdevice device)
{
	CUresult r = REAL(cuDeviceGraphMemTrim)(device);

	if (r == CUDA_SUCCESS)
		sample(REC_SITE, (uint8_t)device, true);
	return r;
}
