/* export.h: recordings in the formats of other tools.
 *
 * exports.def has a row per format: a writer is one file here and one row there. Writers know the
 * model; what needs an analysis (which blocks are live at an instant, where the user's code begins)
 * they are given.
 */
#ifndef FORMAT_EXPORT_H
#define FORMAT_EXPORT_H

#include "base/err.h"
#include "base/output.h"
#include "base/text.h"
#include "model/model.h"

/* Blocks of one stack. */
struct export_row {
	uint32_t stack;
	uint64_t bytes, count;
};
/* What is live at one instant (or everything that was allocated), by stack. */
struct export_moment {
	int64_t t_ns;
	size_t row; /* after which it is */
	uint64_t bytes, count;
	struct export_row *rows; /* NULL: only the sums are known */
	size_t n;
	bool peak;
};
/* A sum over time: from each point's time on it has that value; MODEL_UNKNOWN is not known. */
struct export_counter {
	char *name;
	uint8_t device;
	struct export_point {
		int64_t t_ns;
		uint64_t value;
	} *points;
	size_t n;
};
struct export_view {
	const struct model *m;
	uint8_t device;
	bool by_count;	    /* widths are numbers of blocks, not bytes */
	const char *when;   /* "peak", "end", "total" or a time, for titles */
	struct export_moment *moments; /* of EXPORT_MOMENT one, of EXPORT_SERIES many, in order of time */
	size_t n_moments;
	struct export_counter *counters; /* of EXPORT_COUNTERS */
	size_t n_counters;
	size_t (*start)(const struct model *, uint32_t stack); /* position of the frame to name a stack by */
};

enum export_needs { EXPORT_MODEL, EXPORT_MOMENT, EXPORT_SERIES, EXPORT_COUNTERS };

struct exporter {
	const char *name, *suffix, *what;
	enum export_needs needs;
	bool binary; /* nothing for a terminal */
	int (*write)(const struct export_view *v, struct output *o, struct err *e);
};
extern const struct exporter export_table[]; /* ends with a NULL name */
/* By name; by a file name's ending (NULL: none has it). */
const struct exporter *export_find(const char *name);
const struct exporter *export_by_suffix(const char *path);

/* --- for writers --- */

/* Text on its way to the output. */
struct export_text {
	struct text t;
	struct output *o;
	struct err *e;
	bool failed;
};
/* Empty the buffer into the output if it is full; export_done: in any case, and free it. 0 or -1. */
void export_flush(struct export_text *x);
int export_done(struct export_text *x);

/* A frame's name as tools show it: the function, else "[module]", else "[unknown]". */
const char *export_function(const struct model *m, uint32_t frame, struct text *scratch);
#define EXPORT_NO_STACK "[no stack recorded]"

#endif
