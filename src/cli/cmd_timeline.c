/* cmd_timeline.c: gpumemsnap timeline: memory over time, or the map of segments, as a PNG. */
#include "analyze/frames.h"
#include "base/mem.h"
#include "cli/snapshot.h"
#include "cli/timeline_opts.h"
#include "cli/together.h"
#include <stdlib.h>
#include <string.h>

static const struct option_row timeline_options[] = {
    {"view", 0, OPT_CHOICE, offsetof(struct timeline_opts, view), "active|reserved|segments",
     "what is drawn (default active)"},
    {"group", 'g', OPT_CHOICE, offsetof(struct timeline_opts, group), GROUP_WORDS,
     "what a band is (default stack)"},
    {"axis", 0, OPT_CHOICE, offsetof(struct timeline_opts, axis), "time|events",
     "what the axis counts (default time, unless nearly all events happen in a small part of it)"},
    {"from", 0, OPT_STRING, offsetof(struct timeline_opts, from), "TIME",
     "begin there, e.g. 1.5s (default: the recording's begin)"},
    {"to", 0, OPT_STRING, offsetof(struct timeline_opts, to), "TIME",
     "end there (default: the recording's end)"},
    {"at", 0, OPT_STRING, offsetof(struct timeline_opts, at), "TIME|peak|end",
     "draw the segments at this instant (implies --view segments)"},
    {"device", 'd', OPT_STRING, offsetof(struct timeline_opts, device), "N",
     "one device (default: all, below each other)"},
    {"own-scale", 0, OPT_FLAG, offsetof(struct timeline_opts, own_scale), NULL,
     "of several panels each has a bytes axis of its own"},
    DRAWING_OPTIONS(offsetof(struct timeline_opts, drawing)),
    {0},
};

static void whole_window(struct bands_axis *x, const struct together *all)
{
	for (size_t i = 0; i < all->n; i++) {
		int64_t from = all->span[i].from, to = all->span[i].to, shift = all->shift[i];
		x->from = !i || from + shift < x->from ? from + shift : x->from;
		x->to = !i || to + shift > x->to ? to + shift : x->to;
	}
}

/* The part to draw, in the time of the first recording to begin. */
static int find_window(struct bands_axis *x, const struct timeline_opts *o, const struct together *all,
                       struct err *e)
{
	whole_window(x, all);
	if ((o->from && !snapshot_time(all->m, "from", o->from, &x->from, e)) ||
	    (o->to && !snapshot_time(all->m, "to", o->to, &x->to, e)))
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

static bool several_files(const struct timeline_picture *pic)
{
	return pic->n > 1 && pic->panel->file;
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
	if (several_files(pic))
		text_printf(t, " of %s", p->file);
	else if (pic->n > 1)
		text_printf(t, " of GPU %u", p->device);
}

static void about_recording(struct text *t, const struct timeline_panel *p)
{
	const char *of = p->file ? p->file : "", *colon = p->file ? ": " : "";
	char events[TEXT_SIZE_MAX];

	if (!p->m->complete)
		text_printf(t, " \xc2\xb7 %s%sthe recording is incomplete", of, colon);
	if (p->m->dropped_events && p->m->dropped_events != MODEL_UNKNOWN)
		text_printf(t, " \xc2\xb7 %s%s%s earlier events were dropped", of, colon,
		            text_count(events, p->m->dropped_events));
}

void timeline_subtitle(struct text *t, const struct timeline_picture *pic)
{
	static const char *const by[] = {"stack",  "function", "file", "module", "phase",
	                                 "stream", "thread",   "pool", "size",   "kind"};
	const struct model *m = pic->m;
	char events[TEXT_SIZE_MAX];
	uint64_t n = 0;

	for (size_t i = 0; i < pic->n; i++)
		n += pic->panel[i].events;
	text_puts(t, m->file);
	for (size_t i = 1; i < pic->n; i++)
		if (pic->panel[i].m != pic->panel[i - 1].m)
			text_printf(t, ", %s", pic->panel[i].m->file);
	if (pic->n == 1)
		text_printf(t, " \xc2\xb7 GPU %u%s%s", pic->panel->device,
		            *model_text(m, m->device[pic->panel->device].name) ? " " : "",
		            model_text(m, m->device[pic->panel->device].name));
	text_printf(t, " \xc2\xb7 %s event%s", text_count(events, n), n == 1 ? "" : "s");
	if (pic->view != TIMELINE_RESERVED)
		text_printf(t, " \xc2\xb7 by %s", by[pic->by]);
	for (size_t i = 0; i < pic->n; i++)
		if (!i || pic->panel[i].m != pic->panel[i - 1].m)
			about_recording(t, &pic->panel[i]);
}

/* The recording behind one that is drawn. */
static const struct model *recorded(const struct timeline_opts *o, const struct model *drawn)
{
	return &o->recorded[drawn - o->drawn];
}

static void write_meta(struct picture *p, const struct timeline_opts *o, const struct timeline_picture *pic,
                       const char *title, const char *subtitle)
{
	picture_meta(p, "Title", "%s", title);
	picture_meta(p, "Description", "%s", subtitle);
	for (size_t i = 0; i < pic->n; i++) {
		const struct model *m = pic->panel[i].m;
		if (i && m == pic->panel[i - 1].m)
			continue;
		drawing_source(p, recorded(o, m), model_digest(recorded(o, m)));
	}
	picture_meta(p, "Window", "%lld to %lld %s", (long long)timeline_time(pic, pic->axis.from),
	             (long long)timeline_time(pic, pic->axis.to), pic->m->has_time ? "ns" : "events");
	for (size_t i = 0; i < pic->n; i++)
		picture_meta(p, "Peak", "%s%sGPU %u: %llu bytes",
		             pic->panel[i].file ? pic->panel[i].file : "", pic->panel[i].file ? ", " : "",
		             pic->panel[i].device, (unsigned long long)pic->panel[i].peak);
}

int timeline_save(const struct timeline_opts *o, const struct timeline_picture *pic, struct picture *p,
                  struct err *e)
{
	write_meta(p, o, pic, o->drawing.title ? o->drawing.title : pic->title, pic->subtitle);
	return drawing_save(&o->drawing, p, e);
}

/* --- panels --------------------------------------------------------------------------------- */

/* One panel: a device of a recording. */
struct spot {
	size_t recording;
	uint8_t device;
};

static size_t find_spots(struct spot *spot, const struct timeline_opts *o, const struct together *all,
                         struct err *e)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		uint8_t device[256];
		size_t found = find_devices(device, o, &all->m[i], e);
		if (!found)
			return 0;
		for (size_t k = 0; k < found; k++)
			spot[n++] = (struct spot){i, device[k]};
	}
	return n;
}

