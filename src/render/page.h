/* page.h: where text goes: how wide, with which characters, with colour or not.
 *
 * All text output for people passes through this: headings, wrapped sentences, tables (table.h) and
 * charts (chart.h) take a page and know nothing of terminals.
 */
#ifndef RENDER_PAGE_H
#define RENDER_PAGE_H

#include "base/text.h"
#include <stdio.h>

enum ink { INK_PLAIN, INK_BOLD, INK_DIM, INK_RED, INK_GREEN, INK_YELLOW, INK_BLUE };

struct page {
	FILE *f;
	size_t width;
	bool color;   /* ANSI colours */
	bool unicode; /* else plain ASCII */
};
/* width 0: the terminal's, else 100. Colour only on a terminal and without NO_COLOR; Unicode if the
 * locale is UTF-8. */
void page_open(struct page *p, FILE *f, size_t width);
void page_heading(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A paragraph, broken at spaces; the lines after the first are indented like the text of the first. */
void page_paragraph(struct page *p, enum ink ink, const char *mark, const char *text);
void page_ink(struct page *p, enum ink ink);
void page_line(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* How many columns of a terminal the UTF-8 text takes (wide characters count as two). */
size_t page_columns(const char *s);
/* At most `columns` of s, with an ellipsis in the middle if something had to go. */
void page_elide(struct text *t, const struct page *p, const char *s, size_t columns);

/* The same for steps joined by page_arrow: those that do not fit are left out at the end, whole. */
void page_elide_steps(struct text *t, const struct page *p, const char *s, size_t columns);
/* " ← " or " <- ". */
const char *page_arrow(const struct page *p);

#endif
