/* cmd_whatif.c: gpumemsnap whatif: what would this program have cost under other allocator settings? */
#include "analyze/whatif.h"
#include "cli/options.h"
#include "cli/snapshot.h"
#include "render/whatif_out.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct whatif_opts {
	struct option_list conf;
	uint64_t device_mem, jobs;
	const char *device, *format;
};

static const struct option_row whatif_options[] = {
    {"conf", 'c', OPT_LIST, offsetof(struct whatif_opts, conf), "STRING",
     "try this PYTORCH_CUDA_ALLOC_CONF; may be repeated (default: a grid of settings)"},
    {"device-mem", 'm', OPT_BYTES, offsetof(struct whatif_opts, device_mem), "SIZE",
     "memory of the device to run on, as 24GiB (default: as recorded, if known)"},
    {"device", 'd', OPT_STRING, offsetof(struct whatif_opts, device), "N", "replay this device only"},
    {"format", 'f', OPT_CHOICE, offsetof(struct whatif_opts, format), "text|json", "what to print (default text)"},
    {"jobs", 'j', OPT_U64, offsetof(struct whatif_opts, jobs), "N", "replays at a time (default: one per processor)"},
    {0},
};

static int whatif_print(const struct whatif_opts *o, const struct model *m, struct err *e)
{
	struct whatif_options options = {
	    .conf = o->conf.v, .n_conf = o->conf.n, .device_mem = o->device_mem, .device = -1};
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct whatif w;
	struct page page;

	options.threads = (unsigned)(o->jobs && o->jobs < 256 ? o->jobs : processors > 0 ? (uint64_t)processors : 1);
	if (o->device) {
		options.device = snapshot_device(m, o->device, e);
		if (options.device < 0)
			return -1;
	}
	if (whatif_make(&w, m, &options, e))
		return -1;
	if (!strcmp(o->format, "json")) {
		whatif_json(stdout, &w, m);
	} else {
		page_open(&page, stdout, 0);
		whatif_text(&page, &w, m);
	}
	whatif_free(&w);
	return 0;
}

static int whatif_run(const struct command *self, int argc, char **argv, struct err *e)
{
	struct whatif_opts o = {.format = "text"};
	const char *path;
	struct model m;
	bool helped;
	int rc = -1;

	if (options_parse(self, &o, &argc, argv, false, &helped, e))
		goto out;
	rc = 0;
	if (helped)
		goto out;
	path = snapshot_path(self->name, argc, argv, e);
	rc = path ? snapshot_read(&m, path, e) : -1;
	if (rc)
		goto out;
	rc = whatif_print(&o, &m, e);
	model_free(&m);
out:
	free(o.conf.v);
	return rc;
}

extern const struct command cmd_whatif;
const struct command cmd_whatif = {
    .name = "whatif",
    .usage = "[OPTIONS] [SNAP]",
    .summary = "what would other allocator settings have cost?",
    .run = whatif_run,
    .options = whatif_options,
};
