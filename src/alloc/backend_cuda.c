/* backend_cuda.c: memory from a CUDA device through the driver API.
 *
 * The driver is found at run time, so that a program with this library starts without a GPU. Calls
 * work in the device's primary context, whatever context the caller has. They are made with relaxed
 * capture mode: a graph being captured in this thread is not disturbed.
 */
#include "alloc/face.h"
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DRIVER_FUNCTIONS(X)                                                                                  \
	X(cuInit, cuInit)                                                                                    \
	X(cuDeviceGet, cuDeviceGet)                                                                          \
	X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                                \
	X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)                                           \
	X(cuCtxGetCurrent, cuCtxGetCurrent)                                                                  \
	X(cuCtxPushCurrent, cuCtxPushCurrent_v2)                                                             \
	X(cuCtxPopCurrent, cuCtxPopCurrent_v2)                                                               \
	X(cuCtxSynchronize, cuCtxSynchronize)                                                                \
	X(cuMemAlloc, cuMemAlloc_v2)                                                                         \
	X(cuMemFree, cuMemFree_v2)                                                                           \
	X(cuMemGetInfo, cuMemGetInfo_v2)                                                                     \
	X(cuEventCreate, cuEventCreate)                                                                      \
	X(cuEventDestroy, cuEventDestroy_v2)                                                                 \
	X(cuEventRecord, cuEventRecord)                                                                      \
	X(cuEventQuery, cuEventQuery)                                                                        \
	X(cuEventSynchronize, cuEventSynchronize)
/* Not in every driver: expandable segments need the first, graph captures the last two. */
#define OPTIONAL_FUNCTIONS(X)                                                                                \
	X(cuMemAddressReserve, cuMemAddressReserve)                                                          \
	X(cuMemAddressFree, cuMemAddressFree)                                                                \
	X(cuMemCreate, cuMemCreate)                                                                          \
	X(cuMemRelease, cuMemRelease)                                                                        \
	X(cuMemMap, cuMemMap)                                                                                \
	X(cuMemUnmap, cuMemUnmap)                                                                            \
	X(cuMemSetAccess, cuMemSetAccess)                                                                    \
	X(cuStreamIsCapturing, cuStreamIsCapturing)                                                          \
	X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode)

enum { SPARE_EVENTS = 64 };

struct cuda {
	void *library;
#define POINTER(name, symbol) __typeof__(symbol) *name;
	DRIVER_FUNCTIONS(POINTER)
	OPTIONAL_FUNCTIONS(POINTER)
#undef POINTER
	int ordinal;
	CUdevice device;
	CUcontext context;
	CUevent spare[SPARE_EVENTS];
	unsigned n_spare;
};

static int find_functions(struct cuda *c)
{
	c->library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!c->library)
		return gma_fail(GMA_DRIVER_ERROR, "no CUDA driver: %s", dlerror());
#define FIND(name, symbol) *(void **)&c->name = dlsym(c->library, #symbol);
	DRIVER_FUNCTIONS(FIND)
	OPTIONAL_FUNCTIONS(FIND)
#undef FIND
#define NEED(name, symbol)                                                                                   \
	if (!c->name)                                                                                        \
		return gma_fail(GMA_DRIVER_ERROR, "the CUDA driver lacks %s", #symbol);
	DRIVER_FUNCTIONS(NEED)
#undef NEED
	return GMA_OK;
}

/* The device's context and relaxed capture mode for the length of a call. */
struct visit {
	bool pushed, relaxed;
	CUstreamCaptureMode mode;
};

