/* space.h: what an allocator's segments look like at one instant: blocks, holes, and who is in the way.
 *
 *   external fragmentation  1 - largest free block / total free (0 where nothing is free)
 *   utilisation             active / reserved
 *   internal fragmentation  active - requested (bytes of rounding and of unsplit remainders)
 *   pinned segment          mostly free (used at most a quarter), yet it cannot be returned because
 *                           some blocks live in it
 *
 * Only frameworks record segments. Mapped ranges that touch are one segment, as the allocator sees
 * them; segments that were allocated one by one never merge, even if their addresses touch.
 */
#ifndef ANALYZE_SPACE_H
#define ANALYZE_SPACE_H

#include "model/model.h"

struct space_segment {
	uint64_t addr, size;
	uint64_t used;    /* by active blocks */
	uint64_t largest; /* hole */
	size_t first, n;  /* its blocks */
	uint32_t row;     /* that allocated or mapped (the first part of) it */
	bool expandable;
};
struct space_block {
	uint64_t addr, size;
	uint32_t row; /* that allocated it */
};
struct space {
	bool known; /* false: no segments are recorded for this device, everything else is 0 */
	bool exact; /* false: some block sizes were taken from the request, rounded to 512 */
	struct space_segment *segments; /* by address */
	size_t n;
	struct space_block *blocks; /* by address */
	size_t n_blocks;
	uint64_t reserved, used, requested, free;
	uint64_t largest, holes; /* largest free block, number of free blocks */
	uint64_t whole;          /* bytes of segments without any block: releasing the cache returns them */
	uint64_t outside;        /* blocks in no segment: an inconsistency */
};
void space_at(const struct model *m, uint8_t device, size_t row, struct space *out);
void space_free(struct space *s);

double space_external(const struct space *s);
double space_utilisation(const struct space *s);

struct pinned {
	struct pinned_segment {
		const struct space_segment *segment;
		uint64_t free;
	} * rows; /* most free bytes first */
	size_t n;
	uint64_t free, used, blocks; /* over all of them */
};
void space_pinned(const struct space *s, struct pinned *out);
void space_pinned_free(struct pinned *p);

/* The largest hole a request could have got: of its stream and of the small or large pool. */
uint64_t space_largest_for(const struct model *m, const struct space *s, uint16_t stream, uint64_t size);

#endif
