/* leak.h: memory that was never given back, by the stack that asked for it.
 *
 * What may be called a leak depends on what the recording can prove:
 *   a complete recording of a process's driver calls: everything live at the end
 *   a framework's recording: memory still live at the end is mostly the program's state, so only
 *     stacks that keep growing (growth.h) count
 *   a recording that was cut, lost events, or left frees out on purpose: nothing does
 * Managed, pinned and registered memory is not (or not always) the device's: what is left of it stands apart and is in
 * no sum.
 * Survivors are blocks that were allocated after the second step and outlived two more.
 */
#ifndef ANALYZE_LEAK_H
#define ANALYZE_LEAK_H

#include "analyze/growth.h"
#include "analyze/live.h"

enum leak_basis { LEAK_LIVE_AT_END, LEAK_GROWING, LEAK_UNRELIABLE };

struct leak_row {
	uint32_t stack;
	uint64_t bytes, count;
	int64_t first_t_ns, last_t_ns;
	uint8_t kind; /* of those apart */
	bool library; /* a library or the runtime keeps it, not the user's code */
};
struct leaks {
	enum leak_basis basis;
	struct leak_row *rows; /* largest first, the user's before the libraries' */
	size_t n;
	uint64_t bytes, count;                 /* the user's */
	uint64_t library_bytes, library_count; /* the libraries' */
	struct leak_row *apart;                /* kind by kind, the largest of each first */
	size_t n_apart;
};
/* Why leaks cannot be told, or NULL if they can. */
const char *leak_doubt(const struct model *m, uint8_t device);
/* end: what is live after the last row. */
void leak_find(const struct model *m, uint8_t device, const struct live *end, const struct growth *g,
               struct leaks *out);
void leak_free(struct leaks *l);

struct survivors {
	struct steps steps; /* steps.n == 0: no steps, nothing can be told */
	struct live live;
};
void leak_survivors(const struct model *m, uint8_t device, struct survivors *out);
void leak_survivors_free(struct survivors *s);

#endif
