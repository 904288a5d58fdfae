/* frames.h: which frames of a stack a person wants to see, and what to call them.
 *
 * Ranks: noise (the CUDA runtime and driver, allocators, dispatchers, the interpreter), operators
 * (PyTorch's at::_ops::NAME::call and backward nodes: what the library was asked to do), library
 * (other code the user did not write) and user. In a stack with Python frames, the user's frames
 * are Python. Nothing is ever cut out of the data; this only says where reading starts and what may
 * be skipped.
 */
#ifndef ANALYZE_FRAMES_H
#define ANALYZE_FRAMES_H

#include "base/text.h"
#include "model/model.h"

enum frame_rank { FRAME_NOISE, FRAME_OPERATOR, FRAME_LIBRARY, FRAME_USER };
/* python: the stack it stands in has Python frames (frames_has_python). */
enum frame_rank frames_rank(const struct model *m, uint32_t frame, bool python);
bool frames_has_python(const struct model *m, uint32_t stack);

/* Positions of the frames worth showing, leaf first, at most max: the operator if there is one, the
 * innermost library frame, then the user's frames. The leaf if all are noise; 0 for a stack without
 * frames. */
size_t frames_shown(const struct model *m, uint32_t stack, size_t *at, size_t max);
/* Position of the innermost user frame, else of the innermost that is not noise, else 0;
 * SIZE_MAX for a stack without frames. */
size_t frames_start(const struct model *m, uint32_t stack);
/* Does the memory of this stack belong to a library or the runtime: no user frame asked for it, or
 * the innermost frame is inside one of NVIDIA's libraries? */
bool frames_library_owned(const struct model *m, uint32_t stack);

/* "forward model.py:41", "aten::linear", "main app.c:12", "foo [libfoo.so]": files without their folder,
 * C++ functions without arguments and template parameters. */
void frames_label(struct text *t, const struct model *m, uint32_t frame);
/* The last part of a path (of either system); never empty. */
const char *frames_base(const char *path);

#endif
