/* frames.h: which frames of a stack a person wants to see.
 *
 * Three ranks: noise (the CUDA runtime and driver, the allocator itself, the interpreter, boxing
 * and dispatch), library (code the user did not write: torch, cuBLAS, site-packages …) and user.
 * Nothing is ever cut out of the data; this only says where reading starts and what may be skipped.
 */
#ifndef ANALYZE_FRAMES_H
#define ANALYZE_FRAMES_H

#include "base/text.h"
#include "model/model.h"

enum frame_rank { FRAME_NOISE, FRAME_LIBRARY, FRAME_USER };
enum frame_rank frames_rank(const struct model *m, uint32_t frame);

/* Positions of the frames worth showing, leaf first, at most max: the innermost one that is not
 * noise, then the user's frames. The leaf if all are noise; 0 for a stack without frames. */
size_t frames_shown(const struct model *m, uint32_t stack, size_t *at, size_t max);
/* Position of the innermost user frame, else of the innermost that is not noise, else 0;
 * SIZE_MAX for a stack without frames. */
size_t frames_start(const struct model *m, uint32_t stack);
/* Does the memory of this stack belong to a library or the runtime: no user frame asked for it, or
 * the innermost frame is inside one of NVIDIA's libraries? */
bool frames_library_owned(const struct model *m, uint32_t stack);

/* "forward model.py:41", "main app.c:12", "libfoo.so+0x12f0"; file names without their folder. */
void frames_label(struct text *t, const struct model *m, uint32_t frame);
/* The last part of a path; never empty. */
const char *frames_base(const char *path);

#endif
