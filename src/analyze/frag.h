/* frag.h: fragmentation over the whole recording, exact at every event.
 *
 * space.h shows one instant; this replays all of them and finds the worst: the highest external
 * fragmentation (1 - largest free block / total free) while at least a sixteenth of what is reserved
 * is free (else there is nothing to be fragmented). Costs some hundred nanoseconds per event, so it
 * is made only where it is asked for.
 */
#ifndef ANALYZE_FRAG_H
#define ANALYZE_FRAG_H

#include "model/model.h"

#define FRAG_COLUMNS 240
struct frag_moment {
	size_t row; /* after which; SIZE_MAX: there was none */
	uint64_t reserved, used, free, largest;
};
struct frag {
	bool known; /* segments are recorded */
	struct frag_moment worst;
	struct frag_moment idlest; /* most bytes reserved but not active */
	/* By equal parts of the window's rows: the highest external fragmentation and the lowest
	 * utilisation, 0 to 1; -1 where there is none. */
	float external[FRAG_COLUMNS], utilisation[FRAG_COLUMNS];
};
void frag_find(const struct model *m, uint8_t device, struct frag *out);
double frag_external(const struct frag_moment *f);

#endif
