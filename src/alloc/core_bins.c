/* core_bins.c: the free blocks of one stream, ordered by (size, address), found in a few steps.
 *
 * Sizes are multiples of 512 bytes. Below 8 KiB every size has a bin of its own; above, each
 * power of two is cut into 16 bins. A bin holds a treap: a search tree by (size, address) whose
 * shape is that of a random tree, because a hash of the address decides who is above whom. Most
 * bins hold a block or two, and no number of blocks in one bin makes it slow.
 * Unmapped ranges of expandable segments are kept in a treap by address alone.
 */
#include "alloc/core_internal.h"

static uint64_t key_size(const struct gma_block *b)
{
	return b->state == GMA_UNMAPPED ? 0 : b->size;
}

/* Does b come before (size, addr)? */
static bool before(const struct gma_block *b, uint64_t size, uint64_t addr)
{
	uint64_t mine = key_size(b);

	return mine < size || (mine == size && b->addr < addr);
}

/* Does b come before `other`, which has this key? Two blocks share a key only if a damaged recording
 * says so; they must still be told apart. */
static bool before_block(const struct gma_block *b, uint64_t size, uint64_t addr, const struct gma_block *other)
{
	uint64_t mine = key_size(b);

	if (mine != size)
		return mine < size;
	return b->addr != addr ? b->addr < addr : b < other;
}

static uint32_t weight(const struct gma_block *b)
{
	return (uint32_t)(b->addr >> 9) * 0x9e3779b1u;
}

static void tree_put(struct gma_block **at, struct gma_block *b)
{
	uint64_t size = key_size(b), addr = b->addr;
	struct gma_block *rest, **l = &b->left, **r = &b->right;
	uint32_t mine;

	if (!*at) { /* as most often */
		*at = b;
		*l = *r = NULL;
		return;
	}
	mine = weight(b);
	while (*at && weight(*at) >= mine)
		at = before_block(*at, size, addr, b) ? &(*at)->right : &(*at)->left;
	/* The lighter subtree found here is split into what comes before b and what comes after. */
	for (rest = *at, *at = b; rest;) {
		if (before_block(rest, size, addr, b)) {
			*l = rest;
			l = &rest->right;
			rest = *l;
		} else {
			*r = rest;
			r = &rest->left;
			rest = *r;
		}
	}
	*l = *r = NULL;
}

static void tree_take(struct gma_block **at, struct gma_block *b)
{
	uint64_t size = key_size(b), addr = b->addr;
	struct gma_block *l = b->left, *r = b->right;

	while (*at != b)
		at = before_block(*at, size, addr, b) ? &(*at)->right : &(*at)->left;
	while (l && r) {
		if (weight(l) > weight(r)) {
			*at = l;
			at = &l->right;
			l = *at;
		} else {
			*at = r;
			at = &r->left;
			r = *at;
		}
	}
	*at = l ? l : r;
}

static struct gma_block *tree_from(struct gma_block *t, uint64_t size, uint64_t addr)
{
	struct gma_block *best = NULL;

	while (t) {
		if (before(t, size, addr)) {
			t = t->right;
		} else {
			best = t;
			t = t->left;
		}
	}
	return best;
}

static struct gma_block *tree_before(struct gma_block *t, uint64_t size, uint64_t addr)
{
	struct gma_block *best = NULL;

	while (t) {
		if (before(t, size, addr)) {
			best = t;
			t = t->right;
		} else {
			t = t->left;
		}
	}
	return best;
}

struct place {
	unsigned level, sub;
};

static struct place place_of(uint64_t size)
{
	uint64_t units = size >> 9;
	unsigned log2;

	if (units < BIN_SUBS)
		return (struct place){0, (unsigned)units};
	log2 = 63u - (unsigned)__builtin_clzll(units);
	if (log2 - 3 >= BIN_LEVELS)
		return (struct place){BIN_LEVELS - 1, BIN_SUBS - 1};
	return (struct place){log2 - 3, (unsigned)(units >> (log2 - 4)) & (BIN_SUBS - 1)};
}

