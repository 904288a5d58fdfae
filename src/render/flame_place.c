/* flame_place.c: which boxes a flame has and where they go.
 *
 * Widths are in exact proportion to values. A box thinner than the least width is never dropped: it and
 * its smaller siblings become one grey box of their sum.
 */
#include "base/mem.h"
#include "render/flame_plan.h"
#include <stdlib.h>

struct todo {
	uint32_t node;
	int row;
	uint64_t from; /* value to the left of it */
};

static int at_value(const struct flame_plan *g, uint64_t v)
{
	return (int)((unsigned __int128)v * (unsigned)g->width / g->tree->node[0].total);
}

static void add_box(struct flame_plan *g, enum box_kind kind, uint32_t node, uint32_t count, int row,
                    uint64_t from, uint64_t value)
{
	int x0 = at_value(g, from), x1 = at_value(g, from + value);

	if (x1 <= x0)
		return;
	*VEC_PUSH(g->box, g->n, g->cap) = (struct flame_box){.node = node,
	                                                     .name = node,
	                                                     .count = count,
	                                                     .x = g->l.margin + x0,
	                                                     .w = x1 - x0,
	                                                     .row = row,
	                                                     .kind = kind};
	if (row >= g->rows)
		g->rows = row + 1;
}

static bool is_link(const struct flame_node *v, const struct flame_node *all)
{
	return v->child && !all[v->child].next && all[v->child].total == v->total && all[v->child].was == v->was;
}

enum code flame_code(struct flame_plan *g, uint32_t node, unsigned *worth)
{
	uint32_t frame = g->tree->node[node].frame;

	if (frame != FLAME_NO_STACK)
		frame = levels_original(g->f->levels, frame);
	if (frame < g->f->m->frames.n)
		return code_of(&g->codes, g->f->m, frame, worth);
	if (worth)
		*worth = 4;
	return CODE_YOURS;
}

/* How many frames behind this node are folded into its box: a chain without branches of code that is not
 * worth a row each. squeeze 1: without symbols, native and CUDA libraries; 2: Python libraries too; 3: all.
 */
static uint32_t fold_behind(struct flame_plan *g, uint32_t node, int squeeze)
{
	const struct flame_node *all = g->tree->node;
	uint32_t n = 0;

	while (squeeze && node && is_link(&all[node], all)) {
		node = all[node].child;
		unsigned worth;
		enum code c = flame_code(g, node, &worth);
		if (squeeze < 3 && worth && (c == CODE_YOURS || (c == CODE_PYTHON && squeeze < 2)))
			break;
		n++;
	}
	return n;
}

uint32_t flame_skip(const struct flame_plan *g, uint32_t node, uint32_t n)
{
	while (n--)
		node = g->tree->node[node].child;
	return node;
}

/* Of the frames in one box the one that tells most; of equal ones the innermost, but the first of own code.
 */
static uint32_t most_telling(struct flame_plan *g, uint32_t node, uint32_t folded)
{
	uint32_t best = node;
	unsigned most = 0, worth;

	for (uint32_t i = 0; i <= folded; i++, node = g->tree->node[node].child) {
		flame_code(g, node, &worth);
		if (worth > most || (worth == most && worth % 4)) {
			best = node;
			most = worth;
		}
	}
	return best;
}

/* The children of a node that was placed at row, and one box for those too small to be nodes. */
static void place_children(struct flame_plan *g, const struct todo *t, struct todo **stack, size_t *n, size_t *cap)
{
	const struct flame_node *v = g->tree->node;
	uint64_t from = t->from;

	for (uint32_t c = v[t->node].child; c; c = v[c].next) {
		*VEC_PUSH(*stack, *n, *cap) = (struct todo){c, t->row + 1, from};
		from += v[c].total;
	}
	if (v[t->node].small)
		add_box(g, BOX_SMALLER, t->node, v[t->node].n_small, t->row + 1, from, v[t->node].small);
}

void flame_place(struct flame_plan *g, int squeeze)
{
	struct todo *stack = NULL, t;
	size_t n = 0, cap = 0;

	g->n = 0;
	g->rows = 0;
	*VEC_PUSH(stack, n, cap) = (struct todo){0, 0, 0};
	while (n) {
		t = stack[--n];
		uint32_t folded = fold_behind(g, t.node, squeeze);
		add_box(g, BOX_FRAME, t.node, folded, t.row, t.from, g->tree->node[t.node].total);
		if (folded && g->n)
			g->box[g->n - 1].name = most_telling(g, t.node, folded);
		t.node = flame_skip(g, t.node, folded);
		place_children(g, &t, &stack, &n, &cap);
	}
	free(stack);
}
