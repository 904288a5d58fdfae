/* flame_change.c: what a differential flame has of its own: colours of change, their scale, what is gone.
 *
 * Widths show what is; what is no more has none. So it is drawn below as a strip on the scale of the boxes
 * and listed by name: nothing that A held is missing from the picture.
 */
#include "base/mem.h"
#include "render/flame_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTED 10 /* stacks that are gone, by name */

static int64_t change_of(const struct flame_plan *g, uint32_t node)
{
	return (int64_t)(g->tree->node[node].total - g->tree->node[node].was);
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* Step k begins above (k - 1)²/25 of the largest change: small changes are seen too. */
static uint64_t step_above(const struct flame_plan *g, int step)
{
	unsigned n = (unsigned)(step * step);

	return (uint64_t)((unsigned __int128)g->most * n / (PALETTE_STEPS * PALETTE_STEPS));
}

void flame_change_scale(struct flame_plan *g)
{
	g->most = 0;
	for (size_t i = 0; i < g->n; i++) {
		uint64_t v = magnitude(change_of(g, g->box[i].node));
		if (g->box[i].kind == BOX_FRAME && v > g->most)
			g->most = v;
	}
}

uint32_t flame_change_fill(const struct flame_plan *g, uint32_t node)
{
	int64_t change = change_of(g, node);
	int step = 0;

	while (step < PALETTE_STEPS && magnitude(change) > step_above(g, step))
		step++;
	return palette_change(&g->l.pal, change < 0 ? -step : step);
}

static const char *amount_of(const struct flame_plan *g, char *buf, uint64_t n)
{
	return g->f->count ? text_count(buf, n) : text_bytes(buf, n);
}

static void signed_amount(const struct flame_plan *g, char *buf, size_t size, int64_t v)
{
	char amount[TEXT_SIZE_MAX];
	uint64_t n = magnitude(v);

	snprintf(buf, size, "%s%s", v < 0 ? "\xe2\x88\x92" : v ? "+" : "\xc2\xb1", amount_of(g, amount, n));
}

void flame_change_words(const struct flame_plan *g, char *buf, size_t size, uint32_t node)
{
	const struct flame_node *v = &g->tree->node[node];
	char now[TEXT_SIZE_MAX], change[TEXT_SIZE_MAX + 4];

	signed_amount(g, change, sizeof change, change_of(g, node));
	snprintf(buf, size, "%s \xc2\xb7 %s", amount_of(g, now, v->total),
	         !v->was              ? "new"
	         : change_of(g, node) ? change
	                              : "same");
}

/* --- scale ---------------------------------------------------------------------------------- */

/* What a step goes up to, below it; the ends are always told. */
static void scale_words(struct flame_plan *g, int k, int x, int w, int y)
{
	const struct pic_style *s = &g->l.small;
	char words[TEXT_SIZE_MAX + 4];
	enum pic_align align = k == PALETTE_STEPS ? PIC_RIGHT : k == -PALETTE_STEPS ? PIC_LEFT : PIC_CENTRE;

	signed_amount(g, words, sizeof words,
	              k < 0 ? -(int64_t)step_above(g, -k) : (int64_t)step_above(g, k));
	if (align == PIC_CENTRE &&
	    font_width(g->p->font, s->face, s->size, words, strlen(words)) > w - look_px(&g->l, 6))
		return;
	x += align == PIC_RIGHT ? w : align == PIC_CENTRE ? w / 2 : 0;
	picture_puts(g->p, "scale.words", k + PALETTE_STEPS, x, y, align, s, words);
}

/* From the largest loss to the largest gain, in steps. */
static int draw_scale(struct flame_plan *g, bool draw, int y)
{
	int steps = 2 * PALETTE_STEPS + 1, w = look_px(&g->l, 86), h = look_px(&g->l, 13);

	if (g->width < steps * w)
		w = g->width / steps;
	for (int k = -PALETTE_STEPS; draw && k <= PALETTE_STEPS; k++) {
		picture_rect(g->p, "scale", k + PALETTE_STEPS, g->l.margin + (k + PALETTE_STEPS) * w, y,
		             w - 1, h, palette_change(&g->l.pal, k));
		scale_words(g, k, g->l.margin + (k + PALETTE_STEPS) * w, w, y + h + look_px(&g->l, 12));
	}
	return y + h + look_px(&g->l, 20);
}

/* --- gone ----------------------------------------------------------------------------------- */

struct gone {
	uint32_t stack;
	uint64_t value;
};

static int most_first(const void *a, const void *b)
{
	const struct gone *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static struct gone *find_gone(const struct flame_change *c, bool count, size_t *n, uint64_t *sum)
{
	struct gone *v = mem_alloc((c->diff->n + 1) * sizeof *v);

	*n = 0;
	*sum = 0;
	for (size_t i = 0; i < c->diff->n; i++) {
		const struct diff_row *r = &c->diff->rows[i];
		const uint64_t *value = diff_values(r, c->end, count);
		if (!value[DIFF_A] || value[DIFF_B])
			continue;
		v[(*n)++] = (struct gone){r->stack[DIFF_A], value[DIFF_A]};
		*sum += value[DIFF_A];
	}
	qsort(v, *n, sizeof *v, most_first);
	return v;
}

/* As many as the picture is wide; narrow ones share a box. */
static void draw_strip(struct flame_plan *g, const struct gone *v, size_t n, int y)
{
	uint64_t total = g->tree->node[0].total, at = 0;
	int h = g->pitch - look_px(&g->l, 1), last = g->l.margin;

	for (size_t i = 0; i < n; i++) {
		at += v[i].value;
		unsigned __int128 to = (unsigned __int128)at * (unsigned)g->width / total;
		int x = g->l.margin + (to > (unsigned)g->width ? g->width : (int)to);
		if (x - last < g->least && i + 1 < n)
			continue;
		if (x > last)
			picture_rect(g->p, "gone", (int64_t)i, last, y,
			             x - last > 3 ? x - last - 1 : x - last, h,
			             palette_change(&g->l.pal, -PALETTE_STEPS));
		last = x;
	}
}

static void list_gone(struct flame_plan *g, const struct gone *v, size_t n, int y)
{
	struct code_memo codes = {0};
	int indent = look_px(&g->l, 96), pitch = look_px(&g->l, 16), room = g->width - indent;
	char amount[TEXT_SIZE_MAX + 4];

	for (size_t i = 0; i < n && i < LISTED; i++, y += pitch) {
		struct text name = {0};
		int base = y + look_px(&g->l, 11);
		code_stack_name(&codes, g->f->change->before, v[i].stack, &name);
		signed_amount(g, amount, sizeof amount, -(int64_t)v[i].value);
		picture_puts(g->p, "gone.amount", (int64_t)i, g->l.margin + indent - look_px(&g->l, 10), base,
		             PIC_RIGHT, &g->l.bold, amount);
		picture_fit(g->p, "gone.name", (int64_t)i, g->l.margin + indent, base, room, &g->l.text,
		            name.s ? name.s : "", name.n);
		text_free(&name);
	}
	code_memo_free(&codes);
}

static int draw_gone(struct flame_plan *g, bool draw, int y)
{
	char amount[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];
	struct text t = {0};
	uint64_t sum, left = 0;
	size_t n;
	struct gone *v = find_gone(g->f->change, g->f->count, &n, &sum);
	bool strip = g->tree->total != 0;

	if (n) {
		for (size_t i = LISTED; i < n; i++)
			left += v[i].value;
		text_printf(&t, "Gone: %s%s%s", amount_of(g, amount, sum), !g->f->count ? "" : sum == 1 ? " block" : " blocks",
		            !strip                 ? ""
		            : sum > g->tree->total ? ", more than the boxes above together"
		                                   : ", on the scale of the boxes above");
		if (n > LISTED)
			text_printf(&t, "; the largest are named, %s more were %s",
			            text_count(count, n - LISTED), amount_of(g, amount, left));
		if (draw) {
			picture_fit(g->p, "gone.title", -1, g->l.margin, y + look_px(&g->l, 11), g->width,
			            &g->l.bold, t.s, t.n);
			if (strip)
				draw_strip(g, v, n, y + look_px(&g->l, 18));
			list_gone(g, v, n, y + look_px(&g->l, 20) + (strip ? g->pitch : 0));
		}
		y += look_px(&g->l, 28) + (strip ? g->pitch : 0) +
		     look_px(&g->l, 16) * (int)(n < LISTED ? n : LISTED);
	}
	text_free(&t);
	free(v);
	return y;
}

int flame_change_legend(struct flame_plan *g, bool draw, int y)
{
	if (g->tree->total)
		y = draw_scale(g, draw, y);
	return draw_gone(g, draw, y);
}
