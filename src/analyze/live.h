/* live.h: what is live at one instant, by stack. The base of peak, leaks, flame and diff.
 *
 * "Live" counts the rows of one device at one level: framework blocks if the recording has any
 * on that device, else the driver's device memory (kinds with GMS_ON_DEVICE). A block stops being live when its free is
 * requested. All sizes are requested bytes.
 */
#ifndef ANALYZE_LIVE_H
#define ANALYZE_LIVE_H

#include "model/model.h"

struct live_row {
	uint32_t stack;
	uint64_t bytes, count;
	int64_t first_t_ns, last_t_ns; /* of the allocations */
};
struct live {
	struct live_row *rows; /* largest first */
	size_t n;
	uint64_t bytes, count;
};
/* The level whose rows count for this device (see above). */
enum gms_level live_level(const struct model *m, uint8_t device);
/* Does this row change the live bytes of the device? +1 alloc, -1 free, 0 neither. */
int live_sign(const struct model *m, size_t row, uint8_t device, enum gms_level level);
/* The first row after which live bytes of the device are at their highest; m->n_initial - 1 (may be
 * SIZE_MAX, i.e. -1) if the state before the window is the highest. */
size_t live_peak_row(const struct model *m, uint8_t device);
/* State after the given row (SIZE_MAX: the initial state only if there are no initial rows → empty). */
void live_at(const struct model *m, uint8_t device, size_t row, struct live *out);
void live_free(struct live *l);

#endif
