/* diff.h: two recordings side by side, stack by stack: what is live at each one's peak and end.
 *
 * Stacks are the same if all their frames are (function, file, line, module). What then exists on
 * one side only is paired again by function and file alone, so that moved lines do not look like
 * one stack gone and another new.
 */
#ifndef ANALYZE_DIFF_H
#define ANALYZE_DIFF_H

#include "analyze/live.h"
#include "analyze/totals.h"

enum diff_side { DIFF_A, DIFF_B };
struct diff_row {
	uint32_t stack[2]; /* in each model; valid where has[side] */
	bool has[2];
	uint64_t peak[2], end[2]; /* bytes */
	uint64_t peak_count[2], end_count[2];
};
enum diff_status { DIFF_SAME, DIFF_NEW, DIFF_GONE, DIFF_GROWN, DIFF_SHRUNK };

struct diff {
	uint8_t device;
	struct device_totals totals[2]; /* zero where the device does not occur */
	bool present[2];
	struct diff_row *rows; /* largest change at the peak first, then at the end */
	size_t n;
};
/* Bytes or blocks at the peak or at the end. */
static inline const uint64_t *diff_values(const struct diff_row *r, bool end, bool count)
{
	return count ? end ? r->end_count : r->peak_count : end ? r->end : r->peak;
}
/* What a stack says, across models; loose: without lines and modules. */
uint64_t diff_identity(const struct model *m, uint32_t stack, bool loose);
/* Sums of both, as totals_all gives them, so that several devices share the passes. */
void diff_make(struct diff *d, const struct model *const m[2], const struct totals *const t[2],
               uint8_t device);
void diff_free(struct diff *d);
/* By what is live at the peak, or, if that did not change, at the end. */
enum diff_status diff_status(const struct diff_row *r);
const char *diff_status_name(enum diff_status s);

#endif
