/* live.h: what is live at one instant, by stack. The base of peak, leaks, flame and diff.
 *
 * "Live" counts the rows of one device at one level: framework blocks if the recording has any
 * on that device, else the driver's device memory (kinds with GMS_ON_DEVICE). A block stops being
 * live when it can be used again: between the request to free it and that moment (other streams
 * still work on it) it takes memory and counts. All sizes are requested bytes.
 *
 * Any analysis may use this; all functions take a linked model and are one pass over its columns.
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
/* Does this row change the live bytes of the device? +1 alloc, -1 free, 0 neither. A row that
 * allocates over a live address (m->anomalies.alloc_live counts them) also ends the old block:
 * it is +1 here; live_next tells both. */
int live_sign(const struct model *m, size_t row, uint8_t device, enum gms_level level);
/* The first row after which live bytes of the device are at their highest; m->n_initial - 1 (may be
 * SIZE_MAX, i.e. -1) if the state before the window is the highest. */
size_t live_peak_row(const struct model *m, uint8_t device);
/* State after the given row (SIZE_MAX: the initial state only if there are no initial rows → empty). */
void live_at(const struct model *m, uint8_t device, size_t row, struct live *out);
/* Of the blocks allocated by rows from ≤ row < to, those that are live at the end. */
void live_kept(const struct model *m, uint8_t device, size_t from, size_t to, struct live *out);
/* Blocks of one kind that are live at the end, whether or not they count as the device's memory. */
void live_kind_at_end(const struct model *m, uint8_t device, enum gms_kind kind, struct live *out);
void live_free(struct live *l);

/* Every row that changes the live bytes of a device, in order:
 *     for (live_begin(&w, m, device); live_next(&w);) … w.row, w.begins, w.ends
 *     live_end(&w); */
struct live_walk {
	size_t row;
	uint32_t begins; /* the row itself if it allocates, else MODEL_NO_PEER */
	uint32_t ends;   /* the alloc row of the block that ends here, else MODEL_NO_PEER */
	/* private */
	const struct model *m;
	size_t next;
	uint8_t role[256]; /* by op: enum live_role */
	uint8_t device;
	struct replaced *replaced;
	size_t n_replaced, at_replaced;
};
void live_begin(struct live_walk *w, const struct model *m, uint8_t device);
bool live_next(struct live_walk *w);
void live_end(struct live_walk *w);

/* Blocks that end because a later alloc row takes their address, sorted by that row; NULL if none. */
struct replaced {
	uint32_t by, old;
};
struct replaced *live_replaced(const struct model *m, size_t *n);

/* What an op means to the live bytes of a level; the table behind all of the above. */
enum live_role { LIVE_NONE, LIVE_ALLOC, LIVE_FREE };
void live_roles(enum gms_level level, uint8_t role[256]);

/* The initial blocks that the program had given back before the recording began, but that other streams still
 * used: their frees complete without having been requested, or still wait at the end. Returns how many. */
size_t live_waiting(const struct model *m, uint32_t **rows);

#endif
