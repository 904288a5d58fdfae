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

#ifdef __cplusplus
}
#endif
#endif
