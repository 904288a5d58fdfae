/* canvas.c: rectangles, columns and text into a buffer of colour numbers.
 *
 * A pixel holds the number of its colour in a growing table, so filling is a memory fill and a
 * picture with few colours is already a palette image. Text is blended in STEPS levels between
 * the colour that is there and its own; each mixture is one more colour, looked up by
 * (below, ink, level). When 65,535 colours are used, the closest known one stands in.
 */
#include "render/canvas.h"
#include "base/hash.h"
#include "base/mem.h"
#include "render/canvas_px.h"
#include <stdlib.h>
#include <string.h>

#define STEPS       8
#define MAX_COLOURS 65535

static uint16_t closest(const struct canvas *c, uint32_t rgb)
{
	uint32_t best = 0, best_d = UINT32_MAX;

	for (uint32_t i = 0; i < c->n_colours; i++) {
		int r = (int)(c->rgb[i] >> 16) - (int)(rgb >> 16);
		int g = (int)(c->rgb[i] >> 8 & 255) - (int)(rgb >> 8 & 255);
		int b = (int)(c->rgb[i] & 255) - (int)(rgb & 255);
		uint32_t d = (uint32_t)(r * r + g * g + b * b);
		if (d < best_d)
			best = i, best_d = d;
	}
	return (uint16_t)best;
}

static uint16_t colour(struct canvas *c, uint32_t rgb)
{
	bool fresh;
	uint32_t *at = map64_put(&c->by_rgb, rgb, &fresh);

	if (fresh && c->n_colours == MAX_COLOURS) {
		*at = closest(c, rgb);
	} else if (fresh) {
		*at = (uint32_t)c->n_colours;
		*VEC_PUSH(c->rgb, c->n_colours, c->cap_colours) = rgb;
	}
	return (uint16_t)*at;
}

static uint32_t mix(uint32_t below, uint32_t ink, unsigned level)
{
	uint32_t out = 0;

	for (int shift = 0; shift < 24; shift += 8) {
		unsigned a = below >> shift & 255, b = ink >> shift & 255;
		out |= (a * (STEPS - level) + b * level + STEPS / 2) / STEPS << shift;
	}
	return out;
}

static uint16_t mixture(struct canvas *c, uint16_t below, uint16_t ink, unsigned level)
{
	bool fresh;

	if (level >= STEPS)
		return ink;
	uint32_t *at = map64_put(&c->mixed, (uint64_t)below << 32 | (uint64_t)ink << 16 | level, &fresh);
	if (fresh) {
		uint16_t v = colour(c, mix(c->rgb[below], c->rgb[ink], level));
		*at = v;
		return v;
	}
	return (uint16_t)*at;
}

static void fill_row(uint16_t *p, size_t n, uint16_t v)
{
	for (size_t i = 0; i < n; i++)
		p[i] = v;
}

static void fill(struct canvas *c, int x0, int y0, int x1, int y1, uint16_t v)
{
	if (x0 < 0)
		x0 = 0;
	if (y0 < 0)
		y0 = 0;
	if (x1 > c->w)
		x1 = c->w;
	if (y1 > c->h)
		y1 = c->h;
	for (int y = y0; y < y1 && x0 < x1; y++)
		fill_row(c->px + (size_t)y * (size_t)c->w + x0, (size_t)(x1 - x0), v);
}

static void draw_rect(struct canvas *c, const struct pic_item *it)
{
	uint16_t v = colour(c, it->rgb);
	int along = it->w > it->h ? it->w : it->h;

	if (!it->dash) {
		fill(c, it->x, it->y, it->x + it->w, it->y + it->h, v);
		return;
	}
	for (int i = 0; i < along; i += 2 * it->dash) {
		int end = i + it->dash < along ? i + it->dash : along;
		if (it->w > it->h)
			fill(c, it->x + i, it->y, it->x + end, it->y + it->h, v);
		else
			fill(c, it->x, it->y + i, it->x + it->w, it->y + end, v);
	}
}

static void draw_edge(struct canvas *c, const struct pic_item *it)
{
	uint16_t v = colour(c, it->rgb);
	int x1 = it->x + it->w, y1 = it->y + it->h;

	fill(c, it->x, it->y, x1, it->y + 1, v);
	fill(c, it->x, y1 - 1, x1, y1, v);
	fill(c, it->x, it->y, it->x + 1, y1, v);
	fill(c, x1 - 1, it->y, x1, y1, v);
}

