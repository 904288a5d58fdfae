/* core_segment.c: getting segments from the backend and giving them back; expandable segments.
 *
 * An expandable segment is address space for the whole device, mapped page by page: 2 MiB pages
 * for small blocks, 20 MiB for large ones. Its unmapped parts are blocks too (GMA_UNMAPPED). New
 * pages go to the lowest address where the request fits, also between blocks.
 */
#include "alloc/core_internal.h"

static uint64_t page_size(const struct gma_core *c, const struct gma_lane *l)
{
	return l->half->stat == GMA_STAT_SMALL ? GMA_SMALL_SEGMENT : c->conf.large_segment_size;
}

struct gma_block *gma_new_block(struct gma_core *c, const struct gma_block *like, uint64_t addr, uint64_t size,
				enum gma_state state)
{
	struct gma_block *b = gma_spare(&c->blocks);

	*b = (struct gma_block){.addr = addr, .size = size, .state = (uint8_t)state, .segment = like->segment};
	return b;
}

void gma_follow(struct gma_block *b, struct gma_block *after)
{
	b->prev = after;
	b->next = after->next;
	after->next = b;
	if (b->next)
		b->next->prev = b;
}

/* b is in no tree; the caller gives the neighbour's record back. */
void gma_join(struct gma_block *b, struct gma_block *other)
{
	gma_bins_take(other);
	b->size += other->size;
	if (b->prev == other) {
		b->addr = other->addr;
		b->prev = other->prev;
		if (b->prev)
			b->prev->next = b;
		else
			b->segment->first = b;
	} else {
		b->next = other->next;
		if (b->next)
			b->next->prev = b;
	}
}

static void absorb_neighbours(struct gma_core *c, struct gma_block *b)
{
	struct gma_block *prev = b->prev, *next = b->next;

	if (gma_absorb(b, prev))
		gma_give(&c->blocks, prev);
	if (gma_absorb(b, next))
		gma_give(&c->blocks, next);
}

/* The records of a new segment, taken before the backend is called: meanwhile others may take records. */
struct fresh {
	struct gma_segment *s;
	struct gma_block *b;
};

static bool fresh_records(struct gma_core *c, struct fresh *f)
{
	if (!gma_room(c, &c->segments, 1) || !gma_room(c, &c->blocks, 1))
		return false;
	*f = (struct fresh){gma_take(&c->segments), gma_take(&c->blocks)};
	return true;
}

static void fresh_unused(struct gma_core *c, const struct fresh *f)
{
	gma_give(&c->segments, f->s);
	gma_give(&c->blocks, f->b);
}

static struct gma_block *new_segment(struct gma_core *c, const struct fresh *f, struct gma_lane *l, uint64_t addr,
				     uint64_t size, bool expandable, uint64_t user)
{
	struct gma_segment *s = f->s;
	struct gma_block *b = f->b;

	s->addr = b->addr = addr;
	s->size = b->size = size;
	s->user = user;
	s->number = c->segments_ever++;
	s->lane = l;
	s->first = b;
	s->expandable = expandable;
	s->prev = c->newest;
	if (s->prev)
		s->prev->next = s;
	else
		c->oldest = s;
	c->newest = s;
	b->segment = s;
	b->state = expandable ? GMA_UNMAPPED : GMA_FREE;
	return b;
}

/* Forget a segment whose only block is b; b is in no tree. */
static void drop_segment(struct gma_core *c, struct gma_block *b)
{
	struct gma_segment *s = b->segment;

	*(s->prev ? &s->prev->next : &c->oldest) = s->next;
	*(s->next ? &s->next->prev : &c->newest) = s->prev;
	gma_give(&c->blocks, b);
	gma_give(&c->segments, s);
}

static void count_got(struct gma_core *c, struct gma_lane *l, uint64_t bytes, bool whole)
{
	c->reserved += bytes;
	gma_stat_add(c->stats.reserved_bytes, l->half->stat, bytes);
	if (whole)
		gma_stat_add(c->stats.segment, l->half->stat, 1);
	if (whole && bytes >= c->conf.max_split_size)
		gma_stat_up(&c->stats.oversize_segments, 1);
	c->stats.num_device_alloc++;
	l->half->pool->segments++;
}

