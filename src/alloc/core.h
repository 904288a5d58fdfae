/* core.h: the caching allocator's decisions, and nothing else.
 *
 * The core keeps segments (ranges got from a backend), cuts them into blocks and decides which
 * block serves a request, by PyTorch's rules. It is pure: no threads, clock, globals, malloc or
 * CUDA types. Memory for its records comes in pages from the backend and goes back when the core
 * is destroyed. Callers serialise. Two users: the public face (libgpumemalloc) and `whatif`.
 *
 * A request or a call that fails leaves everything as it was: no block is ever lost because the
 * backend, or the host's memory, failed.
 */
#ifndef ALLOC_CORE_H
#define ALLOC_CORE_H

#include "alloc/conf.h"
#include "gpumemalloc.h"

/* Requests and addresses from here on are not taken seriously: beyond every address space there is. */
#define GMA_TOO_MUCH (1ull << 57)

struct gma_core;

enum gma_state {
	GMA_FREE,     /* cached, may be handed out */
	GMA_LIVE,     /* handed out */
	GMA_PENDING,  /* given back, other streams may still use it */
	GMA_UNMAPPED, /* address space of an expandable segment without memory */
};

/* A piece of a segment. What is here may be read by anybody; only the core writes. */
struct gma_block {
	uint64_t addr, size;
	uint64_t requested; /* bytes asked for; of the last user if not live */
	uint64_t user;	    /* whatever the requester said it is */
	struct gma_segment *segment;
	struct gma_block *prev, *next; /* neighbours in the segment, by address */
	struct gma_block *left, *right; /* in the tree of free blocks of one bin */
	struct gma_use *uses;		/* other streams that use it */
	uint32_t searches;		/* of its pool when it became free: gives its age */
	uint16_t bin;			/* which one a free block is in */
	uint8_t state;
};

/* A range got from the backend (or, if expandable, address space that is mapped page by page). */
struct gma_segment {
	uint64_t addr, size;
	uint64_t user;	 /* of the request it was got for */
	uint64_t number; /* counts all segments of the core */
	struct gma_lane *lane;
	struct gma_block *first;
	struct gma_segment *prev, *next; /* all segments, oldest first */
	bool expandable;
};

/* What happened, as PyTorch's trace names it. */
enum gma_what {
	GMA_DID_ALLOC,
	GMA_DID_FREE_REQUESTED,
	GMA_DID_FREE_COMPLETED,
	GMA_DID_SEGMENT_ALLOC,
	GMA_DID_SEGMENT_FREE,
	GMA_DID_MAP,
	GMA_DID_UNMAP,
	GMA_DID_OOM,
};
struct gma_note {
	enum gma_what what;
	uint64_t addr;
	uint64_t size; /* blocks: requested bytes; oom: rounded request */
	gma_stream stream;
	uint64_t user;		      /* of the block, or of the request being served */
	const struct gma_pool *pool;  /* NULL: default */
	const struct gma_block *block; /* of block-level notes */
	bool small;
};
typedef void (*gma_noter)(void *ctx, const struct gma_note *n);

struct gma_request {
	uint64_t size;
	gma_stream stream;
	struct gma_pool *pool; /* NULL: default */
	uint64_t user;
};

/* b's functions, not their ctx's memory, must outlive the core. GMA_NO_HOST_MEMORY if there is none. */
int gma_core_create(struct gma_core **out, const struct gma_conf *conf, const struct gma_backend *b);
/* Give every segment back, whatever still lives in it. */
void gma_core_destroy(struct gma_core *c);
void gma_core_on_note(struct gma_core *c, gma_noter f, void *ctx);
void gma_core_set_conf(struct gma_core *c, const struct gma_conf *conf); /* from the next request on */
void gma_core_set_limit(struct gma_core *c, uint64_t bytes); /* reserved bytes; GMA_UNLIMITED */
uint64_t gma_core_limit(const struct gma_core *c);
const struct gma_conf *gma_core_conf(const struct gma_core *c);
const struct gma_stats *gma_core_stats(struct gma_core *c);
uint64_t gma_core_reserved(const struct gma_core *c);
uint64_t gma_core_active(const struct gma_core *c);
void gma_core_reset_peak(struct gma_core *c);
void gma_core_reset_accumulated(struct gma_core *c);

