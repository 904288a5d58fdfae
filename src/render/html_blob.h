/* html_blob.h: columns of numbers as compact bytes for the page: LEB128 numbers, one section per column.
 *
 * The page's script gets the sections' names, counts and lengths as JSON and the bytes, one section after
 * the other, as base64 of gzip.
 */
#ifndef RENDER_HTML_BLOB_H
#define RENDER_HTML_BLOB_H

#include "base/text.h"
#include <stddef.h>
#include <stdint.h>

/* One column in the making; start with {0}. */
struct blob_column {
	uint8_t *v;
	size_t bytes, cap, n;
};
void blob_put(struct blob_column *c, uint64_t v);
void blob_put_signed(struct blob_column *c, int64_t v); /* zigzag */

struct blob {
	struct text index; /* "name":[n,bytes], … */
	uint8_t *v;
	size_t n, cap;
};
/* Append the column as a section and free it. */
void blob_add(struct blob *b, const char *name, struct blob_column *c);
/* gzip, then base64, appended to out. The blob is freed. */
void blob_finish(struct blob *b, struct text *out);

#endif
