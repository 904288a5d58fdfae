/* anomaly.h: frees and allocations that do not fit together, by the stack they came from.
 *
 * How many there are is counted when a model is linked (struct anomalies); this says where.
 */
#ifndef ANALYZE_ANOMALY_H
#define ANALYZE_ANOMALY_H

#include "model/model.h"

enum anomaly { ANOMALY_FREE, ANOMALY_ALLOC }; /* of what was not live; over what was live */
struct anomaly_row {
	enum anomaly what;
	uint32_t stack;
	uint64_t count;
	int64_t first_t_ns;
	size_t first_row;
};
struct anomaly_list {
	struct anomaly_row *rows; /* most often first */
	size_t n;
};
void anomaly_find(const struct model *m, uint8_t device, struct anomaly_list *out);
void anomaly_free(struct anomaly_list *l);
/* "freed, but not live" */
const char *anomaly_name(enum anomaly what);

#endif
