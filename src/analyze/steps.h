/* steps.h: the repeated phase that divides a recording into comparable pieces (training steps, requests).
 *
 * It is the name that begins most often, at least STEPS_MIN times. Growth and survivors are told
 * per step where there are steps.
 */
#ifndef ANALYZE_STEPS_H
#define ANALYZE_STEPS_H

#include "model/model.h"

#define STEPS_MIN 4

struct steps {
	uint32_t name; /* string; 0: there are no steps */
	size_t n;
	int64_t *begin_ns; /* ascending */
	size_t *row;       /* the last row before each step begins; may be SIZE_MAX */
};
void steps_find(const struct model *m, uint8_t device, struct steps *out);
void steps_free(struct steps *s);

#endif
