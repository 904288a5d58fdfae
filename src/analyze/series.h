/* series.h: memory over time: the sums of totals.h of one device after every row.
 *
 * One column of numbers per sum asked for; a number that cannot be known is MODEL_UNKNOWN.
 * A column's highest value and the row where it is first reached equal what totals.h reports.
 */
#ifndef ANALYZE_SERIES_H
#define ANALYZE_SERIES_H

#include "analyze/totals.h"

struct series {
	size_t n;                    /* rows of the model */
	uint64_t *value[TOTALS];     /* after each row; NULL if not asked for */
	struct device_totals device; /* all sums at the end */
};
/* want: a bit per sum, 1u << TOTAL_REQUESTED | … */
void series_make(struct series *s, const struct model *m, uint8_t device, unsigned want);
/* Are all sums of the device always the same, so that one series tells all? Much faster than to make them. */
bool series_all_same(const struct model *m, uint8_t device);
void series_free(struct series *s);

#endif
