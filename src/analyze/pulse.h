/* pulse.h: how a process stands right now, in the few figures that `top` shows.
 *
 * Takes the model of a recording that may still be going on; "now" is said by the caller.
 */
#ifndef ANALYZE_PULSE_H
#define ANALYZE_PULSE_H

#include "analyze/live.h"

#define PULSE_UNKNOWN INT64_MIN

struct pulse_site {
	uint32_t stack;
	uint64_t bytes, count;
	int64_t change; /* of bytes since the window began */
};
struct pulse_device {
	uint8_t device;
	uint64_t live, blocks, peak; /* requested bytes */
	uint64_t active, reserved;   /* MODEL_UNKNOWN if not known; utilisation is their ratio */
	double external;	     /* fragmentation of segments; NAN where none are recorded */
	int64_t change;		     /* of live bytes since the window began */
	uint64_t used, total;	     /* of the whole device, as last sampled; MODEL_UNKNOWN */
	uint64_t failures;
	struct pulse_site *sites; /* largest first */
	size_t n_sites;
};
struct pulse {
	int64_t now_ns, window_ns; /* how long the window really is: less at the start of a recording */
	uint64_t events, recent;   /* rows, and those in the window */
	struct pulse_device *devices;
	size_t n;
};
/* How it stood at a moment, for the changes since. */
struct pulse_base {
	int64_t t_ns;
	uint64_t events;	  /* rows up to then */
	struct live *device[256]; /* rows by stack; NULL: nothing there then */
};
void pulse_base_take(struct pulse_base *b, const struct model *m, size_t row, int64_t t_ns);
void pulse_base_free(struct pulse_base *b);

/* What a model no longer has, because its rows were folded. */
struct pulse_past {
	uint64_t events, peak[256], failed[256];
};
/* Fold a linked model (see model/fold.h), and keep in mind what it forgets. */
void pulse_fold(struct pulse_past *past, struct model *m);
/* The figures at now_ns of a model whose past may have been folded (else NULL), with changes since `base`. */
void pulse_since(struct pulse *p, const struct model *m, const struct pulse_past *past,
		 const struct pulse_base *base, int64_t now_ns);

/* The figures at now_ns (since the recording began), with changes over the last window_ns. */
void pulse_take(struct pulse *p, const struct model *m, int64_t now_ns, int64_t window_ns);
void pulse_free(struct pulse *p);
/* A change as bytes per minute; PULSE_UNKNOWN while the window is too short to tell. */
int64_t pulse_per_minute(const struct pulse *p, int64_t change);

#endif
