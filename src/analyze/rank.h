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
	uint32_t place[RANK_MAX]; /* its own index, unless rank_share says otherwise */
	size_t n;
};
void rank_make(struct rank *r, const struct model *m);
/* So that a stack has one place in several recordings: call it for one after another. Start with {0};
 * map64_free when done. */
struct rank_places {
	struct map64 by_stack;
	uint32_t n;
};
void rank_share(struct rank *r, const struct model *m, struct rank_places *p);
/* The place of a stack, or RANK_NONE. */
uint32_t rank_of(const struct rank *r, uint32_t stack);

#endif
