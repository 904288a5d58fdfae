/* capture.c: streams whose work becomes the nodes of a graph instead of being done. */
#include <stdlib.h>

#include "simcuda/graph.h"

struct capture {
	struct graph *graph;
	uint64_t id;
};

static CUresult capture_begin(CUstream handle)
{
	SIM_STREAM(s, handle);
	if (s == s->context->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	s->capture = calloc(1, sizeof(*s->capture));
	if (s->capture)
		s->capture->graph = sim_graph_new(HANDLE_GRAPH);
	if (!s->capture || !s->capture->graph) {
		free(s->capture);
		s->capture = NULL;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	s->capture->id = ++sim.next_id;
	return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream stream)
{
	SIM_ENTER(cuStreamBeginCapture);
	return capture_begin(stream);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	SIM_ENTER(cuStreamBeginCapture_v2);
	return (unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED ? CUDA_ERROR_INVALID_VALUE
	                                                       : capture_begin(stream);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *out)
{
	SIM_ENTER(cuStreamEndCapture);
	SIM_STREAM(s, stream);
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	*out = (CUgraph)s->capture->graph;
	free(s->capture);
	s->capture = NULL;
	return CUDA_SUCCESS;
}

/* The stream goes away in the middle of its capture. */
void sim_capture_end(struct stream *s)
{
	if (s->capture) {
		sim_graph_end(s->capture->graph);
		free(s->capture);
		s->capture = NULL;
	}
}

CUresult sim_capture_alloc(struct stream *s, uint64_t bytes, CUdeviceptr *out)
{
	CUgraphNode n;

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_graph_alloc(s->capture->graph, s->context->device, bytes, out, &n);
}

CUresult sim_capture_free(struct stream *s, uint64_t addr)
{
	CUgraphNode n;

	return sim_graph_free(s->capture->graph, addr, &n);
}

CUresult sim_capture_job(struct stream *s, const struct job *job)
{
	CUgraphNode n;

	return sim_graph_job(s->capture->graph,
	                     job->element ? CU_GRAPH_NODE_TYPE_MEMSET : CU_GRAPH_NODE_TYPE_MEMCPY, job, &n);
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	SIM_ENTER(cuStreamIsCapturing);
	SIM_STREAM(s, stream);
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	*status = s->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

static CUresult capture_info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph)
{
	SIM_STREAM(s, stream);
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	*status = s->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	if (id)
		*id = s->capture ? s->capture->id : 0;
	if (graph)
		*graph = s->capture ? (CUgraph)s->capture->graph : NULL;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	SIM_ENTER(cuStreamGetCaptureInfo);
	return capture_info(stream, status, id, NULL);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **after, size_t *count)
{
	SIM_ENTER(cuStreamGetCaptureInfo_v2);
	if (after)
		*after = NULL;
	if (count)
		*count = 0;
	return capture_info(stream, status, id, graph);
}

#if CUDA_VERSION >= 12030
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **after, const CUgraphEdgeData **edges,
                                   size_t *count)
{
	if (edges)
		*edges = NULL;
	return cuStreamGetCaptureInfo_v2(stream, status, id, graph, after, count);
}
#endif

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	static __thread CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
	CUstreamCaptureMode old = now;

	SIM_ENTER(cuThreadExchangeStreamCaptureMode);
	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	now = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}
