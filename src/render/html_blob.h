/* html_blob.h: columns of numbers as compact bytes for the page: one section per column, of fixed width.
 *
 * A section is what a typed array of the page's script shows in place: numbers of 1, 2 or 4 bytes, as wide as
 * the largest needs, then what 4 bytes do not hold as doubles. A column of equal numbers has no bytes at all.
 * The script gets the sections' names and shapes as JSON, and the bytes, one section after the other, each
 * from a multiple of 8, as base64 of gzip.
 */
#ifndef RENDER_HTML_BLOB_H
#define RENDER_HTML_BLOB_H

#include "base/text.h"
#include <stddef.h>
#include <stdint.h>

/* One column in the making; start with {0}. */
struct blob_column {
	uint8_t *v;
	size_t n, cap;  /* numbers; bytes of v */
	unsigned width; /* bytes of a number; 0: so far all are `first` */
	uint32_t first;
	double *large; /* what the numbers BLOB_LARGE stand for */
	size_t n_large, cap_large;
};
#define BLOB_LARGE UINT32_MAX
void blob_put(struct blob_column *c, uint64_t v);
void blob_put_signed(struct blob_column *c, int64_t v); /* zigzag */

struct blob {
	struct text index; /* "name":[n, bytes, width, first, how many are large], … */
	uint8_t *v;
	size_t n, cap;
};
/* Append the column as a section and free it. */
void blob_add(struct blob *b, const char *name, struct blob_column *c);
/* gzip, then base64, appended to out. The blob is freed. */
void blob_finish(struct blob *b, struct text *out);

#endif
