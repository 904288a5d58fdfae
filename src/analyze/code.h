/* code.h: whose code a frame is, as pictures colour it, and the short name of a stack.
 *
 * Guessed from names and paths like frames.h, on which it stands: reading aids, never figures.
 */
#ifndef ANALYZE_CODE_H
#define ANALYZE_CODE_H

#include "base/text.h"
#include "model/model.h"

enum code {
	CODE_YOURS,   /* the program itself */
	CODE_PYTHON,  /* Python libraries and the standard library */
	CODE_NATIVE,  /* native libraries and the interpreter */
	CODE_CUDA,    /* CUDA's own libraries */
	CODE_UNKNOWN, /* no symbol */
	CODES
};

/* What was told about frames of one model: strings are slow, so each is asked once. Start with {0}. */
struct code_memo {
	uint8_t *known; /* per frame: 1 + code, and worth << 4 */
	bool python;
};
/* worth (may be NULL): how much the frame tells a reader, from 0 (plumbing) to 4 (own code). */
enum code code_of(struct code_memo *c, const struct model *m, uint32_t frame, unsigned *worth);
void code_memo_free(struct code_memo *c);

/* Where a frame is, without folders: "conv.py:456", "conv.py", "libfoo.so" or "". */
void code_where(const struct model *m, uint32_t frame, bool line, struct text *out);

/* A stack in one line: the frame that tells most and, if that is a library's, the program's own frame that
 * led there: "softmax functional.py:2159 ← forward model.py:31". Stack 0 is "no stack recorded". */
void code_stack_name(struct code_memo *c, const struct model *m, uint32_t stack, struct text *out);
/* The bytes of such a name without the frame that led there: all if it has none. */
size_t code_name_inner(const char *name);
/* Where two stacks of one name part: the innermost frame of `stack` that `other` does not share (plumbing
 * left out), or nothing. */
void code_stack_difference(struct code_memo *c, const struct model *m, uint32_t stack, uint32_t other,
                           struct text *out);

#endif
