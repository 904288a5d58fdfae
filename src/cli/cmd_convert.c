/* cmd_convert.c: gpumemsnap convert: a recording in another format. */
#include "analyze/frames.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/snapshot.h"
#include "cli/views.h"
#include "format/export.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct convert_opts {
	const char *to, *output, *at, *by, *device;
};

static const char format_words[] = ""
#define EXPORT(name, suffix, needs, binary, what) "|" #name
#include "format/exports.def"
#undef EXPORT
	;

static const struct option_row convert_options[] = {
	{"to", 't', OPT_CHOICE, offsetof(struct convert_opts, to), format_words + 1,
	 "the format; without it the ending of the output's name decides (default json)"},
	{"output", 'o', OPT_STRING, offsetof(struct convert_opts, output), "FILE",
	 "write here (default: standard output); .gz compresses"},
	{"at", 0, OPT_STRING, offsetof(struct convert_opts, at), "peak|end|total|TIME",
	 "which instant, for formats that show one (default peak)"},
	{"by", 0, OPT_CHOICE, offsetof(struct convert_opts, by), "bytes|count",
	 "what is counted, for formats that have one number per stack (default bytes)"},
	{"device", 'd', OPT_STRING, offsetof(struct convert_opts, device), "N",
	 "which device, for formats that show one (default: the one with the highest peak)"},
	{0},
};

static const struct exporter *choose(const struct convert_opts *o)
{
	const struct exporter *x = !o->to && o->output ? export_by_suffix(o->output) : NULL;

	return x ? x : export_find(o->to ? o->to : "json");
}

static int write_to(const struct exporter *x, const struct export_view *v, const char *path, struct err *e)
{
	struct output *o = output_open(path, e);
	struct progress *p;
	int rc;

	if (!o)
		return -1;
	p = progress_begin("writing %s", path);
	rc = output_end(o, x->write(v, o, e), e);
	progress_end(p);
	return rc;
}

static int convert(const struct exporter *x, const struct model *m, const struct convert_opts *o, struct err *e)
{
	struct export_view v = {.m = m,
				.by_count = o->by && !strcmp(o->by, "count"),
				.when = o->at ? o->at : "peak",
				.start = frames_start};
	int device = x->needs == EXPORT_MODEL ? 0 : snapshot_device(m, o->device, e), rc = -1;

	if (device < 0)
		return -1;
	v.device = (uint8_t)device;
	if (x->needs == EXPORT_SERIES)
		views_series(&v);
	if (x->needs == EXPORT_COUNTERS)
		views_counters(&v);
	if (x->needs != EXPORT_MOMENT || !views_moment(&v, o->at, e))
		rc = write_to(x, &v, o->output ? o->output : "-", e);
	views_free(&v);
	return rc;
}

static int convert_run(void *options, int argc, char **argv, struct err *e)
{
	struct convert_opts *o = options;
	const struct exporter *x = choose(o);
	const char *path;
	struct model m;
	int rc;

	path = snapshot_path("convert", argc, argv, e);
	if (!path)
		return -1;
	if (x->binary && (!o->output || !strcmp(o->output, "-")) && isatty(1))
		return err_set(e, ERR_USAGE, NULL, -1, "%s is not for a terminal: gpumemsnap convert --to %s > out%s",
			       x->name, x->name, x->suffix);
	if (snapshot_read(&m, path, e))
		return -1;
	rc = convert(x, &m, o, e);
	model_free(&m);
	return rc;
}

extern const struct command cmd_convert;
const struct command cmd_convert = {
	.name = "convert",
	.usage = "[OPTIONS] [SNAP|SPOOL]",
	.summary = "write a recording in another format",
	.run = convert_run,
	.options = convert_options,
	.size = sizeof(struct convert_opts),
};
