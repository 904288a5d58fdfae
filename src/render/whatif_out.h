/* whatif_out.h: what whatif found, as JSON and as text. */
#ifndef RENDER_WHATIF_OUT_H
#define RENDER_WHATIF_OUT_H

#include "analyze/whatif.h"
#include "render/page.h"

void whatif_json(FILE *f, const struct whatif *w, const struct model *m);
void whatif_text(struct page *p, const struct whatif *w, const struct model *m);

#endif