static void count_returned(struct gma_core *c, struct gma_lane *l, uint64_t bytes, bool whole)
{
	c->reserved -= bytes;
	gma_stat_sub(c->stats.reserved_bytes, l->half->stat, bytes);
	if (whole)
		gma_stat_sub(c->stats.segment, l->half->stat, 1);
	if (whole && bytes >= c->conf.max_split_size)
		gma_stat_down(&c->stats.oversize_segments, 1);
	c->stats.num_device_free++;
	l->half->pool->segments--;
}

/* Put memory behind the first `size` bytes of the unmapped block b (rounded up to pages). b becomes a
 * free block, joined with free neighbours. */
static int map_pages(struct gma_core *c, struct gma_block *b, uint64_t size, uint64_t user)
{
	struct gma_lane *l = b->segment->lane;
	uint64_t page = page_size(c, l), addr = b->addr, bytes = (size + page - 1) / page * page;
	struct gma_block *rest;
	int r;

	if (bytes > b->size)
		bytes = b->size;
	if (!gma_room(c, &c->blocks, 1))
		return GMA_NO_HOST_MEMORY;
	r = c->be.map(c->be.ctx, addr, bytes, page);
	if (r)
		return r;
	gma_bins_take(b);
	if (bytes < b->size) {
		rest = gma_new_block(c, b, addr + bytes, b->size - bytes, GMA_UNMAPPED);
		gma_follow(rest, b);
		b->size = bytes;
		gma_bins_put(rest);
	}
	b->state = GMA_FREE;
	absorb_neighbours(c, b);
	gma_bins_put(b);
	count_got(c, l, bytes, false);
	gma_tell(c, GMA_DID_MAP, l, addr, bytes, NULL, user);
	return GMA_OK;
}

static bool usable(const struct gma_block *b)
{
	return b && (b->state == GMA_FREE || b->state == GMA_UNMAPPED);
}

/* Are there `size` bytes from b on that are free or can be mapped? */
static bool has_space(const struct gma_block *b, uint64_t size)
{
	uint64_t bytes = 0;

	for (; bytes < size && usable(b); b = b->next)
		bytes += b->size;
	return bytes >= size;
}

/* Address space for everything the device could ever hold, and an eighth. */
static int new_space(struct gma_core *c, struct gma_lane *l, uint64_t size, uint64_t user, struct gma_block **out)
{
	uint64_t free_bytes, total, page = page_size(c, l), addr, space;
	struct fresh f;
	int r = c->be.device_info(c->be.ctx, &free_bytes, &total);

	if (r)
		return r;
	space = (total + total / 8 + page - 1) / page * page;
	if (space < size)
		return GMA_OUT_OF_MEMORY;
	if (!fresh_records(c, &f))
		return GMA_NO_HOST_MEMORY;
	r = c->be.reserve(c->be.ctx, space, &addr);
	if (r) {
		fresh_unused(c, &f);
		return r;
	}
	*out = new_segment(c, &f, l, addr, space, true, user);
	gma_bins_put(*out);
	return GMA_OK;
}

/* Where the request can grow: at the lowest address with an unmapped part. */
static int find_space(struct gma_core *c, struct gma_lane *l, uint64_t size, uint64_t user, struct gma_block **out)
{
	struct gma_block *b;

	for (b = gma_unmapped_from(l, 0); b; b = gma_unmapped_from(l, b->addr + 1)) {
		*out = usable(b->prev) ? b->prev : b;
		if (has_space(*out, size))
			return GMA_OK;
	}
	return new_space(c, l, size, user, out);
}

static int grow(struct gma_core *c, struct gma_lane *l, uint64_t size, uint64_t user, struct gma_block **out)
{
	struct gma_block *b = NULL, *next;
	int r = find_space(c, l, size, user, &b);

	if (r)
		return r;
	if (b->state == GMA_UNMAPPED) {
		r = map_pages(c, b, b->size < size ? b->size : size, user);
		if (r)
			return r;
	}
	/* A free block followed by unmapped space: map what is missing; the pieces join. */
	while (b->size < size) {
		next = b->next;
		r = map_pages(c, next, next->size < size - b->size ? next->size : size - b->size, user);
		if (r)
			return r;
		b = next;
	}
	gma_bins_take(b);
	*out = b;
	return GMA_OK;
}

