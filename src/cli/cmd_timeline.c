/* cmd_timeline.c: gpumemsnap timeline: memory over time, or the map of segments, as a PNG. */
#include "analyze/totals.h"
#include "base/mem.h"
#include "cli/drawing.h"
#include "cli/options.h"
#include "cli/snapshot.h"
#include "render/segmap.h"
#include "render/timeline.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct timeline_opts {
	const char *view, *group, *from, *to, *at, *device;
	struct drawing drawing;
};

static const struct option_row timeline_options[] = {
    {"view", 0, OPT_CHOICE, offsetof(struct timeline_opts, view), "active|reserved|segments",
     "what is drawn (default active)"},
    {"group", 'g', OPT_CHOICE, offsetof(struct timeline_opts, group), GROUP_WORDS,
     "what a band is (default stack)"},
    {"from", 0, OPT_STRING, offsetof(struct timeline_opts, from), "TIME",
     "begin there, e.g. 1.5s (default: the recording's begin)"},
    {"to", 0, OPT_STRING, offsetof(struct timeline_opts, to), "TIME",
     "end there (default: the recording's end)"},
    {"at", 0, OPT_STRING, offsetof(struct timeline_opts, at), "TIME|peak|end",
     "draw the segments at this instant (implies --view segments)"},
    {"device", 'd', OPT_STRING, offsetof(struct timeline_opts, device), "N",
     "one device (default: all, below each other)"},
    DRAWING_OPTIONS(offsetof(struct timeline_opts, drawing)),
    {0},
};

static int find_window(struct bands_axis *x, const struct timeline_opts *o, const struct model *m,
                       struct err *e)
{
	int64_t last = m->duration_ns > 0 && m->has_time ? m->duration_ns : 0, first = 0;

	for (size_t row = m->n_initial; row < m->ev.n; row++) {
		last = m->ev.t_ns[row] > last ? m->ev.t_ns[row] : last;
		first = m->ev.t_ns[row] < first ? m->ev.t_ns[row] : first;
	}
	x->from = first;
	x->to = last;
	if ((o->from && !snapshot_time(m, "from", o->from, &x->from, e)) ||
	    (o->to && !snapshot_time(m, "to", o->to, &x->to, e)))
		return -1;
	if ((o->from || o->to) && x->from >= x->to)
		return err_set(e, ERR_USAGE, NULL, -1,
		               "--from must be before --to, and within the recording");
	if (x->to <= x->from)
		x->to = x->from + 1;
	return 0;
}

/* The devices to draw: those with events, or the one asked for. At least one. */
static size_t find_devices(uint8_t *device, const struct timeline_opts *o, const struct model *m,
                           struct err *e)
{
	bool has[256] = {0};
	size_t n = 0;

	if (o->device || m->n_initial == m->ev.n) {
		int d = snapshot_device(m, o->device, e);
		device[0] = (uint8_t)d;
		return d >= 0;
	}
	for (size_t row = m->n_initial; row < m->ev.n; row++)
		has[m->ev.device[row]] = true;
	for (int d = 0; d < MODEL_NO_DEVICE; d++)
		if (has[d])
			device[n++] = (uint8_t)d;
	if (!n)
		device[n++] = 0;
	return n;
}

static void write_title(struct text *t, const struct timeline_picture *pic)
{
	char bytes[TEXT_SIZE_MAX];
	const struct timeline_panel *p = pic->panel;

	for (size_t i = 1; i < pic->n; i++)
		if (pic->panel[i].peak > p->peak)
			p = &pic->panel[i];
	text_printf(t, "GPU memory over time: %s", text_bytes(bytes, p->peak));
	text_puts(t, pic->view == TIMELINE_RESERVED ? " reserved at the peak" : " live at the peak");
	if (pic->n > 1)
		text_printf(t, " of GPU %u", p->device);
}

