/* segmap_layout.c: addresses against time: one rectangle per life of a block, on the segments that hold them.
 *
 * Only address ranges that were ever held have room: each in proportion to its size, but a pixel at least,
 * with a small gap between them; where pixels for the small ones would leave too little to the others, they
 * share rows. A life shorter than a pixel is one pixel wide. A rectangle that later ones cover is left out,
 * so that a million short lives at one place cost nothing: lives are placed from the last to the first.
 */
#include "base/mem.h"
#include "render/axis.h"
#include "render/legend.h"
#include "render/plot.h"
#include "render/segmap.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Units (look.h). */
#define LABELS 104
#define LEGEND 330
#define PINNED 8 /* room for the marks behind pinned segments */
#define STRIP  17
#define PLOT   560  /* height of the plot */
#define RANGE  4    /* and what it grows by with every range, if they are many */
#define TALL   1000 /* up to here */

struct plan {
	const struct timeline_picture *t;
	const struct segmap *s;
	struct picture *p;
	struct look l;
	struct plot plot;
	int w, y, h;
	int *top;                  /* of each range; the highest addresses are on top */
	int *height;               /* pixels */
	bool shared;               /* rows, by several ranges */
	struct bands_cursor begin; /* of lives, which come in order; they end in any */
	uint64_t *covered;         /* w × h bits, each row in whole words: what later lives are drawn on */
	size_t words;              /* of a row */
	struct segmap_colours colours;
	uint64_t outside; /* blocks in no range */
	struct space end;
	struct pinned pinned; /* at the end */
};

int segmap_plot(const struct look_options *o)
{
	struct look l;

	look_make(&l, o);
	int w = look_width(o) - 2 * l.margin - look_px(&l, LABELS) -
	        look_px(&l, look_narrow(o, &l) ? PINNED : LEGEND);
	return w > 16 ? w : 16;
}

void segmap_make(struct segmap *s, const struct model *m, uint8_t device)
{
	lives_held(&s->held, m, device);
	lives_blocks(&s->blocks, m, device);
	lives_ranges(s->held.n ? &s->held : &s->blocks, &s->ranges);
}

void segmap_free(struct segmap *s)
{
	lives_free(&s->held);
	lives_free(&s->blocks);
	lives_ranges_free(&s->ranges);
}

void segmap_colours_make(struct segmap_colours *c, const struct timeline_picture *t,
                         const struct palette *pal)
{
	const struct timeline_panel *p = t->panel;

	group_keys_make(&c->keys, t->m, t->by);
	c->rgb = mem_alloc((c->keys.n + 1) * sizeof *c->rgb);
	for (size_t i = 0; i < c->keys.n; i++)
		c->rgb[i] = palette_mix(pal->rest, pal->ink, 15);
	for (size_t i = 0; i < p->n; i++)
		if (p->bands.band[i].key != BANDS_REST)
			c->rgb[p->bands.band[i].key] = p->band[i].rgb;
}

void segmap_colours_free(struct segmap_colours *c)
{
	group_keys_free(&c->keys);
	free(c->rgb);
}

/* --- addresses to pixels -------------------------------------------------------------------- */

static uint64_t total_size(const struct ranges *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->n; i++)
		sum += r->v[i].size > UINT64_MAX - sum ? UINT64_MAX - sum : r->v[i].size;
	return sum;
}

static int scaled(uint64_t v, int pixels, uint64_t whole)
{
	uint64_t product;

	if (!__builtin_mul_overflow(v, (unsigned)pixels, &product)) /* nearly always, and much faster */
		return (int)(product / whole);
	return (int)((unsigned __int128)v * (unsigned)pixels / whole);
}

