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
enum code code_of(const struct model *m, uint32_t frame);
/* The same for every frame of the model: one byte per frame, to be freed. */
uint8_t *code_of_all(const struct model *m);

/* Where a frame is, without folders: "conv.py:456", "conv.py", "libfoo.so" or "". */
void code_where(const struct model *m, uint32_t frame, bool line, struct text *out);

/* A stack in one line: the innermost frame that tells something and, if that one is a library's, the
 * program's own frame that led there: "conv2d conv.py:456 ← forward model.py:31". Stack 0 is "no stack
 * recorded". */
void code_stack_name(const struct model *m, uint32_t stack, struct text *out);

#endif
