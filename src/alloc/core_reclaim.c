/* core_reclaim.c: giving cached memory back to the device: by age, by size, or all of it. */
#include "alloc/core_internal.h"

static uint32_t age(const struct gma_block *b)
{
	return b->segment->lane->half->searches - b->searches;
}

/* The next whole, free, non-expandable segment of the lane behind b (NULL: the first). */
static struct gma_block *next_whole(const struct gma_lane *l, const struct gma_block *b)
{
	struct gma_block *n = b ? gma_bins_after(l, b) : gma_bins_from(l, 0, 0);

	while (n && (gma_is_split(n) || n->segment->expandable))
		n = gma_bins_after(l, n);
	return n;
}

/* Garbage collection of the default pool's large segments, when a limit is set and nearly reached:
 * segments at least as old as the average go back, again and again until enough is free. */
void gma_collect(struct gma_core *c)
{
	uint64_t threshold = (uint64_t)(c->conf.gc_threshold * (double)c->limit);
	uint64_t target, reclaimed = 0, total_age = 0, count = 0, size;
	struct gma_lane *l;
	struct gma_block *b, *next;
	bool freed = true;
	double average;

	if (c->reserved <= threshold)
		return;
	target = c->reserved - threshold;
	for (l = c->pool.large.lanes; l; l = l->next)
		for (b = next_whole(l, NULL); b; b = next_whole(l, b), count++)
			total_age += age(b);
	while (reclaimed < target && freed && count) {
		average = (double)total_age / (double)count;
		freed = false;
		for (l = c->pool.large.lanes; l; l = l->next) {
			for (b = next_whole(l, NULL); b; b = next) {
				next = next_whole(l, b);
				size = b->size;
				if ((double)age(b) < average)
					continue;
				total_age -= age(b);
				if (!gma_segment_release(c, b))
					return;
				freed = true;
				reclaimed += size;
				count--;
			}
		}
	}
}

/* Oversize blocks are kept for large requests only: give back one that is big enough, or else
 * the largest ones until their sum is. False: that is not enough. */
bool gma_release_oversize(struct gma_core *c, struct gma_lane *l, uint64_t size)
{
	uint64_t want = size, released = 0;
	struct gma_block *b, *before;

	if (c->conf.max_split_size == GMA_UNLIMITED)
		return false;
	if (want < c->conf.max_split_size)
		want = c->conf.max_split_size;
	b = gma_bins_from(l, want, 0);
	if (b && !b->segment->expandable)
		return gma_segment_release(c, b);
	/* Nothing is large enough, or only parts of expandable segments: sum up what is before it. */
	for (b = gma_bins_before(l, want, 0); b && released < want && b->size >= c->conf.max_split_size; b = before) {
		uint64_t bytes = b->size;

		before = gma_bins_before(l, b->size, b->addr);
		if (b->segment->expandable)
			continue;
		if (!gma_segment_release(c, b))
			break;
		released += bytes;
	}
	return released >= want;
}

static void release_half(struct gma_core *c, struct gma_half *h)
{
	struct gma_lane *l;
	struct gma_block *b, *next;

	for (l = h->lanes; l; l = l->next) {
		for (b = next_whole(l, NULL); b; b = next) {
			next = next_whole(l, b);
			gma_segment_release(c, b);
		}
	}
	/* Pages last. Unmapping leaves only pieces smaller than a page, which come before b. */
	for (l = h->lanes; l; l = l->next) {
		for (b = gma_bins_from(l, 0, 0); b; b = next) {
			next = gma_bins_after(l, b);
			if (b->segment->expandable)
				gma_unmap_pages(c, b);
		}
	}
}

void gma_release_cached(struct gma_core *c, struct gma_pool *only)
{
	struct gma_pool *p;

	if (!only && !c->captures) {
		gma_wait_pending(c, NULL);
		release_half(c, &c->pool.large);
		release_half(c, &c->pool.small);
	}
	for (p = c->pool.next; p; p = p->next) {
		if (p->uses || p->gone || (only && p != only))
			continue;
		if (only && !c->captures)
			gma_wait_pending(c, p);
		release_half(c, &p->small);
		release_half(c, &p->large);
		p->gone = !p->segments;
	}
}
