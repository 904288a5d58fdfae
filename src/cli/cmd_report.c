/* cmd_report.c: gpumemsnap report: read recordings, examine them, say what was found. */
#include "analyze/report.h"
#include "base/mem.h"
#include "cli/options.h"
#include "format/format.h"
#include "render/report_json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
	const char *format;
	uint64_t top;
};

static const struct option_row rows[] = {
    {"format", 'f', OPT_CHOICE, offsetof(struct options, format), "text|json",
     "what to print (default text)"},
    {"top", 'n', OPT_U64, offsetof(struct options, top), "N", "rows per table (default 10; 0: all)"},
    {0},
};

static void print(const struct options *o, const struct report *reports, size_t n)
{
	report_json(stdout, reports, n, &(struct report_json_options){.top = o->top});
}

static int report_files(const struct options *o, char **files, size_t n, struct err *e)
{
	struct model *models = mem_zalloc(n, sizeof *models);
	struct report *reports = mem_zalloc(n, sizeof *reports);
	size_t i, made;
	int rc = 0;

	for (made = 0; made < n && !rc; made++) {
		rc = format_read(&models[made], files[made], e);
		if (rc)
			break;
		report_make(&reports[made], &models[made], REPORT_GROUPS);
	}
	if (!rc)
		print(o, reports, n);
	for (i = 0; i < made; i++) {
		report_free(&reports[i]);
		model_free(&models[i]);
	}
	free(models);
	free(reports);
	return rc;
}

static int report_run(const struct command *self, int argc, char **argv, struct err *e)
{
	struct options o = {.format = "text", .top = 10};
	char *standard = "snapshot.json";
	struct stat st;
	bool helped;

	if (options_parse(self, &o, &argc, argv, false, &helped, e))
		return -1;
	if (helped)
		return 0;
	if (argc)
		return report_files(&o, argv, (size_t)argc, e);
	if (!fstat(0, &st) && S_ISFIFO(st.st_mode))
		standard = "-";
	return report_files(&o, &standard, 1, e);
}

extern const struct command cmd_report;
const struct command cmd_report = {
    .name = "report",
    .usage = "[OPTIONS] [SNAP...]",
    .summary = "say where memory went: peak, leaks, growth, fragmentation, out of memory",
    .run = report_run,
    .options = rows,
};
