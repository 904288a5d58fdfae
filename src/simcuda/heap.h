/* heap.h: pieces of a linear range, in units that only the caller knows, and free lists of them.
 *
 * A region is a chain of blocks in address order that covers it without gaps. A block is in use
 * (bins == NULL) or free in exactly one set of bins. Two neighbours free in the same bins are always
 * one block. Different bins on one region keep apart what is free to different users (the pools use
 * this for memory that only one stream may have yet).
 * Finding, splitting and merging take constant time; the bins are two-level by size, eight classes
 * to the power of two. Same calls, same addresses: nothing here depends on chance.
 *
 * Who may call: src/simcuda, with the driver's lock held.
 */
#ifndef SIMCUDA_HEAP_H
#define SIMCUDA_HEAP_H

#include <stdint.h>

struct bins;

struct block {
	uint64_t at, len;           /* units */
	struct block *left, *right; /* neighbours in the region */
	struct block *next, **link; /* place in a free list */
	struct bins *bins;          /* where it is free; NULL: in use */
	void *range;                /* the region's owner; the same for all its blocks */
	uint64_t ready;             /* pools: the point of a stream at which it was freed */
	/* while in use */
	void *context;
	uint64_t bytes; /* as asked for */
	uint64_t id;
};

enum { BIN_STEPS = 8, BIN_CLASSES = 64 * BIN_STEPS };

struct bins {
	uint64_t powers;   /* which powers of two have a free block */
	uint8_t steps[64]; /* and which of their eight steps */
	struct block *list[BIN_CLASSES];
	uint64_t blocks, units; /* what is in here, in all */
};

/* A new region of one block, in use. It stays the region's first block for good. NULL: no memory. */
struct block *sim_heap_region(void *range, uint64_t at, uint64_t len);
/* The end of a region: all its blocks, free or in use. */
void sim_heap_end(struct block *first);

/* A free block of at least len units, still in the bins; NULL if there is none. With limit, only
 * blocks that were ready by then. */
struct block *sim_bins_find(struct bins *bins, uint64_t len);
struct block *sim_bins_find_ready(struct bins *bins, uint64_t len, uint64_t limit);
/* Any block; NULL when empty. */
struct block *sim_bins_any(struct bins *bins);

/* Take a block out of its bins and cut it to len units; the rest stays free where it was.
 * NULL: no memory, nothing changed. */
struct block *sim_block_take(struct block *block, uint64_t len);
/* Free a block into bins, merged with its neighbours there; the block it now is. */
struct block *sim_block_free(struct block *block, struct bins *bins);
/* Move a free block to other bins, merged with its neighbours there. */
struct block *sim_block_move(struct block *block, struct bins *bins);

#endif
