/* ranks_out.h: several recordings of one job, one row each. */
#ifndef RENDER_RANKS_OUT_H
#define RENDER_RANKS_OUT_H

#include "analyze/ranks.h"
#include "render/page.h"

void ranks_text(struct page *p, const struct ranks *r);

#endif
