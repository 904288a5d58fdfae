/* timeline_layout.c: where bands, lines, marks and words of a timeline go.
 *
 * A panel is, from the top: its heading (if there are several), bars of phases, a strip for the words
 * of marks, the plot with its bytes axis, and beside it the legend. All panels share one time axis.
 * Each column of the plot shows the state in which its highest total was reached, in full colour up
 * to the lowest total of that column and pale above.
 */
#include "base/mem.h"
#include "render/axis.h"
#include "render/legend.h"
#include "render/plot.h"
#include "render/timeline.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Units (look.h). */
#define LABELS      64  /* width of the bytes axis */
#define LEGEND      330 /* width of the legend, the gap before it included */
#define HEADER      24
#define STRIP       17  /* height of one line of words of marks */
#define PANEL       560 /* default height of the only panel */
#define PANEL_MANY  250 /* and of one of several */
#define PANEL_LEAST 125 /* with heading, phases and marks */
#define PANEL_GAP   14

struct plan {
	const struct timeline_picture *t;
	struct picture *p;
	struct look l;
	struct plot plot; /* while a panel is in work, in its recording's time */
	int x, w;         /* of the plot */
	uint64_t common;  /* bytes at the top of all plots; 0: each has its own */
	bool narrow;      /* legends are below */
	/* of the panel in work: */
	const struct timeline_panel *panel;
	int y, h;        /* of its plot */
	uint64_t max;    /* bytes at the top of the plot */
	int first, last; /* columns in which its recording ran */
	struct plot_phases phases;
	uint64_t nested; /* phases that are not drawn, over all panels */
	bool blank;      /* some recording ran only for a part of the time */
};

int timeline_plot(const struct look_options *o)
{
	struct look l;

	look_make(&l, o);
	int w = look_width(o) - 2 * l.margin - look_px(&l, LABELS) -
	        (look_narrow(o, &l) ? 0 : look_px(&l, LEGEND));
	return w > 16 ? w : 16;
}

size_t timeline_most_panels(const struct look_options *o)
{
	struct look l;

	look_make(&l, o);
	return (size_t)((PIC_MAX_SIDE - look_px(&l, 300)) / look_px(&l, PANEL_LEAST + PANEL_GAP));
}

size_t timeline_bands(const struct look_options *o, size_t panels)
{
	struct look l;

	look_make(&l, o);
	int each = o->height ? ((int)o->height - look_px(&l, 130)) / (int)(panels ? panels : 1)
	                     : look_px(&l, panels > 1 ? PANEL_MANY : PANEL);
	int n = each / look_px(&l, LEGEND_ENTRY) - 4;
	return n < 2 ? 2 : n > BANDS_MAX ? BANDS_MAX : (size_t)n;
}

/* --- geometry ------------------------------------------------------------------------------- */

static int y_of(const struct plan *g, uint64_t v)
{
	if (v > g->max)
		v = g->max;
	return g->y + g->h - (int)((unsigned __int128)v * (unsigned)g->h / g->max);
}

static int x_of(const struct plan *g, int64_t t)
{
	return plot_x(&g->plot, t);
}

static bool in_window(const struct plan *g, int64_t t)
{
	return t >= g->plot.axis.from && t <= g->plot.axis.to;
}

static uint64_t top_value(const struct timeline_panel *p)
{
	uint64_t top = p->peak;

	if (p->reserved && p->reserved_peak != MODEL_UNKNOWN && p->reserved_peak > top)
		top = p->reserved_peak;
	if (p->used && p->used_peak != MODEL_UNKNOWN && p->used_peak > top && p->used_peak / 3 < top)
		top = p->used_peak;
	/* The limit belongs on the axis only where memory comes near it. */
	if (p->limit != MODEL_UNKNOWN && p->limit > top && p->limit - p->limit / 3 <= top)
		top = p->limit;
	return top ? top + top / 40 : 1;
}

/* --- bands ---------------------------------------------------------------------------------- */

/* The edges of band i in a column, in pixels; the stack of bands below it decides. */
static void band_edges(const struct plan *g, uint64_t *below, size_t i, int column, int *top, int *bottom)
{
	uint64_t v = g->panel->band[i].value[column];

	*bottom = y_of(g, below[column]);
	below[column] += v;
	*top = y_of(g, below[column]);
}

