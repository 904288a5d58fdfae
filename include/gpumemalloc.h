/* gpumemalloc.h: a caching allocator for GPU memory whose decisions can be seen.
 *
 * It keeps the device's memory in segments, cuts them into blocks and reuses freed blocks on
 * the stream they were made for, by PyTorch's rules and with PyTorch's words. One struct gma
 * serves one device; its functions may be called from any thread. See gpumemalloc(3).
 *
 * Functions that can fail return GMA_OK (0) or another gma_error, and gma_error_text() then
 * says in one sentence what went wrong in this thread.
 */
#ifndef GPUMEMALLOC_H
#define GPUMEMALLOC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gma_error {
	GMA_OK = 0,
	GMA_OUT_OF_MEMORY = 1,   /* the device, or the limit set for it, has no room */
	GMA_INVALID_VALUE = 2,   /* an argument makes no sense */
	GMA_INVALID_POINTER = 3, /* not the start of a block that is handed out */
	GMA_INVALID_CONF = 4,    /* a configuration key or value is wrong */
	GMA_DRIVER_ERROR = 5,    /* the backend failed in another way than by lack of memory */
	GMA_NO_HOST_MEMORY = 6,  /* no memory for the allocator's own records */
	GMA_NOT_READY = 7,       /* only between a backend and the allocator: the event is not complete */
	GMA_NOT_SUPPORTED = 8,   /* the backend cannot do this */
};

/* A stream is whatever the backend calls a stream (a CUstream as an integer); 0 is the default one. */
typedef uint64_t gma_stream;

/* What the allocator needs from a device. The functions return a gma_error and are called
 * one at a time for each gma (with release_lock_on_cudamalloc, segment_alloc may overlap others). */
struct gma_backend {
	void *ctx;
	/* memory in whole segments; segment_alloc must align to 512 bytes at least */
	int (*segment_alloc)(void *ctx, uint64_t size, uint64_t *addr);
	int (*segment_free)(void *ctx, uint64_t addr, uint64_t size);
	/* for expandable segments, or all four NULL: address space, and memory mapped into it in pages */
	int (*reserve)(void *ctx, uint64_t size, uint64_t *addr);
	int (*unreserve)(void *ctx, uint64_t addr, uint64_t size);
	int (*map)(void *ctx, uint64_t addr, uint64_t size, uint64_t page); /* all or nothing */
	int (*unmap)(void *ctx, uint64_t addr, uint64_t size, uint64_t page);
	/* for blocks used on several streams, or all four NULL: such blocks then wait for gma_empty_cache */
	int (*event_record)(void *ctx, gma_stream stream, uint64_t *event);
	int (*event_query)(void *ctx, uint64_t event); /* GMA_OK: complete, GMA_NOT_READY: not yet */
	int (*event_wait)(void *ctx, uint64_t event);
	void (*event_destroy)(void *ctx, uint64_t event);
	int (*device_info)(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes);
	/* host memory for the allocator's records; NULL from page_get: there is none left */
	void *(*page_get)(void *ctx, size_t bytes);
	void (*page_put)(void *ctx, void *page, size_t bytes);
};

/* PyTorch's memory_stats(), by the same names. */
struct gma_stat {
	int64_t current, peak, allocated, freed;
};
enum { GMA_STAT_ALL = 0, GMA_STAT_SMALL = 1, GMA_STAT_LARGE = 2, GMA_STAT_POOLS = 3 };
struct gma_stats {
	struct gma_stat allocation[GMA_STAT_POOLS], segment[GMA_STAT_POOLS]; /* counts */
	struct gma_stat active[GMA_STAT_POOLS], inactive_split[GMA_STAT_POOLS];
	struct gma_stat allocated_bytes[GMA_STAT_POOLS], reserved_bytes[GMA_STAT_POOLS];
	struct gma_stat active_bytes[GMA_STAT_POOLS], inactive_split_bytes[GMA_STAT_POOLS];
	struct gma_stat requested_bytes[GMA_STAT_POOLS];
	struct gma_stat oversize_allocations, oversize_segments;
	uint64_t num_alloc_retries, num_ooms, num_sync_all_streams;
	uint64_t num_device_alloc, num_device_free;
	int64_t max_split_size; /* bytes; -1: no limit */
};

/* --- one allocator for one device ------------------------------------------------------------- */
struct gma;

