/* check_out.h: the results of a check as text, JSON, or JUnit's XML. */
#ifndef RENDER_CHECK_OUT_H
#define RENDER_CHECK_OUT_H

#include "analyze/check.h"
#include "render/page.h"

void check_text(struct page *p, const struct check *c);
void check_json(FILE *f, const struct check *c, const char *file);
void check_junit(FILE *f, const struct check *c, const char *file);

#endif
