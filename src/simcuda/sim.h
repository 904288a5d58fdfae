/* sim.h: the simulated driver's own words: devices, contexts, ranges of addresses, backing bytes,
 * streams, pools.
 *
 * Always holds: one lock guards everything; every exported function enters through SIM_ENTER and
 * every sim_ function is called with the lock held. The bytes of device memory live in backings,
 * which get host memory at the first touch; the addresses programs see are reserved without access,
 * so that a host dereference faults as it does on a GPU. Work on streams is done at once, but counts
 * as finished only when the host waits for it or asks: that decides which freed memory may be reused.
 * Who may include: src/simcuda.
 */
#ifndef SIMCUDA_SIM_H
#define SIMCUDA_SIM_H

#define __CUDA_API_VERSION_INTERNAL  /* cuda.h then declares every version of every function */
#pragma GCC visibility push(default) /* what cuda.h declares is what this library exports */
#include <cuda.h>
#include <cudaProfiler.h>
#pragma GCC visibility pop
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/driver.h"
#include "simcuda/heap.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

enum {
	SIM_DEVICES = 16,
	SIM_UNIT = 512,             /* what small allocations are rounded to */
	SIM_PAGE = 2 * 1024 * 1024, /* what physical memory is handed out in */
	SIM_PAGE_UNITS = SIM_PAGE / SIM_UNIT,
	SIM_FAULTS = 32,
	SIM_LIMITS = 3, /* stack, printf buffer, heap */
};

/* Host bytes behind device memory; shared by every range that maps them. */
struct backing {
	uint64_t size;
	char *bytes; /* NULL until touched or shared */
	int fd;      /* the file that other processes can map; -1 while private */
	int device;  /* whose memory it is; -1: not charged to a device of ours */
	unsigned refs;
};

enum range_kind {
	RANGE_DEVICE,   /* one allocation of cuMemAlloc */
	RANGE_SMALL,    /* a page cut into small ones */
	RANGE_POOL,     /* a piece of a memory pool, cut into blocks */
	RANGE_MAPPED,   /* a cuMemCreate handle mapped by cuMemMap */
	RANGE_MANAGED,  /* cuMemAllocManaged: host memory at the same address */
	RANGE_PINNED,   /* cuMemHostAlloc: host memory at the same address */
	RANGE_IMPORTED, /* memory of another process */
	RANGE_GRAPH,    /* an allocation node of a graph */
};

struct range {
	enum range_kind kind;
	uint64_t base, size; /* addresses; size is a multiple of SIM_PAGE */
	uint64_t bytes;      /* as asked for, where the range is one allocation */
	uint64_t id;
	int device;
	unsigned flags;
	struct block *va;        /* its place in the address space */
	struct backing *backing; /* NULL: host memory at the address itself, or none yet */
	uint64_t offset;         /* where in the backing it starts */
	struct context *context; /* it dies with this */
	struct block *first;     /* SMALL, POOL: the first piece */
	struct range *next, **link;
	struct pool *pool;           /* POOL, and IMPORTED from a pool */
	struct physical *physical;   /* MAPPED */
	struct graph_mem *graph_mem; /* GRAPH */
	struct imported *imported;   /* IMPORTED by an IPC handle */
	bool access;                 /* MAPPED: cuMemSetAccess was called */
};

struct stream {
	struct context *context;
	uint64_t id;
	unsigned flags;
	int priority;
	uint64_t submitted, completed; /* work: how much, and how much the host knows is done */
	struct after {
		uint64_t stream, upto; /* this stream's next work waits for that one's up to there */
	} * after;
	unsigned afters;
	struct pending *pendings; /* memory freed on it that is not free to all yet */
	struct stream *next, **link;
	struct capture *capture;
	unsigned calls;     /* host functions on it that have not returned */
	const void *thread; /* a per-thread default stream: whose */
};

struct context {
	int device;
	bool primary, alive;
	unsigned refs, flags;
	uint64_t id;
	size_t limit[SIM_LIMITS];
	struct stream *streams; /* all of them, the default ones too */
	struct stream *legacy;
	struct range *ranges;
	struct bins small; /* free pieces of RANGE_SMALL, in SIM_UNITs */
	struct array *arrays;
	struct registered *registered;
};

struct pending {
	struct pool *pool;
	struct stream *stream;
	struct bins bins;
	struct pending *next_in_pool, *next_in_stream;
};

struct pool {
	int device;
	bool is_default, dying, imported;
	uint64_t id, live; /* blocks in use */
	unsigned handle_types;
	CUmemAccess_flags access[SIM_DEVICES];
	int follow_events, opportunistic, internal; /* the three reuse policies */
	uint64_t threshold, limit;                  /* release threshold, maxSize */
	uint64_t reserved, reserved_high, used, used_high;
	struct bins ready;        /* free to every stream, in SIM_UNITs */
	struct pending *pendings; /* free to one stream each */
	struct range *ranges;
	uint64_t idle; /* bytes of ranges that are wholly free to all */
	struct pool *next;
};

