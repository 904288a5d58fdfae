/* top_follow.h: a recording that is looked at again and again while it goes on.
 *
 * Each look reads what has come since the last one; kept is what is live, and how it stood at moments of
 * the last minute. So an hours-long recording costs what a young one does.
 */
#ifndef CLI_TOP_FOLLOW_H
#define CLI_TOP_FOLLOW_H

#include "analyze/pulse.h"
#include "cli/recording.h"

#define FOLLOW_WINDOW_NS 60000000000 /* of growth and rates; of a young program its second half: no warming up */

struct follow;
/* NULL if this recording cannot be followed (a flight recorder's). */
struct follow *follow_open(struct recording_names *names, const char *spool);
/* The figures now, and the model they speak of (its stacks and failures); both are the follow's own until the
 * next look. In a hurry a look ends after a fraction of a second, wherever it stands then (*behind: events are
 * left to be read), and the newest tenth of a second waits for the next. False: it cannot be followed any longer. */
bool follow_look(struct follow *f, bool hurry, const struct pulse **p, const struct model **m, bool *behind);
void follow_close(struct follow *f);

#endif
