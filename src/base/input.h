/* input.h: a file, "-" (standard input) or a gzip of either, as one range of bytes.
 *
 * A plain file is memory-mapped; a pipe or a gzip is read whole.
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
	int mapped, gz;
};
int input_open(struct input *in, const char *path, struct err *e);
void input_close(struct input *in);
/* The pages before `upto` are not needed again: lets a mapped file leave memory. */
void input_done_until(const struct input *in, size_t upto);

#endif
