/* cmd_diff.c: gpumemsnap diff: what changed from one recording to another, as text, JSON or a picture. */
#include "analyze/diff.h"
#include "base/mem.h"
#include "cli/diff_picture.h"
#include "cli/narrowing.h"
#include "cli/options.h"
#include "cli/snapshot.h"
#include "render/diff_out.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSET UINT64_MAX

struct options {
	const char *format;
	uint64_t top, width;
	struct narrowing narrowing;
	const char *at, *by;
	struct drawing drawing;
};

static const struct option_row rows[] = {
    {"format", 'f', OPT_CHOICE, offsetof(struct options, format), "text|json",
     "what to print (default text)"},
    {"top", 'n', OPT_U64, offsetof(struct options, top), "N",
     "stacks per device (default 15, in JSON all; 0: all)"},
    NARROWING_OPTIONS(offsetof(struct options, narrowing)),
    {"width", 'w', OPT_U64, offsetof(struct options, width), "COLUMNS",
     "width of the text (default: the terminal's), or of the picture in pixels"},
    {"flame", 0, OPT_STRING, offsetof(struct options, drawing.output), "FILE",
     "draw a differential flame graph (PNG) there instead; - is standard output"},
    {"at", 0, OPT_CHOICE, offsetof(struct options, at), "peak|end",
     "which instant --flame draws (default peak)"},
    {"by", 0, OPT_CHOICE, offsetof(struct options, by), "bytes|count",
     "what its widths and colours tell: bytes or blocks (default bytes)"},
    {"theme", 0, OPT_CHOICE, offsetof(struct options, drawing.theme), "light|dark",
     "its colours (default light)"},
    {"scale", 0, OPT_REAL, offsetof(struct options, drawing.scale), "FACTOR",
     "size of its text and lines (default: width / 1200)"},
    {"title", 0, OPT_STRING, offsetof(struct options, drawing.title), "TEXT", "its heading"},
    {"layout", 0, OPT_FLAG, offsetof(struct options, drawing.layout), NULL,
     "print what it draws where as text, no PNG"},
    {0},
};

static void compare(const struct options *o, const struct model *const m[2])
{
	struct totals totals[2];
	const struct totals *const t[2] = {&totals[0], &totals[1]};
	struct diff *devices = NULL;
	struct diff_set set = {.m = {m[0], m[1]}};
	size_t cap = 0, i;
	unsigned dev;

	totals_all(&totals[0], m[0]);
	totals_all(&totals[1], m[1]);
	for (dev = 0; dev < MODEL_NO_DEVICE; dev++)
		if (totals[0].device[dev] || totals[1].device[dev])
			diff_make(VEC_PUSH(devices, set.n, cap), m, t, (uint8_t)dev);
	set.devices = devices;
	if (!strcmp(o->format, "json")) {
		diff_json(stdout, &set, o->top == UNSET ? 0 : o->top);
	} else {
		struct page page;

		page_open(&page, stdout, o->width);
		diff_text(&page, &set, o->top == UNSET ? 15 : o->top);
	}
	for (i = 0; i < set.n; i++)
		diff_free(&devices[i]);
	free(devices);
	totals_free(&totals[0]);
	totals_free(&totals[1]);
}

/* The device asked for, else the one whose peak in B is highest. */
static int draw(struct options *o, const struct model *a, struct model *b, struct err *e)
{
	const struct model *busier = b->ev.n || !a->ev.n ? b : a;
	int device = snapshot_device(busier, NULL, e);

	if (device < 0)
		return -1;
	return diff_picture(&o->drawing, a, b, (uint8_t)device, o->at && !strcmp(o->at, "end"),
	                    o->by && !strcmp(o->by, "count"), e);
}

static int diff_run(void *options, int argc, char **argv, struct err *e)
{
	struct options *o = options;
	struct model m[2];
	const struct model *const both[2] = {&m[0], &m[1]};
	int side, rc = 0;

	if (argc != 2)
		return err_set(e, ERR_USAGE, NULL, -1, "diff takes two snapshots, not %d", argc);
	if ((o->at || o->by || o->drawing.theme || o->drawing.scale || o->drawing.title ||
	     o->drawing.layout) &&
	    !o->drawing.output)
		return err_set(e, ERR_USAGE, NULL, -1,
		               "--at, --by and what a picture looks like need --flame FILE");
	o->drawing.width = o->width;
	if (o->drawing.output && drawing_check(&o->drawing, "diff", e))
		return -1;
	for (side = 0; side < 2 && !rc; side++) {
		rc = snapshot_read(&m[side], argv[side], e);
		if (!rc && narrowing_apply(&o->narrowing, &m[side], e)) {
			model_free(&m[side]);
			rc = -1;
		}
		if (rc)
			break;
	}
	if (!rc && o->drawing.output)
		rc = draw(o, &m[0], &m[1], e);
	else if (!rc)
		compare(o, both);
	while (side-- > 0)
		model_free(&m[side]);
	return rc;
}

extern const struct command cmd_diff;
const struct command cmd_diff = {
    .name = "diff",
    .usage = "[OPTIONS] A B",
    .summary = "what changed from one recording to another, stack by stack",
    .run = diff_run,
    .options = rows,
    .defaults = &(const struct options){.format = "text", .top = UNSET},
    .size = sizeof(struct options),
};
