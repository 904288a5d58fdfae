/* core_internal.h: what the files of the core share. Nobody else includes it.
 *
 *   pool   the default one or a private one; has two halves, small and large
 *   half   one of PyTorch's BlockPools: its free blocks, by stream
 *   lane   the free blocks of one stream in one half: bins by size, each bin a small tree
 *          ordered by (size, address), so that the first block not smaller than a request is
 *          the best fit with the lowest address
 */
#ifndef ALLOC_CORE_INTERNAL_H
#define ALLOC_CORE_INTERNAL_H

#include "alloc/core.h"
#include <string.h>

enum { BIN_LEVELS = 46, BIN_SUBS = 16, LANE_CHAINS = 64 };

struct gma_lane {
	gma_stream stream;
	struct gma_half *half;
	struct gma_lane *next;	/* of the half, by ascending stream */
	struct gma_lane *chain; /* with the same hash */
	struct gma_block *unmapped; /* tree by address */
	uint64_t levels;	    /* which rows of subs have a bit */
	uint16_t subs[BIN_LEVELS];  /* which bins of a level have a tree */
	struct gma_block *bin[BIN_LEVELS][BIN_SUBS];
};

struct gma_half {
	struct gma_pool *pool;
	struct gma_lane *lanes, *last; /* last: looked up last */
	struct gma_lane *hash[LANE_CHAINS];
	uint32_t searches;
	uint8_t stat; /* GMA_STAT_SMALL or GMA_STAT_LARGE */
};

struct gma_pool {
	struct gma_half small, large;
	struct gma_pool *next;
	uint64_t id[2];
	uint64_t uses;	   /* 0: its cached segments may go back */
	uint64_t segments; /* got for it and not given back (mapped ranges count one by one) */
	unsigned flags;
	bool is_private;
	bool gone; /* nothing left and unused: the id may be given to a new pool */
};

/* A stream other than its own that uses a block; after the free, the event that says when it is done. */
struct gma_use {
	gma_stream stream;
	uint64_t event;
	struct gma_block *block;
	struct gma_use *of_block; /* next use of the same block */
	struct gma_use *prev, *next; /* in the stream's queue */
	struct gma_queue *queue;
	bool recorded, queued, in_capture;
};

/* Events of one stream, oldest first: if one is not complete, neither are those behind it. */
struct gma_queue {
	gma_stream stream;
	struct gma_use *head, *tail;
	struct gma_queue *next;
};

struct gma_spares { /* records of one size, ready to use */
	void *list;
	size_t bytes, n;
};

struct gma_core {
	struct gma_conf conf;
	struct gma_backend be;
	struct gma_stats stats, told; /* as kept, and as last told */
	uint64_t limit, reserved;
	struct gma_pool pool; /* the default one; private ones behind it */
	struct gma_segment *oldest, *newest;
	uint64_t segments_ever;
	struct gma_queue *queues;
	struct gma_block *deferred; /* freed during a capture, linked by left */
	unsigned captures;
	gma_noter note;
	void *note_ctx;
	struct gma_spares blocks, segments, uses;
	struct page *pages;
	char *fresh, *fresh_end; /* of the newest page */
	struct gma_oom oom;
};

/* core_slab.c: records. gma_room makes sure that n more can be taken; taking never fails then. */
bool gma_make_room(struct gma_core *c, struct gma_spares *s, size_t n);
void *gma_take(struct gma_spares *s); /* zeroed */

static inline bool gma_room(struct gma_core *c, struct gma_spares *s, size_t n)
{
	return s->n >= n || gma_make_room(c, s, n);
}

static inline void *gma_spare(struct gma_spares *s) /* not zeroed */
{
	void *r = s->list;

	s->list = *(void **)r;
	s->n--;
	return r;
}

static inline void gma_give(struct gma_spares *s, void *record)
{
	*(void **)record = s->list;
	s->list = record;
	s->n++;
}

void *gma_permanent(struct gma_core *c, size_t bytes); /* zeroed, NULL if there is no memory */

/* core_bins.c */
void gma_bins_put(struct gma_block *b);  /* a GMA_FREE or GMA_UNMAPPED block into its lane */
void gma_bins_take(struct gma_block *b);
struct gma_block *gma_bins_from(const struct gma_lane *l, uint64_t size, uint64_t addr); /* first not before */
struct gma_block *gma_bins_after(const struct gma_lane *l, const struct gma_block *b);
struct gma_block *gma_bins_before(const struct gma_lane *l, uint64_t size, uint64_t addr); /* last before */
struct gma_block *gma_unmapped_from(const struct gma_lane *l, uint64_t addr);
struct gma_lane *gma_lane_search(struct gma_half *h, gma_stream stream); /* NULL */
struct gma_lane *gma_lane_new(struct gma_core *c, struct gma_half *h, gma_stream stream); /* NULL: no memory */

