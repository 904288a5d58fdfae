/* whatif.h: what would this program have cost under other allocator settings?
 *
 * The requests of a recording (allocations, frees, stream uses, calls that emptied the cache) are
 * replayed through the allocator's own core against a device that exists only in numbers. The same
 * core replays the recording under its own settings: fidelity says how many of the recorded
 * events it predicts, addresses and device calls included.
 */
#ifndef ANALYZE_WHATIF_H
#define ANALYZE_WHATIF_H

#include "base/err.h"
#include "model/model.h"

/* One request of the program, in order. */
enum whatif_what {
	WHATIF_ALLOC,
	WHATIF_FREE,	/* free at once */
	WHATIF_PENDING, /* freed; other streams still use it */
	WHATIF_SETTLE,	/* the other streams of a pending block are done */
	WHATIF_EMPTY,	/* the program emptied the cache */
	WHATIF_TRY,	/* a request that failed in the recording */
};
struct whatif_op {
	uint64_t size;
	uint32_t row, slot; /* of the model; which block */
	uint16_t stream, pool;
	uint8_t what;
};
struct whatif_trace { /* of one device */
	const struct model *m;
	uint8_t device;
	struct whatif_op *ops;
	size_t n, cap;
	uint32_t *alloc_row; /* by slot */
	size_t n_slots, cap_slots;
	size_t n_initial;     /* ops that only set up what was live before the recording */
	uint64_t lower_bound; /* peak of bytes in use, each request rounded to 512 */
	uint64_t recorded_peak; /* reserved bytes as recorded, MODEL_UNKNOWN */
};

struct whatif_mismatch {
	uint64_t event; /* number on its device */
	uint8_t device;
	char recorded[96], predicted[96];
};
struct whatif_fidelity {
	bool known; /* the recording shows an allocator's decisions */
	uint64_t events, matched;
	struct whatif_mismatch first; /* meaningful if matched < events */
};

enum whatif_kind {
	WHATIF_CACHING, /* the core under conf */
	WHATIF_PLAIN,	/* cudaMalloc for every request */
	WHATIF_POOL,	/* a stream-ordered pool: cudaMallocAsync */
	WHATIF_OFFLINE, /* a planner that knows every life: the best-fit bound */
};
struct whatif_run {
	const char *conf; /* owned by the caller */
	enum whatif_kind kind;
	uint8_t device;
	uint64_t device_mem;  /* MODEL_UNKNOWN: no device limits it */
	bool known;	      /* false: this kind of run was not made (too long a recording) */
	uint64_t reserved_peak, allocated_peak, requested_peak, lower_bound;
	uint64_t device_allocs, device_frees, retries, ooms;
	int64_t first_oom_event; /* on its device, -1: none */
	uint64_t first_oom_size; /* bytes asked of the device */
	uint32_t first_oom_stack;
	char oom_text[512];	 /* why */
	double fragmentation_at_peak;
	uint64_t *curve; /* reserved bytes after each op, if asked for */
};

struct whatif_options {
	const char **conf;
	size_t n_conf;	     /* 0: try a grid */
	uint64_t device_mem; /* 0: as recorded, if known */
	int device;	     /* -1: all */
	bool curves;
	unsigned threads;
};
struct whatif {
	struct whatif_fidelity fidelity;
	struct whatif_trace *traces;
	size_t n_traces;
	struct whatif_run *runs; /* traces in order, all configurations of one before those of the next */
	size_t n_runs, n_confs;
	const char *own_conf;	/* of the recording; "" if it has no settings */
	bool has_own;
	const char *recommended; /* NULL: keep what you have */
	uint64_t saves_bytes;
	bool avoids_oom;
};
int whatif_make(struct whatif *w, const struct model *m, const struct whatif_options *o, struct err *e);
void whatif_free(struct whatif *w);

/* Parts. */
struct gma_conf;
int whatif_conf(const char *text, uint64_t total, struct gma_conf *c, struct err *e);
void whatif_compile(struct whatif_trace *t, const struct model *m, uint8_t device, const struct gma_conf *own,
		    struct whatif_fidelity *f);
void whatif_trace_free(struct whatif_trace *t);
void whatif_replay(const struct whatif_trace *t, const struct gma_conf *conf, struct whatif_run *r, bool curve);
void whatif_bound(const struct whatif_trace *t, struct whatif_run *r, bool curve); /* the other kinds */

#endif
