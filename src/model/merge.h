/* merge.h: put the rows of one recording into another, in the order of time.
 *
 * Two recordings of one process become one: the driver's level and a framework's own history, or
 * samples that somebody else took. Use it before model_link.
 */
#ifndef MODEL_MERGE_H
#define MODEL_MERGE_H

#include "model/model.h"

/* Everything of src becomes part of dst; src is only read. shift_ns is added to src's times. At equal
 * times dst's rows come first, so that a segment's memory is there before the segment. What describes
 * the recording as a whole (command, host, duration, completeness) stays dst's. */
void model_merge(struct model *dst, const struct model *src, int64_t shift_ns);
/* The same for loose rows in dst's own terms (its strings, stacks …), in any order. */
void model_insert(struct model *dst, const struct event *rows, size_t n);

#endif
