/* ranks.h: several recordings of one job next to each other: sums, and the one that differs. */
#ifndef ANALYZE_RANKS_H
#define ANALYZE_RANKS_H

#include "analyze/report.h"

/* One recording: over all its devices. */
struct rank_row {
	const struct report *report;
	uint64_t peak;     /* of requested bytes: the devices' peaks added up; MODEL_UNKNOWN */
	uint64_t reserved; /* the same of reserved bytes */
	uint64_t end, leaked, failures;
};
struct ranks {
	struct rank_row *rows;
	size_t n;
	uint64_t sum_peak, sum_reserved, sum_end, sum_leaked, sum_failures; /* MODEL_UNKNOWN if one is */
	uint64_t median_peak;
	size_t odd;     /* the one that differs most; n if none stands out */
	char *odd_text; /* why */
};
/* A recording stands out if a figure is a tenth and 64 MiB away from the median, or if it alone (or
 * nearly) leaks or fails. */
void ranks_make(struct ranks *r, const struct report *reports, size_t n);
void ranks_free(struct ranks *r);

#endif
