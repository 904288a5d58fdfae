/* check.h: limits a recording must keep, for continuous integration.
 *
 * Every rule is judged per device. What a rule asks about but the recording cannot tell fails it: a
 * check that cannot look must not say that all is well. Rules about segments are passed over where
 * none are recorded.
 */
#ifndef ANALYZE_CHECK_H
#define ANALYZE_CHECK_H

#include "analyze/report.h"

#define CHECK_NO_LIMIT UINT64_MAX
struct check_limits {
	uint64_t max_peak, max_reserved, max_end; /* bytes; CHECK_NO_LIMIT: not asked for */
	uint64_t max_leak;                        /* bytes */
	uint64_t max_growth;                      /* bytes that all growing stacks gained */
	uint64_t max_failures;
	double max_frag;  /* external fragmentation at the peak, 0 to 1; negative: not asked for */
	double tolerance; /* over the baseline, 0.05 = 5 % */
};
struct check_result {
	const char *rule;
	uint8_t device;
	bool passed, known;
	double value, limit; /* bytes, counts or fractions; NAN if not known */
	char *text;          /* "1.89 GiB, 12.00 GiB allowed" */
};
struct check {
	struct check_result *v;
	size_t n, cap, failed;
};
/* baseline may be NULL. */
void check_make(struct check *c, const struct report *r, const struct check_limits *l,
                const struct report *baseline);
void check_free(struct check *c);

#endif