/* The place for a label of tw × th pixels: where the band is thickest over that width. */
static bool label_place(const struct plan *g, const struct pic_run *solid, int tw, int th, int *x, int *y)
{
	int best = th - 1, step = look_px(&g->l, 3);

	for (int from = step; from + tw + step < g->w; from += step) {
		int top = 0, bottom = INT32_MAX;
		for (int i = from; i < from + tw && bottom - top > best; i++) {
			top = solid[i].y0 > top ? solid[i].y0 : top;
			bottom = solid[i].y1 < bottom ? solid[i].y1 : bottom;
		}
		if (bottom - top > best) {
			best = bottom - top;
			*x = g->x + from;
			*y = (top + bottom) / 2;
		}
	}
	return best >= th;
}

static bool put_label(struct plan *g, size_t i, const struct pic_run *solid, const char *words)
{
	struct pic_style s = g->l.small;
	int x = 0, y = 0, th = look_px(&g->l, 16);
	int tw = font_width(g->p->font, s.face, s.size, words, strlen(words));

	s.rgb = palette_ink_on(g->panel->band[i].rgb);
	s.strength = 100;
	if (tw >= g->w / 2 || !label_place(g, solid, tw + look_px(&g->l, 8), th, &x, &y))
		return false;
	picture_puts(g->p, "band.label", (int64_t)i, x + look_px(&g->l, 4), y + look_px(&g->l, 4), PIC_LEFT,
	             &s, words);
	return true;
}

/* The short name, but the long one if another band has the same short one. */
static void label_band(struct plan *g, size_t i, const struct pic_run *solid)
{
	const struct timeline_band *all = g->panel->band;
	bool shared = false;

	for (size_t k = 0; k < g->panel->n; k++)
		shared |= k != i && !strcmp(all[k].brief, all[i].brief);
	if (!shared || !put_label(g, i, solid, all[i].name))
		put_label(g, i, solid, all[i].brief);
}

static void draw_bands(struct plan *g)
{
	uint64_t *below = mem_zalloc((size_t)g->w, sizeof *below);
	struct pic_run *solid = mem_zalloc((size_t)g->w * (g->panel->n + 1), sizeof *solid);

	for (size_t i = 0; i < g->panel->n; i++) {
		const struct timeline_band *b = &g->panel->band[i];
		struct pic_run *mine = solid + i * (size_t)g->w;
		struct pic_run *pale = picture_area(g->p, "band.reached", (int64_t)i, g->x, g->w,
		                                    palette_mix(b->rgb, g->l.pal.page, 55));
		for (int c = g->first; c <= g->last; c++) {
			int top, bottom, low = y_of(g, g->panel->low[c]);
			band_edges(g, below, i, c, &top, &bottom);
			mine[c] = (struct pic_run){top > low ? top : low, bottom > low ? bottom : low};
			pale[c] = (struct pic_run){top, top < low ? (bottom < low ? bottom : low) : top};
		}
		memcpy(picture_area(g->p, "band", (int64_t)i, g->x, g->w, b->rgb), mine,
		       (size_t)g->w * sizeof *mine);
	}
	for (size_t i = 0; i < g->panel->n; i++)
		label_band(g, i, solid + i * (size_t)g->w);
	free(below);
	free(solid);
}

/* A line through the values of a series, as thick as `thick`, in steps. */
static void draw_line(struct plan *g, const char *role, const uint64_t *value, uint32_t rgb, int thick)
{
	struct pic_run *run = picture_area(g->p, role, -1, g->x, g->w, rgb);
	int last = -1;

	for (int c = g->first; c <= g->last; c++) {
		if (value[c] == MODEL_UNKNOWN || value[c] > g->max) {
			last = -1;
			continue;
		}
		int y = y_of(g, value[c]), from = last < 0 || last > y ? y : last, to = last > y ? last : y;
		run[c] = (struct pic_run){from - thick, to};
		last = y;
	}
}

static void draw_lines(struct plan *g)
{
	const struct timeline_panel *p = g->panel;
	int thick = look_px(&g->l, 2);

	if (p->used)
		draw_line(g, "used", p->used, g->l.pal.device, thick);
	if (p->reserved)
		draw_line(g, "reserved", p->reserved, g->l.pal.reserved, thick);
	if (p->limit != MODEL_UNKNOWN && p->limit <= g->max)
		picture_rect(g->p, "limit", -1, g->x, y_of(g, p->limit), g->w, look_px(&g->l, 1),
		             g->l.pal.limit)
		    ->dash = (uint16_t)look_px(&g->l, 6);
}

