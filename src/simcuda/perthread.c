/* perthread.c: the variants for which the default stream is the calling thread's own. They say so, and
 * then are the function they vary.
 */
#include "simcuda/sim.h"

#define PER_THREAD(symbol, suffix, params, args)                                                             \
	CUresult symbol##suffix params                                                                       \
	{                                                                                                    \
		CUresult result;                                                                             \
                                                                                                             \
		sim_thread.own_default = true;                                                               \
		result = symbol args;                                                                        \
		sim_thread.own_default = false;                                                              \
		return result;                                                                               \
	}

PER_THREAD(cuMemAllocAsync, _ptsz, (CUdeviceptr * out, size_t bytes, CUstream s), (out, bytes, s))
PER_THREAD(cuMemAllocFromPoolAsync, _ptsz, (CUdeviceptr * out, size_t bytes, CUmemoryPool pool, CUstream s),
           (out, bytes, pool, s))
PER_THREAD(cuMemFreeAsync, _ptsz, (CUdeviceptr at, CUstream s), (at, s))
PER_THREAD(cuMemPrefetchAsync, _ptsz, (CUdeviceptr at, size_t n, CUdevice dev, CUstream s), (at, n, dev, s))

PER_THREAD(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t n), (dst, src, n))
PER_THREAD(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dst, const void *src, size_t n), (dst, src, n))
PER_THREAD(cuMemcpyDtoH_v2, _ptds, (void *dst, CUdeviceptr src, size_t n), (dst, src, n))
PER_THREAD(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t n), (dst, src, n))
PER_THREAD(cuMemcpyDtoA_v2, _ptds, (CUarray dst, size_t at, CUdeviceptr src, size_t n), (dst, at, src, n))
PER_THREAD(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr dst, CUarray src, size_t at, size_t n), (dst, src, at, n))
PER_THREAD(cuMemcpyHtoA_v2, _ptds, (CUarray dst, size_t at, const void *src, size_t n), (dst, at, src, n))
PER_THREAD(cuMemcpyAtoH_v2, _ptds, (void *dst, CUarray src, size_t at, size_t n), (dst, src, at, n))
PER_THREAD(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *c), (c))
PER_THREAD(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *c), (c))
PER_THREAD(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *c), (c))
PER_THREAD(cuMemcpyPeer, _ptds, (CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t n),
           (dst, to, src, from, n))
PER_THREAD(cuMemcpyAtoA_v2, _ptds, (CUarray dst, size_t at, CUarray src, size_t from, size_t n),
           (dst, at, src, from, n))
PER_THREAD(cuMemcpyHtoAAsync_v2, _ptsz, (CUarray dst, size_t at, const void *src, size_t n, CUstream s),
           (dst, at, src, n, s))
PER_THREAD(cuMemcpyAtoHAsync_v2, _ptsz, (void *dst, CUarray src, size_t at, size_t n, CUstream s),
           (dst, src, at, n, s))
PER_THREAD(cuMemcpyAsync, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s), (dst, src, n, s))
PER_THREAD(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr dst, const void *src, size_t n, CUstream s),
           (dst, src, n, s))
PER_THREAD(cuMemcpyDtoHAsync_v2, _ptsz, (void *dst, CUdeviceptr src, size_t n, CUstream s), (dst, src, n, s))
PER_THREAD(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s),
           (dst, src, n, s))
PER_THREAD(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *c, CUstream s), (c, s))
PER_THREAD(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *c, CUstream s), (c, s))
PER_THREAD(cuMemcpyPeerAsync, _ptsz,
           (CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t n, CUstream s),
           (dst, to, src, from, n, s))

PER_THREAD(cuMemsetD8_v2, _ptds, (CUdeviceptr dst, unsigned char v, size_t n), (dst, v, n))
PER_THREAD(cuMemsetD2D8_v2, _ptds, (CUdeviceptr dst, size_t pitch, unsigned char v, size_t w, size_t h),
           (dst, pitch, v, w, h))
PER_THREAD(cuMemsetD8Async, _ptsz, (CUdeviceptr dst, unsigned char v, size_t n, CUstream s), (dst, v, n, s))
PER_THREAD(cuMemsetD2D8Async, _ptsz,
           (CUdeviceptr dst, size_t pitch, unsigned char v, size_t w, size_t h, CUstream s),
           (dst, pitch, v, w, h, s))
PER_THREAD(cuMemsetD16_v2, _ptds, (CUdeviceptr dst, unsigned short v, size_t n), (dst, v, n))
PER_THREAD(cuMemsetD2D16_v2, _ptds, (CUdeviceptr dst, size_t pitch, unsigned short v, size_t w, size_t h),
           (dst, pitch, v, w, h))
