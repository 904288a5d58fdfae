/* plot.c: time axis and phases. */
#include "render/plot.h"
#include "base/mem.h"
#include "render/axis.h"
#include <stdlib.h>
#include <string.h>

#define LANE      15 /* units */
#define MAX_LANES 3

int plot_time_axis(const struct plot *g, int bottom)
{
	const struct bands_axis *x = &g->axis;
	const struct pic_style *s = &g->l->small;
	bool has_time = g->m->has_time && !g->by_event;
	int64_t step = axis_time_step(x->to - x->from, x->columns / look_px(g->l, 90) + 1, has_time);
	int64_t t = x->from / step * step;
	int free_from = 0;
	char buf[TEXT_SIZE_MAX + 16];

	for (t += t < x->from ? step : 0; t <= x->to; t += step) {
		int tx = plot_x(g, t), half;
		axis_time(buf, sizeof buf, t, step, has_time);
		half = font_width(g->p->font, s->face, s->size, buf, strlen(buf)) / 2;
		picture_rect(g->p, "time.tick", t, tx, bottom, look_px(g->l, 1), look_px(g->l, 4),
		             g->l->pal.frame);
		if (tx - half < free_from)
			continue;
		int at = tx + half > g->x + x->columns ? g->x + x->columns - half : tx;
		picture_puts(g->p, "time.label", t, at, bottom + look_px(g->l, 16), PIC_CENTRE, s, buf);
		free_from = at + half + look_px(g->l, 8);
	}
	picture_puts(g->p, "time.title", -1, g->x + x->columns / 2, bottom + look_px(g->l, 31), PIC_CENTRE, s,
	             has_time      ? g->since ? g->since : "time since the recording began"
	             : g->by_event ? "event number"
	                           : "event number (this recording has no times)");
	return bottom + look_px(g->l, PLOT_TIME_AXIS);
}

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
	if (x1 - x0 > look_px(g->l, 30))
		picture_fit(g->p, "phase.name", ref, x0 + pad, y + look_px(g->l, 10), x1 - x0 - 2 * pad, &s,
		            name, strlen(name));
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
