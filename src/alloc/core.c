/* core.c: serving a request and taking a block back. */
#include "alloc/core_internal.h"

void gma_core_on_note(struct gma_core *c, gma_noter f, void *ctx)
{
	c->note = f;
	c->note_ctx = ctx;
}

void gma_core_set_conf(struct gma_core *c, const struct gma_conf *conf)
{
	c->conf = *conf;
	c->stats.max_split_size = conf->max_split_size == GMA_UNLIMITED ? -1 : (int64_t)conf->max_split_size;
}

void gma_core_set_limit(struct gma_core *c, uint64_t bytes)
{
	c->limit = bytes;
}

uint64_t gma_core_limit(const struct gma_core *c)
{
	return c->limit;
}

const struct gma_conf *gma_core_conf(const struct gma_core *c)
{
	return &c->conf;
}

static void each_stat(struct gma_stats *s, void (*f)(struct gma_stat *))
{
	struct gma_stat *p = (struct gma_stat *)s, *end = (struct gma_stat *)&s->num_alloc_retries;

	for (; p < end; p++)
		f(p);
}

static void add_up(struct gma_stat *s)
{
	s->allocated = (int64_t)((uint64_t)s->allocated + (uint64_t)s->current + (uint64_t)s->freed);
}

/* Figures kept for all, small and large blocks. */
static void add_halves(struct gma_stats *s)
{
	struct gma_stat *p = (struct gma_stat *)s, *end = &s->oversize_allocations;

	for (; p < end; p += GMA_STAT_POOLS)
		p[GMA_STAT_ALL].freed = (int64_t)((uint64_t)p[GMA_STAT_SMALL].freed + (uint64_t)p[GMA_STAT_LARGE].freed);
}

const struct gma_stats *gma_core_stats(struct gma_core *c)
{
	c->told = c->stats;
	add_halves(&c->told);
	each_stat(&c->told, add_up);
	return &c->told;
}

uint64_t gma_core_reserved(const struct gma_core *c)
{
	return c->reserved;
}

uint64_t gma_core_active(const struct gma_core *c)
{
	return (uint64_t)c->stats.active_bytes[GMA_STAT_ALL].current;
}

static bool collecting(const struct gma_core *c)
{
	return c->limit != GMA_UNLIMITED && c->conf.gc_threshold > 0;
}

/* How large a free block of an expandable segment is if the space behind it is mapped too. */
static uint64_t grown_size(const struct gma_block *b)
{
	return b->size + (b->next && b->next->state == GMA_UNMAPPED ? b->next->size : 0);
}

/* The block that serves `size`: the best fit, unless the rules for special blocks forbid it. */
static struct gma_block *best_fit(const struct gma_core *c, const struct gma_lane *l, uint64_t size)
{
	struct gma_block *b = gma_bins_from(l, size, 0), *next;

	if (b && b->segment->expandable && !(c->conf.expandable && c->be.map)) {
		/* Expandable segments were switched off: only others count. */
		while (b && b->segment->expandable)
			b = gma_bins_after(l, b);
	} else if (b && b->segment->expandable) {
		/* A block that can grow counts with the size it can grow to. */
		while (b->segment->expandable && (next = gma_bins_after(l, b)) && grown_size(next) < grown_size(b))
			b = next;
	}
	if (!b)
		return NULL;
	if (size < c->conf.max_split_size && b->size >= c->conf.max_split_size)
		return NULL; /* an oversize block is not cut */
	if (size >= c->conf.max_split_size && b->size - size >= c->conf.max_non_split_rounding)
		return NULL; /* nor wasted on a much smaller request */
	return b;
}

static struct gma_block *take_cached(const struct gma_core *c, struct gma_half *h, const struct gma_lane *l, uint64_t size)
{
	struct gma_block *b;

	if (collecting(c))
		h->searches++;
	b = l ? best_fit(c, l, size) : NULL;
	if (b)
		gma_bins_take(b);
	return b;
}

