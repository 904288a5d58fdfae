/* group.h: a device's memory divided by one property of its allocations: who holds how much.
 *
 * For every value of the property: what was allocated in the window, what was live at the peak and
 * at the end. By function, file and module means the frame where a person starts reading
 * (frames_start). By phase means the innermost range that was open on the allocating thread.
 */
#ifndef ANALYZE_GROUP_H
#define ANALYZE_GROUP_H

#include "analyze/live.h"
#include "base/text.h"

enum group_by {
	BY_STACK,
	BY_FUNCTION,
	BY_FILE,
	BY_MODULE,
	BY_PHASE,
	BY_STREAM,
	BY_THREAD,
	BY_POOL,
	BY_SIZE,
	BY_KIND,
	GROUP_BYS
};
struct group_row {
	uint32_t key; /* stack, string, phase name, stream, thread, pool, log2 of the size, kind */
	uint64_t allocs, alloc_bytes;
	uint64_t peak_bytes, peak_count;
	uint64_t end_bytes, end_count;
};
struct groups {
	enum group_by by;
	struct group_row *rows; /* most at the peak first, then most at the end, then most allocated */
	size_t n;
};
/* peak_row: as live_peak_row gives it. */
void group_make(const struct model *m, uint8_t device, enum group_by by, size_t peak_row, struct groups *out);
void group_free(struct groups *g);
/* What the key is called: "stream 7", "1 KiB to 2 KiB", "forward". A stack gets its label by the renderer. */
void group_label(struct text *t, const struct model *m, enum group_by by, uint32_t key);
/* The words of --by, separated by |; parsing gives GROUP_BYS for an unknown one. */
#define GROUP_WORDS "stack|function|file|module|phase|stream|thread|pool|size|kind"
enum group_by group_parse(const char *word);

/* The key of every allocation by one property: make, ask for rows that allocate, free. */
struct group_keys {
	size_t n; /* all keys are below this */
	/* private */
	const struct model *m;
	enum group_by by;
	uint32_t *of_stack; /* key of a stack plus one, 0: not asked yet */
	uint32_t *phase;
};
void group_keys_make(struct group_keys *k, const struct model *m, enum group_by by);
uint32_t group_key(struct group_keys *k, size_t row);
void group_keys_free(struct group_keys *k);

/* The innermost phase (index + 1, 0: none) that is open at every row, as a column; free() it. */
uint32_t *group_phases(const struct model *m);

#endif