/* "rank 3", where it is recorded, and the file's name without folders. */
static char *name_of(const struct model *m)
{
	const char *base = frames_base(m->file);

	return m->rank >= 0 ? mem_printf("rank %d \xc2\xb7 %s", m->rank, base) : mem_strdup(base);
}

static void fill_panels(struct timeline_picture *pic, const struct timeline_opts *o, const struct spot *spot,
                        const struct together *all)
{
	struct timeline_picture one = *pic;
	struct rank_places places = {0};
	struct rank rank;

	for (size_t i = 0; i < pic->n; i++) {
		size_t k = spot[i].recording;
		if (!i || k != spot[i - 1].recording) {
			rank_make(&rank, &o->recorded[k]);
			rank_share(&rank, &all->m[k], &places);
		}
		one.m = &all->m[k];
		one.rank = &rank;
		one.axis = pic->axis;
		one.axis.from -= all->shift[k];
		one.axis.to -= all->shift[k];
		timeline_panel(&pic->panel[i], &one, spot[i].device,
		               timeline_bands(&o->drawing.look, pic->n));
		pic->panel[i].file = all->n > 1 ? name_of(&all->m[k]) : NULL;
		pic->panel[i].begin = all->span[k].from;
		pic->panel[i].end = all->span[k].to;
	}
	map64_free(&places.by_stack);
}

static int draw_panels(const struct timeline_opts *o, struct timeline_picture *pic, const struct spot *spot,
                       const struct together *all, struct font *font, struct err *e)
{
	struct text title = {0}, subtitle = {0};
	struct map64 names = {0};
	struct picture p;

	pic->names = &names;
	pic->own_scale = o->own_scale;
	pic->since = all->n == 1       ? NULL
	             : all->same_clock ? "time since the first recording began"
	                               : "time since each recording began";
	pic->axis.columns = timeline_plot(&o->drawing.look);
	fill_panels(pic, o, spot, all);
	write_title(&title, pic);
	timeline_subtitle(&subtitle, pic);
	pic->title = title.s;
	pic->subtitle = subtitle.s;
	timeline_layout(&p, pic, &o->drawing.look, font);
	int rc = timeline_save(o, pic, &p, e);
	picture_free(&p);
	text_free(&title);
	text_free(&subtitle);
	map64_free(&names);
	pic->names = NULL;
	for (size_t i = 0; i < pic->n; i++)
		free((char *)(uintptr_t)pic->panel[i].file);
	return rc;
}

