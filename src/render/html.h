/* html.h: recordings as one self-contained page. */
#ifndef RENDER_HTML_H
#define RENDER_HTML_H

#include "analyze/report.h"
#include "base/err.h"
#include "base/output.h"

/* The page of n reports and their models (report->m), one tab each. */
int html_write(const struct report *reports, size_t n, const char *title, struct output *out, struct err *e);

#endif
