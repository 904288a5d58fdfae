/* core_valid.c: walk everything the core knows and check that it agrees with itself. */
#include "alloc/core_internal.h"

struct sums {
	int64_t allocated, active, live, segments;
	uint64_t reserved, free_blocks, unmapped;
};

#define CHECK(cond, what)        \
	do {                     \
		if (!(cond))     \
			return what; \
	} while (0)

static const char *check_block(const struct gma_block *b, const struct gma_segment *s, struct sums *sum)
{
	CHECK(b->segment == s, "a block does not know its segment");
	CHECK(b->size && b->size % GMA_MIN_BLOCK == 0, "a block's size is not a multiple of 512");
	CHECK(!b->next || b->next->prev == b, "neighbours do not agree");
	CHECK(!b->next || b->next->addr == b->addr + b->size, "a gap or an overlap between neighbours");
	CHECK(b->state != GMA_UNMAPPED || s->expandable, "an unmapped block in a plain segment");
	CHECK(b->state == GMA_LIVE || b->state == GMA_PENDING || !b->uses, "a free block is used by a stream");
	CHECK(b->state != GMA_PENDING || b->uses, "a pending block waits for nobody");
	CHECK(!b->next || b->state != b->next->state || b->state == GMA_LIVE || b->state == GMA_PENDING,
	      "two free neighbours were not merged");
	if (b->state == GMA_LIVE || b->state == GMA_PENDING) {
		CHECK(b->requested <= b->size, "a block is smaller than what was asked for");
		sum->active += (int64_t)b->size;
		sum->allocated += b->state == GMA_LIVE ? (int64_t)b->size : 0;
		sum->live += b->state == GMA_LIVE;
	} else if (b->state == GMA_FREE) {
		sum->free_blocks++;
	} else {
		sum->unmapped++;
	}
	if (b->state != GMA_UNMAPPED)
		sum->reserved += b->size;
	return NULL;
}

static const char *check_segments(const struct gma_core *c, struct sums *sum)
{
	const struct gma_segment *s;
	const struct gma_block *b;
	const char *wrong;
	uint64_t size;

	for (s = c->oldest; s; s = s->next) {
		CHECK(!s->next || s->next->prev == s, "the list of segments is torn");
		CHECK(s->next || c->newest == s, "the newest segment is not the last");
		CHECK(!s->next || s->next->number > s->number, "segments are out of order");
		CHECK(s->first && !s->first->prev && s->first->addr == s->addr, "a segment's first block is wrong");
		sum->segments += !s->expandable;
		for (b = s->first, size = 0; b; size += b->size, b = b->next) {
			wrong = check_block(b, s, sum);
			if (wrong)
				return wrong;
		}
		CHECK(size == s->size, "a segment's blocks do not fill it");
	}
	return NULL;
}

static const char *check_tree(const struct gma_block *t, enum gma_state state, const struct gma_lane *l, unsigned bin,
			      uint64_t *n)
{
	const struct gma_block *side[2];
	const char *wrong;
	int i;

	if (!t)
		return NULL;
	side[0] = t->left;
	side[1] = t->right;
	CHECK(t->state == state, "a block in a tree is not free");
	CHECK(t->segment->lane == l, "a block is in another stream's tree");
	CHECK(state == GMA_UNMAPPED || t->bin == bin, "a block does not know its bin");
	++*n;
	for (i = 0; i < 2; i++) {
		const struct gma_block *a = side[i];

		if (!a)
			continue;
		if (state == GMA_UNMAPPED || a->size == t->size)
			CHECK((a->addr < t->addr) == (i == 0), "a tree is out of order by address");
		else
			CHECK((a->size < t->size) == (i == 0), "a tree is out of order by size");
		wrong = check_tree(a, state, l, bin, n);
		if (wrong)
			return wrong;
	}
	return NULL;
}

static const char *check_lane(const struct gma_lane *l, uint64_t *free_blocks, uint64_t *unmapped)
{
	unsigned i, j;
	const char *wrong = check_tree(l->unmapped, GMA_UNMAPPED, l, 0, unmapped);

	CHECK(!l->next || l->next->stream > l->stream, "streams are out of order");
	for (i = 0; i < BIN_LEVELS && !wrong; i++) {
		CHECK(!!(l->levels >> i & 1) == !!l->subs[i], "a level's bit is wrong");
		for (j = 0; j < BIN_SUBS && !wrong; j++) {
			CHECK(!!(l->subs[i] >> j & 1) == !!l->bin[i][j], "a bin's bit is wrong");
			wrong = check_tree(l->bin[i][j], GMA_FREE, l, i * BIN_SUBS + j, free_blocks);
		}
	}
	return wrong;
}

static const char *check_queues(const struct gma_core *c)
{
	const struct gma_queue *q;
	const struct gma_use *u, *v;

	for (q = c->queues; q; q = q->next) {
		for (u = q->head; u; u = u->next) {
			CHECK(u->queue == q && u->queued, "an event is in the wrong queue");
			CHECK(u->next ? u->next->prev == u : q->tail == u, "a queue is torn");
			CHECK(u->block->state == GMA_PENDING, "an event waits for a block that is not pending");
			for (v = u->block->uses; v && v != u; v = v->of_block)
				;
			CHECK(v, "a block does not know what it waits for");
		}
	}
	return NULL;
}

const char *gma_core_valid(const struct gma_core *c)
{
	const struct gma_stats *s = &c->stats;
	const struct gma_pool *p;
	const struct gma_lane *l;
	struct sums sum = {0};
	uint64_t free_blocks = 0, unmapped = 0;
	const char *wrong = check_segments(c, &sum);
	int half;

	for (p = &c->pool; p && !wrong; p = p->next)
		for (half = 0; half < 2 && !wrong; half++)
			for (l = half ? p->large.lanes : p->small.lanes; l && !wrong; l = l->next)
				wrong = check_lane(l, &free_blocks, &unmapped);
	if (!wrong)
		wrong = check_queues(c);
	if (wrong)
		return wrong;
	CHECK(free_blocks == sum.free_blocks, "free blocks are missing from the bins");
	CHECK(unmapped == sum.unmapped, "unmapped ranges are missing from their tree");
	CHECK(s->allocated_bytes[GMA_STAT_ALL].current == sum.allocated, "allocated_bytes is wrong");
	CHECK(s->active_bytes[GMA_STAT_ALL].current == sum.active, "active_bytes is wrong");
	CHECK(s->allocation[GMA_STAT_ALL].current == sum.live, "allocation is wrong");
	CHECK(s->segment[GMA_STAT_ALL].current == sum.segments, "segment is wrong");
	CHECK(c->reserved == sum.reserved && s->reserved_bytes[GMA_STAT_ALL].current == (int64_t)sum.reserved,
	      "reserved_bytes is wrong");
	return NULL;
}