static void draw_area(struct canvas *c, const struct pic_item *it, const struct pic_run *run)
{
	uint16_t v = colour(c, it->rgb);

	/* Equal neighbours are filled together: rows are contiguous in memory, columns are not. */
	for (uint32_t i = 0, j; i < it->n; i = j) {
		for (j = i + 1; j < it->n && run[j].y0 == run[i].y0 && run[j].y1 == run[i].y1;)
			j++;
		fill(c, it->x + (int)i, run[i].y0, it->x + (int)j, run[i].y1, v);
	}
}

static void draw_boxes(struct canvas *c, const struct pic_box *box, size_t n)
{
	uint32_t rgb = UINT32_MAX; /* no colour */
	uint16_t v = 0;

	for (size_t i = n; i-- > 0;) {
		const struct pic_box *b = &box[i];
		if (b->rgb != rgb)
			v = colour(c, rgb = b->rgb);
		fill(c, b->x, b->y, b->x + b->w, b->y + b->h, v);
	}
}

static void blend(struct canvas *c, const struct font_glyph *g, int x, int y, uint16_t ink, unsigned strength)
{
	for (int row = 0; row < g->h; row++) {
		int py = y - g->top + row;
		if (py < 0 || py >= c->h)
			continue;
		for (int col = 0; col < g->w; col++) {
			int px = x + g->left + col;
			unsigned level = (g->coverage[row * g->w + col] * strength * STEPS + 12750) / 25500;
			if (!level || px < 0 || px >= c->w)
				continue;
			uint16_t *at = &c->px[(size_t)py * (size_t)c->w + (size_t)px];
			*at = mixture(c, *at, ink, level);
		}
	}
}

static void draw_text(struct canvas *c, const struct pic_item *it, const struct picture *p)
{
	const char *s = p->text.s + it->at;
	uint16_t ink = colour(c, it->rgb);
	int64_t pen = (int64_t)it->x * 64;

	for (size_t i = 0, len; i < it->n; i += len) {
		uint32_t cp = font_decode(s + i, it->n - i, &len);
		int64_t at = pen + 8; /* to the nearest quarter */
		if (at / 64 >= c->w)
			break;
		const struct font_glyph *g = font_glyph(p->font, it->face, it->size, cp, (int)(at & 63) / 16);
		blend(c, g, (int)(at >> 6), it->y, ink, it->strength);
		pen += font_advance(p->font, it->face, it->size, cp);
	}
}

struct canvas *canvas_draw(const struct picture *p)
{
	struct canvas *c = mem_zalloc(1, sizeof *c);

	c->w = p->w;
	c->h = p->h;
	c->px = mem_zalloc((size_t)p->w * (size_t)p->h + 1, sizeof *c->px);
	colour(c, p->background); /* the first: number 0 */
	for (size_t i = 0; i < p->n; i++) {
		const struct pic_item *it = &p->item[i];
		switch (it->kind) {
		case PIC_RECT:
			draw_rect(c, it);
			break;
		case PIC_EDGE:
			draw_edge(c, it);
			break;
		case PIC_TEXT:
			draw_text(c, it, p);
			break;
		case PIC_AREA:
			draw_area(c, it, p->run + it->at);
			break;
		case PIC_BOXES:
			draw_boxes(c, p->box + it->at, it->n);
			break;
		}
	}
	return c;
}

void canvas_free(struct canvas *c)
{
	if (!c)
		return;
	map64_free(&c->by_rgb);
	map64_free(&c->mixed);
	free(c->rgb);
	free(c->px);
	free(c);
}

uint32_t canvas_pixel(const struct canvas *c, int x, int y)
{
	return c->rgb[c->px[(size_t)y * (size_t)c->w + (size_t)x]];
}

size_t canvas_colours(const struct canvas *c)
{
	return c->n_colours;
}

int canvas_save(const struct picture *p, struct output *out, struct err *e)
{
	struct canvas *c = canvas_draw(p);
	int rc = canvas_write_png(c, p, out, e);

	canvas_free(c);
	return rc;
}