static struct gma_half *half_for(struct gma_core *c, struct gma_pool *pool, uint64_t size)
{
	struct gma_pool *p = pool ? pool : &c->pool;

	return size <= GMA_SMALL_MAX ? &p->small : &p->large;
}

bool gma_core_would_fit(struct gma_core *c, const struct gma_request *q)
{
	uint64_t size = q->size < GMA_TOO_MUCH ? gma_round_size(&c->conf, q->size) : q->size;
	struct gma_lane *l = gma_lane_find(half_for(c, q->pool, size), q->stream);

	return l && best_fit(c, l, size);
}

/* Last resort: the free blocks of private pools whose owners allow it. */
static struct gma_block *take_from_others(struct gma_core *c, const struct gma_request *q, uint64_t size)
{
	struct gma_pool *p;
	struct gma_half *h;
	struct gma_block *b;

	for (p = q->pool ? NULL : c->pool.next; p; p = p->next) {
		if (!(p->flags & GMA_POOL_ON_OOM))
			continue;
		h = half_for(c, p, size);
		b = take_cached(c, h, gma_lane_find(h, q->stream), size);
		if (b)
			return b;
	}
	return NULL;
}

/* Nothing cached fits: get memory, step by step more rudely. */
static int take_new(struct gma_core *c, const struct gma_request *q, struct gma_lane *l, uint64_t size,
		    struct gma_block **out)
{
	int r;

	if (collecting(c))
		gma_collect(c);
	r = gma_obtain(c, l, size, q->user, out);
	if (r == GMA_OUT_OF_MEMORY && gma_release_oversize(c, l, size))
		r = gma_obtain(c, l, size, q->user, out);
	if (r == GMA_OUT_OF_MEMORY && !c->captures) {
		gma_release_cached(c, NULL);
		c->stats.num_alloc_retries++;
		r = gma_obtain(c, l, size, q->user, out);
	}
	if (r == GMA_OUT_OF_MEMORY && (*out = take_from_others(c, q, size)))
		r = GMA_OK;
	if (r == GMA_OUT_OF_MEMORY) {
		c->stats.num_ooms++;
		gma_diagnose(c, q, l, size);
		gma_tell(c, GMA_DID_OOM, l, 0, size, NULL, q->user);
	}
	return r;
}

static bool should_split(const struct gma_core *c, const struct gma_block *b, uint64_t size)
{
	const struct gma_half *h = b->segment->lane->half;
	uint64_t rest = b->size - size;

	if (h->pool->flags & GMA_POOL_NO_SPLIT)
		return false;
	if (h->stat == GMA_STAT_SMALL || (c->conf.expandable && c->be.map))
		return rest >= GMA_MIN_BLOCK;
	return size < c->conf.max_split_size && rest > GMA_SMALL_MAX;
}

/* Cut the first `size` bytes off b. b keeps the rest and goes back to the bins. */
static struct gma_block *split(struct gma_core *c, struct gma_block *b, uint64_t size, bool was_split)
{
	struct gma_block *front = gma_new_block(c, b, b->addr, size, GMA_FREE);
	uint8_t half = b->segment->lane->half->stat;

	front->prev = b->prev;
	front->next = b;
	if (b->prev)
		b->prev->next = front;
	else
		b->segment->first = front;
	b->prev = front;
	b->addr += size;
	b->size -= size;
	gma_bins_put(b);
	if (b->segment->expandable)
		return front;
	if (was_split) {
		gma_stat_sub(c->stats.inactive_split_bytes, half, size);
	} else {
		gma_stat_add(c->stats.inactive_split_bytes, half, b->size);
		gma_stat_add(c->stats.inactive_split, half, 1);
	}
	return front;
}

static void hand_out(struct gma_core *c, const struct gma_request *q, struct gma_block *b, uint64_t size,
		     struct gma_block **out)
{
	struct gma_stats *s = &c->stats;
	struct gma_lane *l = b->segment->lane;
	uint8_t half = l->half->stat;
	bool was_split = gma_is_split(b);

