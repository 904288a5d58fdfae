/* output.h: a file that appears whole or not at all.
 *
 * Written to a temporary name beside its place and renamed at output_close; an existing
 * file is kept as FILE.old, and at every instant there is a whole file under the name. "-" is standard output. A name ending in .gz is compressed.
 */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include "base/err.h"
#include <stddef.h>

struct output;
struct output *output_open(const char *path, struct err *e);
int output_write(struct output *o, const void *p, size_t n, struct err *e);
int output_close(struct output *o, struct err *e); /* commits; frees o in every case */
void output_abandon(struct output *o);             /* removes the temporary; frees o */
/* One of both, as rc says whether all was written. Returns 0, or -1 with e filled (by who gave rc, if that is not 0). */
int output_end(struct output *o, int rc, struct err *e);

#endif
