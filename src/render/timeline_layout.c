/* timeline_layout.c: where bands, lines, marks and words of a timeline go.
 *
 * A panel is, from the top: its heading (if there are several), bars of phases, a strip for the words
 * of marks, the plot with its bytes axis, and beside it the legend. All panels share one time axis.
 * Each column of the plot shows the state in which its highest total was reached, in full colour up
 * to the lowest total of that column and pale above.
 */
#include "base/mem.h"
#include "render/axis.h"
#include "render/timeline.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Units (look.h). */
#define LABELS     64  /* width of the bytes axis */
#define LEGEND     300 /* width of the legend, the gap before it included */
#define ENTRY      29  /* height of an entry of the legend: two lines */
#define HEADER     24
#define LANE       15
#define MAX_LANES  3
#define STRIP      17 /* height of one line of words of marks */
#define TIME_AXIS  36
#define PANEL      560 /* default height of the only panel */
#define PANEL_MANY 250 /* and of one of several */

struct lane_phase {
	const struct phase *p;
	int lane;
};

struct plan {
	const struct timeline_picture *t;
	struct picture *p;
	struct look l;
	int x, w; /* of the plot */
	/* of the panel in work: */
	const struct timeline_panel *panel;
	int y, h; /* of its plot */
	uint64_t max; /* bytes at the top of the plot */
	struct lane_phase *phase;
	size_t n_phases, cap_phases;
	int lanes;
	uint64_t nested; /* phases in lanes that are not drawn */
};

static bool narrow(const struct look_options *o, const struct look *l)
{
	return look_width(o) < look_px(l, 700);
}

int timeline_plot(const struct look_options *o)
{
	struct look l;

	look_make(&l, o);
	int w = look_width(o) - 2 * l.margin - look_px(&l, LABELS) - (narrow(o, &l) ? 0 : look_px(&l, LEGEND));
	return w > 16 ? w : 16;
}

size_t timeline_bands(const struct look_options *o, size_t panels)
{
	struct look l;

	look_make(&l, o);
	int each = o->height ? ((int)o->height - look_px(&l, 130)) / (int)(panels ? panels : 1)
			     : look_px(&l, panels > 1 ? PANEL_MANY : PANEL);
	int n = each / look_px(&l, ENTRY) - 4;
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
	return g->x + bands_column(&g->t->axis, t);
}

