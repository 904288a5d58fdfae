/* copy.c: copies and fills. The bytes move at once; an asynchronous one counts as work of its stream,
 * and on a stream that is being captured it becomes a node of the graph instead.
 *
 * Every call is first made a job. Each end of a job is an address of ours or a host pointer, and is
 * checked against what was allocated, so that running over the end is an error here as on a device.
 */
#include <string.h>

#include "simcuda/sim.h"

/* --- bytes ---------------------------------------------------------------------------------- */

/* Does the whole of n bytes at a device address belong to allocated memory? */
static bool ours(uint64_t addr, uint64_t n)
{
	while (n) {
		uint64_t some = n;

		if (!sim_bytes(addr, &some))
			return false;
		addr += some;
		n -= some;
	}
	return true;
}

/* Host memory for up to *n bytes at an end; NULL: not allowed. */
static char *end_bytes(uint64_t addr, uint64_t *n)
{
	char *bytes = sim_bytes(addr, n);

	return bytes || *n == 0 ? bytes : (char *)addr;
}

static CUresult move(uint64_t dst, uint64_t src, uint64_t n)
{
	while (n) {
		uint64_t some = n, most = n;
		char *to = end_bytes(dst, &some), *from = end_bytes(src, &most);

		if (!to || !from)
			return CUDA_ERROR_INVALID_VALUE;
		if (some > most)
			some = most;
		memmove(to, from, some);
		dst += some;
		src += some;
		n -= some;
	}
	return CUDA_SUCCESS;
}

/* element: the size of one value, 1, 2 or 4 bytes; n is a multiple of it. */
static CUresult fill(uint64_t dst, unsigned value, unsigned element, uint64_t n)
{
	while (n) {
		uint64_t some = n;
		char *to = sim_bytes(dst, &some);

		if (!to)
			return CUDA_ERROR_INVALID_VALUE;
		if (element == 1)
			memset(to, (int)value, some);
		else
			for (uint64_t i = 0; i < some; i += element)
				memcpy(to + i, &value, element);
		dst += some;
		n -= some;
	}
	return CUDA_SUCCESS;
}

/* --- jobs ----------------------------------------------------------------------------------- */

static uint64_t row_at(const struct job_end *e, uint64_t y, uint64_t z)
{
	return e->base + z * e->slice + y * e->pitch;
}

CUresult sim_job_run(const struct job *j)
{
	CUresult result = CUDA_SUCCESS;

	for (uint64_t z = 0; z < j->depth; z++)
		for (uint64_t y = 0; y < j->height && result == CUDA_SUCCESS; y++) {
			uint64_t to = row_at(&j->dst, y, z), from = row_at(&j->src, y, z);

			if ((j->dst.device && !ours(to, j->width)) ||
			    (j->src.device && !ours(from, j->width)))
				return CUDA_ERROR_INVALID_VALUE;
			result =
			    j->element ? fill(to, j->value, j->element, j->width) : move(to, from, j->width);
		}
	return result;
}

/* A synchronous copy runs on the default stream and waits. */
static CUresult run_now(struct job j)
{
	CUresult result;

	SIM_STREAM(s, NULL);
	if (j.bad != CUDA_SUCCESS)
		return j.bad;
	result = sim_job_run(&j);
	sim_stream_work(s);
	sim_stream_finish(s, s->submitted);
	return result;
}

static CUresult run_later(struct job j, CUstream handle)
{
	CUresult result;

	SIM_STREAM(s, handle);
	if (j.bad != CUDA_SUCCESS)
		return j.bad;
	if (s->capture)
		return sim_capture_job(s, &j);
	result = sim_job_run(&j);
	if (result == CUDA_SUCCESS)
		sim_stream_work(s);
	return result;
}

/* --- copies of one row ---------------------------------------------------------------------- */

enum { HOST_END, DEVICE_END }; /* DEVICE_END: a host pointer there is an error */

static struct job copy_1d(uint64_t dst, bool to_device, uint64_t src, bool from_device, uint64_t n)
{
	return (struct job){.dst = {.base = dst, .device = to_device},
	                    .src = {.base = src, .device = from_device},
	                    .width = n,
	                    .height = 1,
	                    .depth = 1,
	                    .bad = (dst && src) || !n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE};
}

static struct job to_device(uint64_t dst, const void *src, uint64_t n)
{
	return copy_1d(dst, DEVICE_END, (uint64_t)src, HOST_END, n);
}

static struct job from_device(void *dst, uint64_t src, uint64_t n)
{
	return copy_1d((uint64_t)dst, HOST_END, src, DEVICE_END, n);
}

