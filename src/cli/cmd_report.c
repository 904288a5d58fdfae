/* cmd_report.c: gpumemsnap report: read recordings, examine them, say what was found. */
#include "analyze/report.h"
#include "base/mem.h"
#include "cli/narrowing.h"
#include "cli/options.h"
#include "cli/snapshot.h"
#include "render/ranks_out.h"
#include "render/report_json.h"
#include "render/report_text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSET UINT64_MAX

struct options {
	const char *format, *by;
	struct narrowing narrowing;
	uint64_t top, width;
	bool no_charts;
	bool peak, leaks, growth, frag, oom, pools, streams, threads, phases, stacks, sizes, churn, accounting;
};

#define SECTION(name, help)                                                                                  \
	{                                                                                                    \
#name, 0, OPT_FLAG, offsetof(struct options, name), NULL, help                               \
	}
static const struct option_row rows[] = {
    {"format", 'f', OPT_CHOICE, offsetof(struct options, format), "text|json",
     "what to print (default text)"},
    {"top", 'n', OPT_U64, offsetof(struct options, top), "N",
     "rows per table (default 10, in JSON 50; 0: all)"},
    {"by", 0, OPT_CHOICE, offsetof(struct options, by), GROUP_WORDS,
     "divide the peak by this (default stack)"},
    NARROWING_OPTIONS(offsetof(struct options, narrowing)),
    SECTION(peak, "what was live at the peak"),
    SECTION(leaks, "what was never given back"),
    SECTION(growth, "stacks whose memory keeps rising"),
    SECTION(frag, "fragmentation and pinned segments"),
    SECTION(oom, "failed allocations and why"),
    SECTION(accounting, "what the device's memory is used for, adding up to what is used"),
    SECTION(churn, "temporaries, rates, cache flushes"),
    SECTION(phases, "memory by phase"),
    SECTION(streams, "memory by stream"),
    SECTION(threads, "memory by thread"),
    SECTION(pools, "memory by pool"),
    SECTION(sizes, "memory by size of the request"),
    SECTION(stacks, "full stacks, and how many events have one"),
    {"no-charts", 0, OPT_FLAG, offsetof(struct options, no_charts), NULL, "draw no chart"},
    {"width", 'w', OPT_U64, offsetof(struct options, width), "COLUMNS",
     "width of the text (default: the terminal's)"},
    {0},
};

static unsigned sections(const struct options *o)
{
	unsigned wanted = 0;

	wanted |= o->peak || strcmp(o->by, "stack") ? SECTION_PEAK : 0;
	wanted |= o->leaks ? SECTION_LEAKS : 0;
	wanted |= o->growth ? SECTION_GROWTH : 0;
	wanted |= o->frag ? SECTION_FRAG : 0;
	wanted |= o->oom ? SECTION_OOM : 0;
	wanted |= o->churn ? SECTION_CHURN : 0;
	wanted |= o->accounting ? SECTION_ACCOUNTING : 0;
	wanted |= o->phases ? SECTION_PHASES : 0;
	wanted |= o->streams ? SECTION_STREAMS : 0;
	wanted |= o->threads ? SECTION_THREADS : 0;
	wanted |= o->pools ? SECTION_POOLS : 0;
	wanted |= o->sizes ? SECTION_SIZES : 0;
	wanted |= o->stacks ? SECTION_STACKS : 0;
	return wanted;
}

static void print_text(const struct options *o, const struct report *reports, size_t n)
{
	struct report_text_options text = {.sections = sections(o),
	                                   .top = o->top == UNSET ? 10 : o->top,
	                                   .charts = !o->no_charts,
	                                   .by = group_parse(o->by)};
	struct page page;
	size_t i;

	page_open(&page, stdout, o->width);
	if (n > 1) {
		struct ranks ranks;

		ranks_make(&ranks, reports, n);
		ranks_text(&page, &ranks);
		ranks_free(&ranks);
		text.brief = !text.sections;
		fputc('\n', stdout);
	}
	for (i = 0; i < n; i++) {
		if (i)
			fputc('\n', stdout);
		report_text(&page, &reports[i], &text);
	}
}

/* The groups that are printed: all of them for programs, those asked for in text. */
static unsigned groups_wanted(const struct options *o)
{
	unsigned by = (o->accounting ? REPORT_ACCOUNTING : 0) | (o->frag ? REPORT_FRAG : 0);

	if (!strcmp(o->format, "json"))
		return by | REPORT_FOR_PROGRAMS;
	by |= o->phases ? 1u << BY_PHASE : 0;
	by |= o->streams ? 1u << BY_STREAM : 0;
	by |= o->threads ? 1u << BY_THREAD : 0;
	by |= o->pools ? 1u << BY_POOL : 0;
	by |= o->sizes ? 1u << BY_SIZE : 0;
	by |= o->churn ? REPORT_CHURN : 0;
	return by | 1u << group_parse(o->by);
}

static void print(const struct options *o, const struct report *reports, size_t n)
{
	if (!strcmp(o->format, "json"))
		report_json(stdout, reports, n,
		            &(struct report_json_options){.top = o->top == UNSET ? 50 : o->top});
	else
		print_text(o, reports, n);
}

static int report_files(const struct options *o, char *const *files, size_t n, struct err *e)
{
	struct model *models = mem_zalloc(n, sizeof *models);
	struct report *reports = mem_zalloc(n, sizeof *reports);
	size_t i, made;
	int rc = 0;

	for (made = 0; made < n && !rc; made++) {
		rc = snapshot_read(&models[made], files[made], e);
		if (rc)
			break;
		rc = narrowing_apply(&o->narrowing, &models[made], e);
		report_make(&reports[made], &models[made], groups_wanted(o));
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

static int report_run(void *options, int argc, char **argv, struct err *e)
{
	struct options *o = options;
	struct snapshot_parts files;
	int rc = snapshot_parts(&files, "report", argc, argv, e);

	if (!rc)
		rc = report_files(o, files.v, files.n, e);
	snapshot_parts_free(&files);
	return rc;
}

extern const struct command cmd_report;
const struct command cmd_report = {
    .name = "report",
    .usage = "[OPTIONS] [SNAP...]",
    .summary = "say where memory went: peak, leaks, growth, fragmentation, out of memory",
    .run = report_run,
    .options = rows,
    .defaults = &(const struct options){.format = "text", .by = "stack", .top = UNSET},
    .size = sizeof(struct options),
};
