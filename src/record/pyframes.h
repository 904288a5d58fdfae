/* pyframes.h: the calling thread's Python frames. Only stack.c and modules.c include this. */
#ifndef RECORD_PYFRAMES_H
#define RECORD_PYFRAMES_H

#include "record/rec.h"

#define REC_PY_ENTRY 1ull /* in code: the last frame that one activation of the interpreter's loop runs */

struct rec_pyframe {
	uint64_t code, instr, fingerprint;
};

void rec_python_look(void); /* is there an interpreter by now? */
bool rec_python_here(void);	    /* is this a thread of a Python interpreter? */
uint32_t rec_python_walk(struct rec_pyframe *out, uint32_t max, bool *cut); /* leaf first; *cut if there are more */
uint64_t rec_python_word(struct rec_lane *lane, const struct rec_pyframe *f); /* as a spool's stack has it */
/* Mark which of this thread's native frames, leaf first, are activations of the interpreter's loop: SPOOL_LOOP.
 * step: where they end, if that is known (of n - 1 of them); sp: where the first begins. */
void rec_python_mark(uint64_t *native, uint32_t n, const struct rec_step *step, uint64_t sp);
void rec_python_forked(void);

#endif