/* Ranges whose share is below a pixel get one; the others share what is left. */
static void share_height(struct plan *g, int room)
{
	const struct ranges *r = &g->s->ranges;
	uint64_t total = total_size(r), large = 0;
	int left = room;

	for (size_t i = 0; i < r->n; i++) {
		bool small = (unsigned __int128)r->v[i].size * (unsigned)room < total;
		g->height[i] = small ? 1 : 0;
		left -= g->height[i];
		large += small ? 0 : r->v[i].size;
	}
	/* Edges are rounded, not heights, so that the heights add up. */
	unsigned __int128 sum = 0;
	int edge = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (g->height[i])
			continue;
		sum += r->v[i].size;
		int next = left > 0 ? (int)(sum * (unsigned)left / large) : edge + 1;
		g->height[i] = next > edge ? next - edge : 1;
		edge = next;
	}
}

/* All in proportion, so that the small ones share rows. */
static void share_rows(struct plan *g, uint64_t total)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < g->s->ranges.n; i++) {
		int from = scaled(sum, g->h, total), to;
		sum += g->s->ranges.v[i].size > total - sum ? total - sum : g->s->ranges.v[i].size;
		to = scaled(sum, g->h, total);
		from = from < g->h ? from : g->h - 1;
		g->height[i] = to > from ? to - from : 1;
		g->top[i] = g->y + g->h - from - g->height[i];
	}
}

static void place_ranges(struct plan *g)
{
	size_t n = g->s->ranges.n, small = 0;
	uint64_t total = total_size(&g->s->ranges);
	int gap = look_px(&g->l, 3), y;

	g->top = mem_alloc((n + 1) * sizeof *g->top);
	g->height = mem_alloc((n + 1) * sizeof *g->height);
	for (size_t i = 0; i < n; i++)
		small += scaled(g->s->ranges.v[i].size, g->h, total) < 1;
	g->shared = small > (size_t)g->h / 2;
	if (g->shared) {
		share_rows(g, total);
		return;
	}
	while (gap && n > (size_t)(g->h / (3 * gap)))
		gap--;
	share_height(g, g->h - (n ? (int)(n - 1) * gap : 0));
	y = g->y + g->h;
	for (size_t i = 0; i < n; i++) {
		y -= g->height[i];
		g->top[i] = y > g->y ? y : g->y;
		y -= gap;
	}
}

/* Pixels of [addr, addr + size) inside range i, at least one. */
static void edges(const struct plan *g, size_t i, uint64_t addr, uint64_t size, int *y0, int *y1)
{
	const struct range *r = &g->s->ranges.v[i];
	uint64_t from = addr - r->addr, to = size > r->size - from ? r->size : from + size;
	int bottom = g->top[i] + g->height[i];

	*y1 = bottom - scaled(from, g->height[i], r->size);
	*y0 = bottom - scaled(to, g->height[i], r->size);
	if (*y0 >= *y1)
		*y0 = *y1 - 1;
}

/* --- painting ------------------------------------------------------------------------------- */

/* Cover pixels of the plot; false if all of them were covered already. */
static bool cover(struct plan *g, int x0, int y0, int x1, int y1)
{
	size_t first = (size_t)x0 / 64, last = (size_t)(x1 - 1) / 64;
	uint64_t any = 0;

	for (int y = y0; y < y1; y++) {
		uint64_t *row = g->covered + (size_t)y * g->words;
		for (size_t i = first; i <= last; i++) {
			uint64_t mask = UINT64_MAX << (i == first ? x0 % 64 : 0);
			mask &= UINT64_MAX >> (i == last ? 63 - (x1 - 1) % 64 : 0);
			any |= mask & ~row[i];
			row[i] |= mask;
		}
	}
	return any;
}

static int64_t time_of(const struct plan *g, uint32_t row)
{
	/* What was there when the recording began has been there all along. */
	return row < g->t->m->n_initial ? INT64_MIN : g->t->m->ev.t_ns[row];
}

