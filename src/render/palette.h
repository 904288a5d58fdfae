/* palette.h: every colour of the pictures.
 *
 * Two meanings, each with colours of its own: whose code a frame is (flame), and which stack, stream,
 * pool … a band or block belongs to (timeline, segments). The categorical colours stay apart under
 * the three common kinds of colour blindness (a test computes it).
 */
#ifndef RENDER_PALETTE_H
#define RENDER_PALETTE_H

#include "analyze/code.h"
#include "analyze/rank.h"
#include <stdbool.h>
#include <stdint.h>

#define PALETTE_CATEGORIES 12
#define PALETTE_SHADES     4

struct palette {
	bool dark;
	uint32_t page, ink, frame, grid;         /* background, text, lines, faint lines */
	uint32_t rest;                           /* everything that has no colour of its own */
	uint32_t unknown;                        /* no stack recorded */
	uint32_t merged;                         /* boxes too small to draw, together */
	uint32_t empty;                          /* memory held but not used */
	uint32_t alarm, limit, reserved, device; /* marks and lines */
	uint32_t code[CODES][PALETTE_SHADES];
};

void palette_make(struct palette *p, bool dark);
/* The shade a function has in every picture: chosen by its name. */
uint32_t palette_code(const struct palette *p, enum code code, const char *name);
uint32_t palette_shade(const char *name); /* which of the PALETTE_SHADES */
/* The colour of the n-th most important thing; after 12 strong ones come 12 lighter and 12 darker, then
 * again. */
uint32_t palette_category(uint32_t n);
/* A phase's, by its name. */
uint32_t palette_phase(const struct palette *p, const char *name);
/* A stack's colour, the same in every picture of a recording. */
uint32_t palette_stack(const struct palette *p, const struct rank *r, uint32_t stack);
/* What grew (step 1 to PALETTE_STEPS: red), shrank (below 0: blue) or stayed (0: grey). */
#define PALETTE_STEPS 5
uint32_t palette_change(const struct palette *p, int step);
/* Part of the way from colour to another. */
uint32_t palette_mix(uint32_t from, uint32_t to, int percent);
/* Black or white, whichever reads better on it. */
uint32_t palette_ink_on(uint32_t rgb);

#endif