static struct job between(uint64_t dst, uint64_t src, uint64_t n)
{
	return copy_1d(dst, DEVICE_END, src, DEVICE_END, n);
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	SIM_ENTER(cuMemcpy);
	return run_now(copy_1d(dst, HOST_END, src, HOST_END, n));
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream)
{
	SIM_ENTER(cuMemcpyAsync);
	return run_later(copy_1d(dst, HOST_END, src, HOST_END, n), stream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t n)
{
	SIM_ENTER(cuMemcpyHtoD_v2);
	return run_now(to_device(dst, src, n));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n, CUstream stream)
{
	SIM_ENTER(cuMemcpyHtoDAsync_v2);
	return run_later(to_device(dst, src, n), stream);
}

CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t n)
{
	SIM_ENTER(cuMemcpyDtoH_v2);
	return run_now(from_device(dst, src, n));
}

CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n, CUstream stream)
{
	SIM_ENTER(cuMemcpyDtoHAsync_v2);
	return run_later(from_device(dst, src, n), stream);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	SIM_ENTER(cuMemcpyDtoD_v2);
	return run_now(between(dst, src, n));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream)
{
	SIM_ENTER(cuMemcpyDtoDAsync_v2);
	return run_later(between(dst, src, n), stream);
}

CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t n)
{
	SIM_ENTER(cuMemcpyPeer);
	if (!sim_handle_is(to, HANDLE_CONTEXT) || !sim_handle_is(from, HANDLE_CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	return run_now(between(dst, src, n));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t n,
                           CUstream stream)
{
	SIM_ENTER(cuMemcpyPeerAsync);
	if (!sim_handle_is(to, HANDLE_CONTEXT) || !sim_handle_is(from, HANDLE_CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	return run_later(between(dst, src, n), stream);
}

/* --- copies of many rows -------------------------------------------------------------------- */

static CUresult end_of(struct job_end *e, CUmemorytype type, const void *host, CUdeviceptr device,
                       CUarray array, uint64_t pitch, uint64_t height)
{
	uint64_t rows;

	e->device = type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_ARRAY;
	if (type == CU_MEMORYTYPE_ARRAY) {
		if (!sim_array_rows(array, &e->base, &e->pitch, &rows))
			return CUDA_ERROR_INVALID_HANDLE;
		e->slice = e->pitch * rows;
		return CUDA_SUCCESS;
	}
	e->base = type == CU_MEMORYTYPE_HOST ? (uint64_t)host : device;
	e->pitch = pitch;
	e->slice = pitch * height;
	return type >= CU_MEMORYTYPE_HOST && type <= CU_MEMORYTYPE_UNIFIED ? CUDA_SUCCESS
	                                                                   : CUDA_ERROR_INVALID_VALUE;
}

struct job sim_job_copy_3d(const CUDA_MEMCPY3D *c)
{
	struct job j = {.bad = CUDA_ERROR_INVALID_VALUE};

	if (!c)
		return j;
	j.width = c->WidthInBytes;
	j.height = c->Height;
	j.depth = c->Depth;
	j.bad = end_of(&j.dst, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray,
	               c->dstPitch ? c->dstPitch : j.width, c->dstHeight ? c->dstHeight : j.height);
	if (j.bad == CUDA_SUCCESS)
		j.bad = end_of(&j.src, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray,
		               c->srcPitch ? c->srcPitch : j.width, c->srcHeight ? c->srcHeight : j.height);
	j.dst.base += c->dstXInBytes + c->dstY * j.dst.pitch + c->dstZ * j.dst.slice;
	j.src.base += c->srcXInBytes + c->srcY * j.src.pitch + c->srcZ * j.src.slice;
	return j;
}

static struct job copy_2d(const CUDA_MEMCPY2D *c)
{
	CUDA_MEMCPY3D d;

	if (!c)
		return sim_job_copy_3d(NULL);
	d = (CUDA_MEMCPY3D){.srcXInBytes = c->srcXInBytes,
	                    .srcY = c->srcY,
	                    .srcMemoryType = c->srcMemoryType,
	                    .srcHost = c->srcHost,
	                    .srcDevice = c->srcDevice,
	                    .srcArray = c->srcArray,
	                    .srcPitch = c->srcPitch,
	                    .dstXInBytes = c->dstXInBytes,
	                    .dstY = c->dstY,
	                    .dstMemoryType = c->dstMemoryType,
	                    .dstHost = c->dstHost,
	                    .dstDevice = c->dstDevice,
	                    .dstArray = c->dstArray,
	                    .dstPitch = c->dstPitch,
	                    .WidthInBytes = c->WidthInBytes,
	                    .Height = c->Height,
	                    .Depth = 1};
	return sim_job_copy_3d(&d);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
	SIM_ENTER(cuMemcpy2D_v2);
	return run_now(copy_2d(copy));
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
	SIM_ENTER(cuMemcpy2DUnaligned_v2);
	return run_now(copy_2d(copy));
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
	SIM_ENTER(cuMemcpy2DAsync_v2);
	return run_later(copy_2d(copy), stream);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
	SIM_ENTER(cuMemcpy3D_v2);
	return run_now(sim_job_copy_3d(copy));
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
	SIM_ENTER(cuMemcpy3DAsync_v2);
	return run_later(sim_job_copy_3d(copy), stream);
}

/* --- copies to and from arrays, as one row -------------------------------------------------- */

static CUresult array_at(CUarray array, size_t offset, uint64_t *addr)
{
	uint64_t row, rows;

	if (!sim_array_rows(array, addr, &row, &rows))
		return CUDA_ERROR_INVALID_HANDLE;
	*addr += offset;
	return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoA_v2(CUarray dst, size_t offset, const void *src, size_t n)
{
	uint64_t to;

	SIM_ENTER(cuMemcpyHtoA_v2);
	return array_at(dst, offset, &to) ? CUDA_ERROR_INVALID_HANDLE : run_now(to_device(to, src, n));
}

CUresult cuMemcpyAtoH_v2(void *dst, CUarray src, size_t offset, size_t n)
{
	uint64_t from;

	SIM_ENTER(cuMemcpyAtoH_v2);
	return array_at(src, offset, &from) ? CUDA_ERROR_INVALID_HANDLE : run_now(from_device(dst, from, n));
}

CUresult cuMemcpyDtoA_v2(CUarray dst, size_t offset, CUdeviceptr src, size_t n)
{
	uint64_t to;

	SIM_ENTER(cuMemcpyDtoA_v2);
	return array_at(dst, offset, &to) ? CUDA_ERROR_INVALID_HANDLE : run_now(between(to, src, n));
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src, size_t offset, size_t n)
{
	uint64_t from;

	SIM_ENTER(cuMemcpyAtoD_v2);
	return array_at(src, offset, &from) ? CUDA_ERROR_INVALID_HANDLE : run_now(between(dst, from, n));
}

CUresult cuMemcpyHtoAAsync_v2(CUarray dst, size_t offset, const void *src, size_t n, CUstream stream)
{
	uint64_t to;

	SIM_ENTER(cuMemcpyHtoAAsync_v2);
	return array_at(dst, offset, &to) ? CUDA_ERROR_INVALID_HANDLE
	                                  : run_later(to_device(to, src, n), stream);
}

CUresult cuMemcpyAtoHAsync_v2(void *dst, CUarray src, size_t offset, size_t n, CUstream stream)
{
	uint64_t from;

	SIM_ENTER(cuMemcpyAtoHAsync_v2);
	return array_at(src, offset, &from) ? CUDA_ERROR_INVALID_HANDLE
	                                    : run_later(from_device(dst, from, n), stream);
}

CUresult cuMemcpyAtoA_v2(CUarray dst, size_t to_offset, CUarray src, size_t from_offset, size_t n)
{
	uint64_t to, from;

	SIM_ENTER(cuMemcpyAtoA_v2);
	if (array_at(dst, to_offset, &to) || array_at(src, from_offset, &from))
		return CUDA_ERROR_INVALID_HANDLE;
	return run_now(between(to, from, n));
}

/* --- fills ---------------------------------------------------------------------------------- */

struct job sim_job_fill(uint64_t dst, uint64_t pitch, unsigned value, unsigned element, uint64_t columns,
                        uint64_t rows)
{
	struct job j = {.dst = {.base = dst, .pitch = pitch, .device = true},
	                .value = value,
	                .element = element,
	                .height = rows,
	                .depth = 1};

	if (dst % element || (rows > 1 && pitch % element) ||
	    __builtin_mul_overflow(columns, (uint64_t)element, &j.width))
		j.bad = CUDA_ERROR_INVALID_VALUE;
	return j;
}

#define FILL(bits, type)                                                                                     \
	CUresult cuMemsetD##bits##_v2(CUdeviceptr dst, type value, size_t n)                                 \
	{                                                                                                    \
		SIM_ENTER(cuMemsetD##bits##_v2);                                                             \
		return run_now(sim_job_fill(dst, 0, value, bits / 8, n, 1));                                 \
	}                                                                                                    \
	CUresult cuMemsetD##bits##Async(CUdeviceptr dst, type value, size_t n, CUstream stream)              \
	{                                                                                                    \
		SIM_ENTER(cuMemsetD##bits##Async);                                                           \
		return run_later(sim_job_fill(dst, 0, value, bits / 8, n, 1), stream);                       \
	}                                                                                                    \
	CUresult cuMemsetD2D##bits##_v2(CUdeviceptr dst, size_t pitch, type value, size_t w, size_t h)       \
	{                                                                                                    \
		SIM_ENTER(cuMemsetD2D##bits##_v2);                                                           \
		return run_now(sim_job_fill(dst, pitch, value, bits / 8, w, h));                             \
	}                                                                                                    \
	CUresult cuMemsetD2D##bits##Async(CUdeviceptr dst, size_t pitch, type value, size_t w, size_t h,     \
	                                  CUstream stream)                                                   \
	{                                                                                                    \
		SIM_ENTER(cuMemsetD2D##bits##Async);                                                         \
		return run_later(sim_job_fill(dst, pitch, value, bits / 8, w, h), stream);                   \
	}

FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned int)
