/* table.h: columns of text that line up, whatever is in them.
 *
 *     table_begin(&t, "rrrl", "BYTES", "SHARE", "BLOCKS", "WHERE");
 *     table_cell(&t, "%s", …) per column, in order; rows fill themselves
 *     table_end(&t, page);
 * r: right-aligned, l: left-aligned. The last column takes what is left of the page and is elided.
 */
#ifndef RENDER_TABLE_H
#define RENDER_TABLE_H

#include "render/page.h"

#define TABLE_COLUMNS 12
struct table {
	const char *align;
	size_t n; /* columns */
	char *head[TABLE_COLUMNS];
	char **cell; /* row by row */
	size_t n_cells, cap;
};
void table_begin(struct table *t, const char *align, ...); /* one heading per letter of align */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_bytes(struct table *t, uint64_t bytes);             /* "-" if not known */
void table_count(struct table *t, uint64_t n);                 /* the same */
void table_share(struct table *t, uint64_t part, uint64_t of); /* "12.3 %" */
void table_end(struct table *t, struct page *p);

#endif