static CUresult enter(struct cuda *c, struct visit *v)
{
	CUcontext now = NULL;
	CUresult r = CUDA_SUCCESS;

	*v = (struct visit){.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
	if (c->cuCtxGetCurrent(&now) != CUDA_SUCCESS || now != c->context) {
		r = c->cuCtxPushCurrent(c->context);
		v->pushed = r == CUDA_SUCCESS;
	}
	if (r == CUDA_SUCCESS && c->cuThreadExchangeStreamCaptureMode)
		v->relaxed = c->cuThreadExchangeStreamCaptureMode(&v->mode) == CUDA_SUCCESS;
	return r;
}

static void leave(struct cuda *c, struct visit *v)
{
	CUcontext was;

	if (v->relaxed)
		c->cuThreadExchangeStreamCaptureMode(&v->mode);
	if (v->pushed)
		c->cuCtxPopCurrent(&was);
}

static int code(CUresult r)
{
	switch (r) {
	case CUDA_SUCCESS:
		return GMA_OK;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return GMA_OUT_OF_MEMORY;
	case CUDA_ERROR_NOT_READY:
		return GMA_NOT_READY;
	case CUDA_ERROR_NOT_SUPPORTED:
		return GMA_NOT_SUPPORTED;
	default:
		return GMA_DRIVER_ERROR;
	}
}

/* Run a call in the device's context; its result becomes ours. */
#define IN_CONTEXT(c, call)                           \
	({                                            \
		struct visit visit_;                  \
		CUresult r_ = enter((c), &visit_);    \
		if (r_ == CUDA_SUCCESS) {             \
			r_ = (call);                  \
			leave((c), &visit_);          \
		}                                     \
		r_;                                   \
	})

static int cuda_segment_alloc(void *ctx, uint64_t size, uint64_t *addr)
{
	struct cuda *c = ctx;
	CUdeviceptr p = 0;
	CUresult r = IN_CONTEXT(c, c->cuMemAlloc(&p, size));

	*addr = p;
	return code(r);
}

static int cuda_segment_free(void *ctx, uint64_t addr, uint64_t size)
{
	struct cuda *c = ctx;

	(void)size;
	return code(IN_CONTEXT(c, c->cuMemFree(addr)));
}

static int cuda_reserve(void *ctx, uint64_t size, uint64_t *addr)
{
	struct cuda *c = ctx;
	CUdeviceptr p = 0;
	CUresult r = IN_CONTEXT(c, c->cuMemAddressReserve(&p, size, 0, 0, 0));

	*addr = p;
	return code(r);
}

static int cuda_unreserve(void *ctx, uint64_t addr, uint64_t size)
{
	struct cuda *c = ctx;

	return code(IN_CONTEXT(c, c->cuMemAddressFree(addr, size)));
}

/* One page. Its handle is let go at once: the memory lives as long as its mapping. */
static CUresult map_page(struct cuda *c, uint64_t addr, uint64_t page)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = c->ordinal}};
	CUmemGenericAllocationHandle h;
	CUresult r = c->cuMemCreate(&h, page, &prop, 0);

	if (r != CUDA_SUCCESS)
		return r;
	r = c->cuMemMap(addr, page, 0, h, 0);
	c->cuMemRelease(h);
	return r;
}

static CUresult map_pages(struct cuda *c, uint64_t addr, uint64_t size, uint64_t page)
{
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = c->ordinal},
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUresult r = CUDA_SUCCESS;
	uint64_t done;

	for (done = 0; done < size && r == CUDA_SUCCESS; done += page)
		r = map_page(c, addr + done, page);
	if (r == CUDA_SUCCESS)
		r = c->cuMemSetAccess(addr, size, &access, 1);
	else
		done -= page; /* the last one was not mapped */
	if (r != CUDA_SUCCESS && done)
		c->cuMemUnmap(addr, done);
	return r;
}

static int cuda_map(void *ctx, uint64_t addr, uint64_t size, uint64_t page)
{
	struct cuda *c = ctx;

	return code(IN_CONTEXT(c, map_pages(c, addr, size, page)));
}

/* Unlike cuMemFree, cuMemUnmap does not wait for work that still uses the memory. */
static CUresult unmap_idle(struct cuda *c, uint64_t addr, uint64_t size)
{
	CUresult r = c->cuCtxSynchronize();

	return r == CUDA_SUCCESS ? c->cuMemUnmap(addr, size) : r;
}

static int cuda_unmap(void *ctx, uint64_t addr, uint64_t size, uint64_t page)
{
	struct cuda *c = ctx;

	(void)page;
	return code(IN_CONTEXT(c, unmap_idle(c, addr, size)));
}

