/* cmd_html.c: gpumemsnap html: recordings as one interactive page. */
#include "analyze/frames.h"
#include "analyze/report.h"
#include "base/mem.h"
#include "cli/options.h"
#include "cli/snapshot.h"
#include "render/html.h"
#include <stdlib.h>
#include <unistd.h>

struct html_opts {
	const char *output, *title;
};

static const struct option_row html_options[] = {
    {"output", 'o', OPT_STRING, offsetof(struct html_opts, output), "FILE",
     "write the page here (default: standard output)"},
    {"title", 0, OPT_STRING, offsetof(struct html_opts, title), "TEXT", "heading of the page"},
    {0},
};

static int write_page(const struct html_opts *o, const struct report *reports, size_t n, struct err *e)
{
	char *title = o->title ? mem_strdup(o->title)
	              : n > 1
	                  ? mem_printf("GPU memory: %s and %zu more", frames_base(reports[0].m->file), n - 1)
	                  : mem_printf("GPU memory: %s", frames_base(reports[0].m->file));
	struct output *out = output_open(o->output ? o->output : "-", e);
	int rc = out ? output_end(out, html_write(reports, n, title, out, e), e) : -1;

	free(title);
	return rc;
}

static int read_all(const struct html_opts *o, char **files, size_t n, struct err *e)
{
	struct model *models = mem_zalloc(n, sizeof *models);
	struct report *reports = mem_zalloc(n, sizeof *reports);
	size_t made;
	int rc = 0;

	for (made = 0; made < n; made++) {
		rc = snapshot_read(&models[made], files[made], e);
		if (rc)
			break;
		report_make(&reports[made], &models[made], REPORT_FOR_PROGRAMS);
	}
	if (!rc)
		rc = write_page(o, reports, n, e);
	while (made--) {
		report_free(&reports[made]);
		model_free(&models[made]);
	}
	free(models);
	free(reports);
	return rc;
}

static int html_run(void *options, int argc, char **argv, struct err *e)
{
	struct html_opts *o = options;
	struct snapshot_parts parts;
	int rc;

	if (!o->output && isatty(1))
		return err_set(e, ERR_USAGE, NULL, -1,
		               "a page is not for a terminal; type 'gpumemsnap html -o report.html'");
	rc = snapshot_parts(&parts, "html", argc, argv, e);
	if (!rc)
		rc = read_all(o, parts.v, parts.n, e);
	snapshot_parts_free(&parts);
	return rc;
}

extern const struct command cmd_html;
const struct command cmd_html = {
    .name = "html",
    .usage = "[-o FILE] [SNAP ...]",
    .summary = "write recordings as one interactive page",
    .run = html_run,
    .options = html_options,
    .size = sizeof(struct html_opts),
};