/* --- the whole ------------------------------------------------------------------------------ */

/* Without stacks they tell nothing apart: by stream, or by size where there is one stream. */
static enum group_by usual_group(const struct together *all)
{
	bool streams = false;

	for (size_t i = 0; i < all->n; i++) {
		if (all->m[i].stacks.n > 1)
			return BY_STACK;
		streams |= all->m[i].n_streams > 1;
	}
	return streams ? BY_STREAM : BY_SIZE;
}

static int draw_over_time(const struct timeline_opts *o, const struct together *all, bool by_event,
                          struct font *font, struct err *e)
{
	struct timeline_picture pic = {.m = all->m,
	                               .by_event = by_event,
	                               .cuts = o->cuts,
	                               .by = o->group ? group_parse(o->group) : usual_group(all),
	                               .dark = o->drawing.look.dark};
	bool segments = o->at || (o->view && !strcmp(o->view, "segments"));
	struct spot *spot;
	struct rank rank;
	int rc = -1;

	if (o->view && !strcmp(o->view, "reserved"))
		pic.view = TIMELINE_RESERVED;
	if (segments && all->n > 1)
		return err_set(e, ERR_USAGE, NULL, -1, "a picture of segments shows one snapshot, not %zu",
		               all->n);
	if (find_window(&pic.axis, o, all, e))
		return -1;
	spot = mem_alloc(all->n * 256 * sizeof *spot);
	pic.n = segments ? 1 : find_spots(spot, o, all, e);
	pic.panel = mem_zalloc(pic.n + 1, sizeof *pic.panel);
	if (segments) {
		rank_make(&rank, o->recorded);
		pic.rank = &rank;
		rc = timeline_segments(o, &pic, font, e);
	} else if (pic.n > timeline_most_panels(&o->drawing.look)) {
		err_set(e, ERR_USAGE, NULL, -1,
		        "%zu panels do not fit in one picture: give a smaller --scale or fewer files", pic.n);
	} else if (pic.n) {
		rc = draw_panels(o, &pic, spot, all, font, e);
	}
	for (size_t i = 0; i < pic.n; i++)
		timeline_panel_free(&pic.panel[i]);
	free(pic.panel);
	free(spot);
	return rc;
}

static void find_cuts(struct cuts *c, const struct together *all)
{
	struct bands_axis x = {0};

	whole_window(&x, all);
	cuts_find(c, all->m, all->shift, all->n, x.from, x.to);
}

/* As recorded, with event numbers for times, or without long idle times. */
static int draw(const struct timeline_opts *o, const struct together *all, struct font *font, struct err *e)
{
	bool by_event = o->axis ? !strcmp(o->axis, "events")
	                        : all->n == 1 && !o->from && !o->to && !o->at && together_crowded(all, 0);
	struct together counted;
	struct timeline_opts with = *o;
	struct cuts cuts = {0};
	int rc;

	with.recorded = with.drawn = all->m;
	if (all->n > 1 && all->m->has_time && !o->axis && !o->from && !o->to)
		find_cuts(&cuts, all);
	with.cuts = cuts.n ? &cuts : NULL;
	if (!with.cuts && (!by_event || !all->m->has_time || o->at))
		return draw_over_time(&with, all, false, font, e);
	if (with.cuts)
		together_cut(all, with.cuts, &counted);
	else
		together_count(all, &counted);
	with.drawn = counted.m;
	rc = draw_over_time(&with, &counted, !with.cuts, font, e);
	together_uncount(&counted);
	return rc;
}

static int timeline_run(void *options, int argc, char **argv, struct err *e)
{
	struct timeline_opts *o = options;
	struct snapshot_parts parts = {0};
	struct together all;
	struct font *font;
	int rc;

	if (drawing_check(&o->drawing, "timeline", e) || !(font = font_open(e)))
		return -1;
	rc = snapshot_parts(&parts, "timeline", argc, argv, e);
	if (!rc && !parts.n)
		rc = err_set(e, ERR_USAGE, NULL, -1, "timeline: there is no snapshot in this set");
	if (!rc)
		rc = together_read(&all, parts.v, parts.n, e);
	if (!rc) {
		rc = draw(o, &all, font, e);
		together_free(&all);
	}
	snapshot_parts_free(&parts);
	font_close(font);
	return rc;
}

extern const struct command cmd_timeline;
const struct command cmd_timeline = {
    .name = "timeline",
    .usage = "[options] [SNAP ...] > timeline.png",
    .summary = "draw memory over time, or the map of segments (PNG)",
    .run = timeline_run,
    .options = timeline_options,
    .size = sizeof(struct timeline_opts),
};