/* --- axes ----------------------------------------------------------------------------------- */

static void draw_bytes_axis(struct plan *g)
{
	uint64_t step =
	    axis_bytes_step(g->max, g->h / look_px(&g->l, 34) > 2 ? g->h / look_px(&g->l, 34) : 2);
	int hair = g->l.scale >= 200 ? 2 : 1;
	char buf[TEXT_SIZE_MAX];

	for (uint64_t v = 0; v <= g->max && step; v += step) {
		int y = y_of(g, v);
		picture_rect(g->p, "bytes.grid", (int64_t)v, g->x, y, g->w, hair,
		             v ? g->l.pal.grid : g->l.pal.frame);
		picture_puts(g->p, "bytes.tick", (int64_t)v, g->x - look_px(&g->l, 6), y + look_px(&g->l, 4),
		             PIC_RIGHT, &g->l.small, axis_bytes(buf, sizeof buf, v));
	}
}

/* --- marks ---------------------------------------------------------------------------------- */

/* Words beside the line of a mark at x, like a flag: to its right where they fit and cross no other mark's
 * line, else to its left. */
static void mark_words(struct plan *g, const char *role, int64_t ref, int x, int y, int other,
                       const struct pic_style *s, const char *words)
{
	int w = font_width(g->p->font, s->face, s->size, words, strlen(words)), gap = look_px(&g->l, 5);
	bool right = x + gap + w <= g->x + g->w && (other <= x || other > x + gap + w);
	bool left = x - gap - w >= g->x;

	if (right)
		picture_puts(g->p, role, ref, x + gap, y, PIC_LEFT, s, words);
	else if (left)
		picture_puts(g->p, role, ref, x - gap, y, PIC_RIGHT, s, words);
	else if (x < g->x + g->w / 2)
		picture_fit(g->p, role, ref, x + gap, y, g->p->w - g->l.margin - x - gap, s, words,
		            strlen(words));
	else
		picture_fit(g->p, role, ref, x - gap - w > g->l.margin ? x - gap - w : g->l.margin, y,
		            x - gap - g->l.margin, s, words, strlen(words));
}

/* The x of the first failure in the window, 0 if there is none. */
static int first_oom_x(const struct plan *g)
{
	for (size_t i = 0; i < g->panel->ooms.n; i++)
		if (in_window(g, g->panel->ooms.v[i].t_ns))
			return x_of(g, g->panel->ooms.v[i].t_ns);
	return 0;
}

static void mark_peak(struct plan *g, int strip)
{
	const struct timeline_panel *p = g->panel;
	struct pic_style bold = g->l.bold, glyph = g->l.text;
	char bytes[TEXT_SIZE_MAX], when[TEXT_SIZE_MAX], words[200];
	int x = g->x + p->peak_column, y = y_of(g, p->peak), n, hair = look_px(&g->l, 1);
	int from = strip + look_px(&g->l, 3), to = y - look_px(&g->l, 9);

	n = snprintf(words, sizeof words, "peak %s", text_bytes(bytes, p->peak));
	if (p->peak_t == INT64_MIN)
		snprintf(words + n, sizeof words - (size_t)n, ", before the first event shown");
	else if (p->m->has_time)
		snprintf(words + n, sizeof words - (size_t)n, " at %s",
		         text_ns(when, timeline_time(g->t, p->peak_t + g->t->axis.from - p->axis.from)));
	else
		snprintf(words + n, sizeof words - (size_t)n, " at event %s",
		         text_count(when, (uint64_t)p->peak_event));
	mark_words(g, "peak.words", -1, x, strip + look_px(&g->l, 12), first_oom_x(g), &bold, words);
	if (to > from)
		picture_rect(g->p, "peak.line", -1, x - hair / 2, from, hair, to - from, g->l.pal.ink)->dash =
		    (uint16_t)look_px(&g->l, 2);
	picture_puts(g->p, "peak", (int64_t)p->peak, x, y - look_px(&g->l, 1), PIC_CENTRE, &glyph,
	             "\xe2\x96\xbc");
}