static inline struct gma_lane *gma_lane_find(struct gma_half *h, gma_stream stream)
{
	return h->last && h->last->stream == stream ? h->last : gma_lane_search(h, stream);
}

static inline struct gma_lane *gma_lane_get(struct gma_core *c, struct gma_half *h, gma_stream stream)
{
	struct gma_lane *l = gma_lane_find(h, stream);

	return l ? l : gma_lane_new(c, h, stream);
}

/* core_segment.c */
/* GMA_OK and *out is a free block, taken out of the bins, that can hold the request. */
int gma_obtain(struct gma_core *c, struct gma_lane *l, uint64_t size, uint64_t user, struct gma_block **out);
bool gma_segment_release(struct gma_core *c, struct gma_block *b); /* b: free and the whole segment */
void gma_unmap_pages(struct gma_core *c, struct gma_block *b);
void gma_join(struct gma_block *b, struct gma_block *other);   /* b takes its neighbour in */
static inline bool gma_absorb(struct gma_block *b, struct gma_block *other) /* the same if it can */
{
	if (!other || other->state != b->state)
		return false;
	gma_join(b, other);
	return true;
}
void gma_follow(struct gma_block *b, struct gma_block *after); /* b comes right behind `after` */
struct gma_block *gma_new_block(struct gma_core *c, const struct gma_block *like, uint64_t addr, uint64_t size,
				enum gma_state state);

/* core_reclaim.c */
void gma_collect(struct gma_core *c);
bool gma_release_oversize(struct gma_core *c, struct gma_lane *l, uint64_t size);
void gma_release_cached(struct gma_core *c, struct gma_pool *only);

/* core_streams.c */
void gma_free_pending(struct gma_core *c, struct gma_block *b); /* b was used by other streams */
void gma_wait_pending(struct gma_core *c, const struct gma_pool *only);

/* core.c */
void gma_block_free(struct gma_core *c, struct gma_block *b); /* nobody uses it any more */

/* core_oom.c */
void gma_diagnose(struct gma_core *c, const struct gma_request *q, const struct gma_lane *l, uint64_t size);

static inline bool gma_is_split(const struct gma_block *b)
{
	return b->prev || b->next;
}

/* Statistics are a good part of what a request costs, so only what cannot be told later is kept: `allocated`
 * holds what to add to current + freed, and `freed` of all blocks stays 0. gma_core_stats puts them right. */
static inline void gma_stat_up(struct gma_stat *s, uint64_t n)
{
	/* Unsigned: a recording may claim any size, and wrapping is not undefined there. */
	s->current = (int64_t)((uint64_t)s->current + n);
	if (s->current > s->peak)
		s->peak = s->current;
}

static inline void gma_stat_down(struct gma_stat *s, uint64_t n)
{
	s->current = (int64_t)((uint64_t)s->current - n);
	s->freed = (int64_t)((uint64_t)s->freed + n);
}

/* The same for a figure that is kept for all, small and large blocks. */
static inline void gma_stat_add(struct gma_stat s[GMA_STAT_POOLS], uint8_t half, uint64_t n)
{
	gma_stat_up(&s[GMA_STAT_ALL], n);
	gma_stat_up(&s[half], n);
}

static inline void gma_stat_sub(struct gma_stat s[GMA_STAT_POOLS], uint8_t half, uint64_t n)
{
	s[GMA_STAT_ALL].current = (int64_t)((uint64_t)s[GMA_STAT_ALL].current - n);
	gma_stat_down(&s[half], n);
}

static inline void gma_tell(struct gma_core *c, enum gma_what what, const struct gma_lane *l, uint64_t addr,
			    uint64_t size, const struct gma_block *b, uint64_t user)
{
	if (__builtin_expect(c->note != NULL, 0)) {
		struct gma_pool *p = l->half->pool;
		struct gma_note n = {what, addr, size, l->stream, user, p->is_private ? p : NULL, b,
				     l->half->stat == GMA_STAT_SMALL};

		c->note(c->note_ctx, &n);
	}
}

#endif
