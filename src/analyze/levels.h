/* levels.h: stacks made coarser for a flame: files or modules for functions, and phases at the root.
 *
 * Coarse stacks are added to the model's tables, beside its own: a frame of one bears the name of the file,
 * module or phase as its function. Frames in a row with one name are one.
 */
#ifndef ANALYZE_LEVELS_H
#define ANALYZE_LEVELS_H

#include "analyze/flame.h"

enum level { LEVEL_FUNCTION, LEVEL_FILE, LEVEL_MODULE };
#define LEVELS_PHASE UINT32_MAX

struct levels {
	enum level level;
	bool phases; /* nested ones nest */
	/* private */
	struct model *m;
	bool reverse;
	uint32_t nameless;     /* the string that names frames of which nothing is known */
	uint32_t *frame;       /* a frame of the recording → the coarse one + 1; 0: not asked yet */
	struct map64 original; /* the other way round */
	uint32_t *phase_of_row, *outer;
};

/* reverse: the flame begins with the innermost frames. */
void levels_make(struct levels *l, struct model *m, enum level level, bool phases, bool reverse);
/* Add what is live after a row (SIZE_MAX: before the first), or with total everything allocated in the
 * window, to f. */
void levels_fill(struct levels *l, struct flame *f, uint8_t device, size_t row, bool total, bool count);
void levels_free(struct levels *l);
/* Which frame of the recording a frame first stood for; itself if it is one; LEVELS_PHASE. */
uint32_t levels_original(const struct levels *l, uint32_t frame);

#endif