struct device {
	uint64_t total, used; /* bytes; used counts whole pages */
	struct context *primary;
	struct pool *default_pool, *pool;
	struct graph_pool {
		uint64_t live, used_high, reserved, reserved_high; /* all reserved is used, too */
	} graph;
};

/* What GPUMEMSNAP_SIM asks for. */
struct config {
	int devices, driver_version;
	uint64_t memory, context; /* per device, and how much of it a context takes */
	const char *name;
	struct fault {
		char base[64];
		uint64_t from, to; /* the calls that fail, counted from 1 */
		CUresult error;
		uint64_t calls;
	} faults[SIM_FAULTS];
	int fault_count;
};

struct sim {
	pthread_mutex_t lock;
	bool ready, forked;
	struct config config;
	bool faulty[DRIVER_ROWS]; /* some fault names its function */
	struct device device[SIM_DEVICES];
	struct pool *pools;
	uint64_t next_id;
};
extern struct sim sim;

/* What a thread has: its stack of current contexts. */
enum { SIM_STACK = 64 };
struct thread {
	struct context *stack[SIM_STACK];
	int depth;
	bool own_default; /* stream 0 is the thread's own, in this call */
};
extern __thread struct thread sim_thread;

/* First statement of every exported function: take the lock until return, and return at once if the
 * driver is not initialised or this call was asked to fail. */