	if (should_split(c, b, size) && gma_room(c, &c->blocks, 1)) { /* without a record, unsplit */
		b = split(c, b, size, was_split);
	} else if (was_split && !b->segment->expandable) {
		gma_stat_sub(s->inactive_split_bytes, half, b->size);
		gma_stat_sub(s->inactive_split, half, 1);
	}
	b->state = GMA_LIVE;
	b->requested = q->size;
	b->user = q->user;
	gma_stat_add(s->allocation, half, 1);
	gma_stat_add(s->active, half, 1);
	gma_stat_add(s->allocated_bytes, half, b->size);
	gma_stat_add(s->active_bytes, half, b->size);
	gma_stat_add(s->requested_bytes, half, q->size);
	if (b->size >= c->conf.max_split_size)
		gma_stat_up(&s->oversize_allocations, 1);
	gma_tell(c, GMA_DID_ALLOC, l, b->addr, q->size, b, q->user);
	*out = b;
}

int gma_core_malloc(struct gma_core *c, const struct gma_request *q, struct gma_block **out)
{
	struct gma_half *h;
	struct gma_lane *l;
	struct gma_block *b;
	uint64_t size;
	int r;

	*out = NULL;
	if (q->size >= GMA_TOO_MUCH || !q->size)
		return GMA_INVALID_VALUE;
	if ((c->queues || c->deferred) && !c->captures)
		gma_core_poll(c);
	size = gma_round_size(&c->conf, q->size);
	h = half_for(c, q->pool, size);
	l = gma_lane_get(c, h, q->stream);
	if (!l)
		return GMA_NO_HOST_MEMORY;
	b = take_cached(c, h, l, size);
	if (!b) {
		r = take_new(c, q, l, size, &b);
		if (r)
			return r;
	}
	hand_out(c, q, b, size, out);
	return GMA_OK;
}

/* Join b with a free neighbour; how the statistics of inactive pieces change. */
static void merge(struct gma_core *c, struct gma_block *b, struct gma_block *other, int64_t *pieces, int64_t *bytes)
{
	uint64_t size = other ? other->size : 0;

	if (!gma_absorb(b, other))
		return;
	*pieces -= 1;
	*bytes -= (int64_t)size;
	gma_give(&c->blocks, other);
}

static void stat_change(struct gma_stat *s, uint8_t half, int64_t n)
{
	if (n > 0)
		gma_stat_add(s, half, (uint64_t)n);
	else if (n < 0)
		gma_stat_sub(s, half, (uint64_t)-n);
}

void gma_block_free(struct gma_core *c, struct gma_block *b)
{
	struct gma_stats *s = &c->stats;
	struct gma_lane *l = b->segment->lane;
	uint8_t half = l->half->stat;
	uint64_t size = b->size;
	int64_t pieces = 0, bytes = 0;

	gma_tell(c, GMA_DID_FREE_COMPLETED, l, b->addr, b->requested, b, b->user);
	b->state = GMA_FREE;
	merge(c, b, b->prev, &pieces, &bytes);
	merge(c, b, b->next, &pieces, &bytes);
	gma_bins_put(b);
	if (!b->segment->expandable) {
		if (gma_is_split(b)) {
			pieces += 1;
			bytes += (int64_t)b->size;
		}
		stat_change(s->inactive_split, half, pieces);
		stat_change(s->inactive_split_bytes, half, bytes);
	}
	gma_stat_sub(s->active, half, 1);
	gma_stat_sub(s->active_bytes, half, size);
	gma_stat_sub(s->requested_bytes, half, b->requested);
}

