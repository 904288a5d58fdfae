/* segstate_layout.c: all segments at one instant, laid out on lines like words, the largest first.
 *
 * Widths are bytes on one scale for the whole picture. A segment longer than a line goes on on the next.
 */
#include "analyze/live.h"
#include "base/mem.h"
#include "render/legend.h"
#include "render/segmap.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Units (look.h). */
#define LEGEND 330
#define LINE   44 /* a line with the words above it */
#define WORDS  14
#define BAR    24
#define LINES  12 /* wished for */

struct plan {
	const struct timeline_picture *t;
	const struct space *s;
	struct picture *p;
	struct look l;
	int w, x, y;       /* of the lines; x, y: where the next piece goes */
	int gap;           /* between segments */
	uint64_t per_line; /* bytes */
	struct segmap_colours colours;
	struct code_memo codes; /* for names of stacks without a band */
	bool draw;
	bool tiny;       /* some block is smaller than a pixel */
	bool *is_pinned; /* per segment */
};

static int by_address(const void *a, const void *b)
{
	const struct space_block *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

void segmap_blocks_as_segments(struct space *s, const struct model *m, uint8_t device, size_t row)
{
	struct lives l;
	size_t n = 0;

	lives_blocks_at(&l, m, device, row);
	*s = (struct space){.known = true, .exact = true};
	s->blocks = mem_alloc((l.n + 1) * sizeof *s->blocks);
	s->segments = mem_zalloc(l.n + 1, sizeof *s->segments);
	for (; n < l.n; n++)
		s->blocks[n] = (struct space_block){l.v[n].addr, l.v[n].size, l.v[n].begin};
	if (n)
		qsort(s->blocks, n, sizeof *s->blocks, by_address);
	for (size_t i = 0; i < n; i++) {
		s->segments[i] = (struct space_segment){.addr = s->blocks[i].addr,
		                                        .size = s->blocks[i].size,
		                                        .used = s->blocks[i].size,
		                                        .first = i,
		                                        .n = 1};
		s->reserved += s->blocks[i].size;
	}
	s->used = s->requested = s->reserved;
	s->n = s->n_blocks = n;
	lives_free(&l);
}

/* --- one segment ---------------------------------------------------------------------------- */

static int pixels(const struct plan *g, uint64_t bytes)
{
	if (bytes / LINES > 4 * g->per_line)
		return 4 * LINES * g->w;
	return (int)((unsigned __int128)bytes * (unsigned)g->w / g->per_line);
}

static bool put_label(struct plan *g, const char *role, int64_t ref, int x, int y, int w, uint32_t fill,
                      const char *words)
{
	struct pic_style s = g->l.small;
	int pad = look_px(&g->l, 3);

	s.rgb = palette_ink_on(fill);
	s.size = look_px(&g->l, 10);
	s.strength = 100;
	if (!words || font_width(g->p->font, s.face, s.size, words, strlen(words)) > w - 2 * pad)
		return false;
	return picture_puts(g->p, role, ref, x + pad, y + look_px(&g->l, 16), PIC_LEFT, &s, words);
}

/* The band's brief name, or that of the stack where it has no band. */
static void name_of(struct plan *g, uint32_t key, struct text *out)
{
	const struct timeline_panel *p = g->t->panel;

	for (size_t i = 0; i < p->n; i++)
		if (p->bands.band[i].key == key) {
			text_puts(out, p->band[i].brief);
			return;
		}
	if (g->t->by == BY_STACK)
		code_stack_name(&g->codes, g->t->m, key, out);
	if (out->n) {
		out->n = code_name_inner(out->s);
		out->s[out->n] = 0;
	}
}

static void label_block(struct plan *g, const struct space_block *b, int x, int y, int w, uint32_t rgb)
{
	struct text name = {0}, words = {0};
	char bytes[TEXT_SIZE_MAX];

	if (w < look_px(&g->l, 20))
		return;
	if (w > look_px(&g->l, 60))
		name_of(g, group_key(&g->colours.keys, b->row), &name);
	text_printf(&words, "%s%s%s", name.n ? name.s : "", name.n ? " \xc2\xb7 " : "",
	            text_bytes(bytes, b->size));
	if (!put_label(g, "block.name", b->row, x, y, w, rgb, words.s) &&
	    !put_label(g, "block.name", b->row, x, y, w, rgb, name.s))
		put_label(g, "block.name", b->row, x, y, w, rgb, bytes);
	text_free(&name);
	text_free(&words);
}

static void draw_block(struct plan *g, const struct space_block *b, int x0, int x1, bool begins)
{
	uint32_t rgb = g->colours.rgb[group_key(&g->colours.keys, b->row)];
	int h = look_px(&g->l, BAR), y = g->y + look_px(&g->l, WORDS),
	    w = x1 - x0 > 3 ? x1 - x0 - 1 : x1 - x0;

	picture_rect(g->p, "block", b->row, x0, y, w, h, rgb);
	if (begins)
		label_block(g, b, x0, y, w, rgb);
}

/* The whole size is told, where it begins. */
static void draw_hole(struct plan *g, uint64_t addr, uint64_t size, int x0, int x1)
{
	char bytes[TEXT_SIZE_MAX], words[64];

	snprintf(words, sizeof words, "free %s", text_bytes(bytes, size));
	put_label(g, "hole", (int64_t)addr, x0, g->y + look_px(&g->l, WORDS), x1 - x0, g->l.pal.empty, words);
}

/* The part [from, to) of a segment (offsets) at the current place. */
static void draw_piece(struct plan *g, const struct space_segment *s, uint64_t from, uint64_t to, int width)
{
	int y = g->y + look_px(&g->l, WORDS), h = look_px(&g->l, BAR);
	uint64_t at = from, hole = 0, next = s->size; /* where free memory begins, and where its end is */
	char bytes[TEXT_SIZE_MAX], words[80];
	struct pic_style small = g->l.small;

	small.size = look_px(&g->l, 10);
	picture_rect(g->p, "segment", (int64_t)(s - g->s->segments), g->x, y, width, h, g->l.pal.empty);
	for (size_t i = s->first; i < s->first + s->n; i++) {
		const struct space_block *b = &g->s->blocks[i];
		uint64_t b0 = b->addr - s->addr, b1 = b0 + b->size;
		if (b0 >= to) {
			next = b0;
			break;
		}
		if (b1 > from) {
			uint64_t end = b1 > to ? to : b1, begin = b0 < from ? from : b0;
			int x0 = g->x + pixels(g, begin - from), x1 = g->x + pixels(g, end - from);
			g->tiny |= x1 == x0 && begin == b0 && end == b1;
			if (b0 > at && hole >= from)
				draw_hole(g, s->addr + at, b0 - hole, g->x + pixels(g, at - from), x0);
			draw_block(g, b, x0, x1 > x0 ? x1 : x0 + 1, begin == b0);
			at = end;
		}
		hole = b1 > hole ? b1 : hole;
	}
	if (at < to && hole >= from)
		draw_hole(g, s->addr + at, next - hole, g->x + pixels(g, at - from), g->x + width);
	if (g->is_pinned[s - g->s->segments])
		picture_rect(g->p, "pinned", (int64_t)(s - g->s->segments), g->x, y + h + look_px(&g->l, 1),
		             width, look_px(&g->l, 2), g->l.pal.alarm);
	if (from)
		return;
	snprintf(words, sizeof words, "0x%" PRIx64 " \xc2\xb7 %s", s->addr, text_bytes(bytes, s->size));
	if (font_width(g->p->font, small.face, small.size, words, strlen(words)) <= width)
		picture_puts(g->p, "segment.name", (int64_t)(s - g->s->segments), g->x,
		             g->y + look_px(&g->l, 11), PIC_LEFT, &small, words);
}

static void next_line(struct plan *g)
{
	g->x = g->l.margin;
	g->y += look_px(&g->l, LINE);
}

static void put_segment(struct plan *g, const struct space_segment *s)
{
	int width = pixels(g, s->size), right = g->l.margin + g->w;

	if (g->x + (width < 1 ? 1 : width) > right && g->x > g->l.margin)
		next_line(g);
	for (uint64_t from = 0; from < s->size;) {
		uint64_t part = s->size - from < g->per_line ? s->size - from : g->per_line;
		if (from / LINES > 4 * g->per_line)
			break; /* a size that makes no sense */
		int w = pixels(g, part);
		w = w < 1 ? 1 : w;
		if (g->draw)
			draw_piece(g, s, from, from + part, w);
		from += part;
		g->x += w + g->gap;
		if (from < s->size)
			next_line(g);
	}
}

/* --- the whole ------------------------------------------------------------------------------ */

static int larger_first(const void *a, const void *b)
{
	const struct space_segment *x = *(struct space_segment *const *)a,
	                           *y = *(struct space_segment *const *)b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void put_all(struct plan *g, bool draw, int y)
{
	const struct space_segment **order = mem_alloc((g->s->n + 1) * sizeof *order);

	for (size_t i = 0; i < g->s->n; i++)
		order[i] = &g->s->segments[i];
	qsort(order, g->s->n, sizeof *order, larger_first);
	g->draw = draw;
	g->x = g->l.margin;
	g->y = y;
	for (size_t i = 0; i < g->s->n; i++)
		put_segment(g, order[i]);
	next_line(g);
	free(order);
}

static int draw_legend(struct plan *g, const struct pinned *pinned, int x, int y)
{
	const struct timeline_panel *p = g->t->panel;
	struct legend at = {.p = g->p, .l = &g->l, .x = x, .y = y, .bottom = INT32_MAX};
	uint64_t *held = mem_zalloc(p->n + 1, sizeof *held);
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], c[TEXT_SIZE_MAX], words[120];

	at.room = g->p->w - g->l.margin - at.x;
	for (size_t i = 0; i < g->s->n_blocks; i++) {
		uint32_t key = group_key(&g->colours.keys, g->s->blocks[i].row);
		size_t k = 0;
		while (k < p->n && p->bands.band[k].key != key && p->bands.band[k].key != BANDS_REST)
			k++;
		held[k] += g->s->blocks[i].size;
	}
	snprintf(words, sizeof words, "%s in %s hole%s%s", text_bytes(a, g->s->free),
	         text_count(c, g->s->holes), g->s->holes == 1 ? "" : "s, the largest ",
	         g->s->holes == 1 ? "" : text_bytes(b, g->s->largest));
	if (g->s->free)
		legend_entry(&at, "legend.free", -1, g->l.pal.empty, false, "free", words);
	if (pinned->n) {
		snprintf(words, sizeof words, "%zu, with %s free, kept by %s of blocks", pinned->n,
		         text_bytes(a, pinned->free), text_bytes(b, pinned->used));
		legend_entry(&at, "legend.pinned", -1, g->l.pal.alarm, true,
		             "pinned: mostly free, but not returnable", words);
	}
	for (size_t i = p->n; i-- > 0;) {
		bool rest = p->bands.band[i].key == BANDS_REST;
		if (held[i])
			legend_entry(&at, "legend.band", (int64_t)i,
			             rest ? palette_mix(g->l.pal.rest, g->l.pal.ink, 15) : p->band[i].rgb,
			             false, p->band[i].name, text_bytes(a, held[i]));
	}
	free(held);
	return at.y;
}

static void choose_scale(struct plan *g, int y)
{
	uint64_t held = 0, largest = 0;

	for (size_t i = 0; i < g->s->n; i++) {
		uint64_t size = g->s->segments[i].size;
		held = size > UINT64_MAX / 2 - held ? UINT64_MAX / 2 : held + size;
		largest = size > largest ? size : largest;
	}
	/* Too many small segments need more lines than their bytes do: then the scale is as it is. */
	g->per_line = held / LINES + 1;
	/* Half as many lines are better than each of them broken once. */
	if (largest > g->per_line && largest / 2 < g->per_line)
		g->per_line = largest;
	/* Gaps between thousands of segments must not be most of what is seen. */
	uint64_t room = (uint64_t)g->w * LINES / 4 / g->s->n;
	g->gap = look_px(&g->l, 2);
	g->gap = room < (uint64_t)g->gap ? (int)room : g->gap;
	for (int i = 0; i < 20; i++) {
		put_all(g, false, y);
		if (g->y <= y + (LINES + 1) * look_px(&g->l, LINE))
			break;
		g->per_line += g->per_line / 12 + 1;
	}
}

void segstate_layout(struct picture *p, const struct timeline_picture *t, const struct space *s,
                     const struct look_options *o, struct font *font)
{
	struct plan g = {.t = t, .s = s, .p = p};
	struct pinned pinned;
	char bytes[TEXT_SIZE_MAX], words[250];

	look_make(&g.l, o);
	picture_init(p, font, look_width(o), 0, g.l.pal.page);
	bool narrow = look_narrow(o, &g.l);
	g.w = p->w - 2 * g.l.margin - (narrow ? 0 : look_px(&g.l, LEGEND));
	g.w = g.w > 16 ? g.w : 16;
	int y = look_heading(p, &g.l, true, o->title ? o->title : t->title, t->subtitle);
	if (!s->n) {
		picture_puts(p, "empty", -1, p->w / 2, y + look_px(&g.l, 40), PIC_CENTRE, &g.l.text,
		             "no segment is held at this instant");
		p->h = y + look_px(&g.l, 80);
		return;
	}
	space_pinned(s, &pinned);
	g.is_pinned = mem_zalloc(s->n, sizeof *g.is_pinned);
	for (size_t i = 0; i < pinned.n; i++)
		g.is_pinned[pinned.rows[i].segment - s->segments] = true;
	segmap_colours_make(&g.colours, t, &g.l.pal);
	choose_scale(&g, y);
	put_all(&g, true, y);
	int legend =
	    narrow ? draw_legend(&g, &pinned, g.l.margin, g.y + look_px(&g.l, 8))
	           : draw_legend(&g, &pinned, g.l.margin + g.w + look_px(&g.l, 18), y + look_px(&g.l, 4));
	y = (g.y > legend ? g.y : legend) + look_px(&g.l, 16);
	snprintf(words, sizeof words,
	         "The largest segments first; a line is %s of addresses, and a longer segment goes on on the "
	         "next.%s",
	         text_bytes(bytes, g.per_line),
	         g.tiny ? " A block smaller than a pixel fills one, and may hide free memory beside it."
	                : "");
	int lines = picture_wrap(p, "note", -1, g.l.margin, y, p->w - 2 * g.l.margin, look_px(&g.l, 15), 6,
	                         true, &g.l.small, words, strlen(words));
	p->h = y + (lines - 1) * look_px(&g.l, 15) + g.l.margin;
	p->h = o->height > (uint64_t)p->h ? (int)o->height : p->h;
	if (p->h > PIC_MAX_SIDE)
		p->h = PIC_MAX_SIDE;
	space_pinned_free(&pinned);
	segmap_colours_free(&g.colours);
	code_memo_free(&g.codes);
	free(g.is_pinned);
}