#define SIM_ENTER(row)                                                                                       \
	struct sim_guard guard_ __attribute__((cleanup(sim_leave), unused)) = sim_enter();                   \
	if (!sim.ready || sim.forked || sim.faulty[DRIVER_FN_##row]) {                                       \
		CUresult refused_ = sim_refuse(DRIVER_FN_##row);                                             \
		if (refused_ != CUDA_SUCCESS)                                                                \
			return refused_;                                                                     \
	}
/* The calling thread's current context, or return. */
#define SIM_CONTEXT(ctx)                                                                                     \
	struct context *ctx = sim_current();                                                                 \
	do {                                                                                                 \
		if (!ctx || !ctx->alive)                                                                     \
			return ctx ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;           \
	} while (0)

struct sim_guard {
	char unused;
};
static inline struct sim_guard sim_enter(void)
{
	pthread_mutex_lock(&sim.lock);
	return (struct sim_guard){0};
}
static inline void sim_leave(struct sim_guard *guard)
{
	(void)guard;
	pthread_mutex_unlock(&sim.lock);
}
CUresult sim_refuse(enum driver_row row);

static inline uint64_t sim_round(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}
static inline struct context *sim_current(void)
{
	return sim_thread.depth ? sim_thread.stack[sim_thread.depth - 1] : NULL;
}
static inline bool sim_device_ok(CUdevice dev)
{
	return dev >= 0 && dev < sim.config.devices;
}

/* unmodelled.c: where the function of each row is */
extern void *const sim_functions[DRIVER_ROWS];

/* config.c */
bool sim_configure(struct config *config);

/* space.c: addresses and the bytes behind them */
bool sim_space_open(void);
/* Addresses for size bytes (rounded up to pages), found again by sim_range_at. Whoever has set more in
 * the range than its kind leaves the giving back to sim_range_free all the same. */
struct range *sim_range_new(enum range_kind kind, uint64_t size);
void sim_range_free(struct range *range);
struct range *sim_range_at(uint64_t addr);
void sim_range_index(struct range *range); /* for ranges inside a reservation of cuMemAddressReserve */
/* Put a range on the list of what it dies with; sim_range_free takes it off. */
void sim_range_own(struct range *range, struct range **list);
/* Addresses alone; wanted is a hint, and 0 none. */
struct block *sim_space_take(uint64_t bytes, uint64_t align, uint64_t wanted);
void sim_space_drop(struct block *va);
uint64_t sim_space_addr(const struct block *va);
/* Make the first bytes of a range readable and writable by the host, at their own address. */
bool sim_space_host(struct range *range, uint64_t bytes);
/* The pieces in use of SMALL and POOL ranges, by any address in them. */
bool sim_piece_index(struct block *block);
void sim_piece_unindex(struct block *block);
struct block *sim_piece_at(uint64_t addr);
uint64_t sim_piece_addr(const struct block *block);

/* Bytes charged to a device (-1: to none); they go back to it with the last reference. */
struct backing *sim_backing_new(int device, uint64_t size);
void sim_backing_drop(struct backing *backing);
char *sim_backing_bytes(struct backing *backing); /* NULL: no memory */
int sim_backing_share(struct backing *backing);   /* as a file that others can map; -1 */
struct backing *sim_backing_import(int fd, uint64_t size);

/* What an address belongs to. */
struct place {
	struct range *range;
	struct block *piece;  /* of SMALL and POOL ranges */
	uint64_t base, bytes; /* of the allocation */
};
bool sim_place(uint64_t addr, struct place *place);
/* Host memory that holds the bytes at addr, and how many of n follow there; NULL: not memory of ours
 * (*n is then untouched) or, with *n = 0, memory that may not be touched. */
char *sim_bytes(uint64_t addr, uint64_t *n);

/* device.c: memory as a number of bytes, whole pages */
bool sim_device_open(int device);
bool sim_charge(int device, uint64_t bytes);
void sim_refund(int device, uint64_t bytes);

/* context.c */
struct context *sim_device_primary(int device);

/* mem.c: device memory as cuMemAlloc gives it */
CUresult sim_device_alloc(struct context *ctx, uint64_t bytes, CUdeviceptr *out);
void sim_device_free(uint64_t addr);
CUresult sim_device_free_on(uint64_t addr, struct stream *stream);
/* The host has learned that the stream went further: what was freed on it goes. */
void sim_device_ready(const struct stream *stream);
void sim_device_reclaim(void); /* as if it had, for all streams */
struct range *sim_range_charged(enum range_kind kind, int device, uint64_t bytes);
void sim_mem_end(struct context *ctx);

/* stream.c */
CUresult sim_stream(CUstream handle, struct stream **out);
void sim_stream_work(struct stream *stream); /* one piece of work more */
bool sim_stream_busy(const struct stream *stream);
/* The host knows that the stream got that far. */
void sim_stream_finish(struct stream *stream, uint64_t upto);
void sim_streams_finish(struct context *ctx);
void sim_streams_drain(struct context *ctx);
void sim_streams_end(struct context *ctx);
/* How far the other stream has to be before this one's next work runs; 0: they do not wait. */
uint64_t sim_stream_order(const struct stream *stream, const struct stream *other);
void sim_stream_wait(struct stream *stream, const struct stream *other, uint64_t upto);

/* The stream of a handle, or return. */
#define SIM_STREAM(s, handle)                                                                                \
	struct stream *s;                                                                                    \
	do {                                                                                                 \
		CUresult bad_ = sim_stream(handle, &s);                                                      \
		if (bad_ != CUDA_SUCCESS)                                                                    \
			return bad_;                                                                         \
	} while (0)

/* pool.c */
struct pool *sim_pool_new(int device);
bool sim_pool_ok(CUmemoryPool pool);
CUresult sim_pool_alloc(struct pool *pool, struct stream *stream, uint64_t bytes, CUdeviceptr *out);
/* stream NULL: nobody uses it any more. */
CUresult sim_pool_free(struct block *block, struct stream *stream);
/* The host has learned that the stream went further: its frees up to there are free to all. */
void sim_pool_ready(struct stream *stream);
/* The stream is over, and its pendings with it. */
void sim_pool_forget(struct stream *stream);
/* Give back to the device what the host's waiting allows; or whatever can be. */
void sim_pool_sync(int device);
void sim_pool_reclaim(int device);

/* copy.c: what a copy or a fill does */
struct job_end {
	uint64_t base, pitch, slice; /* row y of slice z: base + z * slice + y * pitch */
	bool device;                 /* must be device memory */
};
struct job {
	struct job_end dst, src;
	uint64_t width, height, depth; /* width in bytes */
	unsigned value, element;       /* a fill: with what, and how many bytes that is */
	CUresult bad;                  /* it cannot be done */
};
CUresult sim_job_run(const struct job *job);
struct job sim_job_copy_3d(const CUDA_MEMCPY3D *copy);
struct job sim_job_fill(uint64_t dst, uint64_t pitch, unsigned value, unsigned element, uint64_t columns,
                        uint64_t rows);

/* hostfn.c: wait until no host function of the stream is left; others get the lock meanwhile */
void sim_stream_drain(struct stream *stream);

/* graph.c */
CUresult sim_graph_mem_free(struct range *range);
CUresult sim_capture_alloc(struct stream *stream, uint64_t bytes, CUdeviceptr *out);
CUresult sim_capture_free(struct stream *stream, uint64_t addr);
CUresult sim_capture_job(struct stream *stream, const struct job *job);
void sim_capture_end(struct stream *stream);

/* array.c, host.c, vmm.c */
void sim_arrays_end(struct context *ctx);
bool sim_array_rows(CUarray array, uint64_t *addr, uint64_t *row, uint64_t *rows);
void sim_registered_end(struct context *ctx);
bool sim_registered(struct context *ctx, uint64_t addr, struct place *place);
unsigned sim_physical_handle_types(const struct physical *physical);

/* Handles that programs hand in are looked up before they are followed. */
enum handle_kind {
	HANDLE_NONE,
	HANDLE_CONTEXT,
	HANDLE_STREAM,
	HANDLE_EVENT,
	HANDLE_POOL,
	HANDLE_PHYSICAL,
	HANDLE_ARRAY,
	HANDLE_MIPMAP,
	HANDLE_GRAPH,
	HANDLE_NODE,
	HANDLE_EXEC,
	HANDLE_EXTERNAL,
};
bool sim_handle_add(const void *handle, enum handle_kind kind);
void sim_handle_drop(const void *handle);
bool sim_handle_is(const void *handle, enum handle_kind kind);

#endif