void gma_core_free(struct gma_core *c, struct gma_block *b)
{
	struct gma_stats *s = &c->stats;
	struct gma_lane *l = b->segment->lane;

	gma_stat_sub(s->allocation, l->half->stat, 1);
	gma_stat_sub(s->allocated_bytes, l->half->stat, b->size);
	if (b->size >= c->conf.max_split_size)
		gma_stat_down(&s->oversize_allocations, 1);
	gma_tell(c, GMA_DID_FREE_REQUESTED, l, b->addr, b->requested, b, b->user);
	if (b->uses)
		gma_free_pending(c, b);
	else
		gma_block_free(c, b);
}

void gma_core_empty_cache(struct gma_core *c, struct gma_pool *pool)
{
	gma_release_cached(c, pool);
}

void gma_core_free_all(struct gma_core *c)
{
	struct gma_segment *s;
	struct gma_block *b, *next;

	for (s = c->oldest; s; s = s->next)
		for (b = s->first; b; b = next) {
			for (next = b->next; next && next->state != GMA_LIVE; next = next->next)
				; /* freeing b may merge a free block behind it away */
			if (b->state == GMA_LIVE)
				gma_core_free(c, b);
		}
	for (struct gma_pool *p = c->pool.next; p; p = p->next)
		p->uses = 0; /* whoever used them is gone */
	c->captures = 0;
	gma_release_cached(c, NULL);
}

int gma_core_pool_create(struct gma_core *c, struct gma_pool **out, uint64_t id0, uint64_t id1, unsigned flags)
{
	struct gma_pool *p, **at = &c->pool.next;

	for (p = *at; p && !p->gone; p = *at)
		at = &p->next;
	if (!p && !(p = *at = gma_permanent(c, sizeof *p)))
		return GMA_NO_HOST_MEMORY;
	if (!p->small.pool) {
		p->small = (struct gma_half){.pool = p, .stat = GMA_STAT_SMALL};
		p->large = (struct gma_half){.pool = p, .stat = GMA_STAT_LARGE};
	}
	p->id[0] = id0;
	p->id[1] = id1;
	p->flags = flags;
	p->uses = 1;
	p->is_private = true;
	p->gone = false;
	*out = p;
	return GMA_OK;
}

struct gma_pool *gma_core_pool_find(const struct gma_core *c, uint64_t id0, uint64_t id1)
{
	struct gma_pool *p;

	for (p = c->pool.next; p; p = p->next)
		if (!p->gone && p->id[0] == id0 && p->id[1] == id1)
			return p;
	return NULL;
}

void gma_core_pool_retain(struct gma_pool *p)
{
	p->uses++;
}

void gma_core_pool_release(struct gma_pool *p)
{
	if (p->uses)
		p->uses--;
	p->gone = !p->uses && !p->segments;
}

void gma_core_pool_id(const struct gma_pool *p, uint64_t id[2])
{
	id[0] = p->id[0];
	id[1] = p->id[1];
}

void gma_core_capture(struct gma_core *c, bool begin)
{
	if (begin)
		c->captures++;
	else if (c->captures)
		c->captures--;
}

static void forget_peak(struct gma_stat *s)
{
	s->peak = s->current;
}

static void forget_sums(struct gma_stat *s)
{
	s->freed = 0;
	s->allocated = -s->current;
}

void gma_core_reset_peak(struct gma_core *c)
{
	each_stat(&c->stats, forget_peak);
}

void gma_core_reset_accumulated(struct gma_core *c)
{
	struct gma_stats *s = &c->stats;

	each_stat(s, forget_sums);
	s->num_alloc_retries = s->num_ooms = s->num_sync_all_streams = 0;
	s->num_device_alloc = s->num_device_free = 0;
}

const struct gma_segment *gma_core_segments(const struct gma_core *c)
{
	return c->oldest;
}

gma_stream gma_segment_stream(const struct gma_segment *s)
{
	return s->lane->stream;
}

struct gma_pool *gma_segment_pool(const struct gma_segment *s)
{
	struct gma_pool *p = s->lane->half->pool;

	return p->is_private ? p : NULL;
}

bool gma_segment_small(const struct gma_segment *s)
{
	return s->lane->half->stat == GMA_STAT_SMALL;
}
