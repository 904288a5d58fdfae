/* diff_picture.h: what `gpumemsnap diff --flame` draws. */
#ifndef CLI_DIFF_PICTURE_H
#define CLI_DIFF_PICTURE_H

#include "cli/drawing.h"
#include "model/model.h"

/* One device of two recordings as a differential flame of bytes or blocks; b's tables of stacks grow. */
int diff_picture(const struct drawing *d, const struct model *a, struct model *b, uint8_t device, bool end,
                 bool count, struct err *e);

#endif
