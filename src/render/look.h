/* look.h: what all pictures have in common: units, text styles, margins and the heading.
 *
 * Layouts measure in units; one unit is one pixel at scale 100 %.
 */
#ifndef RENDER_LOOK_H
#define RENDER_LOOK_H

#include "render/palette.h"
#include "render/picture.h"

struct look {
	struct palette pal;
	int scale;  /* percent */
	int margin; /* pixels, on all sides */
	struct pic_style title, text, bold, soft, small;
};

/* What the user asked of a picture; 0 means "choose". */
struct look_options {
	uint64_t width, height, scale; /* pixels; percent */
	bool dark;
	const char *title; /* NULL: the picture's own */
};

void look_make(struct look *l, const struct look_options *o);
static inline int look_px(const struct look *l, int units)
{
	return (units * l->scale + 50) / 100;
}
/* Width to draw at: what was asked for or the default. */
int look_width(const struct look_options *o);
/* No room for a legend beside what is drawn. */
bool look_narrow(const struct look_options *o, const struct look *l);
/* False with e filled if the sizes make no picture. */
bool look_check(const struct look_options *o, struct err *e);

/* Title and the line(s) below it; returns the y where the picture proper may begin. With draw false it
 * only measures. */
int look_heading(struct picture *p, const struct look *l, bool draw, const char *title, const char *subtitle);

/* A row of colour chips with words, broken over lines; returns the y below. */
struct look_chip {
	uint32_t rgb;
	bool edge; /* a narrow stripe instead of a square */
	const char *text;
};
int look_chips(struct picture *p, const struct look *l, bool draw, int y, const struct look_chip *chip,
               size_t n);

#endif
