/* table.c: measures all cells, then prints. */
#include "render/table.h"
#include "base/mem.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN UINT64_MAX
#define GAP     2

void table_begin(struct table *t, const char *align, ...)
{
	va_list ap;
	size_t i;

	*t = (struct table){.align = align, .n = strlen(align)};
	va_start(ap, align);
	for (i = 0; i < t->n; i++)
		t->head[i] = va_arg(ap, char *);
	va_end(ap);
}

void table_cell(struct table *t, const char *fmt, ...)
{
	char **cell = VEC_PUSH(t->cell, t->n_cells, t->cap);
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(cell, fmt, ap) < 0)
		*cell = mem_strdup("");
	va_end(ap);
}

void table_bytes(struct table *t, uint64_t bytes)
{
	char buf[TEXT_SIZE_MAX];

	table_cell(t, "%s", bytes == UNKNOWN ? "-" : text_bytes(buf, bytes));
}

void table_count(struct table *t, uint64_t n)
{
	char buf[TEXT_SIZE_MAX];

	table_cell(t, "%s", n == UNKNOWN ? "-" : text_count(buf, n));
}

void table_share(struct table *t, uint64_t part, uint64_t of)
{
	if (!of || part == UNKNOWN || of == UNKNOWN)
		table_cell(t, "-");
	else
		table_cell(t, "%.1f %%", 100.0 * (double)part / (double)of);
}

static void add_cell(struct text *line, const struct table *t, const struct page *p, size_t column,
                     const char *s, size_t width)
{
	struct text text = {0};
	size_t pad;

	text_puts(&text, "");
	if (column + 1 == t->n)
		page_elide_steps(&text, p, s, width);
	else
		page_elide(&text, p, s, width);
	pad = width - page_columns(text.s);
	text_printf(line, "%*s", GAP, "");
	if (t->align[column] == 'r')
		text_printf(line, "%*s%s", (int)pad, "", text.s);
	else
		text_printf(line, "%s%*s", text.s, (int)pad, "");
	text_free(&text);
}

static void print_row(const struct table *t, struct page *p, char *const *cell, const size_t *width)
{
	struct text line = {0};
	size_t i;

	for (i = 0; i < t->n; i++)
		add_cell(&line, t, p, i, cell[i], width[i]);
	while (line.n && line.s[line.n - 1] == ' ')
		line.s[--line.n] = 0;
	fputs(line.s, p->f);
	text_free(&line);
}

static void measure(const struct table *t, const struct page *p, size_t *width)
{
	size_t i, used = GAP, columns;

	for (i = 0; i < t->n; i++)
		width[i] = page_columns(t->head[i]);
	for (i = 0; i < t->n_cells; i++) {
		columns = page_columns(t->cell[i]);
		if (columns > width[i % t->n])
			width[i % t->n] = columns;
	}
	for (i = 0; i + 1 < t->n; i++)
		used += width[i] + GAP;
	/* The last column has what is left, but never less than is readable. */
	if (used + width[i] > p->width)
		width[i] = p->width > used + 16 ? p->width - used : 16;
}

void table_end(struct table *t, struct page *p)
{
	size_t width[TABLE_COLUMNS], i;

	measure(t, p, width);
	page_ink(p, INK_DIM);
	print_row(t, p, t->head, width);
	page_ink(p, INK_PLAIN);
	fputc('\n', p->f);
	for (i = 0; i + t->n <= t->n_cells; i += t->n) {
		print_row(t, p, t->cell + i, width);
		fputc('\n', p->f);
	}
	for (i = 0; i < t->n_cells; i++)
		free(t->cell[i]);
	free(t->cell);
	*t = (struct table){0};
}
