/* font.h: the two faces built into the program: how wide text is, and its pixels.
 *
 * Widths come from the font's own unhinted advances, so a layout is the same whatever version of
 * FreeType rasterises it. Any bytes may be given: what is not UTF-8 counts as U+FFFD. A character the two
 * lack (CJK, emoji) comes from a font of the machine that has it, or is a box with its number.
 */
#ifndef RENDER_FONT_H
#define RENDER_FONT_H

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

enum font_face { FONT_REGULAR, FONT_BOLD, FONT_FACES };

struct font;
struct font *font_open(struct err *e); /* NULL on error */
void font_close(struct font *f);

/* Positions along a line are in 1/64 pixel. */
int font_advance(struct font *f, enum font_face face, int size, uint32_t codepoint);
/* Width in whole pixels, rounded up. */
int font_width(struct font *f, enum font_face face, int size, const char *s, size_t n);

/* The character at s (n > 0 bytes left) and how many bytes it takes. Control characters and broken
 * sequences (one byte each) are U+FFFD. */
uint32_t font_decode(const char *s, size_t n, size_t *len);

/* Where to cut text so that head + "…" + tail fits in `room` pixels: the first *head bytes and the
 * last *tail bytes stay, both whole characters. *head = n, *tail = 0 if all of it fits. Returns the
 * width in pixels; 0 if not even one character and the ellipsis fit. */
int font_elide(struct font *f, enum font_face face, int size, const char *s, size_t n, int room, size_t *head,
               size_t *tail);
/* How many bytes go on the first line of `room` pixels: up to the last space that fits, else as many
 * characters as fit, at least one. Trailing spaces belong to the line. */
size_t font_break(struct font *f, enum font_face face, int size, const char *s, size_t n, int room);
#define FONT_ELLIPSIS "\xe2\x80\xa6"

/* The picture of one character at one of four horizontal subpixel positions. */
struct font_glyph {
	int left, top, w, h; /* place of the bitmap relative to the pen, top upward */
	uint8_t *coverage;   /* w × h */
};
const struct font_glyph *font_glyph(struct font *f, enum font_face face, int size, uint32_t codepoint,
                                    int quarter);

#endif
