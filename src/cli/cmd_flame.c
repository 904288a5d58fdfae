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
	const char *at, *device;
	struct option_list by;
	bool invert, reverse, fold, merge_lines, full;
	struct drawing drawing;
};

static const struct option_row flame_options[] = {
    {"at", 0, OPT_STRING, offsetof(struct flame_opts, at), "peak|end|total|TIME",
     "which instant; total: everything allocated (default peak)"},
    {"by", 0, OPT_LIST, offsetof(struct flame_opts, by), "bytes|count|function|file|module|phase",
     "what widths mean, what a box is, or what is at the root (may be repeated; default bytes, function)"},
    {"device", 'd', OPT_STRING, offsetof(struct flame_opts, device), "N",
     "which device (default: the one with the highest peak)"},
    {"invert", 0, OPT_FLAG, offsetof(struct flame_opts, invert), NULL, "the outermost caller on top"},
    {"reverse", 0, OPT_FLAG, offsetof(struct flame_opts, reverse), NULL,
     "begin with the function that allocated; callers follow"},
    {"fold", 0, OPT_FLAG, offsetof(struct flame_opts, fold), NULL, "draw recursion once"},
    {"merge-lines", 0, OPT_FLAG, offsetof(struct flame_opts, merge_lines), NULL,
     "one box per function, whatever the line"},
    {"full", 0, OPT_FLAG, offsetof(struct flame_opts, full), NULL,
     "draw every frame, however tall the picture becomes"},
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
		text_printf(t, "%s block%s of GPU memory ", text_count(amount, at->live.count),
		            at->live.count == 1 ? "" : "s");
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

static size_t stacks_with_bytes(const struct live *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->rows[i].bytes != 0;
	return n;
}

static void write_subtitle(struct text *t, const struct model *m, uint8_t device, const struct moment *at)
{
	size_t stacks = stacks_with_bytes(&at->live);
	const char *name = model_text(m, m->device[device].name);
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], c[TEXT_SIZE_MAX];

	text_printf(t, "%s \xc2\xb7 GPU %u%s%s", m->file, device, *name ? " " : "", name);
	describe_when(t, m, device, at);
	text_printf(t, " \xc2\xb7 %s bytes in %s block%s from %s stack%s", text_count(a, at->live.bytes),
	            text_count(b, at->live.count), at->live.count == 1 ? "" : "s", text_count(c, stacks),
	            stacks == 1 ? "" : "s");
}

/* What --by says. */
struct by {
	bool count, phases;
	enum level level;
};

static int parse_by(const struct flame_opts *o, struct by *by, struct err *e)
{
	*by = (struct by){0};
	for (size_t i = 0; i < o->by.n; i++) {
		const char *word = o->by.v[i];
		if (!strcmp(word, "bytes") || !strcmp(word, "count"))
			by->count = *word == 'c';
		else if (!strcmp(word, "phase"))
			by->phases = true;
		else if (!strcmp(word, "function"))
			by->level = LEVEL_FUNCTION;
		else if (!strcmp(word, "file"))
			by->level = LEVEL_FILE;
		else if (!strcmp(word, "module"))
			by->level = LEVEL_MODULE;
		else
			return err_set(e, ERR_USAGE, NULL, -1,
			               "--by: '%s' is not bytes, count, function, file, module or phase",
			               word);
	}
	return 0;
}

static void fill(struct flame *tree, struct levels *levels, const struct moment *at, uint8_t device,
                 const struct by *by)
{
	if (by->level == LEVEL_FUNCTION && !by->phases) {
		for (size_t i = 0; i < at->live.n; i++)
			flame_add(tree, at->live.rows[i].stack,
			          by->count ? at->live.rows[i].count : at->live.rows[i].bytes);
		return;
	}
	levels_fill(levels, tree, device, at->row, at->total, by->count);
}

static int draw(const struct flame_opts *o, const struct by *by, struct model *m, uint8_t device,
                struct font *font, struct err *e)
{
	struct moment at;
	struct flame tree;
	struct levels levels;
	struct rank rank;
	struct picture p;
	struct text title = {0}, subtitle = {0};
	uint64_t digest = model_digest(m);

	if (moment_find(&at, m, device, o->at, e))
		return -1;
	rank_make(&rank, m);
	levels_make(&levels, m, by->level, by->phases, o->reverse);
	flame_begin(&tree, m, &(struct flame_options){o->reverse, o->fold, o->merge_lines});
	fill(&tree, &levels, &at, device, by);
	write_title(&title, m, &at, by->count);
	write_subtitle(&subtitle, m, device, &at);
	flame_layout(&p,
	             &(struct flame_picture){.m = m,
	                                     .tree = &tree,
	                                     .rank = &rank,
	                                     .title = title.s,
	                                     .subtitle = subtitle.s,
	                                     .levels = &levels,
	                                     .count = by->count,
	                                     .invert = o->invert,
	                                     .full = o->full},
	             &o->drawing.look, font);
	picture_meta(&p, "Title", "%s", o->drawing.title ? o->drawing.title : title.s);
	picture_meta(&p, "Description", "%s", subtitle.s);
	drawing_source(&p, m, digest);
	if (at.known_time)
		picture_meta(&p, "Instant", "%lld %s", (long long)at.t_ns, m->has_time ? "ns" : "events");
	picture_meta(&p, "Bytes", "%llu", (unsigned long long)at.live.bytes);
	picture_meta(&p, "Blocks", "%llu", (unsigned long long)at.live.count);
	int rc = drawing_save(&o->drawing, &p, e);
	picture_free(&p);
	text_free(&title);
	text_free(&subtitle);
	flame_free(&tree);
	levels_free(&levels);
	live_free(&at.live);
	return rc;
}

static int flame_run(void *options, int argc, char **argv, struct err *e)
{
	struct flame_opts *o = options;
	struct by by;
	struct font *font;
	struct model m;
	const char *path;
	int rc, device;

	if (parse_by(o, &by, e) || drawing_check(&o->drawing, "flame", e) || !(path = snapshot_path("flame", argc, argv, e)))
		return -1;
	if (!(font = font_open(e)))
		return -1;
	rc = snapshot_read(&m, path, e);
	if (!rc) {
		device = snapshot_device(&m, o->device, e);
		rc = -1;
		if (device >= 0)
			rc = draw(o, &by, &m, (uint8_t)device, font, e);
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
    .size = sizeof(struct flame_opts),
};
