/* chart.h: memory over time, small enough for a terminal. */
#ifndef RENDER_CHART_H
#define RENDER_CHART_H

#include "analyze/totals.h"
#include "render/page.h"

/* Requested bytes as a filled shape, what is reserved beyond them lightly behind it. The highest
 * column is never lost, however narrow the page. */
void chart_memory(struct page *p, const struct model *m, const struct device_totals *d);

/* One line: values from 0 to 1 (negative: none); where several share a column, the highest. */
void chart_strip(struct page *p, const char *label, const float *v, size_t n);

#endif