int gma_obtain(struct gma_core *c, struct gma_lane *l, uint64_t size, uint64_t user, struct gma_block **out)
{
	uint64_t bytes = gma_segment_size(&c->conf, size), addr;
	struct fresh f;
	int r;

	if (c->limit != GMA_UNLIMITED && (bytes > c->limit || c->reserved > c->limit - bytes))
		return GMA_OUT_OF_MEMORY;
	if (c->conf.expandable && c->be.map)
		return grow(c, l, size, user, out);
	if (!fresh_records(c, &f))
		return GMA_NO_HOST_MEMORY;
	r = c->be.segment_alloc(c->be.ctx, bytes, &addr);
	if (r) {
		fresh_unused(c, &f);
		return r;
	}
	*out = new_segment(c, &f, l, addr, bytes, false, user);
	count_got(c, l, bytes, true);
	gma_tell(c, GMA_DID_SEGMENT_ALLOC, l, addr, bytes, NULL, user);
	return GMA_OK;
}

bool gma_segment_release(struct gma_core *c, struct gma_block *b)
{
	struct gma_lane *l = b->segment->lane;
	uint64_t addr = b->addr, size = b->size, user = b->segment->user;

	if (c->be.segment_free(c->be.ctx, addr, size))
		return false; /* it stays cached */
	gma_bins_take(b);
	drop_segment(c, b);
	count_returned(c, l, size, true);
	gma_tell(c, GMA_DID_SEGMENT_FREE, l, addr, size, NULL, user);
	return true;
}

/* Give back the whole pages inside the free block b of an expandable segment. */
void gma_unmap_pages(struct gma_core *c, struct gma_block *b)
{
	struct gma_segment *s = b->segment;
	uint64_t page = page_size(c, s->lane), base = s->addr;
	uint64_t from = base + (b->addr - base + page - 1) / page * page;
	uint64_t to = base + (b->addr + b->size - base) / page * page, end = b->addr + b->size;
	struct gma_block *part;

	if (from >= to || !gma_room(c, &c->blocks, 2) || c->be.unmap(c->be.ctx, from, to - from, page))
		return;
	gma_bins_take(b);
	if (b->addr < from) { /* b becomes the free part in front, the unmapped part follows it */
		part = gma_new_block(c, b, from, to - from, GMA_UNMAPPED);
		gma_follow(part, b);
		b->size = from - b->addr;
		gma_bins_put(b);
		b = part;
	}
	if (to < end) {
		part = gma_new_block(c, b, to, end - to, GMA_FREE);
		gma_follow(part, b);
		gma_bins_put(part);
	}
	b->addr = from;
	b->size = to - from;
	b->state = GMA_UNMAPPED;
	absorb_neighbours(c, b);
	count_returned(c, s->lane, to - from, false);
	gma_tell(c, GMA_DID_UNMAP, s->lane, from, to - from, NULL, s->user);
	if (!gma_is_split(b) && !c->be.unreserve(c->be.ctx, s->addr, s->size)) {
		drop_segment(c, b);
		return;
	}
	gma_bins_put(b);
}

/* Mark the part of an unmapped block that a recording says is mapped; nothing is asked of the backend. */
static struct gma_block *adopt_mapped(struct gma_core *c, struct gma_lane *l, uint64_t addr, uint64_t size)
{
	struct gma_segment *s;
	struct gma_block *b, *part;
	uint64_t total, free_bytes, page = page_size(c, l), space;
	struct fresh f;

