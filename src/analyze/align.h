/* align.h: how a framework's clock stands to the driver recorder's, and whether both saw the same.
 *
 * A caching allocator notes a segment just after the driver gave it the memory, and gives it back
 * just after noting that it will. So each segment found among the driver's allocations bounds the
 * difference of the clocks: from below by its allocation, from above by its end.
 */
#ifndef ANALYZE_ALIGN_H
#define ANALYZE_ALIGN_H

#include "model/model.h"

struct align {
	int64_t shift_ns;   /* add it to the framework's times */
	int64_t error_ns;   /* the true shift is at most this far away; INT64_MAX: not bounded from above */
	bool by_wall_clock; /* no segment was found: the wall clocks are all there is */
	bool torn;          /* no single shift fits all segments: a clock was set in between */
	size_t segments, found; /* segment_alloc and segment_map rows, and those with a driver row */
};
/* Neither model needs to be linked. -1 if there is neither a common segment nor a wall clock in both. */
int align_find(const struct model *driver, const struct model *framework, struct align *out);

#endif
