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
uint32_t rec_python_walk(struct rec_pyframe *out, uint32_t max); /* leaf first */
uint64_t rec_python_word(struct rec_lane *lane, const struct rec_pyframe *f); /* as a spool's stack has it */
bool rec_python_loop(uint64_t pc); /* is this address in the interpreter's loop? */
void rec_python_forked(void);

#endif