static void oom_words(const struct oom *o, size_t together, char *buf, size_t size)
{
	char asked[TEXT_SIZE_MAX], left[TEXT_SIZE_MAX];
	int n = snprintf(buf, size, "out of memory: %s asked", text_bytes(asked, o->size));

	if (o->free != MODEL_UNKNOWN)
		n += snprintf(buf + n, size - (size_t)n, ", %s free", text_bytes(left, o->free));
	if (together > 1)
		snprintf(buf + n, size - (size_t)n, " (and %zu more)", together - 1);
}

/* Failures that are close to each other share one mark. Returns the number of marks. */
static size_t mark_ooms(struct plan *g, int strip, bool draw)
{
	const struct ooms *all = &g->panel->ooms;
	struct pic_style s = g->l.bold;
	size_t marks = 0;
	char words[200];

	s.rgb = g->l.pal.alarm;
	for (size_t i = 0, j; i < all->n; i = j) {
		j = i + 1;
		if (!in_window(g, all->v[i].t_ns))
			continue;
		int x = x_of(g, all->v[i].t_ns);
		while (j < all->n && in_window(g, all->v[j].t_ns) &&
		       x_of(g, all->v[j].t_ns) - x < look_px(&g->l, 10))
			j++;
		if (draw) {
			/* Only the first ones are told in words; further words would lie over them. */
			int y = strip - (int)(marks < 2 ? marks : 0) * look_px(&g->l, STRIP);
			picture_rect(g->p, "oom", (int64_t)all->v[i].row, x, y + look_px(&g->l, 3),
			             look_px(&g->l, 2), g->y + g->h - y - look_px(&g->l, 3), s.rgb)
			    ->dash = (uint16_t)look_px(&g->l, 4);
			oom_words(&all->v[i], j - i, words, sizeof words);
			if (marks < 2)
				mark_words(g, "oom.words", (int64_t)all->v[i].row, x, y + look_px(&g->l, 12),
				           0, &s, words);
		}
		marks++;
	}
	return marks;
}

/* --- legend --------------------------------------------------------------------------------- */

static void legend_line(struct plan *g, struct legend *at, const char *role, uint32_t rgb, const char *name,
                        uint64_t v, const char *what)
{
	char bytes[TEXT_SIZE_MAX], words[100];

	if (v == MODEL_UNKNOWN)
		return;
	snprintf(words, sizeof words, "%s%s%s", what, text_bytes(bytes, v),
	         v > g->max ? ", beyond this axis" : "");
	legend_entry(at, role, -1, rgb, true, name, words);
}

/* Returns the y below it. */
static int draw_legend(struct plan *g, int x, int top, int bottom)
{
	const struct timeline_panel *p = g->panel;
	struct legend at = {.p = g->p,
	                    .l = &g->l,
	                    .x = x,
	                    .y = top,
	                    .left = (int)p->n + (p->limit != MODEL_UNKNOWN) + !!p->used + !!p->reserved,
	                    .bottom = bottom};
	char bytes[TEXT_SIZE_MAX], words[100];

	at.room = g->p->w - g->l.margin - at.x;
	legend_line(g, &at, "legend.limit", g->l.pal.limit, "memory of the device", p->limit, "");
	if (p->used)
		legend_line(g, &at, "legend.used", g->l.pal.device,
		            "used on the device, by everybody (samples)", p->used_peak, "at most ");
	if (p->reserved)
		legend_line(g, &at, "legend.reserved", g->l.pal.reserved, "reserved: held from the device",
		            p->reserved_peak, "at most ");
	for (size_t i = p->n; i-- > 0;) {
		double share = p->peak ? 100.0 * (double)p->band[i].at_peak / (double)p->peak : 0;
		if (p->band[i].at_peak)
			snprintf(words, sizeof words, "%s at the peak \xc2\xb7 %.*f %%",
			         text_bytes(bytes, p->band[i].at_peak), share < 99.95, share);
		else
			snprintf(words, sizeof words, "nothing at the peak");
		legend_entry(&at, "legend.band", (int64_t)i, p->band[i].rgb, false, p->band[i].name, words);
	}
	return at.y;
}

/* --- the whole ------------------------------------------------------------------------------ */

