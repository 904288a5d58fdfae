/* stack_text.h: a stack as one line, or as many. */
#ifndef RENDER_STACK_TEXT_H
#define RENDER_STACK_TEXT_H

#include "model/model.h"
#include "render/page.h"

/* "forward model.py:12 ← step train.py:27 ← main train.py:50": the frames worth showing, leaf first. */
void stack_line(struct text *t, const struct page *p, const struct model *m, uint32_t stack);
/* Every frame on its own line, indented; frames nobody wants to see are counted, not shown. */
void stack_lines(struct page *p, const struct model *m, uint32_t stack, size_t indent);

#endif