static bool in_window(const struct plan *g, int64_t t)
{
	return t >= g->t->axis.from && t <= g->t->axis.to;
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

/* --- phases --------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct phase *x = ((const struct lane_phase *)a)->p, *y = ((const struct lane_phase *)b)->p;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

/* The phases of the panel's device in the window, each in the first lane that is free when it begins. */
static void collect_phases(struct plan *g)
{
	const struct model *m = g->t->m;
	int64_t busy_until[MAX_LANES];

	g->n_phases = 0;
	g->lanes = 0;
	g->nested = 0;
	for (size_t i = 0; i < m->n_phases; i++) {
		const struct phase *p = &m->phases[i];
		if ((p->device == g->panel->device || p->device == MODEL_NO_DEVICE) && p->end_ns >= g->t->axis.from &&
		    p->begin_ns <= g->t->axis.to)
			VEC_PUSH(g->phase, g->n_phases, g->cap_phases)->p = p;
	}
	if (g->n_phases)
		qsort(g->phase, g->n_phases, sizeof *g->phase, by_begin);
	for (size_t i = 0; i < g->n_phases; i++) {
		struct lane_phase *ph = &g->phase[i];
		int lane = 0;
		while (lane < g->lanes && busy_until[lane] > ph->p->begin_ns)
			lane++;
		ph->lane = lane;
		if (lane == MAX_LANES) {
			g->nested++;
			continue;
		}
		busy_until[lane] = ph->p->end_ns;
		if (lane == g->lanes)
			g->lanes++;
	}
}

static void draw_phases(struct plan *g, int y)
{
	struct pic_style s = g->l.small;
	int last_x[MAX_LANES] = {0}, pad = look_px(&g->l, 3);

	s.size = look_px(&g->l, 10);
	for (size_t i = 0; i < g->n_phases; i++) {
		const struct phase *p = g->phase[i].p;
		const char *name = model_text(g->t->m, p->name);
		int lane = g->phase[i].lane, ly = y + lane * look_px(&g->l, LANE), h = look_px(&g->l, LANE) - look_px(&g->l, 2);
		int x0 = x_of(g, p->begin_ns), x1 = p->end_ns > g->t->axis.to ? g->x + g->w : x_of(g, p->end_ns);
		if (lane == MAX_LANES || (x1 <= last_x[lane] && p->end_ns > p->begin_ns))
			continue; /* less than a pixel, and that pixel is taken */
		if (x1 <= x0)
			x1 = x0 + 1;
		last_x[lane] = x1;
		uint32_t rgb = palette_mix(palette_category((uint32_t)(hash_bytes(name, strlen(name)) % PALETTE_CATEGORIES)),
					   g->l.pal.page, 55);
		int gap = x1 - x0 > 3 ? 1 : 0;
		picture_rect(g->p, "phase", p - g->t->m->phases, x0, ly, x1 - x0 - gap, h, rgb);
		s.rgb = palette_ink_on(rgb);
		s.strength = 100;
		if (x1 - x0 > look_px(&g->l, 30))
			picture_fit(g->p, "phase.name", p - g->t->m->phases, x0 + pad, ly + look_px(&g->l, 10), x1 - x0 - 2 * pad, &s,
				    name, strlen(name));
	}
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

static void label_band(struct plan *g, size_t i, const struct pic_run *solid)
{
	const struct timeline_band *b = &g->panel->band[i];
	struct pic_style s = g->l.small;
	int x = 0, y = 0, th = look_px(&g->l, 16);
	int tw = font_width(g->p->font, s.face, s.size, b->brief, strlen(b->brief));

	s.rgb = palette_ink_on(b->rgb);
	s.strength = 100;
	if (tw < g->w / 2 && label_place(g, solid, tw + look_px(&g->l, 8), th, &x, &y))
		picture_puts(g->p, "band.label", (int64_t)i, x + look_px(&g->l, 4), y + look_px(&g->l, 4), PIC_LEFT, &s, b->brief);
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
		for (int c = 0; c < g->w; c++) {
			int top, bottom, low = y_of(g, g->panel->low[c]);
			band_edges(g, below, i, c, &top, &bottom);
			mine[c] = (struct pic_run){top > low ? top : low, bottom > low ? bottom : low};
			pale[c] = (struct pic_run){top, top < low ? (bottom < low ? bottom : low) : top};
		}
		memcpy(picture_area(g->p, "band", (int64_t)i, g->x, g->w, b->rgb), mine, (size_t)g->w * sizeof *mine);
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

	for (int c = 0; c < g->w; c++) {
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
		picture_rect(g->p, "limit", -1, g->x, y_of(g, p->limit), g->w, look_px(&g->l, 1), g->l.pal.limit)->dash =
			(uint16_t)look_px(&g->l, 6);
}

/* --- axes ----------------------------------------------------------------------------------- */

static void draw_bytes_axis(struct plan *g)
{
	uint64_t step = axis_bytes_step(g->max, g->h / look_px(&g->l, 34) > 2 ? g->h / look_px(&g->l, 34) : 2);
	int hair = g->l.scale >= 200 ? 2 : 1;
	char buf[TEXT_SIZE_MAX];

	for (uint64_t v = 0; v <= g->max && step; v += step) {
		int y = y_of(g, v);
		picture_rect(g->p, "bytes.grid", (int64_t)v, g->x, y - (v ? 0 : hair) + (v ? 0 : hair), g->w, hair,
			     v ? g->l.pal.grid : g->l.pal.frame);
		picture_puts(g->p, "bytes.tick", (int64_t)v, g->x - look_px(&g->l, 6), y + look_px(&g->l, 4), PIC_RIGHT,
			     &g->l.small, axis_bytes(buf, sizeof buf, v));
	}
}

static void draw_time_axis(struct plan *g, int top, int bottom)
{
	const struct bands_axis *x = &g->t->axis;
	bool has_time = g->t->m->has_time;
	int64_t step = axis_time_step(x->to - x->from, g->w / look_px(&g->l, 90) + 1, has_time);
	int64_t t = x->from / step * step, free_from = 0;
	char buf[TEXT_SIZE_MAX + 16];

	for (t += t < x->from ? step : 0; t <= x->to; t += step) {
		int tx = x_of(g, t), w;
		axis_time(buf, sizeof buf, t, step, has_time);
		w = font_width(g->p->font, g->l.small.face, g->l.small.size, buf, strlen(buf));
		picture_rect(g->p, "time.tick", t, tx, bottom, look_px(&g->l, 1), look_px(&g->l, 4), g->l.pal.frame);
		if (tx - w / 2 < free_from)
			continue;
		int at = tx + w / 2 > g->x + g->w ? g->x + g->w - w / 2 : tx;
		picture_puts(g->p, "time.label", t, at, bottom + look_px(&g->l, 16), PIC_CENTRE, &g->l.small, buf);
		free_from = at + w / 2 + look_px(&g->l, 8);
	}
	(void)top;
	picture_puts(g->p, "time.title", -1, g->x + g->w / 2, bottom + look_px(&g->l, 31), PIC_CENTRE, &g->l.small,
		     has_time ? "time since the recording began" : "event number (this recording has no times)");
}

/* --- marks ---------------------------------------------------------------------------------- */

/* Words of a mark at x, kept inside the plot. */
static void mark_words(struct plan *g, const char *role, int64_t ref, int x, int y, const struct pic_style *s, const char *words)
{
	int w = font_width(g->p->font, s->face, s->size, words, strlen(words));

	x -= w / 2;
	if (x + w > g->x + g->w)
		x = g->x + g->w - w;
	if (x < g->x)
		x = g->x;
	picture_fit(g->p, role, ref, x, y, g->w, s, words, strlen(words));
}

static void mark_peak(struct plan *g, int strip)
{
	const struct timeline_panel *p = g->panel;
	struct pic_style bold = g->l.bold, glyph = g->l.text;
	char bytes[TEXT_SIZE_MAX], when[TEXT_SIZE_MAX], words[200];
	int x = g->x + p->peak_column, y = y_of(g, p->peak), n;

	n = snprintf(words, sizeof words, "peak %s", text_bytes(bytes, p->peak));
	if (p->peak_t == INT64_MIN)
		snprintf(words + n, sizeof words - (size_t)n, ", before the first event shown");
	else if (g->t->m->has_time)
		snprintf(words + n, sizeof words - (size_t)n, " at %s", text_ns(when, p->peak_t));
	else
		snprintf(words + n, sizeof words - (size_t)n, " at event %s", text_count(when, (uint64_t)p->peak_event));
	mark_words(g, "peak.words", -1, x, strip + look_px(&g->l, 12), &bold, words);
	if (y - strip > look_px(&g->l, 32))
		picture_rect(g->p, "peak.line", -1, x, strip + look_px(&g->l, 16), look_px(&g->l, 1), y - strip - look_px(&g->l, 26),
			     g->l.pal.ink)
			->dash = (uint16_t)look_px(&g->l, 2);
	picture_puts(g->p, "peak", (int64_t)p->peak, x, y - look_px(&g->l, 1), PIC_CENTRE, &glyph, "\xe2\x96\xbc");
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
		while (j < all->n && in_window(g, all->v[j].t_ns) && x_of(g, all->v[j].t_ns) - x < look_px(&g->l, 10))
			j++;
		if (draw) {
			picture_rect(g->p, "oom", (int64_t)all->v[i].row, x, strip + look_px(&g->l, STRIP), look_px(&g->l, 2),
				     g->y + g->h - strip - look_px(&g->l, STRIP), s.rgb)
				->dash = (uint16_t)look_px(&g->l, 4);
			oom_words(&all->v[i], j - i, words, sizeof words);
			/* Only the first ones are told; further words would lie over them. */
			if (marks < 2)
				mark_words(g, "oom.words", (int64_t)all->v[i].row, x, strip - (int)marks * look_px(&g->l, STRIP) + look_px(&g->l, 12),
					   &s, words);
		}
		marks++;
	}
	return marks;
}

/* --- legend --------------------------------------------------------------------------------- */

struct legend {
	int x, y, room;
};

static void legend_entry(struct plan *g, struct legend *at, const char *role, int64_t ref, uint32_t rgb, bool line,
			 const char *name, const char *amount)
{
	int chip = look_px(&g->l, 11), x = at->x + chip + look_px(&g->l, 7);
	struct pic_style small = g->l.small, name_style = g->l.text;

	name_style.size = look_px(&g->l, 11);
	small.size = look_px(&g->l, 10);
	picture_rect(g->p, role, ref, at->x, at->y + (line ? look_px(&g->l, 5) : look_px(&g->l, 1)), chip,
		     line ? look_px(&g->l, 2) : chip, rgb);
	picture_fit(g->p, role, ref, x, at->y + look_px(&g->l, 10), at->room - (x - at->x), &name_style, name, strlen(name));
	picture_fit(g->p, role, ref, x, at->y + look_px(&g->l, 22), at->room - (x - at->x), &small, amount, strlen(amount));
	at->y += look_px(&g->l, ENTRY);
}

static void legend_line(struct plan *g, struct legend *at, const char *role, uint32_t rgb, const char *name, uint64_t v,
			const char *what)
{
	char bytes[TEXT_SIZE_MAX], words[100];

	if (v == MODEL_UNKNOWN)
		return;
	snprintf(words, sizeof words, "%s%s%s", what, text_bytes(bytes, v), v > g->max ? ", beyond this axis" : "");
	legend_entry(g, at, role, -1, rgb, true, name, words);
}

static void draw_legend(struct plan *g, int top)
{
	const struct timeline_panel *p = g->panel;
	struct legend at = {.x = g->x + g->w + look_px(&g->l, 18), .y = top};
	char bytes[TEXT_SIZE_MAX], words[100];

	at.room = g->p->w - g->l.margin - at.x;
	if (at.room < look_px(&g->l, 100))
		return;
	legend_line(g, &at, "legend.limit", g->l.pal.limit, "memory of the device", p->limit, "");
	if (p->used)
		legend_line(g, &at, "legend.used", g->l.pal.device, "used on the device, by everybody", p->used_peak, "at most ");
	if (p->reserved)
		legend_line(g, &at, "legend.reserved", g->l.pal.reserved, "reserved: held from the device", p->reserved_peak, "at most ");
	for (size_t i = p->n; i-- > 0;) {
		double share = p->peak ? 100.0 * (double)p->band[i].at_peak / (double)p->peak : 0;
		snprintf(words, sizeof words, "%s at the peak \xc2\xb7 %.*f %%", text_bytes(bytes, p->band[i].at_peak), share < 99.95, share);
		legend_entry(g, &at, "legend.band", (int64_t)i, p->band[i].rgb, false, p->band[i].name, words);
	}
}

/* --- the whole ------------------------------------------------------------------------------ */

static void panel_heading(struct plan *g, int y)
{
	const char *name = model_text(g->t->m, g->t->m->device[g->panel->device].name);
	char events[TEXT_SIZE_MAX];
	struct text t = {0};

	if (g->panel->device == MODEL_NO_DEVICE)
		text_puts(&t, "Host memory");
	else
		text_printf(&t, "GPU %u%s%s", g->panel->device, *name ? " " : "", name);
	int w = picture_puts(g->p, "panel", g->panel->device, g->x, y + look_px(&g->l, 14), PIC_LEFT, &g->l.bold, t.s);
	t.n = 0;
	text_printf(&t, "%s events", text_count(events, g->panel->events));
	picture_puts(g->p, "panel.events", g->panel->device, g->x + w + look_px(&g->l, 8), y + look_px(&g->l, 14), PIC_LEFT,
		     &g->l.soft, t.s);
	text_free(&t);
}

/* Draws a panel into the given height; returns the y of its lower edge. */
static int draw_panel(struct plan *g, int y, int height)
{
	int top = y, bottom = y + height;

	if (g->t->n > 1) {
		panel_heading(g, y);
		y += look_px(&g->l, HEADER);
	}
	collect_phases(g);
	draw_phases(g, y);
	y += g->lanes * look_px(&g->l, LANE) + look_px(&g->l, g->lanes ? 4 : 0);
	size_t ooms = mark_ooms(g, 0, false);
	y += look_px(&g->l, STRIP) * (int)(ooms < 2 ? ooms : 2);
	g->y = y + look_px(&g->l, STRIP);
	g->h = bottom - g->y;
	if (g->h < look_px(&g->l, 20))
		g->h = look_px(&g->l, 20);
	g->max = top_value(g->panel);
	draw_bytes_axis(g);
	draw_bands(g);
	draw_lines(g);
	mark_ooms(g, y - look_px(&g->l, STRIP), true);
	if (g->panel->peak)
		mark_peak(g, y);
	draw_legend(g, g->t->n > 1 ? top + look_px(&g->l, 3) : top);
	return g->y + g->h;
}

static void notes(const struct plan *g, struct text *t)
{
	const struct timeline_panel *p = g->t->panel;
	char count[TEXT_SIZE_MAX];
	bool pale = false;

	for (size_t k = 0; k < g->t->n; k++)
		for (int c = 0; c < g->w && !pale; c++)
			pale = p[k].high[c] != p[k].low[c];
	text_puts(t, g->t->view == TIMELINE_RESERVED ? "Bands add up to what is held from the device. "
						     : "Bands are requested bytes of live blocks, the most lasting below. ");
	if (pale)
		text_puts(t, "Full colour: held throughout a pixel's time. Pale: reached within it; its highest point is always drawn. ");
	if (g->nested)
		text_printf(t, "%s more deeply nested phases are not drawn. ", text_count(count, g->nested));
}

static void say_no_events(struct picture *p, const struct look *l, int y)
{
	y += look_px(l, 44);
	picture_puts(p, "empty", -1, p->w / 2, y, PIC_CENTRE, &l->text, "No events were recorded, so there is nothing to draw over time.");
	y += look_px(l, 20);
	picture_puts(p, "empty", -1, p->w / 2, y, PIC_CENTRE, &l->soft,
		     "\"gpumemsnap flame --at end\" draws what is live in this snapshot.");
	p->h = y + look_px(l, 44);
}

void timeline_layout(struct picture *p, const struct timeline_picture *t, const struct look_options *o, struct font *font)
{
	struct plan g = {.t = t, .p = p, .w = t->axis.columns};
	struct text words = {0};
	uint64_t events = 0;

	look_make(&g.l, o);
	picture_init(p, font, look_width(o), 0, g.l.pal.page);
	g.x = g.l.margin + look_px(&g.l, LABELS);
	int y = look_heading(p, &g.l, true, o->title ? o->title : t->title, t->subtitle) + look_px(&g.l, 2);
	for (size_t i = 0; i < t->n; i++)
		events += t->panel[i].events;
	if (!events) {
		say_no_events(p, &g.l, y);
		return;
	}
	int below = look_px(&g.l, TIME_AXIS + 24) + g.l.margin, gap = look_px(&g.l, 14);
	int each = o->height ? ((int)o->height - y - below) / (int)t->n - gap : look_px(&g.l, t->n > 1 ? PANEL_MANY : PANEL);
	each = each < look_px(&g.l, 90) ? look_px(&g.l, 90) : each;
	for (size_t i = 0; i < t->n; i++) {
		g.panel = &t->panel[i];
		y = draw_panel(&g, y, each) + (i + 1 < t->n ? gap : 0);
	}
	draw_time_axis(&g, 0, y);
	notes(&g, &words);
	y += look_px(&g.l, TIME_AXIS + 16);
	int lines = picture_wrap(p, "note", -1, g.l.margin, y, p->w - 2 * g.l.margin, look_px(&g.l, 15), 3, true, &g.l.small, words.s, words.n);
	y += (lines - 1) * look_px(&g.l, 15) + g.l.margin;
	p->h = o->height > (uint64_t)y ? (int)o->height : y;
	text_free(&words);
	free(g.phase);
}
