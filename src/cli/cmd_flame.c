/* cmd_flame.c: gpumemsnap flame: live memory by stack as a PNG. */
#include "analyze/live.h"
#include "analyze/rank.h"
#include "analyze/totals.h"
#include "base/mem.h"
#include "cli/drawing.h"
#include "cli/moment.h"
#include "cli/options.h"
#include "cli/snapshot.h"
#include "render/flame.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct flame_opts {
	const char *at, *by, *device;
	bool invert, reverse, fold, merge_lines, full;
	struct drawing drawing;
};

static const struct option_row flame_options[] = {
    {"at", 0, OPT_STRING, offsetof(struct flame_opts, at), "peak|end|total|TIME",
     "which instant; total: everything allocated (default peak)"},
    {"by", 0, OPT_CHOICE, offsetof(struct flame_opts, by), "bytes|count", "what widths mean (default bytes)"},
    {"device", 'd', OPT_STRING, offsetof(struct flame_opts, device), "N",
     "which device (default: the one with the highest peak)"},
    {"invert", 0, OPT_FLAG, offsetof(struct flame_opts, invert), NULL, "the outermost caller on top"},
    {"reverse", 0, OPT_FLAG, offsetof(struct flame_opts, reverse), NULL,
     "begin with the function that allocated; callers follow"},
    {"fold", 0, OPT_FLAG, offsetof(struct flame_opts, fold), NULL, "draw recursion once"},
    {"merge-lines", 0, OPT_FLAG, offsetof(struct flame_opts, merge_lines), NULL,
     "one box per function, whatever the line"},
    DRAWING_OPTIONS(offsetof(struct flame_opts, drawing)),
    {0},
};

static void describe_when(struct text *t, const struct model *m, uint8_t device, const struct moment *at)
{
	char when[TEXT_SIZE_MAX], number[TEXT_SIZE_MAX];
	int64_t event = at->row < m->ev.n ? totals_event(m, device, at->row) : -1;

	if (at->total || m->history == HISTORY_NONE)
		return;
	text_puts(t, " \xc2\xb7 ");
	if (at->known_time && m->has_time)
		text_printf(t, "%s after the recording began", text_ns(when, at->t_ns));
	else
		text_puts(t, at->word);
	if (event >= 0)
		text_printf(t, " (event %s)", text_count(number, (uint64_t)event));
	else
		text_puts(t, " (before the first event)");
}

static void write_title(struct text *t, const struct model *m, const struct moment *at, bool count)
{
	char amount[TEXT_SIZE_MAX], when[TEXT_SIZE_MAX];

	if (count)
		text_printf(t, "%s blocks of GPU memory ", text_count(amount, at->live.count));
	else
		text_printf(t, "%s of GPU memory ", text_bytes(amount, at->live.bytes));
	if (at->total)
		text_puts(t, "allocated in all");
	else if (!strcmp(at->word, "then"))
		text_printf(t, "live at %s%s", m->has_time ? "" : "event ",
		            m->has_time ? text_ns(when, at->t_ns) : text_count(when, (uint64_t)at->t_ns));
	else
		text_printf(t, "live %s", at->word);
}

static void write_subtitle(struct text *t, const struct model *m, uint8_t device, const struct moment *at,
                           const struct flame *tree)
{
	const char *name = model_text(m, m->device[device].name);
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], c[TEXT_SIZE_MAX];

	text_printf(t, "%s \xc2\xb7 GPU %u%s%s", m->file, device, *name ? " " : "", name);
	describe_when(t, m, device, at);
	text_printf(t, " \xc2\xb7 %s bytes in %s block%s from %s stack%s", text_count(a, at->live.bytes),
	            text_count(b, at->live.count), at->live.count == 1 ? "" : "s",
	            text_count(c, tree->stacks), tree->stacks == 1 ? "" : "s");
}

static int draw(const struct flame_opts *o, const struct model *m, uint8_t device, struct font *font,
                struct err *e)
{
	struct moment at;
	struct flame tree;
	struct rank rank;
	struct picture p;
	struct text title = {0}, subtitle = {0};
	bool count = o->by && !strcmp(o->by, "count");

	if (moment_find(&at, m, device, o->at, e))
		return -1;
	flame_begin(&tree, m, &(struct flame_options){o->reverse, o->fold, o->merge_lines});
	for (size_t i = 0; i < at.live.n; i++)
		flame_add(&tree, at.live.rows[i].stack,
		          count ? at.live.rows[i].count : at.live.rows[i].bytes);
	rank_make(&rank, m);
	write_title(&title, m, &at, count);
	write_subtitle(&subtitle, m, device, &at, &tree);
	flame_layout(&p,
	             &(struct flame_picture){.m = m,
	                                     .tree = &tree,
	                                     .rank = &rank,
	                                     .title = title.s,
	                                     .subtitle = subtitle.s,
	                                     .count = count,
	                                     .invert = o->invert,
	                                     .full = o->full},
	             &o->drawing.look, font);
	picture_meta(&p, "Title", "%s", o->drawing.title ? o->drawing.title : title.s);
	picture_meta(&p, "Description", "%s", subtitle.s);
	picture_meta(&p, "Source", "%s", m->file);
	if (m->command)
		picture_meta(&p, "Command", "%s", m->command);
	picture_meta(&p, "Bytes", "%llu", (unsigned long long)at.live.bytes);
	picture_meta(&p, "Blocks", "%llu", (unsigned long long)at.live.count);
	int rc = drawing_save(&o->drawing, &p, e);
	picture_free(&p);
	text_free(&title);
	text_free(&subtitle);
	flame_free(&tree);
	live_free(&at.live);
	return rc;
}

static int flame_run(const struct command *self, int argc, char **argv, struct err *e)
{
	struct flame_opts o = {0};
	struct font *font;
	struct model m;
	const char *path;
	bool helped;
	int rc = -1, device;

	if (options_parse(self, &o, &argc, argv, false, &helped, e) || helped)
		return helped ? 0 : -1;
	if (drawing_check(&o.drawing, "flame", e) || !(path = snapshot_path("flame", argc, argv, e)))
		return -1;
	if (!(font = font_open(e)))
		return -1;
	if (!snapshot_read(&m, path, e)) {
		device = snapshot_device(&m, o.device, e);
		if (device >= 0)
			rc = draw(&o, &m, (uint8_t)device, font, e);
		model_free(&m);
	}
	font_close(font);
	return rc;
}

extern const struct command cmd_flame;
const struct command cmd_flame = {
    .name = "flame",
    .usage = "[options] [SNAP] > flame.png",
    .summary = "draw live memory by stack as a flame graph (PNG)",
    .run = flame_run,
    .options = flame_options,
};
