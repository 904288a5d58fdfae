/* whatif_layout.c: where the lines and words of a picture of predictions go.
 *
 * A panel per device, as in a timeline: the area is what the program uses, a line is what one setting
 * reserves. Lines lie over each other, the least reserved on top; one that ends in a cross ran out of memory.
 */
#include "render/axis.h"
#include "render/plot.h"
#include "render/whatif_picture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Units (look.h). LABELS and LEGEND are the timeline's. */
#define LABELS     64
#define LEGEND     330
#define PANEL      460
#define PANEL_MANY 250
#define HEADER     24
#define GAP        14
#define PANELS     12 /* at most */
#define LINES      6 /* at most, in a panel */

struct plan {
	const struct whatif_picture *t;
	struct picture *p;
	struct look l;
	struct plot plot;
	const struct whatif_trace *trace;
	const struct whatif_run *run[LINES]; /* the most reserved first */
	size_t n;
	uint64_t *in_use;
	int y, h;     /* of the panel's plot */
	uint64_t max; /* bytes at its top */
};

static int y_of(const struct plan *g, uint64_t v)
{
	return g->y + g->h - (int)((unsigned __int128)(v < g->max ? v : g->max) * (unsigned)g->h / g->max);
}

/* The recording's own settings are drawn in ink, the others in colours of their own. */
static bool is_own(const struct plan *g, size_t i)
{
	return g->run[i] == &g->t->w->base[g->trace - g->t->w->traces];
}

static uint32_t colour(const struct plan *g, size_t i)
{
	uint32_t k, before = 0;

	if (is_own(g, i))
		return g->l.pal.ink;
	for (k = 0; k < i; k++)
		before += !is_own(g, k);
	return palette_category(before);
}

static void draw_bytes_axis(const struct plan *g)
{
	int room = g->h / look_px(&g->l, 34), hair = g->l.scale >= 200 ? 2 : 1;
	uint64_t step = axis_bytes_step(g->max, room > 2 ? room : 2), v;
	char buf[TEXT_SIZE_MAX];

	for (v = 0; v <= g->max; v += step) {
		picture_rect(g->p, "bytes.grid", (int64_t)v, g->plot.x, y_of(g, v), g->plot.axis.columns, hair,
			     v ? g->l.pal.grid : g->l.pal.frame);
		picture_puts(g->p, "bytes.tick", (int64_t)v, g->plot.x - look_px(&g->l, 6), y_of(g, v) + look_px(&g->l, 4),
			     PIC_RIGHT, &g->l.small, axis_bytes(buf, sizeof buf, v));
	}
}

static void draw_in_use(const struct plan *g)
{
	struct pic_run *run = picture_area(g->p, "in_use", -1, g->plot.x, g->plot.axis.columns,
					   palette_mix(g->l.pal.rest, g->l.pal.page, 45));
	int c;

	for (c = 0; c < g->plot.axis.columns; c++)
		run[c] = (struct pic_run){y_of(g, g->in_use[c] == MODEL_UNKNOWN ? 0 : g->in_use[c]), g->y + g->h};
}

/* Returns the first column without a value. */
static int draw_line(const struct plan *g, size_t i)
{
	const uint64_t *v = g->run[i]->curve;
	int thick = look_px(&g->l, is_own(g, i) ? 3 : 2), last = -1, c, y;
	struct pic_run *run =
		picture_area(g->p, "reserved", (int64_t)i, g->plot.x, g->plot.axis.columns, colour(g, i));

	for (c = 0; c < g->plot.axis.columns && v && v[c] != MODEL_UNKNOWN; c++, last = y) {
		y = y_of(g, v[c]);
		run[c] = (struct pic_run){(last < 0 || last > y ? y : last) - thick, last > y ? last : y};
	}
	return c;
}

static void draw_lines(const struct plan *g)
{
	struct pic_style cross = g->l.title;
	size_t i;
	int end;

	for (i = 0; i < g->n; i++) {
		end = draw_line(g, i);
		cross.rgb = colour(g, i);
		if (g->run[i]->ooms && end)
			picture_puts(g->p, "out_of_memory", (int64_t)i, g->plot.x + end - 1,
				     y_of(g, g->run[i]->curve[end - 1]) + look_px(&g->l, 5), PIC_CENTRE, &cross, "\xc3\x97");
	}
}

