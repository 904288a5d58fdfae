/* diff_out.h: a comparison of two recordings as text and as JSON. */
#ifndef RENDER_DIFF_OUT_H
#define RENDER_DIFF_OUT_H

#include "analyze/diff.h"
#include "render/page.h"

struct diff_set {
	const struct model *m[2];
	const struct diff *devices;
	size_t n;
};
/* top: rows per device, 0: all that changed. */
void diff_text(struct page *p, const struct diff_set *s, size_t top);
void diff_json(FILE *f, const struct diff_set *s, size_t top);

#endif