static void panel_heading(struct plan *g, int x, int y)
{
	const char *name = model_text(g->panel->m, g->panel->m->device[g->panel->device].name);
	char events[TEXT_SIZE_MAX];
	struct text t = {0};

	if (g->panel->file)
		text_printf(&t, "%s \xc2\xb7 ", g->panel->file);
	if (g->panel->device == MODEL_NO_DEVICE)
		text_puts(&t, "Host memory");
	else
		text_printf(&t, "GPU %u%s%s", g->panel->device, *name ? " " : "", name);
	int64_t ref = g->panel->file ? g->panel - g->t->panel : g->panel->device;
	int base = y + look_px(&g->l, 14);
	int w = picture_fit(g->p, "panel", ref, x, base, g->w, &g->l.bold, t.s, t.n) + look_px(&g->l, 8);
	t.n = 0;
	text_printf(&t, "%s event%s", text_count(events, g->panel->events), g->panel->events == 1 ? "" : "s");
	picture_fit(g->p, "panel.events", ref, x + w, base, g->w - w, &g->l.soft, t.s, t.n);
	text_free(&t);
}

/* Before a recording began and after it ended nothing is known, whatever its first and last state. */
static void leave_blank(struct plan *g)
{
	const struct timeline_panel *p = g->panel;

	g->first = p->begin == p->end ? 0 : x_of(g, p->begin) - g->x;
	g->last = p->begin == p->end ? g->w - 1 : x_of(g, p->end) - g->x;
	g->blank |= g->first > 0 || g->last < g->w - 1;
	if (g->first > 0)
		picture_rect(g->p, "blank", 0, g->x, g->y, g->first, g->h, g->l.pal.page);
	if (g->last < g->w - 1)
		picture_rect(g->p, "blank", 1, g->x + g->last + 1, g->y, g->w - 1 - g->last, g->h,
		             g->l.pal.page);
}

/* Draws a panel into the given height; returns the y of its lower edge. */
static int draw_panel(struct plan *g, int y, int height)
{
	int top = y, bottom = y + height;

	g->plot.m = g->panel->m;
	g->plot.axis = g->panel->axis;
	if (g->t->n > 1) {
		panel_heading(g, g->x, y);
		y += look_px(&g->l, HEADER);
	}
	plot_phases_find(&g->phases, &g->plot, g->panel->device);
	y = plot_phases_draw(&g->phases, &g->plot, y);
	g->nested += g->phases.nested;
	size_t ooms = mark_ooms(g, 0, false);
	y += look_px(&g->l, STRIP) * (int)(ooms < 2 ? ooms : 2);
	g->y = y + look_px(&g->l, STRIP);
	g->h = bottom - g->y;
	if (g->h < look_px(&g->l, 20))
		g->h = look_px(&g->l, 20);
	g->max = g->common ? g->common : top_value(g->panel);
	draw_bytes_axis(g);
	leave_blank(g);
	draw_bands(g);
	draw_lines(g);
	plot_cuts(&g->plot, g->y, g->h);
	mark_ooms(g, y - look_px(&g->l, STRIP), true);
	if (g->panel->peak)
		mark_peak(g, y);
	if (!g->narrow)
		draw_legend(g, g->x + g->w + look_px(&g->l, 18), g->t->n > 1 ? top + look_px(&g->l, 3) : top,
		            bottom);
	return g->y + g->h;
}

/* Where there is no room beside the panels: all legends below them. */
static int legends_below(struct plan *g, int y)
{
	y += look_px(&g->l, 10);
	for (size_t i = 0; i < g->t->n && y < PIC_MAX_SIDE - look_px(&g->l, 900); i++) {
		g->panel = &g->t->panel[i];
		g->max = g->common ? g->common : top_value(g->panel);
		if (g->t->n > 1) {
			panel_heading(g, g->l.margin, y);
			y += look_px(&g->l, HEADER);
		}
		y = draw_legend(g, g->l.margin, y, INT32_MAX) + look_px(&g->l, 6);
	}
	return y;
}