PER_THREAD(cuMemsetD16Async, _ptsz, (CUdeviceptr dst, unsigned short v, size_t n, CUstream s), (dst, v, n, s))
PER_THREAD(cuMemsetD2D16Async, _ptsz,
           (CUdeviceptr dst, size_t pitch, unsigned short v, size_t w, size_t h, CUstream s),
           (dst, pitch, v, w, h, s))
PER_THREAD(cuMemsetD32_v2, _ptds, (CUdeviceptr dst, unsigned int v, size_t n), (dst, v, n))
PER_THREAD(cuMemsetD2D32_v2, _ptds, (CUdeviceptr dst, size_t pitch, unsigned int v, size_t w, size_t h),
           (dst, pitch, v, w, h))
PER_THREAD(cuMemsetD32Async, _ptsz, (CUdeviceptr dst, unsigned int v, size_t n, CUstream s), (dst, v, n, s))
PER_THREAD(cuMemsetD2D32Async, _ptsz,
           (CUdeviceptr dst, size_t pitch, unsigned int v, size_t w, size_t h, CUstream s),
           (dst, pitch, v, w, h, s))

PER_THREAD(cuStreamGetPriority, _ptsz, (CUstream s, int *priority), (s, priority))
PER_THREAD(cuStreamGetFlags, _ptsz, (CUstream s, unsigned int *flags), (s, flags))
PER_THREAD(cuStreamGetId, _ptsz, (CUstream s, unsigned long long *id), (s, id))
PER_THREAD(cuStreamGetCtx, _ptsz, (CUstream s, CUcontext *ctx), (s, ctx))
PER_THREAD(cuStreamWaitEvent, _ptsz, (CUstream s, CUevent event, unsigned int flags), (s, event, flags))
PER_THREAD(cuStreamAttachMemAsync, _ptsz, (CUstream s, CUdeviceptr at, size_t n, unsigned int flags),
           (s, at, n, flags))
PER_THREAD(cuLaunchHostFunc, _ptsz, (CUstream s, CUhostFn function, void *data), (s, function, data))
PER_THREAD(cuStreamAddCallback, _ptsz,
           (CUstream s, CUstreamCallback callback, void *data, unsigned int flags),
           (s, callback, data, flags))
PER_THREAD(cuStreamQuery, _ptsz, (CUstream s), (s))
PER_THREAD(cuStreamSynchronize, _ptsz, (CUstream s), (s))
PER_THREAD(cuEventRecord, _ptsz, (CUevent event, CUstream s), (event, s))
PER_THREAD(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream s, unsigned int flags), (event, s, flags))

PER_THREAD(cuStreamBeginCapture, _ptsz, (CUstream s), (s))
PER_THREAD(cuStreamBeginCapture_v2, _ptsz, (CUstream s, CUstreamCaptureMode mode), (s, mode))
PER_THREAD(cuStreamEndCapture, _ptsz, (CUstream s, CUgraph *graph), (s, graph))
PER_THREAD(cuStreamIsCapturing, _ptsz, (CUstream s, CUstreamCaptureStatus *status), (s, status))
PER_THREAD(cuStreamGetCaptureInfo, _ptsz, (CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id),
           (s, status, id))
PER_THREAD(cuStreamGetCaptureInfo_v2, _ptsz,
           (CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
            const CUgraphNode **after, size_t *count),
           (s, status, id, graph, after, count))
PER_THREAD(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream s), (exec, s))
PER_THREAD(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream s), (exec, s))

#if CUDA_VERSION >= 12000
PER_THREAD(cuGraphInstantiateWithParams, _ptsz,
           (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params), (exec, graph, params))
#endif
#if CUDA_VERSION >= 12020
PER_THREAD(cuMemPrefetchAsync_v2, _ptsz,
           (CUdeviceptr at, size_t n, CUmemLocation where, unsigned int flags, CUstream s),
           (at, n, where, flags, s))
#endif
#if CUDA_VERSION >= 12030
PER_THREAD(cuStreamGetCaptureInfo_v3, _ptsz,
           (CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
            const CUgraphNode **after, const CUgraphEdgeData **edges, size_t *count),
           (s, status, id, graph, after, edges, count))
#endif
#if CUDA_VERSION >= 12050
PER_THREAD(cuStreamGetCtx_v2, _ptsz, (CUstream s, CUcontext *ctx, CUgreenCtx *green), (s, ctx, green))
#endif
#if CUDA_VERSION >= 12080
PER_THREAD(cuStreamGetDevice, _ptsz, (CUstream s, CUdevice *dev), (s, dev))
#endif
