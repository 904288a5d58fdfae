/* growth.h: stacks whose live bytes keep rising through the recording, told apart from noise.
 *
 * The live bytes of every stack are sampled: where steps begin, or at evenly spaced rows. A stack
 * grows if
 *  - the least it holds in the last third of the samples is more than the most it held in the first third,
 *  - in the last third it still climbs at least half as fast as in all of it, by the clock or by the samples'
 *    order, and it has not been still at the end for more than twice as long as ever before (what levels off
 *    was warm-up, or a cache that is full now),
 *  - no single jump makes up most of the rise.
 * Freeing everything at the very end does not hide growth: samples end with the last allocation.
 *
 * In a recording in which nothing repeats memory is just built up: nothing grows. Something repeats if there
 * are steps, if total memory rises and falls GROWTH_CYCLES times, or if in every third of the recording far
 * more was taken and given back again than was kept.
 */
#ifndef ANALYZE_GROWTH_H
#define ANALYZE_GROWTH_H

#include "analyze/steps.h"

struct growth_row {
	uint32_t stack;
	uint64_t bytes; /* more at the last sample than at the first */
	uint64_t count; /* the same of blocks; 0 if the blocks themselves grow */
	double slope; /* of the fitted line: bytes per step, or per second, or per event: see unit */
	double r2;
	int64_t first_t_ns; /* of the first allocation that was kept across a sample */
	size_t first_row;
};
#define GROWTH_CYCLES 3 /* by at least a twentieth of the highest */
#define GROWTH_CHURN  2 /* times what is kept */
enum growth_unit { GROWTH_PER_STEP, GROWTH_PER_SECOND, GROWTH_PER_EVENT };
struct growth {
	struct growth_row *rows; /* largest first */
	size_t n;
	uint64_t bytes;
	enum growth_unit unit;
	size_t samples; /* 0: the recording is too short to tell */
	uint32_t step_name;
};
/* peak: the most requested bytes at any time, MODEL_UNKNOWN if the caller does not know. */
void growth_find(const struct model *m, uint8_t device, uint64_t peak, struct growth *out);
void growth_free(struct growth *g);

#endif