	for (s = c->oldest; s; s = s->next)
		if (s->expandable && s->lane == l && addr >= s->addr && addr - s->addr <= s->size - size)
			break;
	if (!s) {
		if (c->be.device_info(c->be.ctx, &free_bytes, &total))
			return NULL;
		space = (total + total / 8 + page - 1) / page * page;
		if (!fresh_records(c, &f))
			return NULL;
		b = new_segment(c, &f, l, addr, space < size ? size : space, true, 0);
		gma_bins_put(b);
		s = b->segment;
	}
	for (b = s->first; b && !(b->state == GMA_UNMAPPED && addr >= b->addr && addr - b->addr < b->size); b = b->next)
		;
	if (!b || size > b->size - (addr - b->addr))
		return NULL;
	gma_bins_take(b);
	if (addr > b->addr) {
		part = gma_new_block(c, b, addr, b->size - (addr - b->addr), GMA_UNMAPPED);
		gma_follow(part, b);
		b->size = addr - b->addr;
		gma_bins_put(b);
		b = part;
	}
	if (size < b->size) {
		part = gma_new_block(c, b, addr + size, b->size - size, GMA_UNMAPPED);
		gma_follow(part, b);
		gma_bins_put(part);
		b->size = size;
	}
	b->state = GMA_FREE;
	return b;
}

/* b, free and in no tree, gets the live block described by a at its place; returns what is left behind it. */
static struct gma_block *adopt_live(struct gma_core *c, struct gma_block *b, const struct gma_adopted *a,
				    struct gma_block **live)
{
	struct gma_stats *s = &c->stats;
	uint8_t half = b->segment->lane->half->stat;
	struct gma_block *rest = NULL;

	if (a->addr > b->addr) { /* what is in front stays free */
		rest = gma_new_block(c, b, a->addr, b->size - (a->addr - b->addr), GMA_FREE);
		gma_follow(rest, b);
		b->size = a->addr - b->addr;
		gma_bins_put(b);
		b = rest;
		rest = NULL;
	}
	if (a->size < b->size) {
		rest = gma_new_block(c, b, a->addr + a->size, b->size - a->size, GMA_FREE);
		gma_follow(rest, b);
		b->size = a->size;
	}
	b->state = GMA_LIVE;
	b->requested = a->requested;
	b->user = a->user;
	gma_stat_add(s->allocation, half, 1);
	gma_stat_add(s->active, half, 1);
	gma_stat_add(s->allocated_bytes, half, b->size);
	gma_stat_add(s->active_bytes, half, b->size);
	gma_stat_add(s->requested_bytes, half, b->requested);
	*live = b;
	return rest;
}

static void count_pieces(struct gma_core *c, const struct gma_segment *s)
{
	uint8_t half = s->lane->half->stat;
	const struct gma_block *b;

	for (b = s->first; b; b = b->next) {
		if (b->state != GMA_FREE)
			continue;
		gma_stat_add(c->stats.inactive_split, half, 1);
		gma_stat_add(c->stats.inactive_split_bytes, half, b->size);
	}
}

int gma_core_adopt(struct gma_core *c, uint64_t addr, uint64_t size, gma_stream stream, struct gma_pool *pool, bool small,
		   bool expandable, const struct gma_adopted *live, size_t n, struct gma_block **blocks)
{
	struct gma_pool *p = pool ? pool : &c->pool;
	struct gma_lane *l = gma_lane_get(c, small ? &p->small : &p->large, stream);
	uint64_t at = addr;
	struct gma_block *b;
	struct fresh f;
	size_t i;

	if (!size || addr % GMA_MIN_BLOCK || size % GMA_MIN_BLOCK || addr >= GMA_TOO_MUCH || size >= GMA_TOO_MUCH)
		return GMA_INVALID_VALUE;
	for (i = 0; i < n; at = live[i].addr + live[i].size, i++)
		if (live[i].addr < at || !live[i].size || live[i].addr % GMA_MIN_BLOCK || live[i].size > size || live[i].addr - addr > size - live[i].size)
			return GMA_INVALID_VALUE;
	if (!l || !gma_room(c, &c->blocks, 2 * n + 4))
		return GMA_NO_HOST_MEMORY;
	if (expandable)
		b = adopt_mapped(c, l, addr, size);
	else
		b = fresh_records(c, &f) ? new_segment(c, &f, l, addr, size, false, 0) : NULL;
	if (!b)
		return GMA_INVALID_VALUE;
	count_got(c, l, size, !expandable);
	for (i = 0; i < n; i++)
		b = adopt_live(c, b, &live[i], &blocks[i]);
	if (b)
		gma_bins_put(b);
	if (n && !expandable)
		count_pieces(c, blocks[0]->segment);
	return GMA_OK;
}
