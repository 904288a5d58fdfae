/* picture.h: a picture as a list of things to draw.
 *
 * Layout files (flame_layout.c, timeline_layout.c, …) decide where everything goes and add it here;
 * canvas.c draws the list and picture_print writes it as text, one item per line, so that tests and
 * people can read what a picture shows. Coordinates are pixels of the picture, integer, origin at
 * the top left. Every item says what it is (role) and, where there are many, which one (ref).
 * Items are drawn in the order of adding. Text is stored as given: bytes, never edited.
 */
#ifndef RENDER_PICTURE_H
#define RENDER_PICTURE_H

#include "base/text.h"
#include "render/font.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pic_kind {
	PIC_RECT,  /* filled */
	PIC_EDGE,  /* the one-unit outline of a rectangle */
	PIC_TEXT,  /* x, y: left end of the base line; w: its width */
	PIC_AREA,  /* one vertical run of pixels per column */
	PIC_BOXES, /* any number of filled rectangles */
};

struct pic_run { /* one column of an area: pixels y0 ≤ y < y1 */
	int y0, y1;
};

struct pic_box { /* one of so many that each item more would be felt */
	uint32_t ref, rgb;
	uint16_t x, y, w, h;
};

struct pic_item {
	const char *role;
	int64_t ref; /* -1: there is only one */
	int x, y, w, h;
	uint32_t rgb;
	uint32_t at, n; /* text: bytes of picture.text; area: runs of picture.run; boxes: picture.box */
	uint16_t dash;  /* rectangles: pixels drawn and skipped in turn along the longer side, 0: solid */
	uint8_t kind, face, size;
	uint8_t strength; /* of text, in percent */
};

struct pic_meta {
	const char *key;
	char *value;
};

#define PIC_MAX_SIDE 32767

struct picture {
	int w, h;
	uint32_t background;
	struct font *font; /* borrowed: for measuring */
	struct pic_item *item;
	size_t n, cap;
	struct text text;
	struct pic_run *run;
	size_t n_runs, cap_runs;
	struct pic_box *box;
	size_t n_boxes, cap_boxes;
	struct pic_meta *meta; /* facts about the picture: PNG text chunks, and lines of the layout text */
	size_t n_meta, cap_meta;
};

void picture_init(struct picture *p, struct font *font, int w, int h, uint32_t background);
void picture_free(struct picture *p);

void picture_meta(struct picture *p, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct pic_item *picture_rect(struct picture *p, const char *role, int64_t ref, int x, int y, int w, int h,
                              uint32_t rgb);
struct pic_item *picture_edge(struct picture *p, const char *role, int64_t ref, int x, int y, int w, int h,
                              uint32_t rgb);
/* Runs for w columns from x on; fill them in before the next call. */
struct pic_run *picture_area(struct picture *p, const char *role, int64_t ref, int x, int w, uint32_t rgb);

/* Room for n boxes more. */
void picture_box_room(struct picture *p, size_t n);
static inline void picture_box(struct picture *p, uint32_t ref, int x, int y, int w, int h, uint32_t rgb)
{
	p->box[p->n_boxes++] = (struct pic_box){ref, rgb, (uint16_t)x, (uint16_t)y, (uint16_t)w, (uint16_t)h};
}
/* Draw the boxes from `first` up to `end`; the first lies on top. */
void picture_boxes(struct picture *p, const char *role, size_t first, size_t end);

/* How text looks. */
struct pic_style {
	enum font_face face;
	int size; /* pixels per em */
	uint32_t rgb;
	int strength; /* percent */
};
enum pic_align { PIC_LEFT, PIC_CENTRE, PIC_RIGHT };
/* Text at (x, base line y); its width is returned. Nothing is added for empty text. */
int picture_text(struct picture *p, const char *role, int64_t ref, int x, int y, enum pic_align align,
                 const struct pic_style *style, const char *s, size_t n);
int picture_puts(struct picture *p, const char *role, int64_t ref, int x, int y, enum pic_align align,
                 const struct pic_style *style, const char *s);
/* The same within `room` pixels: longer text loses its middle. 0 if not even "a…b" fits. */
int picture_fit(struct picture *p, const char *role, int64_t ref, int x, int y, int room,
                const struct pic_style *style, const char *s, size_t n);

/* Text over at most max_lines lines of `room` pixels, `pitch` apart; the last one loses its middle if there
 * is more. Returns the number of lines. With draw false it only counts. */
int picture_wrap(struct picture *p, const char *role, int64_t ref, int x, int y, int room, int pitch,
                 int max_lines, bool draw, const struct pic_style *style, const char *s, size_t n);

/* The list as text, one item per line, meta lines first. */
void picture_print(const struct picture *p, struct text *out);

#endif
