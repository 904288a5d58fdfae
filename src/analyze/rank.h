/* rank.h: the order of importance of a recording's stacks, the same for every picture of it.
 *
 * A stack's weight is its share of the bytes live at its device's peak plus its share of all bytes ×
 * time. It does not depend on any option, so that a stack keeps its colour from picture to picture.
 */
#ifndef ANALYZE_RANK_H
#define ANALYZE_RANK_H

#include "model/model.h"

#define RANK_MAX  36
#define RANK_NONE UINT32_MAX

struct rank {
	uint32_t stack[RANK_MAX]; /* most important first; only stacks with any weight, never stack 0 */
	size_t n;
};
void rank_make(struct rank *r, const struct model *m);
/* The place of a stack above, or RANK_NONE. */
uint32_t rank_of(const struct rank *r, uint32_t stack);

#endif
