/* plot.c: time axis and phases. */
#include "render/plot.h"
#include "base/mem.h"
#include "render/axis.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANE      15 /* units */
#define MAX_LANES 3

/* --- time ----------------------------------------------------------------------------------- */

struct label {
	int from, to; /* x */
};

/* "3.68 s idle" below each cut; returns how many have room. */
static size_t label_cuts(const struct plot *g, int bottom, struct label *label)
{
	const struct pic_style *s = &g->l->small;
	char when[TEXT_SIZE_MAX], words[TEXT_SIZE_MAX + 8];
	size_t n = 0;

	for (size_t i = 0; g->cuts && i < g->cuts->n; i++) {
		const struct cut *k = &g->cuts->v[i];
		snprintf(words, sizeof words, "%s idle", text_ns(when, k->to - k->from));
		int half = font_width(g->p->font, s->face, s->size, words, strlen(words)) / 2;
		int x = (plot_x(g, k->at) + plot_x(g, k->at + g->cuts->width)) / 2;
		x = x + half > g->x + g->axis.columns ? g->x + g->axis.columns - half : x;
		x = x - half < g->x ? g->x + half : x;
		if (n && x - half < label[n - 1].to + look_px(g->l, 8))
			continue;
		picture_puts(g->p, "cut.label", (int64_t)i, x, bottom + look_px(g->l, 16), PIC_CENTRE, s,
		             words);
		label[n++] = (struct label){x - half, x + half};
	}
	return n;
}

/* A multiple of the step at or after t, behind the cut that t lies in. */
static int64_t tick_from(const struct plot *g, int64_t t, int64_t step)
{
	for (size_t i = 0; g->cuts && i < g->cuts->n; i++)
		if (t > g->cuts->v[i].from && t < g->cuts->v[i].to)
			t = g->cuts->v[i].to;
	int64_t tick = t / step * step;
	return tick < t ? tick + step : tick;
}

static bool has_room(const struct label *label, size_t n, int from, int to)
{
	for (size_t i = 0; i < n; i++)
		if (from < label[i].to && label[i].from < to)
			return false;
	return true;
}

static void time_ticks(const struct plot *g, int bottom, bool has_time)
{
	const struct bands_axis *x = &g->axis;
	const struct pic_style *s = &g->l->small;
	int64_t step = axis_time_step(x->to - x->from, x->columns / look_px(g->l, 90) + 1, has_time),
	        last = g->cuts ? cuts_real(g->cuts, x->to) : x->to;
	int free_from = 0, gap = look_px(g->l, 8);
	char buf[TEXT_SIZE_MAX + 16];
	struct label cut[CUTS_MAX];
	size_t cuts = label_cuts(g, bottom, cut);

	for (int64_t t = tick_from(g, g->cuts ? cuts_real(g->cuts, x->from) : x->from, step); t <= last;
	     t = tick_from(g, t + step, step)) {
		int tx = plot_x(g, g->cuts ? cuts_shown(g->cuts, t) : t), half;
		axis_time(buf, sizeof buf, t, step, has_time);
		half = font_width(g->p->font, s->face, s->size, buf, strlen(buf)) / 2;
		picture_rect(g->p, "time.tick", t, tx, bottom, look_px(g->l, 1), look_px(g->l, 4),
		             g->l->pal.frame);
		int at = tx + half > g->x + x->columns ? g->x + x->columns - half : tx;
		if (tx - half < free_from || !has_room(cut, cuts, at - half - gap, at + half + gap))
			continue;
		picture_puts(g->p, "time.label", t, at, bottom + look_px(g->l, 16), PIC_CENTRE, s, buf);
		free_from = at + half + gap;
	}
}

int plot_time_axis(const struct plot *g, int bottom)
{
	bool has_time = g->m->has_time && !g->by_event;
	const char *since = g->since ? g->since : "time since the recording began";
	char title[120];

	time_ticks(g, bottom, has_time);
	snprintf(title, sizeof title, "%s%s", since, g->cuts ? ", long idle times cut short" : "");
	picture_puts(g->p, "time.title", -1, g->x + g->axis.columns / 2, bottom + look_px(g->l, 31),
	             PIC_CENTRE, &g->l->small,
	             has_time      ? title
	             : g->by_event ? "event number"
	                           : "event number (this recording has no times)");
	return bottom + look_px(g->l, PLOT_TIME_AXIS);
}

