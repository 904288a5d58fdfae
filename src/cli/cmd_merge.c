/* cmd_merge.c: gpumemsnap merge: several snapshots, such as those of a job's ranks, in one file. */
#include "base/mem.h"
#include "base/output.h"
#include "cli/options.h"
#include "cli/snapshot.h"
#include "format/json.h"
#include "format/set.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merge_options {
	const char *output;
};
static const struct option_row rows[] = {
	{"output", 'o', OPT_STRING, offsetof(struct merge_options, output), "FILE",
	 "write here (default merged.json); .gz compresses"},
	{0},
};

static int write_parts(struct output *out, const struct snapshot_parts *parts, struct err *e)
{
	struct model m;
	size_t i;
	int rc = set_write_header(out, parts->v, parts->n, e);

	for (i = 0; i < parts->n && !rc; i++) {
		rc = snapshot_read(&m, parts->v[i], e);
		if (rc)
			break;
		rc = json_write(&m, out, e);
		model_free(&m);
	}
	return rc;
}

static int merge(const struct merge_options *o, const struct snapshot_parts *parts, struct err *e)
{
	struct output *out = output_open(o->output, e);

	if (!out)
		return -1;
	if (output_end(out, write_parts(out, parts, e), e))
		return -1;
	fprintf(stderr, "gpumemsnap: wrote %s: %zu snapshot%s\n", strcmp(o->output, "-") ? o->output : "to standard output",
		parts->n, parts->n == 1 ? "" : "s");
	return 0;
}

static int merge_run(void *options, int argc, char **argv, struct err *e)
{
	struct merge_options *o = options;
	struct snapshot_parts parts;
	int rc;

	if (!argc)
		return err_set(e, ERR_USAGE, NULL, -1, "merge needs snapshots: gpumemsnap merge snapshot.*.json");
	rc = snapshot_parts(&parts, "merge", argc, argv, e);
	if (!rc)
		rc = merge(o, &parts, e);
	snapshot_parts_free(&parts);
	return rc;
}

extern const struct command cmd_merge;
const struct command cmd_merge = {
	.name = "merge",
	.usage = "[OPTIONS] SNAP...",
	.summary = "put several snapshots, such as a job's ranks, into one file",
	.run = merge_run,
	.options = rows,
	.defaults = &(const struct merge_options){.output = "merged.json"},
	.size = sizeof(struct merge_options),
};