static void paint(struct plan *g, const struct life *l, uint32_t rgb, bool edge)
{
	size_t i = lives_range_of(&g->s->ranges, l->addr);
	const struct bands_axis *axis = &g->t->axis;
	int64_t t0 = time_of(g, l->begin), t1 = l->end == MODEL_NO_PEER ? INT64_MAX : time_of(g, l->end);
	int x0, x1, y0, y1;

	if (i == SIZE_MAX) {
		g->outside++;
		return;
	}
	if (t1 < axis->from || t0 > axis->to)
		return;
	edges(g, i, l->addr, l->size, &y0, &y1);
	x0 = bands_next(&g->begin, t0);
	x1 = t1 > axis->to ? g->w : bands_column(axis, t1);
	if (x1 <= x0)
		x1 = x0 + 1;
	if (y0 < g->y)
		y0 = g->y;
	/* A hairline tells neighbours apart where there is room for it. */
	if (edge && x1 - x0 > 4)
		x1--;
	if (edge && y1 - y0 > 4)
		y0++;
	if (y0 < y1 && cover(g, x0, y0 - g->y, x1, y1 - g->y))
		picture_box(g->p, l->begin, g->plot.x + x0, y0, x1 - x0, y1 - y0, rgb);
}

static void paint_all(struct plan *g)
{
	const struct segmap *s = g->s;
	size_t lives = s->blocks.n + s->held.n, pixels = (size_t)g->w * (size_t)g->h, blocks;

	/* Each box covers a pixel that none before it covered. */
	picture_box_room(g->p, lives < pixels ? lives : pixels);
	for (size_t i = s->blocks.n; i-- > 0;) {
		uint32_t key = group_key(&g->colours.keys, s->blocks.v[i].begin);
		paint(g, &s->blocks.v[i], g->colours.rgb[key], true);
	}
	blocks = g->p->n_boxes;
	for (size_t i = s->held.n; i-- > 0;)
		paint(g, &s->held.v[i], g->l.pal.empty, false);
	picture_boxes(g->p, "segment", blocks, g->p->n_boxes);
	picture_boxes(g->p, "block", 0, blocks);
}

/* A bar behind the end of each segment that is pinned there. */
static void mark_pinned(struct plan *g)
{
	for (size_t i = 0; i < g->pinned.n; i++) {
		const struct space_segment *seg = g->pinned.rows[i].segment;
		size_t r = lives_range_of(&g->s->ranges, seg->addr);
		int y0, y1;
		if (r == SIZE_MAX)
			continue;
		edges(g, r, seg->addr, seg->size, &y0, &y1);
		picture_rect(g->p, "pinned", seg->row, g->plot.x + g->w + look_px(&g->l, 2), y0,
		             look_px(&g->l, 4), y1 - y0, g->l.pal.alarm);
	}
}

/* --- words ---------------------------------------------------------------------------------- */

/* Beside a high range: how far from its beginning. */
static void label_inside(struct plan *g, size_t i, int x, const struct pic_style *s)
{
	const struct range *r = &g->s->ranges.v[i];
	uint64_t step = axis_bytes_step(r->size, g->height[i] / look_px(&g->l, 40) + 1);
	char bytes[TEXT_SIZE_MAX], words[40];
	int y0, y1;

	for (uint64_t v = step; v < r->size && v; v += step) {
		edges(g, i, r->addr + v, 1, &y0, &y1);
		if (y1 - g->top[i] < look_px(&g->l, 10))
			return; /* the next range begins there, and is named */
		picture_rect(g->p, "range.tick", (int64_t)v, g->plot.x - look_px(&g->l, 4), y1,
		             look_px(&g->l, 4), 1, g->l.pal.frame);
		snprintf(words, sizeof words, "+%s", axis_bytes(bytes, sizeof bytes, v));
		picture_puts(g->p, "range.offset", (int64_t)v, x, y1 + look_px(&g->l, 4), PIC_RIGHT, s,
		             words);
	}
}