void plot_cuts(const struct plot *g, int y, int h)
{
	for (size_t i = 0; g->cuts && i < g->cuts->n; i++) {
		int x = plot_x(g, g->cuts->v[i].at), to = plot_x(g, g->cuts->v[i].at + g->cuts->width);
		to += to == g->x + g->axis.columns - 1; /* to the edge */
		picture_rect(g->p, "cut", (int64_t)i, x, y, to - x, h, g->l->pal.page)->dash =
		    (uint16_t)look_px(g->l, 2);
	}
}

/* --- phases --------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct phase *x = ((const struct lane_phase *)a)->p, *y = ((const struct lane_phase *)b)->p;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

void plot_phases_find(struct plot_phases *ph, const struct plot *g, uint8_t device)
{
	int64_t busy_until[MAX_LANES];

	ph->n = 0;
	ph->lanes = 0;
	ph->nested = 0;
	for (size_t i = 0; i < g->m->n_phases; i++) {
		const struct phase *p = &g->m->phases[i];
		if ((p->device == device || p->device == MODEL_NO_DEVICE) && p->end_ns >= g->axis.from &&
		    p->begin_ns <= g->axis.to)
			VEC_PUSH(ph->v, ph->n, ph->cap)->p = p;
	}
	if (ph->n)
		qsort(ph->v, ph->n, sizeof *ph->v, by_begin);
	for (size_t i = 0; i < ph->n; i++) {
		const struct phase *p = ph->v[i].p;
		int lane = 0;
		while (lane < ph->lanes && busy_until[lane] > p->begin_ns)
			lane++;
		ph->v[i].lane = lane;
		if (lane == MAX_LANES) {
			ph->nested++;
			continue;
		}
		busy_until[lane] = p->end_ns;
		if (lane == ph->lanes)
			ph->lanes++;
	}
}

void plot_phases_free(struct plot_phases *ph)
{
	free(ph->v);
	*ph = (struct plot_phases){0};
}

/* Bars are short: the beginning of a name says more than its two ends would. */
static void put_phase_name(const struct plot *g, int64_t ref, int x, int y, int room,
                           const struct pic_style *s, const char *name)
{
	struct font *f = g->p->font;
	size_t n = strlen(name);
	int dots = font_width(f, s->face, s->size, FONT_ELLIPSIS, strlen(FONT_ELLIPSIS));
	struct text t = {0};

	if (room < look_px(g->l, 10))
		return;
	if (n < (size_t)room && font_width(f, s->face, s->size, name, n) <= room) {
		picture_puts(g->p, "phase.name", ref, x, y, PIC_LEFT, s, name);
		return;
	}
	n = n < (size_t)room ? n : (size_t)room; /* no letter is narrower than a pixel */
	while (n && ((name[n] & 0xc0) == 0x80 || font_width(f, s->face, s->size, name, n) > room - dots))
		n--;
	if (n < 3)
		return;
	text_printf(&t, "%.*s" FONT_ELLIPSIS, (int)n, name);
	picture_puts(g->p, "phase.name", ref, x, y, PIC_LEFT, s, t.s);
	text_free(&t);
}

static void draw_phase(const struct plot *g, const struct phase *p, int x0, int x1, int y)
{
	const char *name = model_text(g->m, p->name);
	struct pic_style s = g->l->small;
	int64_t ref = p - g->m->phases;
	int pad = look_px(g->l, 3), gap = x1 - x0 > 3 ? 1 : 0, h = look_px(g->l, LANE) - look_px(g->l, 2);
	uint32_t rgb = palette_phase(&g->l->pal, name);

	picture_rect(g->p, "phase", ref, x0, y, x1 - x0 - gap, h, rgb);
	s.rgb = palette_ink_on(rgb);
	s.size = look_px(g->l, 10);
	s.strength = 100;
	put_phase_name(g, ref, x0 + pad, y + look_px(g->l, 10), x1 - x0 - 2 * pad, &s, name);
}

int plot_phases_draw(const struct plot_phases *ph, const struct plot *g, int y)
{
	int taken[MAX_LANES] = {0};

	for (size_t i = 0; i < ph->n; i++) {
		const struct phase *p = ph->v[i].p;
		int lane = ph->v[i].lane, x0 = plot_x(g, p->begin_ns);
		int x1 = p->end_ns > g->axis.to ? g->x + g->axis.columns : plot_x(g, p->end_ns);
		if (lane == MAX_LANES)
			continue;
		if (x1 <= x0)
			x1 = x0 + 1;
		if (x1 <= taken[lane])
			continue; /* less than a pixel, and that pixel shows a phase already */
		taken[lane] = x1;
		draw_phase(g, p, x0, x1, y + lane * look_px(g->l, LANE));
	}
	return y + ph->lanes * look_px(g->l, LANE) + look_px(g->l, ph->lanes ? 4 : 0);
}
