/* blocks_replay.h: what blocks.c and blocks_replay.c share. Nobody else includes this. */
#ifndef MODEL_BLOCKS_REPLAY_H
#define MODEL_BLOCKS_REPLAY_H

#include "model/model.h"

enum { MIB = 1 << 20 };

/* The settings that decide over sizes. */
struct rules {
	uint64_t max_split;     /* requests from here on are never split off */
	uint64_t divisions[16]; /* by log2(size) - 20: steps between two powers of two, 0: none */
	bool expandable;
};

struct block {
	uint64_t addr, size;
	uint32_t prev, next; /* neighbours in the segment, 0 if none */
	uint32_t row;        /* used: its alloc */
	bool used, expandable;
	bool
	    vague; /* used, from before: its size may be up to a MiB more, taken from the free block behind */
};

/* A row (or a segment of the final state) by address. */
struct place {
	uint64_t addr;
	size_t row;
};

struct replay {
	struct model *m;
	struct rules rules;
	uint8_t device;
	struct block *blocks; /* the first is not used */
	size_t n, cap;
	uint32_t *spare;
	size_t n_spare, cap_spare;
	struct map64 at;       /* address → block */
	struct map64 end;      /* end of a block of an expandable segment → block */
	struct map64 segments; /* address → row of the SEGMENT.alloc */
	uint64_t active;
	size_t scanned; /* blocks looked at to find the one around an address */
	uint64_t bad_sums, n_sums;
	size_t n_used;
	bool tell;
	bool derived, odd; /* initial blocks: size derived by the rule; known size that does not follow it */
	struct places {
		struct place *v;
		size_t n, cap;
	} vague;        /* initial blocks that were or are vague, by address */
	size_t n_vague; /* live */
	uint64_t slack_most;
};

void rules_read(struct rules *r, const struct model *m);
/* The request as the allocator rounds it. */
uint64_t rules_rounded(const struct rules *r, uint64_t size);
/* Does a request of (rounded) `size` leave `rest` behind as a free block? */
bool rules_split(const struct rules *r, uint64_t size, uint64_t rest, bool expandable);

uint32_t replay_new_block(struct replay *r, struct block b);
uint32_t replay_block_at(const struct replay *r, uint64_t addr); /* 0 if none begins there */
void replay_add_segment(struct replay *r, size_t row);
size_t replay_event_number(const struct replay *r, size_t row);
/* One row of the device; false if it contradicts what went before. */
bool replay_row(struct replay *r, size_t row);

#endif
