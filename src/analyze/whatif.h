/* whatif.h: what would this program have cost under other allocator settings?
 *
 * The requests of a recording (allocations, frees, stream uses, calls that emptied the cache) are
 * replayed through the allocator's own core against a device that exists only in numbers. The same
 * core replays the recording under its own settings: fidelity says how many of the recorded
 * events it predicts, addresses and device calls included.
 */
#ifndef ANALYZE_WHATIF_H
#define ANALYZE_WHATIF_H

#include "analyze/bands.h"
#include "base/err.h"
#include "model/model.h"

/* One request of the program, in order. */
enum whatif_what {
	WHATIF_ALLOC,
	WHATIF_FREE,	/* free at once */
	WHATIF_PENDING, /* freed; other streams still use it */
	WHATIF_SETTLE,	/* the other streams of a pending block are done */
	WHATIF_EMPTY,	/* the program emptied the cache */
	WHATIF_GIVEN_UP, /* nobody needs the private pool any more */
	WHATIF_TRY,	/* a request that failed in the recording */
};
struct whatif_op {
	uint64_t size;
	uint32_t row, slot; /* of the model; which block */
	uint16_t stream, pool;
	uint8_t what;
};
enum whatif_kind {
	WHATIF_CACHING, /* the core under a configuration */
	WHATIF_PLAIN,   /* cudaMalloc and cudaFree for every request */
	WHATIF_POOL,    /* a stream-ordered pool that keeps what it has: cudaMallocAsync */
	WHATIF_OFFLINE, /* a plan made with all lives known: what packing can reach at best */
};
struct whatif_trace { /* of one device */
	const struct model *m;
	uint8_t device;
	enum whatif_kind does; /* what the program asked: WHATIF_CACHING, _PLAIN or _POOL */
	struct whatif_op *ops;
	size_t n, cap;
	uint32_t *alloc_row; /* by slot */
	size_t n_slots, cap_slots;
	size_t n_initial;       /* ops that only set up what was live before the recording: slots 0, 1, … */
	uint64_t lower_bound;   /* peak of bytes in use, each request rounded to 512 */
	uint64_t recorded_peak; /* reserved bytes as recorded, MODEL_UNKNOWN */
	int64_t recorded_oom;   /* event of the first failure in the recording, -1: none */
	uint64_t limit;         /* of reserved bytes, as garbage collection shows it; MODEL_UNKNOWN */
	uint64_t available;     /* the most there can have been, as the first failure shows it; MODEL_UNKNOWN */
	struct va_lesson *va;   /* where the driver put segments */
};

struct whatif_mismatch {
	uint64_t event; /* number on its device */
	uint8_t device;
	uint8_t recorded_op, predicted_op; /* TRACE.other: none */
	char recorded[96], predicted[96];
};
struct whatif_fidelity {
	bool known; /* the recording shows an allocator's decisions */
	uint64_t events, matched;
	struct whatif_mismatch first; /* meaningful if matched < events */
};

struct whatif_run {
	const char *conf; /* or the kind's name; owned by struct whatif */
	enum whatif_kind kind;
	uint8_t device;
	bool own;            /* the recording's own settings */
	bool alike;          /* the same but for limits */
	const char *idle;    /* a key that has no effect on the figures, NULL */
	uint64_t device_mem; /* MODEL_UNKNOWN: nothing limits it */
	uint64_t reserved_peak, allocated_peak, requested_peak, lower_bound; /* MODEL_UNKNOWN if there is no such figure */
	uint64_t device_allocs, device_frees, retries, ooms;
	int64_t first_oom_event; /* on its device, -1: none */
	uint64_t first_oom_size; /* bytes asked of the device */
	uint32_t first_oom_stack;
	char oom_text[512];           /* why */
	double fragmentation_at_peak; /* NAN if it makes no sense */
	uint64_t *curve; /* per column of the axis asked for: the most reserved; MODEL_UNKNOWN after the end */
};

struct whatif_options {
	const char *const *conf;
	size_t n_conf;       /* 0: try a grid */
	uint64_t device_mem; /* 0: as recorded, if known */
	int device;          /* -1: all */
	const struct bands_axis *axis; /* of curves, in events; NULL: none are wanted */
	unsigned threads;
};
struct whatif {
	struct whatif_fidelity fidelity;
	struct whatif_trace *traces;
	size_t n_traces;
	struct whatif_run *runs; /* traces in order, all configurations of one before those of the next */
	size_t n_runs;
	struct whatif_run *base; /* one per trace: the recording's own settings, under the same conditions */
	char **confs;
	size_t n_confs;
	char *own_conf;          /* of the recording; "" if it has no settings */
	const char *recommended; /* NULL: keep what you have */
	uint64_t saves_bytes;
	bool avoids_oom;
	bool no_history; /* no request was replayed, only what was live laid out anew: nothing is recommended */
};
/* Is that how the program was recorded? */
bool whatif_as_recorded(const struct whatif *w, const struct whatif_run *r);
int whatif_make(struct whatif *w, const struct model *m, const struct whatif_options *o, struct err *e);
void whatif_free(struct whatif *w);

/* The runs of a device worth a picture, at most max ≥ 2: the recording's own settings, and those asked for
 * or else the best that differ from them and each other. The most reserved first. */
size_t whatif_best(const struct whatif *w, size_t trace, bool asked, const struct whatif_run **best, size_t max);
/* Per column, the most bytes in use, each request rounded to 512. */
uint64_t *whatif_in_use(const struct whatif_trace *t, const struct bands_axis *x);

/* Parts. */
struct gma_conf;
struct whatif_curve { /* being drawn, from the left */
	const struct bands_axis *x; /* NULL: not wanted */
	uint64_t *high, last;
	int at;
};
void whatif_curve_begin(struct whatif_curve *c, const struct bands_axis *x);
void whatif_curve_put(struct whatif_curve *c, const struct whatif_trace *t, uint32_t row, uint64_t value);
uint64_t *whatif_curve_end(struct whatif_curve *c, bool through); /* the columns, to be freed */
void whatif_compile(struct whatif_trace *t, const struct model *m, uint8_t device, const struct gma_conf *own,
		    struct whatif_fidelity *f);
void whatif_trace_free(struct whatif_trace *t);
/* r->kind, device_mem and own are set; the rest is filled. */
void whatif_replay(const struct whatif_trace *t, const struct gma_conf *conf, struct whatif_run *r,
		   const struct bands_axis *axis);
void whatif_plain(const struct whatif_trace *t, struct whatif_run *r, const struct bands_axis *axis);
void whatif_offline(const struct whatif_trace *t, struct whatif_run *r);

#endif
