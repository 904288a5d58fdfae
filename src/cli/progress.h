/* progress.h: a line on the terminal while work takes longer than a second: what is done, for how long.
 *
 * Nothing is printed unless standard error is a terminal, and the line is gone when the work is done.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

struct progress;
struct progress *progress_begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void progress_end(struct progress *p); /* p may be NULL, and begin may return it */

#endif
