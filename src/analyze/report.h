/* report.h: everything the report says about one recording, gathered in one place.
 *
 * Renderers (text, JSON) and `check` read this and compute nothing. The verdict needs the analyses
 * that are always made; the others are made when asked for.
 */
#ifndef ANALYZE_REPORT_H
#define ANALYZE_REPORT_H

#include "analyze/accounting.h"
#include "analyze/anomaly.h"
#include "analyze/churn.h"
#include "analyze/frag.h"
#include "analyze/group.h"
#include "analyze/growth.h"
#include "analyze/leak.h"
#include "analyze/oom.h"
#include "analyze/space.h"
#include "analyze/totals.h"

struct report_device {
	uint8_t device; /* MODEL_NO_DEVICE: host memory */
	const struct device_totals *t;
	int64_t peak_event; /* -1: before the window */
	size_t peak_row;
	int64_t peak_t_ns;
	struct live peak, end;
	struct growth growth;
	struct leaks leaks;
	struct survivors survivors;
	struct space peak_space, end_space;
	struct frag frag;
	struct pinned pinned; /* at the end */
	struct ooms ooms;
	struct anomaly_list anomalies;
	struct churn churn;
	struct coverage coverage;
	struct groups groups[GROUP_BYS]; /* n == 0 where not asked for */
	struct accounting *accounting;   /* NULL if not asked for, and for host memory */
};
struct report {
	const struct model *m;
	struct totals totals;
	struct report_device *devices;
	size_t n;
};
/* wanted: a bit per division, 1u << BY_STREAM | … (BY_STACK is free: struct live), REPORT_CHURN for the
 * blocks' half of churn, REPORT_ACCOUNTING. What is not wanted stays zero. */
#define REPORT_CHURN      (1u << GROUP_BYS)
#define REPORT_FRAG       (1u << 30) /* fragmentation at every event */
#define REPORT_ACCOUNTING (1u << 31)
#define REPORT_FOR_PROGRAMS \
	(1u << BY_PHASE | 1u << BY_STREAM | 1u << BY_THREAD | 1u << BY_POOL | 1u << BY_SIZE | REPORT_CHURN)
void report_make(struct report *r, const struct model *m, unsigned wanted);
void report_free(struct report *r);

#endif
