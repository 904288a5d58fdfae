/* cmd_check.c: gpumemsnap check: does a recording keep its limits? Exit status 1 if not. */
#include "analyze/check.h"
#include "cli/narrowing.h"
#include "cli/options.h"
#include "cli/snapshot.h"
#include "render/check_out.h"
#include <stdio.h>
#include <string.h>

struct options {
	const char *format, *baseline;
	struct check_limits limits;
	bool no_leaks, no_failures;
	struct narrowing narrowing;
};

#define LIMIT(name) offsetof(struct options, limits.name)
static const struct option_row rows[] = {
    {"max-peak", 0, OPT_BYTES, LIMIT(max_peak), "SIZE", "most requested bytes at any time"},
    {"max-reserved", 0, OPT_BYTES, LIMIT(max_reserved), "SIZE", "most bytes held from the device"},
    {"max-end", 0, OPT_BYTES, LIMIT(max_end), "SIZE", "most bytes live at the end"},
    {"max-leak", 0, OPT_BYTES, LIMIT(max_leak), "SIZE", "most bytes never given back"},
    {"no-leaks", 0, OPT_FLAG, offsetof(struct options, no_leaks), NULL, "the same as --max-leak 0"},
    {"max-growth", 0, OPT_BYTES, LIMIT(max_growth), "SIZE", "most bytes gained by stacks that keep growing"},
    {"max-frag", 0, OPT_REAL, LIMIT(max_frag), "PERCENT", "external fragmentation at the peak, like 20%"},
    {"max-failures", 0, OPT_U64, LIMIT(max_failures), "N", "most failed allocations"},
    {"no-failures", 0, OPT_FLAG, offsetof(struct options, no_failures), NULL, "the same as --max-failures 0"},
    {"baseline", 0, OPT_STRING, offsetof(struct options, baseline), "SNAP",
     "compare peak, end and reserved with this recording"},
    {"tolerance", 0, OPT_REAL, LIMIT(tolerance), "PERCENT",
     "how much more than the baseline is all right (default 0%)"},
    NARROWING_OPTIONS(offsetof(struct options, narrowing)),
    {"format", 'f', OPT_CHOICE, offsetof(struct options, format), "text|json|junit",
     "what to print (default text)"},
    {0},
};

static int read_report(struct model *m, struct report *r, const char *path, const struct narrowing *n,
                       struct err *e)
{
	if (snapshot_read(m, path, e))
		return -1;
	if (narrowing_apply(n, m, e)) {
		model_free(m);
		return -1;
	}
	report_make(r, m, 0);
	return 0;
}

static void print(const struct options *o, const struct check *c, const char *file)
{
	struct page page;

	if (!strcmp(o->format, "json")) {
		check_json(stdout, c, file);
	} else if (!strcmp(o->format, "junit")) {
		check_junit(stdout, c, file);
	} else {
		page_open(&page, stdout, 0);
		check_text(&page, c);
	}
}

static int check_file(const struct options *o, const char *path, struct err *e)
{
	struct model m, base_m;
	struct report r, base;
	struct check c;
	int rc;

	if (read_report(&m, &r, path, &o->narrowing, e))
		return -1;
	rc = o->baseline ? read_report(&base_m, &base, o->baseline, &o->narrowing, e) : 0;
	if (!rc) {
		check_make(&c, &r, &o->limits, o->baseline ? &base : NULL);
		print(o, &c, path);
		rc = c.failed ? ERR_CHECK : 0;
		check_free(&c);
		if (o->baseline) {
			report_free(&base);
			model_free(&base_m);
		}
	}
	report_free(&r);
	model_free(&m);
	return rc;
}

static bool asks_for_nothing(const struct options *o)
{
	const struct check_limits *l = &o->limits;

	return l->max_peak == CHECK_NO_LIMIT && l->max_reserved == CHECK_NO_LIMIT &&
	       l->max_end == CHECK_NO_LIMIT && l->max_leak == CHECK_NO_LIMIT &&
	       l->max_growth == CHECK_NO_LIMIT && l->max_failures == CHECK_NO_LIMIT && l->max_frag < 0 &&
	       !o->baseline;
}

static int check_run(void *options, int argc, char **argv, struct err *e)
{
	struct options *o = options;
	const char *path;

	if (o->no_leaks)
		o->limits.max_leak = 0;
	if (o->no_failures)
		o->limits.max_failures = 0;
	if (asks_for_nothing(o))
		return err_set(e, ERR_USAGE, NULL, -1,
		               "nothing to check: give a limit such as --max-peak 12GiB or --no-leaks");
	path = snapshot_path("check", argc, argv, e);
	return path ? check_file(o, path, e) : -1;
}

extern const struct command cmd_check;
const struct command cmd_check = {
    .name = "check",
    .usage = "[LIMITS] [SNAP]",
    .summary = "does a recording keep its limits? for continuous integration",
    .run = check_run,
    .options = rows,
    .defaults = &(const struct options){.format = "text",
                                        .limits = {.max_peak = CHECK_NO_LIMIT,
                                                   .max_reserved = CHECK_NO_LIMIT,
                                                   .max_end = CHECK_NO_LIMIT,
                                                   .max_leak = CHECK_NO_LIMIT,
                                                   .max_growth = CHECK_NO_LIMIT,
                                                   .max_failures = CHECK_NO_LIMIT,
                                                   .max_frag = -1}},
    .size = sizeof(struct options),
};
