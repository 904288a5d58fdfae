/* canvas.h: a picture as pixels, and as a PNG file. */
#ifndef RENDER_CANVAS_H
#define RENDER_CANVAS_H

#include "base/err.h"
#include "base/output.h"
#include "render/picture.h"

struct canvas;
struct canvas *canvas_draw(const struct picture *p);
void canvas_free(struct canvas *c);
uint32_t canvas_pixel(const struct canvas *c, int x, int y); /* 0xrrggbb */
size_t canvas_colours(const struct canvas *c);

/* Write it with the picture's meta lines as text chunks: 8-bit palette if 256 colours suffice. */
int canvas_write_png(const struct canvas *c, const struct picture *p, struct output *out, struct err *e);

/* Draw and write in one go. */
int canvas_save(const struct picture *p, struct output *out, struct err *e);

#endif
