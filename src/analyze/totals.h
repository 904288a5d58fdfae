/* totals.h: the running sums of every device while the rows of a recording go by: how much is
 * requested, allocated, active and reserved, and the same by kind of memory.
 *
 *   requested  bytes the program asked for, until the block can be used again
 *   allocated  bytes of the blocks handed out, until the program frees them
 *   active     allocated, plus blocks freed by the program that other streams still use
 *   reserved   bytes held from the device. Framework level: its segments. Driver level: every
 *              allocation is its own segment, memory pools and graphs count what they reserve
 *              (the larger of the last sample and what is live in the pool)
 *
 * A sum that cannot be known (a block size that nobody recorded, a pool that was never sampled)
 * is MODEL_UNKNOWN. Whoever wants figures calls totals_all; series.c steps by itself.
 */
#ifndef ANALYZE_TOTALS_H
#define ANALYZE_TOTALS_H

#include "analyze/live.h"

enum total { TOTAL_REQUESTED, TOTAL_ALLOCATED, TOTAL_ACTIVE, TOTAL_RESERVED, TOTALS };

struct amount {
	uint64_t now;
	uint64_t start, peak, end; /* MODEL_UNKNOWN if not known */
	size_t peak_row;           /* the first row after which it is highest; n_initial - 1: the start */
};

/* The highest values in each of PROFILE_COLUMNS equal parts of the window: what a small chart needs. The
 * peak is in it, whatever the width. Parts of its time; of its rows where no times are recorded or
 * where more than half of the time passed without an event. */
#define PROFILE_COLUMNS 240
struct profile {
	bool by_time;
	uint64_t requested[PROFILE_COLUMNS], reserved[PROFILE_COLUMNS];
};

struct kind_total {
	uint64_t now, peak, end;
	uint64_t allocs, frees, failed; /* rows of the window */
	uint64_t alloc_bytes;           /* asked for in the window */
};

struct device_totals {
	bool present;
	enum gms_level level; /* whose rows make up requested, allocated and active */
	uint64_t events;      /* rows of the window */
	struct amount amount[TOTALS];
	struct kind_total kind[GMS_KINDS];
	uint64_t ops[256];                               /* rows of the window by op */
	uint64_t live_blocks;                            /* at the end */
	uint64_t unmatched_frees;                        /* of memory that was not allocated in the window */
	uint64_t pending;                                /* active - allocated at the end */
	uint64_t used_start, used_peak, used_end, total; /* of the whole device, as sampled */
	uint64_t checksums, checksums_wrong;             /* recorded active bytes that differ from ours */
	size_t first_wrong;                              /* the row of the first that differs */
	uint64_t wrong_recorded, wrong_ours;
	struct profile *profile; /* NULL if not asked for */
	/* private */
	uint8_t role[256];
	bool plain;    /* all sums are the same: driver memory whose blocks are the requests */
	bool requests; /* frees are requested before they complete */
	bool async, pool_sampled, segments; /* such rows exist */
	uint64_t unknown_blocks;            /* live, of unknown block size */
	uint64_t unknown_most;              /* what these are at most, if that is known */
	uint64_t most[TOTALS];              /* the highest sum there can have been while there were some */
	bool peak_unknown[TOTALS];          /* there were some at the peak */
	bool was_unknown;                   /* there were some in the window */
};

struct totals {
	struct device_totals *device[256]; /* NULL: not in this recording */
	/* private */
	const struct model *m;
	uint64_t *given_back; /* bit per row: its free was requested already */
	struct pool_total {
		uint64_t reserved, used;
	} * pools;
	struct replaced *replaced;
	size_t n_replaced, at_replaced;
	uint8_t effect[256];
};

/* The sums of all devices over the whole recording. */
void totals_all(struct totals *t, const struct model *m);
void totals_with_profiles(struct totals *t, const struct model *m);
void totals_free(struct totals *t);
/* The same by hand: begin, step through every row in order, end. */
void totals_begin(struct totals *t, const struct model *m);
void totals_step(struct totals *t, size_t row);
void totals_window_begins(struct totals *t); /* after the initial rows */
void totals_end(struct totals *t);
/* Now, or MODEL_UNKNOWN. */
uint64_t totals_now(const struct device_totals *d, enum total which);
/* Event number of a row among its device's rows of the window; -1 for n_initial - 1. */
int64_t totals_event(const struct model *m, uint8_t device, size_t row);

#endif