static void notes(const struct plan *g, struct text *t)
{
	const struct timeline_panel *p = g->t->panel;
	char count[TEXT_SIZE_MAX];
	bool pale = false, many = false;

	for (size_t k = 0; k < g->t->n; k++)
		for (int c = 0; c < g->w && !pale; c++)
			pale = p[k].high[c] != p[k].low[c];
	text_puts(t, g->t->view == TIMELINE_RESERVED
	                 ? "Bands add up to what is held from the device. "
	                 : "Bands are requested bytes of live blocks, the most lasting below. ");
	for (size_t k = 0; k < g->t->n && !many; k++)
		many = p[k].n && p[k].bands.n && p[k].bands.band[p[k].n - 1].key == BANDS_REST &&
		       p[k].band[p[k].n - 1].at_peak > p[k].peak / 2;
	if (pale)
		text_puts(t, "Full colour: held throughout a pixel's time. Pale: reached within it; its "
		             "highest point is always drawn. ");
	if (many && g->t->by == BY_STACK)
		text_puts(t, "Most of the peak comes from many small stacks: --group function or file "
		             "divides it otherwise. ");
	if (g->t->by_event)
		text_puts(
		    t, "Every event has the same width, however long it lasted (--axis time: in proportion "
		       "to time). ");
	if (g->common)
		text_puts(t, "All panels have the same scale (--own-scale: each its own). ");
	if (g->blank)
		text_puts(t, "Blank: the recording had not begun yet, or had ended. ");
	if (g->nested)
		text_printf(t, "%s more deeply nested phase%s not drawn. ", text_count(count, g->nested),
		            g->nested == 1 ? " is" : "s are");
}

static void say_no_events(struct picture *p, const struct look *l, int y)
{
	y += look_px(l, 44);
	picture_puts(p, "empty", -1, p->w / 2, y, PIC_CENTRE, &l->text,
	             "No events were recorded, so there is nothing to draw over time.");
	y += look_px(l, 20);
	picture_puts(p, "empty", -1, p->w / 2, y, PIC_CENTRE, &l->soft,
	             "\"gpumemsnap flame --at end\" draws what is live in this snapshot.");
	p->h = y + look_px(l, 44);
}

void timeline_layout(struct picture *p, const struct timeline_picture *t, const struct look_options *o,
                     struct font *font)
{
	struct plan g = {.t = t, .p = p, .w = t->axis.columns};
	struct text words = {0};
	uint64_t events = 0;

	look_make(&g.l, o);
	g.narrow = look_narrow(o, &g.l);
	picture_init(p, font, look_width(o), 0, g.l.pal.page);
	g.x = g.l.margin + look_px(&g.l, LABELS);
	g.plot = (struct plot){.p = p,
	                       .l = &g.l,
	                       .m = t->m,
	                       .axis = t->axis,
	                       .x = g.x,
	                       .since = t->since,
	                       .cuts = t->cuts,
	                       .by_event = t->by_event};
	int y = look_heading(p, &g.l, true, o->title ? o->title : t->title, t->subtitle) + look_px(&g.l, 2);
	for (size_t i = 0; i < t->n; i++) {
		uint64_t top = top_value(&t->panel[i]);
		events += t->panel[i].events;
		g.common = t->n > 1 && !t->own_scale && top > g.common ? top : g.common;
	}
	if (!events) {
		say_no_events(p, &g.l, y);
		return;
	}
	int below = look_px(&g.l, PLOT_TIME_AXIS + 24) + g.l.margin, gap = look_px(&g.l, PANEL_GAP);
	int each = o->height ? ((int)o->height - y - below) / (int)t->n - gap
	                     : look_px(&g.l, t->n > 1 ? PANEL_MANY : PANEL);
	if (each > (PIC_MAX_SIDE - look_px(&g.l, 300)) / (int)t->n - gap)
		each = (PIC_MAX_SIDE - look_px(&g.l, 300)) / (int)t->n - gap;
	each = each < look_px(&g.l, 90) ? look_px(&g.l, 90) : each;
	for (size_t i = 0; i < t->n; i++) {
		g.panel = &t->panel[i];
		y = draw_panel(&g, y, each) + (i + 1 < t->n ? gap : 0);
	}
	g.plot.m = t->m;
	g.plot.axis = t->axis;
	y = plot_time_axis(&g.plot, y);
	if (g.narrow && !o->height)
		y = legends_below(&g, y);
	notes(&g, &words);
	y += look_px(&g.l, 16);
	int lines = picture_wrap(p, "note", -1, g.l.margin, y, p->w - 2 * g.l.margin, look_px(&g.l, 15), 6,
	                         true, &g.l.small, words.s, words.n);
	y += (lines - 1) * look_px(&g.l, 15) + g.l.margin;
	p->h = o->height > (uint64_t)y ? (int)o->height : y;
	text_free(&words);
	plot_phases_free(&g.phases);
}
