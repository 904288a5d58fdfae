/* chart.c: a profile of PROFILE_COLUMNS values drawn with block characters, or with # and dots. */
#include "render/chart.h"
#include <string.h>

#define ROWS  7
#define LABEL 12

struct chart {
	const struct profile *profile;
	size_t columns;
	uint64_t top;
	bool reserved;
};

/* The highest of the profile's columns that fall into this one. */
static uint64_t column_max(const uint64_t *v, size_t column, size_t columns)
{
	size_t from = column * PROFILE_COLUMNS / columns, to = (column + 1) * PROFILE_COLUMNS / columns;
	uint64_t max = v[from];

	for (; from < to; from++)
		max = v[from] > max ? v[from] : max;
	return max;
}

/* Eighths of a row that a value fills, counted from the bottom of the chart. */
static unsigned eighths(const struct chart *c, uint64_t v)
{
	double part = (double)v / (double)c->top * ROWS * 8;

	return v && part < 1 ? 1 : (unsigned)(part + 0.5);
}

static void glyph(struct text *t, const struct page *p, unsigned solid, unsigned light)
{
	static const char *const block[] = {" ",
	                                    "\xe2\x96\x81",
	                                    "\xe2\x96\x82",
	                                    "\xe2\x96\x83",
	                                    "\xe2\x96\x84",
	                                    "\xe2\x96\x85",
	                                    "\xe2\x96\x86",
	                                    "\xe2\x96\x87",
	                                    "\xe2\x96\x88"};

	if (!p->unicode)
		text_puts(t, solid >= 4 ? "#" : light >= 4 ? "." : " ");
	else if (solid)
		text_puts(t, block[solid < 8 ? solid : 8]);
	else
		text_puts(t, light >= 4 ? "\xe2\x96\x91" : " ");
}

static unsigned in_row(unsigned eighth, unsigned row)
{
	return eighth <= row * 8 ? 0 : eighth >= row * 8 + 8 ? 8 : eighth - row * 8;
}

static void draw_row(struct page *p, const struct chart *c, unsigned row)
{
	struct text t = {0};
	size_t i;

	for (i = 0; i < c->columns; i++) {
		uint64_t requested = column_max(c->profile->requested, i, c->columns);
		uint64_t reserved = c->reserved ? column_max(c->profile->reserved, i, c->columns) : 0;

		glyph(&t, p, in_row(eighths(c, requested), row), in_row(eighths(c, reserved), row));
	}
	while (t.n && t.s[t.n - 1] == ' ')
		t.s[--t.n] = 0;
	fputs(t.s, p->f);
	fputc('\n', p->f);
	text_free(&t);
}

/* Where it begins and ends, and between them what the two shades are. */
static void axis(struct page *p, const struct model *m, const struct chart *c)
{
	const char *key = !c->reserved ? ""
	                  : p->unicode ? "\xe2\x96\x88 requested  \xe2\x96\x91 reserved"
	                               : "# requested  . reserved";
	char left[TEXT_SIZE_MAX], right[TEXT_SIZE_MAX];
	size_t n = m->ev.n - m->n_initial, wide = c->reserved ? strlen("# requested  . reserved") : 0;

	if (c->profile->by_time) {
		text_ns(left, m->ev.t_ns[m->n_initial]);
		text_ns(right, m->ev.t_ns[m->ev.n - 1]);
	} else {
		snprintf(left, sizeof left, "event 0");
		text_count(right, n - 1);
	}
	page_ink(p, INK_DIM);
	fprintf(p->f, "%*s%s", LABEL + 2, "", left);
	size_t both = strlen(left) + strlen(right), room = c->columns > both ? c->columns - both : 0;
	if (room < wide + 4)
		key = "", wide = 0;
	if (room)
		fprintf(p->f, "%*s%s%*s%s", (int)((room - wide) / 2), "", key,
		        (int)(room - wide - (room - wide) / 2), "", right);
	page_ink(p, INK_PLAIN);
	fputc('\n', p->f);
}

void chart_memory(struct page *p, const struct model *m, const struct device_totals *d)
{
	struct chart c = {.profile = d->profile};
	char size[TEXT_SIZE_MAX];
	unsigned row;

	c.columns = p->width - LABEL - 2 < PROFILE_COLUMNS ? p->width - LABEL - 2 : PROFILE_COLUMNS;
	c.reserved = d->level == GMS_FRAMEWORK && d->amount[TOTAL_RESERVED].peak != MODEL_UNKNOWN;
	c.top = d->amount[c.reserved ? TOTAL_RESERVED : TOTAL_REQUESTED].peak;
	if (!c.profile || !c.top || c.top == MODEL_UNKNOWN || m->ev.n - m->n_initial < 8)
		return;
	fputc('\n', p->f);
	for (row = ROWS; row-- > 0;) {
		const char *label = row == ROWS - 1 ? text_bytes(size, c.top) : row ? "" : "0 B";

		fprintf(p->f, "%*s ", LABEL, label);
		page_ink(p, INK_DIM);
		fputs(p->unicode ? "\xe2\x94\x82" : "|", p->f);
		page_ink(p, INK_BLUE);
		draw_row(p, &c, row);
		page_ink(p, INK_PLAIN);
	}
	axis(p, m, &c);
}

void chart_strip(struct page *p, const char *label, const float *v, size_t n)
{
	size_t columns = p->width - LABEL - 8 < n ? p->width - LABEL - 8 : n, i, k;
	struct text t = {0};

	text_puts(&t, "");
	for (i = 0; i < columns; i++) {
		float max = -1;

		for (k = i * n / columns; k < (i + 1) * n / columns; k++)
			max = v[k] > max ? v[k] : max;
		glyph(&t, p, max < 0 ? 0 : max * 8 < 1 ? 1 : (unsigned)(max * 8 + 0.5f), 0);
	}
	fprintf(p->f, "%*s ", LABEL, label);
	page_ink(p, INK_DIM);
	fputs(p->unicode ? "\xe2\x94\x82" : "|", p->f);
	page_ink(p, INK_BLUE);
	fputs(t.s, p->f);
	page_ink(p, INK_DIM);
	fputs(p->unicode ? "\xe2\x94\x82 0-1" : "| 0-1", p->f);
	page_ink(p, INK_PLAIN);
	fputc('\n', p->f);
	text_free(&t);
}
