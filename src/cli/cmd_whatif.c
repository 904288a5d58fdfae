/* cmd_whatif.c: gpumemsnap whatif: what would this program have cost under other allocator settings? */
#include "cli/drawing.h"
#include "cli/snapshot.h"
#include "render/timeline.h"
#include "render/whatif_out.h"
#include "render/whatif_picture.h"
#include <string.h>
#include <unistd.h>

struct whatif_opts {
	struct option_list conf;
	uint64_t device_mem, jobs;
	const char *device, *format;
	struct drawing drawing; /* its output is --timeline */
};

static const struct option_row whatif_options[] = {
    {"conf", 'c', OPT_LIST, offsetof(struct whatif_opts, conf), "STRING",
     "try this PYTORCH_CUDA_ALLOC_CONF; may be repeated (default: a grid of settings)"},
    {"device-mem", 'm', OPT_BYTES, offsetof(struct whatif_opts, device_mem), "SIZE",
     "memory of the device to run on, as 24GiB (default: as recorded, if known)"},
    {"device", 'd', OPT_STRING, offsetof(struct whatif_opts, device), "N", "replay this device only"},
    {"format", 'f', OPT_CHOICE, offsetof(struct whatif_opts, format), "text|json", "what to print (default text)"},
    {"jobs", 'j', OPT_U64, offsetof(struct whatif_opts, jobs), "N", "replays at a time (default: one per processor)"},
    {"timeline", 't', OPT_STRING, offsetof(struct whatif_opts, drawing) + offsetof(struct drawing, output), "FILE",
     "draw what the best settings reserve, event by event (PNG)"},
    DRAWING_LOOKS(offsetof(struct whatif_opts, drawing)),
    {0},
};

static int draw(const struct whatif_opts *o, const struct whatif *w, const struct model *m,
		const struct bands_axis *axis, struct err *e)
{
	struct whatif_picture pic = {.w = w, .m = m, .asked = o->conf.n > 0, .axis = *axis};
	struct font *font;
	struct picture p;
	int rc;

	if (!w->n_traces)
		return err_set(e, ERR_INPUT, m->file, -1, "the recording has no allocations to replay: there is nothing to draw");
	font = font_open(e);
	if (!font)
		return -1;
	whatif_layout(&p, &pic, &o->drawing.look, font);
	rc = drawing_save(&o->drawing, &p, e);
	picture_free(&p);
	font_close(font);
	return rc;
}

static int print(const struct whatif_opts *o, const struct whatif *w, const struct model *m,
		 const struct bands_axis *axis, struct err *e)
{
	struct page page;

	if (o->drawing.output && draw(o, w, m, axis, e))
		return -1;
	if (o->drawing.output && !strcmp(o->drawing.output, "-"))
		return 0; /* the picture has taken standard output */
	if (!strcmp(o->format, "json")) {
		whatif_json(stdout, w, m);
	} else {
		page_open(&page, stdout, 0);
		whatif_text(&page, w, m);
	}
	return 0;
}

static int predict(const struct whatif_opts *o, const struct model *m, struct err *e)
{
	struct whatif_options options = {
	    .conf = o->conf.v, .n_conf = o->conf.n, .device_mem = o->device_mem, .device = -1};
	struct bands_axis axis = {.to = (int64_t)(m->ev.n - m->n_initial) + 1, .columns = timeline_plot(&o->drawing.look)};
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct whatif w;
	int rc;

	options.threads = (unsigned)(o->jobs && o->jobs < 256 ? o->jobs : processors > 0 ? (uint64_t)processors : 1);
	options.axis = o->drawing.output ? &axis : NULL;
	if (o->device) {
		options.device = snapshot_device(m, o->device, e);
		if (options.device < 0)
			return -1;
	}
	if (whatif_make(&w, m, &options, e))
		return -1;
	rc = print(o, &w, m, &axis, e);
	whatif_free(&w);
	return rc;
}

static int whatif_run(void *options, int argc, char **argv, struct err *e)
{
	struct whatif_opts *o = options;
	const char *path;
	struct model m;
	int rc;

	if (o->drawing.output && drawing_check(&o->drawing, "whatif --timeline -", e))
		return -1;
	path = snapshot_path("whatif", argc, argv, e);
	if (!path || snapshot_read(&m, path, e))
		return -1;
	rc = predict(o, &m, e);
	model_free(&m);
	return rc;
}

extern const struct command cmd_whatif;
const struct command cmd_whatif = {
    .name = "whatif",
    .usage = "[OPTIONS] [SNAP]",
    .summary = "what would other allocator settings have cost?",
    .run = whatif_run,
    .options = whatif_options,
    .defaults = &(const struct whatif_opts){.format = "text"},
    .size = sizeof(struct whatif_opts),
};