void gma_bins_put(struct gma_block *b)
{
	struct gma_lane *l = b->segment->lane;
	struct place p;

	if (b->state == GMA_UNMAPPED) {
		tree_put(&l->unmapped, b);
		return;
	}
	b->searches = l->half->searches;
	p = place_of(b->size);
	b->bin = (uint16_t)(p.level * BIN_SUBS + p.sub);
	l->levels |= 1ull << p.level;
	l->subs[p.level] = (uint16_t)(l->subs[p.level] | 1u << p.sub);
	tree_put(&l->bin[p.level][p.sub], b);
}

void gma_bins_take(struct gma_block *b)
{
	struct gma_lane *l = b->segment->lane;
	struct place p;

	if (b->state == GMA_UNMAPPED) {
		tree_take(&l->unmapped, b);
		return;
	}
	p = (struct place){b->bin / BIN_SUBS, b->bin % BIN_SUBS};
	tree_take(&l->bin[p.level][p.sub], b);
	if (l->bin[p.level][p.sub])
		return;
	l->subs[p.level] = (uint16_t)(l->subs[p.level] & ~(1u << p.sub));
	if (!l->subs[p.level])
		l->levels &= ~(1ull << p.level);
}

struct gma_block *gma_bins_from(const struct gma_lane *l, uint64_t size, uint64_t addr)
{
	struct place p = place_of(size);
	struct gma_block *b = tree_from(l->bin[p.level][p.sub], size, addr);
	uint32_t subs;
	uint64_t levels;

	if (b)
		return b;
	subs = l->subs[p.level] & ~1u << p.sub;
	if (!subs) {
		levels = l->levels & ~1ull << p.level;
		if (!levels)
			return NULL;
		p.level = (unsigned)__builtin_ctzll(levels);
		subs = l->subs[p.level];
	}
	return tree_from(l->bin[p.level][__builtin_ctz(subs)], 0, 0);
}

struct gma_block *gma_bins_after(const struct gma_lane *l, const struct gma_block *b)
{
	return gma_bins_from(l, b->size, b->addr + 1);
}

struct gma_block *gma_bins_before(const struct gma_lane *l, uint64_t size, uint64_t addr)
{
	struct place p = place_of(size);
	struct gma_block *b = tree_before(l->bin[p.level][p.sub], size, addr);
	uint32_t subs;
	uint64_t levels;

	if (b)
		return b;
	subs = l->subs[p.level] & ((1u << p.sub) - 1);
	if (!subs) {
		levels = l->levels & ((1ull << p.level) - 1);
		if (!levels)
			return NULL;
		p.level = 63u - (unsigned)__builtin_clzll(levels);
		subs = l->subs[p.level];
	}
	return tree_before(l->bin[p.level][31 - __builtin_clz(subs)], UINT64_MAX, UINT64_MAX);
}

struct gma_block *gma_unmapped_from(const struct gma_lane *l, uint64_t addr)
{
	return tree_from(l->unmapped, 0, addr);
}

static unsigned chain_of(gma_stream stream)
{
	return (unsigned)(stream * 0x9e3779b97f4a7c15ull >> 58) % LANE_CHAINS;
}

struct gma_lane *gma_lane_search(struct gma_half *h, gma_stream stream)
{
	struct gma_lane *l;

	for (l = h->hash[chain_of(stream)]; l && l->stream != stream; l = l->chain)
		;
	return l ? h->last = l : NULL;
}

struct gma_lane *gma_lane_new(struct gma_core *c, struct gma_half *h, gma_stream stream)
{
	struct gma_lane *l = gma_permanent(c, sizeof *l), **at = &h->lanes;

	if (!l)
		return NULL;
	while (*at && (*at)->stream < stream)
		at = &(*at)->next;
	l->stream = stream;
	l->half = h;
	l->next = *at;
	l->chain = h->hash[chain_of(stream)];
	h->hash[chain_of(stream)] = *at = l;
	return h->last = l;
}
