/* filter.h: a recording narrowed to what a user asks about, so that every analysis can run on it.
 *
 * Conditions look at allocations; a block's frees go where it goes. A time range keeps what is live
 * when it begins as the initial state, so figures inside it are the same as without it. Segments,
 * pools and other things about the whole device stay only if nothing narrower than a device or a
 * time range is asked for.
 *
 * A condition is KEY OP VALUE:
 *   device stream thread pool kind   = !=   a number (0x… for handles), a thread's name, small or
 *                                           large, a kind's name; several values separated by |
 *   size                             = != < <= > >=   bytes: 1MiB
 *   time                             < <= > >=        after the recording began: 1.5s, or an event
 *   function file module             ~ !~             extended regular expression, any frame
 *   phase                            ~ !~             name of the innermost phase
 */
#ifndef ANALYZE_FILTER_H
#define ANALYZE_FILTER_H

#include "base/err.h"
#include "model/model.h"

struct filter {
	struct condition *conditions;
	size_t n, cap;
};
/* Add a condition; -1 with e filled (and nothing added) if the text is none. */
int filter_add(struct filter *f, const char *text, struct err *e);
void filter_free(struct filter *f);
/* Narrow the model in place; it is linked again. Does nothing if there are no conditions. Event
 * numbers then count the events that are left, which a note says. */
void filter_apply(const struct filter *f, struct model *m);

#endif