/* A chip, the name over up to three lines (settings are long), the amount below. Returns the next y. */
static int legend_entry(const struct plan *g, const char *role, int64_t ref, uint32_t rgb, int y, const char *name,
			const char *amount)
{
	int x = g->plot.x + g->plot.axis.columns + look_px(&g->l, 18), pitch = look_px(&g->l, 13), chip = look_px(&g->l, 11);
	int words = x + chip + look_px(&g->l, 7), room = g->p->w - g->l.margin - words;
	bool line = ref >= 0;
	struct pic_style s = g->l.text;

	if (room < look_px(&g->l, 80))
		return y;
	s.size = look_px(&g->l, 11);
	picture_rect(g->p, role, ref, x, y + look_px(&g->l, line ? 5 : 1), chip, line ? look_px(&g->l, 2) : chip, rgb);
	y += look_px(&g->l, 10);
	y += pitch * picture_wrap(g->p, role, ref, words, y, room, pitch, 3, true, &s, name, strlen(name));
	picture_fit(g->p, role, ref, words, y, room, &g->l.small, amount, strlen(amount));
	return y + look_px(&g->l, 9);
}

static void draw_legend(const struct plan *g, int y)
{
	char bytes[TEXT_SIZE_MAX], words[100];
	struct text name = {0};
	const char *s;
	size_t i;

	for (i = 0; i < g->n; i++) {
		const struct whatif_run *r = g->run[i];

		name.n = 0;
		text_puts(&name, whatif_as_recorded(g->t->w, r) ? "as recorded: " : "");
		for (s = *r->conf ? r->conf : "default settings"; *s; s++)
			text_printf(&name, *s == ',' ? "%c " : "%c", *s);
		if (r->ooms && !r->reserved_peak)
			snprintf(words, sizeof words, "does not even begin");
		else
			snprintf(words, sizeof words, "reserves at most %s%s", text_bytes(bytes, r->reserved_peak),
				 r->ooms ? ", then runs out of memory" : "");
		y = legend_entry(g, "legend.reserved", (int64_t)i, colour(g, i), y, name.s, words);
	}
	snprintf(words, sizeof words, "at most %s", text_bytes(bytes, g->trace->lower_bound));
	legend_entry(g, "legend.in_use", -1, palette_mix(g->l.pal.rest, g->l.pal.page, 45), y, "in use by the program", words);
	text_free(&name);
}

static void find_top(struct plan *g)
{
	size_t i;

	g->max = g->trace->lower_bound;
	for (i = 0; i < g->n; i++)
		if (g->run[i]->reserved_peak > g->max)
			g->max = g->run[i]->reserved_peak;
	g->max = g->max < INT64_MAX / 2 ? g->max + g->max / 40 + 1 : INT64_MAX / 2; /* a damaged recording claims anything */
}

static int draw_panel(struct plan *g, int y, int height)
{
	const struct whatif *w = g->t->w;
	size_t trace = (size_t)(g->trace - w->traces);
	char words[40];
	int bottom = y + height;

	if (w->n_traces > 1) {
		snprintf(words, sizeof words, "GPU %u", g->trace->device);
		picture_puts(g->p, "panel", g->trace->device, g->plot.x, y + look_px(&g->l, 14), PIC_LEFT, &g->l.bold, words);
		y += look_px(&g->l, HEADER);
	}
	g->n = whatif_best(w, trace, g->t->asked, g->run, LINES);
	g->in_use = whatif_in_use(g->trace, &g->plot.axis);
	g->y = y;
	g->h = bottom - y;
	find_top(g);
	draw_in_use(g);
	draw_bytes_axis(g);
	draw_lines(g);
	draw_legend(g, y);
	free(g->in_use);
	return bottom;
}

/* --- the whole --- */

