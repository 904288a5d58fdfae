/* churn.h: how busily memory comes and goes, and how much of it has a stack. */
#ifndef ANALYZE_CHURN_H
#define ANALYZE_CHURN_H

#include "model/model.h"

#define CHURN_SHORT_NS   1000000 /* a temporary: given back within this … */
#define CHURN_SHORT_ROWS 32      /* … or, where no times are recorded, within so many rows */

struct churn {
	uint64_t allocs, alloc_bytes; /* in the window */
	uint64_t temporaries, temporary_bytes;
	double allocs_per_s, bytes_per_s; /* NAN without times */
	/* Segments, of a caching allocator: what the cache costs. */
	uint64_t device_allocs, device_frees;              /* segment allocs and maps, frees and unmaps */
	uint64_t late_device_allocs;                       /* in the second half of the window */
	uint64_t flushes, flushed_segments, flushed_bytes; /* runs of CHURN_FLUSH or more frees in a row */
};
#define CHURN_FLUSH 4
/* Each fills its half of a zeroed struct. */
void churn_blocks(const struct model *m, uint8_t device, struct churn *out);
void churn_segments(const struct model *m, uint8_t device, struct churn *out);

struct coverage { /* of the events that a program caused */
	uint64_t events, with_stack;
	uint64_t without[256]; /* by op */
};
void coverage_find(const struct model *m, uint8_t device, struct coverage *out);

#endif