/* Beside a range that is high enough: where it begins and how large it is. */
static void label_ranges(struct plan *g)
{
	int pitch = look_px(&g->l, 13), free_below = g->y + g->h + pitch;
	struct pic_style s = g->l.small;
	char bytes[TEXT_SIZE_MAX], words[64];

	s.size = look_px(&g->l, 10);
	for (size_t i = 0; i < g->s->ranges.n; i++) {
		const struct range *r = &g->s->ranges.v[i];
		int bottom = g->top[i] + g->height[i], x = g->plot.x - look_px(&g->l, 7);
		/* Of low ranges side by side only some are named. */
		if (bottom > free_below - (g->height[i] < pitch ? 3 * pitch : 0))
			continue;
		picture_rect(g->p, "range.tick", 0, g->plot.x - look_px(&g->l, 4), bottom - 1,
		             look_px(&g->l, 4), 1, g->l.pal.frame);
		snprintf(words, sizeof words, "0x%" PRIx64, r->addr);
		picture_puts(g->p, "range.address", (int64_t)i, x, bottom - look_px(&g->l, 2), PIC_RIGHT, &s,
		             words);
		free_below = bottom - pitch;
		if (g->height[i] < 2 * pitch)
			continue;
		if (g->height[i] > 7 * pitch) {
			label_inside(g, i, x, &s);
			continue;
		}
		picture_puts(g->p, "range.size", (int64_t)i, x, bottom - look_px(&g->l, 2) - pitch, PIC_RIGHT,
		             &s, text_bytes(bytes, r->size));
		free_below -= pitch;
	}
}

/* Returns the y below it. */
static int draw_legend(struct plan *g, int x, int y)
{
	const struct timeline_panel *p = g->t->panel;
	struct legend at = {.p = g->p,
	                    .l = &g->l,
	                    .x = x,
	                    .y = y,
	                    .left = (int)p->n + 2,
	                    .bottom = y > g->y + g->h ? INT32_MAX : g->y + g->h};
	char bytes[TEXT_SIZE_MAX], words[100];

	at.room = g->p->w - g->l.margin - at.x;
	if (g->s->held.n)
		legend_entry(&at, "legend.free", -1, g->l.pal.empty, false, "free",
		             "held from the device, but in no block");
	if (g->pinned.n) {
		snprintf(words, sizeof words, "%zu segment%s at the end, %s free in %s", g->pinned.n,
		         g->pinned.n == 1 ? "" : "s", text_bytes(bytes, g->pinned.free),
		         g->pinned.n == 1 ? "it" : "them");
		legend_entry(&at, "legend.pinned", -1, g->l.pal.alarm, true,
		             "pinned: mostly free, but not returnable", words);
	}
	for (size_t i = p->n; i-- > 0;) {
		bool rest = p->bands.band[i].key == BANDS_REST;
		snprintf(words, sizeof words, "%s at the peak",
		         p->band[i].at_peak ? text_bytes(bytes, p->band[i].at_peak) : "nothing");
		legend_entry(&at, "legend.band", (int64_t)i,
		             rest ? palette_mix(g->l.pal.rest, g->l.pal.ink, 15) : p->band[i].rgb, false,
		             p->band[i].name, words);
	}
	return at.y;
}

static void mark_ooms(struct plan *g)
{
	const struct ooms *all = &g->t->panel->ooms;
	struct pic_style s = g->l.bold;
	int last = -g->p->w;

	s.rgb = g->l.pal.alarm;
	for (size_t i = 0; i < all->n; i++) {
		int x = plot_x(&g->plot, all->v[i].t_ns);
		if (all->v[i].t_ns < g->t->axis.from || all->v[i].t_ns > g->t->axis.to ||
		    x - last < look_px(&g->l, 100))
			continue;
		last = x;
		picture_rect(g->p, "oom", (int64_t)all->v[i].row, x, g->y - look_px(&g->l, STRIP),
		             look_px(&g->l, 2), g->h + look_px(&g->l, STRIP), s.rgb)
		    ->dash = (uint16_t)look_px(&g->l, 4);
		picture_puts(g->p, "oom.words", (int64_t)all->v[i].row, x - look_px(&g->l, 4),
		             g->y - look_px(&g->l, 6), PIC_RIGHT, &s, "out of memory");
	}
}

