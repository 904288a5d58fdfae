/* timeline_segments.c: the views of `gpumemsnap timeline` that show addresses. */
#include "cli/snapshot.h"
#include "cli/timeline_opts.h"
#include "render/segmap.h"
#include <stdio.h>
#include <string.h>

static int draw_map(const struct timeline_opts *o, struct timeline_picture *pic, struct font *font,
                    struct err *e)
{
	struct text title = {0}, subtitle = {0};
	char blocks[TEXT_SIZE_MAX], held[TEXT_SIZE_MAX];
	struct segmap map;
	struct picture p;

	segmap_make(&map, pic->m, pic->panel->device);
	text_printf(&title, "Where GPU %u's blocks lie over time", pic->panel->device);
	timeline_subtitle(&subtitle, pic);
	text_printf(&subtitle, " \xc2\xb7 %s block%s", text_count(blocks, map.blocks.n),
	            map.blocks.n == 1 ? "" : "s");
	if (map.held.n)
		text_printf(&subtitle, " in %s segment%s", text_count(held, map.held.n),
		            map.held.n == 1 ? " or mapped range" : "s and mapped ranges");
	pic->title = title.s;
	pic->subtitle = subtitle.s;
	segmap_layout(&p, pic, &map, &o->drawing.look, font);
	int rc = timeline_save(o, pic, &p, e);
	picture_free(&p);
	segmap_free(&map);
	text_free(&title);
	text_free(&subtitle);
	return rc;
}

/* The row of --at, and words for the title. */
static int find_instant(const char *at, const struct timeline_picture *pic, size_t *row, char *words,
                        size_t size, struct err *e)
{
	const struct model *m = pic->m;
	char when[TEXT_SIZE_MAX];
	int64_t t;

	if (!strcmp(at, "peak")) {
		*row = live_peak_row(m, pic->panel->device);
		snprintf(words, size, "at the peak");
	} else if (!strcmp(at, "end")) {
		*row = m->ev.n - 1;
		snprintf(words, size, "at the end");
	} else if (snapshot_time(m, "at", at, &t, e)) {
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

static int draw_state(const struct timeline_opts *o, const char *at, struct timeline_picture *pic,
                      struct font *font, struct err *e)
{
	struct text title = {0}, subtitle = {0};
	struct picture p;
	struct space s;
	char words[80];
	size_t row;

	if (find_instant(at, pic, &row, words, sizeof words, e))
		return -1;
	space_at(pic->m, pic->panel->device, row, &s);
	if (!s.known) {
		space_free(&s);
		segmap_blocks_as_segments(&s, pic->m, pic->panel->device, row);
	}
	text_printf(&title, "Segments of GPU %u %s", pic->panel->device, words);
	timeline_subtitle(&subtitle, pic);
	describe_space(&subtitle, &s);
	pic->title = title.s;
	pic->subtitle = subtitle.s;
	segstate_layout(&p, pic, &s, &o->drawing.look, font);
	int rc = timeline_save(o, pic, &p, e);
	picture_free(&p);
	space_free(&s);
	text_free(&title);
	text_free(&subtitle);
	return rc;
}

int timeline_segments(const struct timeline_opts *o, struct timeline_picture *pic, struct font *font,
                      struct err *e)
{
	int device = snapshot_device(pic->m, o->device, e);

	if (device < 0)
		return -1;
	pic->n = 1;
	pic->view = TIMELINE_SEGMENTS;
	pic->axis.columns = segmap_plot(&o->drawing.look);
	timeline_panel(pic->panel, pic, (uint8_t)device, BANDS_MAX);
	/* Without events nothing changes, and a map over time would only be stripes. */
	const char *at = o->at ? o->at : pic->m->n_initial == pic->m->ev.n ? "end" : NULL;
	return at ? draw_state(o, at, pic, font, e) : draw_map(o, pic, font, e);
}
