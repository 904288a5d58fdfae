/* code.h: whose code a frame is, and the short name of a stack.
 *
 * The answers are guesses from names and paths, made for reading aids (colours, labels), never for
 * figures. Any analysis or renderer may ask.
 */
#ifndef ANALYZE_CODE_H
#define ANALYZE_CODE_H

#include "base/text.h"
#include "model/model.h"

enum code {
	CODE_YOURS,   /* the program itself: Python outside libraries, or a native module that is no system
	                 library */
	CODE_PYTHON,  /* Python libraries and the standard library */
	CODE_NATIVE,  /* native libraries and the interpreter */
	CODE_CUDA,    /* CUDA's own libraries */
	CODE_UNKNOWN, /* no symbol */
	CODES
};

enum code code_of(const struct model *m, uint32_t frame);

/* The same for every frame of the model: one byte per frame, to be freed. */
uint8_t *code_of_all(const struct model *m);

/* The part of a path behind the last '/'. */
const char *code_basename(const char *path);

/* "allocate  pool.c:120": a function and where it is, as far as known. */
void code_frame_name(const struct model *m, uint32_t frame, struct text *out);

/* A stack in one line: the innermost frame that tells something and, if that one is a library's, the
 * innermost frame of the program's own code: "conv2d  conv.py:456 ← forward  model.py:31". `codes` is
 * code_of_all's. Stack 0 is "no stack recorded". */
void code_stack_name(const struct model *m, const uint8_t *codes, uint32_t stack, struct text *out);

#endif
