/* input.h: a file, "-" (standard input) or a gzip of either, as one range of bytes.
 *
 * A large plain file is mapped, anything else is read whole. What was compressed again, twice at most, is read, too.
 */
#ifndef BASE_INPUT_H
#define BASE_INPUT_H

#include "base/err.h"
#include <stddef.h>

struct input {
	const char *name; /* as messages name it */
	const unsigned char *data;
	size_t n;
	size_t raw_n; /* bytes of the file itself (before gunzip) */
	int gz;
	int cut; /* the gzip data end too early or are damaged: this is what was before */
	unsigned part; /* which of several recordings in it is asked for, counted from 1; 0: it has just one */
	struct input_window *window; /* of a large file that is mapped; input.c's own */
};
int input_open(struct input *in, const char *path, struct err *e);
/* A file that is being written: what is read is what is there at that moment, not a copy. No pipe, no
 * gzip, nothing beyond the end it had when it was opened. */
int input_open_live(struct input *in, const char *path, struct err *e);
void input_close(struct input *in);
/* The first n bytes of a regular file at most, of what a gzip holds; returns how many: 0 of a pipe. */
size_t input_peek(const char *path, void *buf, size_t n);
/* A reader that goes from front to back calls this every MiB or so: the bytes before `upto` may leave
 * memory (they stay reachable) and those behind it are fetched. */
void input_done_until(const struct input *in, size_t upto);

#endif