static void write_subtitle(struct text *t, const struct timeline_picture *pic)
{
	static const char *const by[] = {"stack",  "function", "file", "module", "phase",
	                                 "stream", "thread",   "pool", "size",   "kind"};
	const struct model *m = pic->m;
	char events[TEXT_SIZE_MAX];
	uint64_t n = 0;

	for (size_t i = 0; i < pic->n; i++)
		n += pic->panel[i].events;
	text_printf(t, "%s", m->file);
	if (pic->n == 1)
		text_printf(t, " \xc2\xb7 GPU %u%s%s", pic->panel->device,
		            *model_text(m, m->device[pic->panel->device].name) ? " " : "",
		            model_text(m, m->device[pic->panel->device].name));
	text_printf(t, " \xc2\xb7 %s events", text_count(events, n));
	if (pic->view == TIMELINE_ACTIVE)
		text_printf(t, " \xc2\xb7 by %s", by[pic->by]);
	if (!m->complete)
		text_puts(t, " \xc2\xb7 the recording is incomplete");
	if (m->dropped_events && m->dropped_events != MODEL_UNKNOWN)
		text_printf(t, " \xc2\xb7 %s earlier events were dropped",
		            text_count(events, m->dropped_events));
}

static void write_meta(struct picture *p, const struct timeline_picture *pic, const char *title,
                       const char *subtitle)
{
	picture_meta(p, "Title", "%s", title);
	picture_meta(p, "Description", "%s", subtitle);
	picture_meta(p, "Source", "%s", pic->m->file);
	if (pic->m->command)
		picture_meta(p, "Command", "%s", pic->m->command);
	picture_meta(p, "Window", "%lld to %lld %s", (long long)pic->axis.from, (long long)pic->axis.to,
	             pic->m->has_time ? "ns" : "events");
	for (size_t i = 0; i < pic->n; i++)
		picture_meta(p, "Peak", "GPU %u: %llu bytes", pic->panel[i].device,
		             (unsigned long long)pic->panel[i].peak);
}

static int save(const struct timeline_opts *o, const struct timeline_picture *pic, struct picture *p,
                struct err *e)
{
	write_meta(p, pic, o->drawing.title ? o->drawing.title : pic->title, pic->subtitle);
	return drawing_save(&o->drawing, p, e);
}

static int draw_panels(const struct timeline_opts *o, struct timeline_picture *pic, const uint8_t *device,
                       struct font *font, struct err *e)
{
	struct text title = {0}, subtitle = {0};
	struct picture p;

	pic->axis.columns = timeline_plot(&o->drawing.look);
	for (size_t i = 0; i < pic->n; i++)
		timeline_panel(&pic->panel[i], pic, device[i], timeline_bands(&o->drawing.look, pic->n));
	write_title(&title, pic);
	write_subtitle(&subtitle, pic);
	pic->title = title.s;
	pic->subtitle = subtitle.s;
	timeline_layout(&p, pic, &o->drawing.look, font);
	int rc = save(o, pic, &p, e);
	picture_free(&p);
	text_free(&title);
	text_free(&subtitle);
	return rc;
}

static int draw_map(const struct timeline_opts *o, struct timeline_picture *pic, struct font *font,
                    struct err *e)
{
	struct text title = {0}, subtitle = {0};
	char blocks[TEXT_SIZE_MAX], held[TEXT_SIZE_MAX];
	struct segmap map;
	struct picture p;

	segmap_make(&map, pic->m, pic->panel->device);
	text_printf(&title, "Where GPU %u's blocks lie over time", pic->panel->device);
	write_subtitle(&subtitle, pic);
	text_printf(&subtitle, " \xc2\xb7 %s blocks", text_count(blocks, map.blocks.n));
	if (map.held.n)
		text_printf(&subtitle, " in %s segments and mapped ranges", text_count(held, map.held.n));
	pic->title = title.s;
	pic->subtitle = subtitle.s;
	segmap_layout(&p, pic, &map, &o->drawing.look, font);
	int rc = save(o, pic, &p, e);
	picture_free(&p);
	segmap_free(&map);
	text_free(&title);
	text_free(&subtitle);
	return rc;
}

/* The row of --at, and words for the title. */
static int find_instant(const struct timeline_opts *o, const struct timeline_picture *pic, size_t *row,
                        char *words, size_t size, struct err *e)
{
	const struct model *m = pic->m;
	char when[TEXT_SIZE_MAX];
	int64_t t;

	if (!strcmp(o->at, "peak")) {
		*row = live_peak_row(m, pic->panel->device);
		snprintf(words, size, "at the peak");
	} else if (!strcmp(o->at, "end")) {
		*row = m->ev.n - 1;
		snprintf(words, size, "at the end");
	} else if (snapshot_time(m, "at", o->at, &t, e)) {
		*row = snapshot_row_at(m, pic->panel->device, t);
		snprintf(words, size, "at %s%s", m->has_time ? "" : "event ",
		         m->has_time ? text_ns(when, t) : text_count(when, (uint64_t)t));
	} else {
		return -1;
	}
	return 0;
}

