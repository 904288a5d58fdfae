/* together.h: several recordings on one time axis.
 *
 * Recordings whose wall clocks are known and that ran at the same time (the ranks of a job) are put where
 * the clocks say. All others have nothing in common but their beginnings, so they begin together.
 */
#ifndef CLI_TOGETHER_H
#define CLI_TOGETHER_H

#include "analyze/cuts.h"
#include "base/err.h"
#include "model/model.h"
#include <stdbool.h>

struct together {
	struct model *m;
	size_t n;
	int64_t *shift; /* add it to a recording's times; the first to begin has 0 */
	struct span {
		int64_t from, to; /* first and last instant, in the recording's own time */
	} * span;
	bool same_clock;
};
/* On error nothing is left to free. */
int together_read(struct together *t, char *const *files, size_t n, struct err *e);
void together_free(struct together *t);
/* First and last instant of a recording, in its own time. */
void together_span(const struct model *m, int64_t *from, int64_t *to);

/* Do nearly all events of the i-th happen in a small part of the time? Then an axis of time shows little. */
bool together_crowded(const struct together *t, size_t i);
/* The same recordings with event numbers for times. They borrow all else from t: free them with
 * together_uncount before it. */
void together_count(const struct together *t, struct together *counted);
void together_uncount(struct together *counted);
/* The same with shown times (cuts.h) on one common clock. Free them with together_uncount, too. */
void together_cut(const struct together *t, const struct cuts *c, struct together *cut);

#endif