static int cuda_event_record(void *ctx, gma_stream stream, uint64_t *event)
{
	struct cuda *c = ctx;
	CUevent e = c->n_spare ? c->spare[--c->n_spare] : NULL;
	CUresult r = CUDA_SUCCESS;

	if (!e)
		r = IN_CONTEXT(c, c->cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	if (r == CUDA_SUCCESS) {
		r = IN_CONTEXT(c, c->cuEventRecord(e, (CUstream)(uintptr_t)stream));
		if (r != CUDA_SUCCESS && c->n_spare < SPARE_EVENTS)
			c->spare[c->n_spare++] = e;
	}
	*event = (uintptr_t)e;
	return code(r);
}

static int cuda_event_query(void *ctx, uint64_t event)
{
	struct cuda *c = ctx;

	return code(IN_CONTEXT(c, c->cuEventQuery((CUevent)(uintptr_t)event)));
}

static int cuda_event_wait(void *ctx, uint64_t event)
{
	struct cuda *c = ctx;

	return code(IN_CONTEXT(c, c->cuEventSynchronize((CUevent)(uintptr_t)event)));
}

static void cuda_event_destroy(void *ctx, uint64_t event)
{
	struct cuda *c = ctx;
	CUevent e = (CUevent)(uintptr_t)event;

	if (c->n_spare < SPARE_EVENTS)
		c->spare[c->n_spare++] = e;
	else
		IN_CONTEXT(c, c->cuEventDestroy(e));
}

static int cuda_device_info(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes)
{
	struct cuda *c = ctx;
	size_t f = 0, t = 0;
	CUresult r = IN_CONTEXT(c, c->cuMemGetInfo(&f, &t));

	*free_bytes = f;
	*total_bytes = t;
	return code(r);
}

static void *page_get(void *ctx, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)ctx;
	return p == MAP_FAILED ? NULL : p;
}

static void page_put(void *ctx, void *page, size_t bytes)
{
	(void)ctx;
	munmap(page, bytes);
}

/* Locked: asked while a request is routed. */
bool gma_cuda_capturing(void *ctx, gma_stream stream)
{
	struct cuda *c = ctx;
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return c->cuStreamIsCapturing &&
	       IN_CONTEXT(c, c->cuStreamIsCapturing((CUstream)(uintptr_t)stream, &status)) == CUDA_SUCCESS &&
	       status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

int gma_cuda_device(const struct gma_backend *b)
{
	return b->segment_alloc == cuda_segment_alloc ? ((struct cuda *)b->ctx)->ordinal : -1;
}

bool gma_cuda_in_context(const struct gma *g, const void *context)
{
	return g->device >= 0 && ((struct cuda *)g->be.ctx)->context == context;
}

static void fill(struct gma_backend *b, struct cuda *c)
{
	bool vmm = c->cuMemAddressReserve && c->cuMemAddressFree && c->cuMemCreate && c->cuMemRelease && c->cuMemMap &&
		   c->cuMemUnmap && c->cuMemSetAccess;

	*b = (struct gma_backend){.ctx = c,
				  .segment_alloc = cuda_segment_alloc,
				  .segment_free = cuda_segment_free,
				  .reserve = vmm ? cuda_reserve : NULL,
				  .unreserve = vmm ? cuda_unreserve : NULL,
				  .map = vmm ? cuda_map : NULL,
				  .unmap = vmm ? cuda_unmap : NULL,
				  .event_record = cuda_event_record,
				  .event_query = cuda_event_query,
				  .event_wait = cuda_event_wait,
				  .event_destroy = cuda_event_destroy,
				  .device_info = cuda_device_info,
				  .page_get = page_get,
				  .page_put = page_put};
}

static int open_device(struct cuda *c, int device)
{
	CUresult r = c->cuInit(0);

	if (r == CUDA_SUCCESS)
		r = c->cuDeviceGet(&c->device, device);
	if (r == CUDA_SUCCESS)
		r = c->cuDevicePrimaryCtxRetain(&c->context, c->device);
	c->ordinal = device;
	if (r == CUDA_SUCCESS)
		return GMA_OK;
	return gma_fail(GMA_DRIVER_ERROR, "CUDA device %d cannot be used (CUDA error %d)", device, (int)r);
}

GMA_EXPORT int gma_cuda_open(int device, struct gma_backend *out)
{
	struct cuda *c = calloc(1, sizeof *c);
	int r;

	memset(out, 0, sizeof *out);
	if (!c)
		return gma_fail(GMA_NO_HOST_MEMORY, "no memory for the backend");
	r = find_functions(c);
	if (!r)
		r = open_device(c, device);
	if (r) {
		free(c); /* the driver stays loaded: it cannot be unloaded safely */
		return r;
	}
	fill(out, c);
	return GMA_OK;
}

GMA_EXPORT void gma_cuda_close(struct gma_backend *b)
{
	struct cuda *c = b->ctx;

	if (!c || gma_cuda_device(b) < 0)
		return;
	while (c->n_spare) {
		c->n_spare--;
		IN_CONTEXT(c, c->cuEventDestroy(c->spare[c->n_spare]));
	}
	c->cuDevicePrimaryCtxRelease(c->device);
	free(c);
	memset(b, 0, sizeof *b);
}