static void describe_space(struct text *t, const struct space *s)
{
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], c[TEXT_SIZE_MAX];

	text_printf(t, " \xc2\xb7 %s held in %s segment%s, %s used", text_bytes(a, s->reserved),
	            text_count(b, s->n), s->n == 1 ? "" : "s", text_bytes(c, s->used));
	if (s->free)
		text_printf(t, " \xc2\xb7 external fragmentation %.1f %%", 100 * space_external(s));
}

static int draw_state(const struct timeline_opts *o, struct timeline_picture *pic, struct font *font,
                      struct err *e)
{
	struct text title = {0}, subtitle = {0};
	struct picture p;
	struct space s;
	char words[80];
	size_t row;

	if (find_instant(o, pic, &row, words, sizeof words, e))
		return -1;
	space_at(pic->m, pic->panel->device, row, &s);
	if (!s.known) {
		space_free(&s);
		segmap_blocks_as_segments(&s, pic->m, pic->panel->device, row);
	}
	text_printf(&title, "Segments of GPU %u %s", pic->panel->device, words);
	write_subtitle(&subtitle, pic);
	describe_space(&subtitle, &s);
	pic->title = title.s;
	pic->subtitle = subtitle.s;
	segstate_layout(&p, pic, &s, &o->drawing.look, font);
	int rc = save(o, pic, &p, e);
	picture_free(&p);
	space_free(&s);
	text_free(&title);
	text_free(&subtitle);
	return rc;
}

static int draw_segments(const struct timeline_opts *o, struct timeline_picture *pic, struct font *font,
                         struct err *e)
{
	int device = snapshot_device(pic->m, o->device, e);

	if (device < 0)
		return -1;
	pic->n = 1;
	pic->axis.columns = segmap_plot(&o->drawing.look);
	timeline_panel(pic->panel, pic, (uint8_t)device, BANDS_MAX);
	return o->at ? draw_state(o, pic, font, e) : draw_map(o, pic, font, e);
}

static int draw(const struct timeline_opts *o, const struct model *m, struct font *font, struct err *e)
{
	struct timeline_picture pic = {
	    .m = m, .by = o->group ? group_parse(o->group) : BY_STACK, .dark = o->drawing.look.dark};
	struct rank rank;
	uint8_t device[256];
	int rc;

	if (o->view && !strcmp(o->view, "reserved"))
		pic.view = TIMELINE_RESERVED;
	if (find_window(&pic.axis, o, m, e) || !(pic.n = find_devices(device, o, m, e)))
		return -1;
	rank_make(&rank, m);
	pic.rank = &rank;
	pic.panel = mem_zalloc(pic.n, sizeof *pic.panel);
	if (o->at || (o->view && !strcmp(o->view, "segments")))
		rc = draw_segments(o, &pic, font, e);
	else
		rc = draw_panels(o, &pic, device, font, e);
	for (size_t i = 0; i < pic.n; i++)
		timeline_panel_free(&pic.panel[i]);
	free(pic.panel);
	return rc;
}

static int timeline_run(const struct command *self, int argc, char **argv, struct err *e)
{
	struct timeline_opts o = {0};
	struct font *font;
	struct model m;
	const char *path;
	bool helped;
	int rc = -1;

	if (options_parse(self, &o, &argc, argv, false, &helped, e) || helped)
		return helped ? 0 : -1;
	if (drawing_check(&o.drawing, "timeline", e) || !(path = snapshot_path("timeline", argc, argv, e)))
		return -1;
	if (!(font = font_open(e)))
		return -1;
	if (!snapshot_read(&m, path, e)) {
		rc = draw(&o, &m, font, e);
		model_free(&m);
	}
	font_close(font);
	return rc;
}

extern const struct command cmd_timeline;
const struct command cmd_timeline = {
    .name = "timeline",
    .usage = "[options] [SNAP] > timeline.png",
    .summary = "draw memory over time, or the map of segments (PNG)",
    .run = timeline_run,
    .options = timeline_options,
};
