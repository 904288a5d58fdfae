/* canvas_px.h: the pixels of a canvas, shared by canvas.c (draws) and canvas_png.c (writes). */
#ifndef RENDER_CANVAS_PX_H
#define RENDER_CANVAS_PX_H

#include "base/hash.h"
#include <stddef.h>
#include <stdint.h>

struct canvas {
	int w, h;
	uint16_t *px;  /* colour numbers, row by row */
	uint32_t *rgb; /* colour number → 0xrrggbb */
	size_t n_colours, cap_colours;
	struct map64 by_rgb; /* 0xrrggbb → colour number */
	struct map64 mixed;  /* below << 32 | ink << 16 | level → colour number */
};

#endif