/* Returns how many lines it has. */
static int note(struct plan *g, int y)
{
	struct text t = {0};
	char count[TEXT_SIZE_MAX], bytes[TEXT_SIZE_MAX];

	text_printf(&t, "Up: addresses, only ranges that were ever held (%s in all), %s. ",
	            text_bytes(bytes, total_size(&g->s->ranges)),
	            g->shared ? "many of which share a row of pixels" : "with gaps between them");
	text_puts(
	    &t,
	    "A life shorter or a block lower than a pixel is drawn one pixel large; the last to begin lies "
	    "on top. ");
	if (g->outside)
		text_printf(&t, "%s block%s in no recorded segment and %s not drawn. ",
		            text_count(count, g->outside), g->outside == 1 ? " lies" : "s lie",
		            g->outside == 1 ? "is" : "are");
	int lines = picture_wrap(g->p, "note", -1, g->l.margin, y, g->p->w - 2 * g->l.margin,
	                         look_px(&g->l, 15), 6, true, &g->l.small, t.s, t.n);
	text_free(&t);
	return lines;
}

void segmap_layout(struct picture *p, const struct timeline_picture *t, const struct segmap *s,
                   const struct look_options *o, struct font *font)
{
	struct plan g = {.t = t, .s = s, .p = p, .w = t->axis.columns, .begin.axis = &t->axis};
	struct plot_phases phases = {0};

	look_make(&g.l, o);
	picture_init(p, font, look_width(o), 0, g.l.pal.page);
	g.plot = (struct plot){.p = p,
	                       .l = &g.l,
	                       .m = t->m,
	                       .axis = t->axis,
	                       .by_event = t->by_event,
	                       .x = g.l.margin + look_px(&g.l, LABELS)};
	int y = look_heading(p, &g.l, true, o->title ? o->title : t->title, t->subtitle);
	int legend = y, below = look_px(&g.l, PLOT_TIME_AXIS + 44);
	plot_phases_find(&phases, &g.plot, t->panel->device);
	g.y = plot_phases_draw(&phases, &g.plot, y) + look_px(&g.l, t->panel->ooms.n ? STRIP : 4);
	int units = s->ranges.n > TALL / RANGE ? TALL : (int)s->ranges.n * RANGE;
	g.h = o->height ? (int)o->height - g.y - below : look_px(&g.l, units > PLOT ? units : PLOT);
	g.h = g.h < look_px(&g.l, 40) ? look_px(&g.l, 40) : g.h;
	g.words = (size_t)g.w / 64 + 1;
	g.covered = mem_zalloc((size_t)g.h * g.words, sizeof *g.covered);
	place_ranges(&g);
	segmap_colours_make(&g.colours, t, &g.l.pal);
	picture_rect(p, "frame", -1, g.plot.x - 1, g.y, 1, g.h + look_px(&g.l, 2), g.l.pal.frame);
	picture_rect(p, "frame", -1, g.plot.x - 1, g.y + g.h + look_px(&g.l, 2) - 1, g.w + 1, 1,
	             g.l.pal.frame);
	space_at(t->m, t->panel->device, t->m->ev.n - 1, &g.end);
	space_pinned(&g.end, &g.pinned);
	paint_all(&g);
	mark_pinned(&g);
	mark_ooms(&g);
	label_ranges(&g);
	bool narrow = look_narrow(o, &g.l);
	if (!narrow)
		draw_legend(&g, g.plot.x + g.w + look_px(&g.l, 18), legend);
	y = plot_time_axis(&g.plot, g.y + g.h + look_px(&g.l, 2));
	if (narrow && !o->height)
		y = draw_legend(&g, g.l.margin, y + look_px(&g.l, 10));
	y += look_px(&g.l, 16);
	y += note(&g, y) * look_px(&g.l, 15) + look_px(&g.l, 10);
	p->h = o->height && (int)o->height > g.y + g.h ? (int)o->height
	       : y > g.y + g.h + below                 ? y
	                                               : g.y + g.h + below;
	p->h = p->h < PIC_MAX_SIDE ? p->h : PIC_MAX_SIDE;
	plot_phases_free(&phases);
	segmap_colours_free(&g.colours);
	space_pinned_free(&g.pinned);
	space_free(&g.end);
	free(g.covered);
	free(g.top);
	free(g.height);
}
