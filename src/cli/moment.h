/* moment.h: the words peak, end, total and TIME of --at: which blocks a picture or an export is made of. */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H

#include "analyze/live.h"
#include "base/err.h"

/* What is shown: live blocks at one instant, or all that was allocated. */
struct moment {
	const char *word; /* "at the peak" … for titles */
	bool total, known_time;
	size_t row;
	int64_t t_ns;
	struct live live; /* live_free it */
};

/* word: NULL is the peak. On error (a time that is none) -1, and there is nothing to free. */
int moment_find(struct moment *at, const struct model *m, uint8_t device, const char *word, struct err *e);

#endif
