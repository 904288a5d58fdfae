/* lives.h: what was where for how long: ranges of addresses with the rows that begin and end them.
 *
 * Held: what an allocator holds from the device (segments, mapped ranges). Blocks: what programs use.
 * A recording of the driver alone has blocks only: each is its own segment.
 */
#ifndef ANALYZE_LIVES_H
#define ANALYZE_LIVES_H

#include "model/model.h"

struct life {
	uint64_t addr, size;
	uint32_t begin, end; /* rows; end MODEL_NO_PEER: to the recording's end */
};
struct lives {
	struct life *v; /* in the order of their ends where they were mapped, else of their begins */
	size_t n, cap;
	size_t at; /* private */
};
void lives_held(struct lives *l, const struct model *m, uint8_t device);
void lives_blocks(struct lives *l, const struct model *m, uint8_t device);
/* Only those that live after this row. */
void lives_blocks_at(struct lives *l, const struct model *m, uint8_t device, size_t row);
void lives_free(struct lives *l);

/* The address space that was ever used, as ranges that do not touch, by address. */
struct range {
	uint64_t addr, size;
};
struct ranges {
	struct range *v;
	size_t n;
	/* private: of each part of the whole the first range that ends behind the part's begin */
	uint32_t *first;
	unsigned shift; /* the size of a part */
};
void lives_ranges(const struct lives *l, struct ranges *out);
void lives_ranges_free(struct ranges *r);
/* The range that holds addr, or SIZE_MAX. */
size_t lives_range_of(const struct ranges *r, uint64_t addr);

#endif
