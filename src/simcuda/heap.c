/* heap.c: see heap.h. */
#include <stdlib.h>
#include <string.h>

#include "simcuda/heap.h"

/* Blocks come and go with every allocation: they are kept on a list of their own. */
static struct block *spare;

static struct block *block_new(void)
{
	enum { BATCH = 256 };
	struct block *b = spare;

	if (!b) {
		b = calloc(BATCH, sizeof(*b));
		if (!b)
			return NULL;
		for (int i = 0; i < BATCH - 1; i++)
			b[i].next = &b[i + 1];
	}
	spare = b->next;
	memset(b, 0, sizeof(*b));
	return b;
}

static void block_drop(struct block *b)
{
	b->next = spare;
	spare = b;
}

struct block *sim_heap_region(void *range, uint64_t at, uint64_t len)
{
	struct block *b = block_new();

	if (b) {
		b->range = range;
		b->at = at;
		b->len = len;
	}
	return b;
}

/* The class whose blocks all have at least this size's leading four bits. */
static unsigned class_of(uint64_t len)
{
	unsigned power = 63 - (unsigned)__builtin_clzll(len);
	unsigned step = (unsigned)(power < 3 ? len << (3 - power) : len >> (power - 3)) & 7;

	return power * BIN_STEPS + step;
}

/* The first class whose every block holds len. */
static unsigned class_above(uint64_t len)
{
	unsigned power = 63 - (unsigned)__builtin_clzll(len);

	if (power > 3)
		len += ((uint64_t)1 << (power - 3)) - 1;
	return class_of(len);
}

static void bins_add(struct bins *bins, struct block *b)
{
	unsigned c = class_of(b->len);

	b->bins = bins;
	b->link = &bins->list[c];
	b->next = bins->list[c];
	if (b->next)
		b->next->link = &b->next;
	bins->list[c] = b;
	bins->steps[c / BIN_STEPS] |= (uint8_t)(1u << c % BIN_STEPS);
	bins->powers |= (uint64_t)1 << c / BIN_STEPS;
	bins->blocks++;
	bins->units += b->len;
}

static void bins_remove(struct block *b)
{
	struct bins *bins = b->bins;
	unsigned c = class_of(b->len);

	*b->link = b->next;
	if (b->next)
		b->next->link = b->link;
	b->bins = NULL;
	bins->blocks--;
	bins->units -= b->len;
	if (bins->list[c])
		return;
	bins->steps[c / BIN_STEPS] &= (uint8_t) ~(1u << c % BIN_STEPS);
	if (!bins->steps[c / BIN_STEPS])
		bins->powers &= ~((uint64_t)1 << c / BIN_STEPS);
}

/* The first class from c on that has a block; BIN_CLASSES if none has. */
static unsigned bins_next(const struct bins *bins, unsigned c)
{
	unsigned power = c / BIN_STEPS;
	unsigned steps;
	uint64_t powers;

	if (c >= BIN_CLASSES)
		return BIN_CLASSES;
	steps = bins->steps[power] & (0xffu << c % BIN_STEPS);
	if (steps)
		return power * BIN_STEPS + (unsigned)__builtin_ctz(steps);
	powers = power == 63 ? 0 : bins->powers & (~(uint64_t)0 << (power + 1));
	if (!powers)
		return BIN_CLASSES;
	power = (unsigned)__builtin_ctzll(powers);
	return power * BIN_STEPS + (unsigned)__builtin_ctz(bins->steps[power]);
}

void sim_heap_end(struct block *first)
{
	for (struct block *b = first, *right; b; b = right) {
		right = b->right;
		if (b->bins)
			bins_remove(b);
		block_drop(b);
	}
}

struct block *sim_bins_find(struct bins *bins, uint64_t len)
{
	unsigned c = bins_next(bins, class_above(len));

	if (c < BIN_CLASSES)
		return bins->list[c];
	/* Blocks of len's own class may still hold it: nothing that fits may be missed. */
	for (struct block *b = bins->list[class_of(len)]; b; b = b->next)
		if (b->len >= len)
			return b;
	return NULL;
}

struct block *sim_bins_find_ready(struct bins *bins, uint64_t len, uint64_t limit)
{
	for (unsigned c = bins_next(bins, class_of(len)); c < BIN_CLASSES; c = bins_next(bins, c + 1))
		for (struct block *b = bins->list[c]; b; b = b->next)
			if (b->len >= len && b->ready <= limit)
				return b;
	return NULL;
}

struct block *sim_bins_any(struct bins *bins)
{
	unsigned c = bins_next(bins, 0);

	return c < BIN_CLASSES ? bins->list[c] : NULL;
}

struct block *sim_block_take(struct block *block, uint64_t len)
{
	struct bins *bins = block->bins;
	struct block *rest;

	if (block->len == len) {
		bins_remove(block);
		return block;
	}
	rest = block_new();
	if (!rest)
		return NULL;
	bins_remove(block);
	rest->range = block->range;
	rest->ready = block->ready;
	rest->at = block->at + len;
	rest->len = block->len - len;
	rest->left = block;
	rest->right = block->right;
	if (rest->right)
		rest->right->left = rest;
	block->right = rest;
	block->len = len;
	bins_add(bins, rest);
	return block;
}

/* Make left swallow its right neighbour, which is in no bins. */
static void join(struct block *left)
{
	struct block *right = left->right;

	left->len += right->len;
	left->right = right->right;
	if (left->right)
		left->right->left = left;
	if (left->ready < right->ready)
		left->ready = right->ready;
	block_drop(right);
}

struct block *sim_block_free(struct block *block, struct bins *bins)
{
	if (block->right && block->right->bins == bins) {
		bins_remove(block->right);
		join(block);
	}
	if (block->left && block->left->bins == bins) {
		block = block->left;
		bins_remove(block);
		join(block);
	}
	bins_add(bins, block);
	return block;
}

struct block *sim_block_move(struct block *block, struct bins *bins)
{
	bins_remove(block);
	return sim_block_free(block, bins);
}