static void write_title(struct text *t, const struct whatif_picture *p)
{
	const struct whatif *w = p->w;
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];
	uint64_t low, high;
	const struct whatif_run *run[LINES];
	size_t n = whatif_best(w, 0, p->asked, run, LINES);

	while (n > 1 && run[n - 1]->ooms && !run[n - 1]->reserved_peak) /* does not even begin */
		n--;
	high = run[0]->reserved_peak;
	low = run[n - 1]->reserved_peak;
	text_printf(t, "Reserved GPU memory under %zu setting%s: ", n, n == 1 ? "" : "s");
	if (low != high)
		text_printf(t, "%s to ", text_bytes(a, low));
	text_printf(t, "%s at the peak", text_bytes(b, high));
	if (w->n_traces > 1)
		text_printf(t, " of GPU %u", w->traces[0].device);
}

static void write_subtitle(struct text *t, const struct whatif_picture *p)
{
	const struct whatif *w = p->w;
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];
	uint64_t requests = 0;
	size_t i;

	for (i = 0; i < w->n_traces; i++)
		requests += w->traces[i].n_slots - w->traces[i].n_initial;
	text_printf(t, "%s", p->m->file);
	if (w->n_traces == 1)
		text_printf(t, " \xc2\xb7 GPU %u", w->traces[0].device);
	text_printf(t, " \xc2\xb7 %s requests replayed", text_count(a, requests));
	if (w->fidelity.known)
		text_printf(t, " \xc2\xb7 the replay of the recording's own settings predicts %s of %s events",
			    text_count(a, w->fidelity.matched), text_count(b, w->fidelity.events));
}

static void write_note(struct text *t, const struct whatif_picture *p, size_t panels)
{
	text_puts(t, "Predicted, not measured. A line shows the most that a setting has reserved within a pixel's events; the "
		     "area is what is in use, each request rounded to 512 bytes: no allocator can reserve less.");
	if (panels < p->w->n_traces)
		text_printf(t, " %zu further devices are not drawn: choose with --device.", p->w->n_traces - panels);
}

/* Heights of panels: as asked for, else by habit, never too small to read. */
static int panel_height(const struct plan *g, const struct look_options *o, int used, size_t n)
{
	int each = o->height ? ((int)o->height - used) / (int)n - look_px(&g->l, GAP)
			     : look_px(&g->l, n > 1 ? PANEL_MANY : PANEL);
	int least = look_px(&g->l, 90);

	return each < least ? least : each;
}

void whatif_layout(struct picture *p, const struct whatif_picture *t, const struct look_options *o, struct font *font)
{
	struct plan g = {.t = t, .p = p};
	struct text title = {0}, subtitle = {0}, note = {0};
	size_t n = t->w->n_traces < PANELS ? t->w->n_traces : PANELS, i;
	int y, each, lines;

	look_make(&g.l, o);
	picture_init(p, font, look_width(o), 0, g.l.pal.page);
	g.plot = (struct plot){.p = p, .l = &g.l, .m = t->m, .axis = t->axis, .by_event = true, .x = g.l.margin + look_px(&g.l, LABELS)};
	write_title(&title, t);
	write_subtitle(&subtitle, t);
	y = look_heading(p, &g.l, true, o->title ? o->title : title.s, subtitle.s) + look_px(&g.l, 10);
	picture_meta(p, "Title", "%s", o->title ? o->title : title.s);
	picture_meta(p, "Description", "%s", subtitle.s);
	each = panel_height(&g, o, y + look_px(&g.l, PLOT_TIME_AXIS + 24) + g.l.margin, n);
	for (i = 0; i < n; i++) {
		g.trace = &t->w->traces[i];
		y = draw_panel(&g, y, each) + (i + 1 < n ? look_px(&g.l, GAP) : 0);
	}
	y = plot_time_axis(&g.plot, y) + look_px(&g.l, 16);
	write_note(&note, t, n);
	lines = picture_wrap(p, "note", -1, g.l.margin, y, p->w - 2 * g.l.margin, look_px(&g.l, 15), 3, true, &g.l.small, note.s,
			     note.n);
	y += (lines - 1) * look_px(&g.l, 15) + g.l.margin;
	p->h = o->height > (uint64_t)y ? (int)o->height : y;
	text_free(&title);
	text_free(&subtitle);
	text_free(&note);
}