int gma_core_malloc(struct gma_core *c, const struct gma_request *q, struct gma_block **out);
/* b must be GMA_LIVE. It is free at once unless other streams use it. */
void gma_core_free(struct gma_core *c, struct gma_block *b);
/* stream uses b, which was allocated for another stream. */
int gma_core_record_stream(struct gma_core *c, struct gma_block *b, gma_stream stream);
/* Forget what other streams do with b: the caller knows that they are done. */
void gma_core_settle(struct gma_core *c, struct gma_block *b);
/* Ask the events of pending blocks, free those that are done. Every malloc does it. */
void gma_core_poll(struct gma_core *c);
/* Wait for pending blocks and give back what is not in use. pool NULL: everything. */
void gma_core_empty_cache(struct gma_core *c, struct gma_pool *pool);
/* Free every live block, then empty the cache: an allocator that ends tells what becomes of its memory. */
void gma_core_free_all(struct gma_core *c);
/* Would a cached block serve q as things are now? */
bool gma_core_would_fit(struct gma_core *c, const struct gma_request *q);

/* Private pools. A pool is in use from its creation until as many releases as creates and retains;
 * then its cached segments may be given back. */
int gma_core_pool_create(struct gma_core *c, struct gma_pool **out, uint64_t id0, uint64_t id1, unsigned flags);
struct gma_pool *gma_core_pool_find(const struct gma_core *c, uint64_t id0, uint64_t id1);
void gma_core_pool_retain(struct gma_pool *p);
void gma_core_pool_release(struct gma_pool *p);
void gma_core_pool_id(const struct gma_pool *p, uint64_t id[2]);
/* While a graph is being captured no event may be asked and no segment given back. Nests. */
void gma_core_capture(struct gma_core *c, bool begin);

/* A segment that exists already, and the blocks that live in it, ascending by address: how a recording
 * that begins late is set up. Expandable: the mapped ranges are adopted one by one; `size` is a range. */
struct gma_adopted {
	uint64_t addr, size, requested, user;
};
int gma_core_adopt(struct gma_core *c, uint64_t addr, uint64_t size, gma_stream stream, struct gma_pool *pool, bool small,
		   bool expandable, const struct gma_adopted *live, size_t n, struct gma_block **blocks);

/* Free memory in the cache: all of it, and the largest hole. */
struct gma_holes {
	uint64_t bytes, largest, count;
};
void gma_core_holes(const struct gma_core *c, struct gma_holes *h);

/* Why a request failed. */
enum gma_why {
	GMA_WHY_SHORTAGE,      /* what is in use and the request together exceed the device */
	GMA_WHY_LIMIT,	       /* the device has room, the limit forbids it */
	GMA_WHY_FRAGMENTATION, /* enough is cached, but in pieces that cannot be used */
	GMA_WHY_OTHERS,	       /* others on the device hold what is missing */
	GMA_WHY_STREAMS,       /* enough is cached, but for other streams or pools */
};
struct gma_oom {
	enum gma_why why;
	uint64_t requested, rounded, segment; /* bytes asked for; rounded; asked of the device */
	uint64_t limit, device_free, device_total; /* GMA_UNLIMITED if not set or not known */
	uint64_t active, reserved, others;
	struct gma_holes holes;		/* cached for this request's stream and pool */
	struct gma_holes elsewhere;	/* cached for other streams and pools */
	uint64_t pinned_bytes; /* free bytes in segments that a few live blocks keep */
	struct gma_pin {
		uint64_t user, count, bytes, keeps; /* of segments that one user's blocks keep: how many,
						      * their smallest live blocks, the free bytes */
	} pin[3]; /* the worst first */
	unsigned pins;
	uint64_t pages; /* that could go back if segments were expandable, in bytes */
	enum gma_help { GMA_HELP_NONE, GMA_HELP_MAX_SPLIT, GMA_HELP_EXPANDABLE, GMA_HELP_EXPANDABLE_MAYBE } help;
};
/* About the last request that returned GMA_OUT_OF_MEMORY. */
const struct gma_oom *gma_core_last_oom(const struct gma_core *c);
/* One sentence: what is missing, why, and which setting would have helped. `name` (may be NULL) says
 * who a user number is, into at most n bytes. Returns the length, at most size - 1. */
typedef void (*gma_namer)(void *ctx, uint64_t user, char *buf, size_t n);
size_t gma_core_explain(const struct gma_oom *o, gma_namer name, void *ctx, char *buf, size_t size);

/* All segments, oldest first. */
const struct gma_segment *gma_core_segments(const struct gma_core *c);
gma_stream gma_segment_stream(const struct gma_segment *s);
struct gma_pool *gma_segment_pool(const struct gma_segment *s); /* NULL: default */
bool gma_segment_small(const struct gma_segment *s);

/* Walk everything: NULL if all is as it must be, else what is wrong. For tests and debugging. */
const char *gma_core_valid(const struct gma_core *c);

#endif
