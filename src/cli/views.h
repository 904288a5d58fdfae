/* views.h: what convert computes for the writers of other formats: instants and sums over time. */
#ifndef CLI_VIEWS_H
#define CLI_VIEWS_H

#include "base/err.h"
#include "format/export.h"

/* The one instant that --at names (NULL: the peak). */
int views_moment(struct export_view *v, const char *at, struct err *e);
/* About a hundred instants, the peak among them; some of them in detail. */
void views_series(struct export_view *v);
/* What was requested, also pool by pool, and what is reserved, on every device. Long ones are thinned out: no extreme
 * is lost. */
void views_counters(struct export_view *v);
void views_free(struct export_view *v);

#endif