/* conf: "key:value,key:value" with PyTorch's keys, see gpumemalloc(3); NULL: what GPUMEMALLOC_CONF says,
 * else PYTORCH_ALLOC_CONF, else PYTORCH_CUDA_ALLOC_CONF. backend is copied; its ctx must live as long as
 * the allocator. NULL: CUDA device 0. Returns NULL if it cannot be: see gma_error_text(). */
struct gma *gma_create(const char *conf, const struct gma_backend *backend);
void gma_destroy(struct gma *g); /* gives everything back, used or not; streams that blocks were used on must exist */

/* A backend for a CUDA device, through the driver found at run time (libcuda.so.1), in the device's
 * primary context. gma_cuda_close when no allocator uses it any more. */
int gma_cuda_open(int device, struct gma_backend *out);
void gma_cuda_close(struct gma_backend *b);

/* The process's own allocator for a CUDA device, made at the first call. NULL: see gma_error_text(). */
struct gma *gma_for_device(int device);

/* *ptr is aligned to 512 bytes at least; size 0 gives NULL. The memory may be used on `stream` at once:
 * whoever had it before was done with it there. */
int gma_malloc(struct gma *g, void **ptr, size_t size, gma_stream stream);
/* NULL is ignored. Work already queued on the block's stream may still use it. */
int gma_free(struct gma *g, void *ptr);
/* stream uses ptr too: after gma_free, it is not reused before what is queued there now is done. */
int gma_record_stream(struct gma *g, void *ptr, gma_stream stream);
/* Wait for pending blocks and give back every segment that is not in use. */
int gma_empty_cache(struct gma *g);
/* The block that ptr points to the start of. */
int gma_block_info(struct gma *g, const void *ptr, size_t *size, size_t *requested, gma_stream *stream);

int gma_set_memory_fraction(struct gma *g, double fraction); /* of the device's memory, 0 … 1 */
int gma_set_memory_limit(struct gma *g, uint64_t bytes);     /* of reserved memory; UINT64_MAX: none */

void gma_stats(struct gma *g, struct gma_stats *out);
void gma_reset_peak(struct gma *g);
void gma_reset_accumulated(struct gma *g);
/* Write the present state as a snapshot that gpumemsnap reads (and PyTorch's viewers, after convert). */
int gma_snapshot(struct gma *g, const char *path);

/* --- private pools: memory that only some requests get ------------------------------------------ */
struct gma_pool;
enum {
	GMA_POOL_NO_SPLIT = 1, /* every request its own segment or a whole cached one */
	GMA_POOL_ON_OOM = 2,   /* others may take its free blocks before they run out of memory */
};
int gma_pool_create(struct gma *g, unsigned flags, struct gma_pool **out);
/* From here to gma_pool_end, this thread's requests come from the pool. With capture, so do those of any
 * stream that is being captured into a CUDA graph, and nothing is given back or waited for meanwhile. */
int gma_pool_begin(struct gma *g, struct gma_pool *pool, int capture);
int gma_pool_end(struct gma *g, struct gma_pool *pool);
/* No graph needs the pool's addresses any more: what is free in it may be given back. */
int gma_pool_release(struct gma *g, struct gma_pool *pool);

/* --- when something is wrong ---------------------------------------------------------------------- */
/* Why the last call of this thread failed, in one sentence. */
const char *gma_error_text(void);
/* Walk everything: NULL if all is as it must be, else what is wrong. Slow, for tests. */
const char *gma_valid(struct gma *g);

/* --- for torch.cuda.memory.CUDAPluggableAllocator: see gpumemalloc(3) -------------------------------- */
void *gma_torch_malloc(size_t size, int device, void *stream);
void gma_torch_free(void *ptr, size_t size, int device, void *stream);
void gma_torch_init(int device_count);
void gma_torch_reset(void);
void gma_torch_memory_fraction(double fraction, int device);
void *gma_torch_base_alloc(void *ptr, size_t *size);
void gma_torch_record_stream(void *ptr, void *stream);
struct gma_torch_pool_id { /* PyTorch's MempoolId_t */
	unsigned long long v[2];
};
void gma_torch_begin_pool(int device, struct gma_torch_pool_id id, void *filter);
void gma_torch_end_pool(int device, struct gma_torch_pool_id id);
void gma_torch_release_pool(int device, struct gma_torch_pool_id id);

#ifdef __cplusplus
}
#endif
#endif
