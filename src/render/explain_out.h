/* explain_out.h: an explained out-of-memory message as text and as JSON. */
#ifndef RENDER_EXPLAIN_OUT_H
#define RENDER_EXPLAIN_OUT_H

#include "analyze/explain.h"
#include "render/page.h"

void explain_page(struct page *p, const struct explanation *x);
void explain_json(FILE *f, const struct explanation *x);

/* The sentences of any verdict, marked and coloured by tone. */
void verdict_page(struct page *p, const struct verdict *v);

#endif
