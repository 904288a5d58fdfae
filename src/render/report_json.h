/* report_json.h: the report for programs. Its keys are listed in gpumemsnap-report(1) and stay. */
#ifndef RENDER_REPORT_JSON_H
#define RENDER_REPORT_JSON_H

#include "analyze/report.h"
#include <stdio.h>

struct report_json_options {
	size_t top; /* rows per list; of findings (leaks, failures, survivors) at least 1,000; 0: all */
};
void report_json(FILE *f, const struct report *reports, size_t n, const struct report_json_options *o);

#endif
