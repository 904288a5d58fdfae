/* flame.c: building the tree by dividing the stacks, from the root outward.
 *
 * The stacks that pass through a node lie side by side; one pass over their next frames divides them
 * among the children, the largest child first. What is too small is not divided further, so the work
 * goes where something will be seen, however many stacks there are.
 */
#include "analyze/flame.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

#define LONGEST_TURN 8

void flame_begin(struct flame *f, const struct model *m, const struct flame_options *opt)
{
	*f = (struct flame){.m = m, .opt = *opt};
}

void flame_free(struct flame *f)
{
	free(f->node);
	free(f->entry);
	free(f->path);
	*f = (struct flame){0};
}

void flame_add(struct flame *f, uint32_t stack, uint64_t value)
{
	flame_add_change(f, stack, value, 0);
}

void flame_add_change(struct flame *f, uint32_t stack, uint64_t value, uint64_t was)
{
	size_t n;

	if (!value && !was)
		return;
	model_stack_frames(f->m, stack, &n);
	f->total += value;
	f->was += was;
	f->stacks += value != 0;
	*VEC_PUSH(f->entry, f->n_entries, f->cap_entries) = (struct flame_entry){
	    .value = value, .was = was, .stack = stack, .n = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n};
}

/* Frames that are one node get one key: the first frame of the kind. */
static uint32_t *make_keys(const struct flame *f)
{
	const struct frames *fr = &f->m->frames;
	struct map64 by_name = {0}, nameless = {0}, by_line = {0};
	uint32_t *key = mem_alloc((fr->n + 1) * sizeof *key);
	bool fresh;

	for (uint32_t i = 0; i < fr->n; i++) {
		const struct frame *v = &fr->v[i];
		uint32_t *at = v->function
		                   ? map64_put(&by_name, (uint64_t)v->function << 32 | v->file, &fresh)
		                   : map64_put(&nameless, (uint64_t)v->module << 32 | v->line, &fresh);
		key[i] = fresh ? (*at = i) : *at;
		if (!f->opt.merge_lines) {
			at = map64_put(&by_line, (uint64_t)key[i] << 32 | v->line, &fresh);
			key[i] = fresh ? (*at = i) : *at;
		}
	}
	map64_free(&by_name);
	map64_free(&nameless);
	map64_free(&by_line);
	return key;
}

/* A stack's frames from the root outward with every repeated turn left out, appended to f->path. */
static void fold_path(struct flame *f, struct flame_entry *e, const uint32_t *key)
{
	const uint32_t *stack = f->m->stacks.flat + f->m->stacks.at[e->stack];
	size_t begin = f->n_path, k, turn, i;

	e->at = begin;
	for (i = 0; i < e->n; i++) {
		*VEC_PUSH(f->path, f->n_path, f->cap_path) = stack[f->opt.reverse ? i : e->n - 1 - i];
		for (turn = 1; turn <= LONGEST_TURN && begin + 2 * turn <= f->n_path; turn++) {
			const uint32_t *last = f->path + f->n_path - turn, *before = last - turn;
			for (k = 0; k < turn && key[last[k]] == key[before[k]];)
				k++;
			if (k == turn) {
				f->n_path -= turn;
				break;
			}
		}
	}
	e->n = (uint32_t)(f->n_path - begin);
}

/* --- dividing ------------------------------------------------------------------------------- */

/* The children of the node in work. */
struct group {
	uint64_t total, was;
	uint32_t key, frame;
	size_t n, at; /* entries, and where they begin */
	uint32_t order;
};

struct building {
	struct flame *f;
	const uint32_t *key;
	uint64_t least;
	uint32_t *group_of; /* key → group + 1 of the node in work; 0 between nodes */
	struct group *group;
	size_t n, cap;
	struct flame_entry *scratch;
	struct range {
		uint32_t node;
		size_t from, to;
	} * todo;
	size_t n_todo, cap_todo;
};

static uint32_t frame_at(const struct flame *f, const struct flame_entry *e, uint32_t depth)
{
	const uint32_t *stack;

	if (f->opt.fold)
		return f->path[e->at + depth];
	stack = f->m->stacks.flat + f->m->stacks.at[e->stack];
	return stack[f->opt.reverse ? depth : e->n - 1 - depth];
}

static struct group *group_for(struct building *b, const struct flame_entry *e, uint32_t depth)
{
	/* The stacks without frames are one child of the root. */
	uint32_t frame = e->n ? frame_at(b->f, e, depth) : FLAME_NO_STACK;
	uint32_t key = e->n ? b->key[frame] : (uint32_t)b->f->m->frames.n;

	if (!b->group_of[key]) {
		*VEC_PUSH(b->group, b->n, b->cap) =
		    (struct group){.key = key, .frame = frame, .order = (uint32_t)b->n};
		b->group_of[key] = (uint32_t)b->n;
	}
	return &b->group[b->group_of[key] - 1];
}

static int largest_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Does the entry end at a node of this depth? */
static bool ends(const struct flame_entry *e, uint32_t depth)
{
	return depth && (e->n <= depth || depth == FLAME_MAX_DEPTH);
}

/* Groups of the entries that go on, with what ends here added to the node. */
static void divide(struct building *b, const struct range *r)
{
	struct flame_node *v = &b->f->node[r->node];

	b->n = 0;
	for (size_t i = r->from; i < r->to; i++) {
		const struct flame_entry *e = &b->f->entry[i];
		if (ends(e, v->depth)) {
			if (!e->value)
				continue;
			v->stack = v->self ? 0 : e->stack;
			v->self += e->value;
			if (e->n > v->depth && v->depth) {
				b->f->cut++;
				b->f->cut_bytes += e->value;
			}
			continue;
		}
		struct group *g = group_for(b, e, v->depth);
		g->total += e->value;
		g->was += e->was;
		g->n++;
	}
	for (size_t i = 0; i < b->n; i++)
		b->group_of[b->group[i].key] = 0;
	if (b->n > 1)
		qsort(b->group, b->n, sizeof *b->group, largest_first);
}

/* Put the entries of each group side by side, in the groups' order. */
static void gather(struct building *b, const struct range *r)
{
	uint32_t depth = b->f->node[r->node].depth;
	size_t at = r->from, i;

	for (i = 0; i < b->n; i++) {
		b->group_of[b->group[i].key] = (uint32_t)i + 1;
		b->group[i].at = at;
		at += b->group[i].n;
	}
	if (b->n > 1 || at < r->to) {
		memcpy(b->scratch, b->f->entry + r->from, (r->to - r->from) * sizeof *b->scratch);
		for (i = 0; i < r->to - r->from; i++)
			if (!ends(&b->scratch[i], depth))
				b->f->entry[group_for(b, &b->scratch[i], depth)->at++] = b->scratch[i];
	} else {
		b->group[0].at = at;
	}
	for (i = 0; i < b->n; i++)
		b->group_of[b->group[i].key] = 0;
}

static void add_children(struct building *b, uint32_t node)
{
	struct flame *f = b->f;
	uint32_t last = 0;

	for (size_t i = 0; i < b->n; i++) {
		const struct group *g = &b->group[i];
		if (g->total < b->least) {
			f->node[node].small += g->total;
			f->node[node].n_small += g->total != 0;
			continue;
		}
		uint32_t id = (uint32_t)f->n;
		*VEC_PUSH(f->node, f->n, f->cap) = (struct flame_node){.total = g->total,
		                                                            .was = g->was,
		                                                            .parent = node,
		                                                            .frame = g->frame,
		                                                            .depth = f->node[node].depth + 1};
		*(last ? &f->node[last].next : &f->node[node].child) = id;
		last = id;
		*VEC_PUSH(b->todo, b->n_todo, b->cap_todo) = (struct range){id, g->at - g->n, g->at};
	}
}

void flame_build(struct flame *f, uint64_t least)
{
	uint32_t *key = make_keys(f);
	struct building b = {.f = f, .key = key, .least = least};

	for (size_t i = 0; f->opt.fold && i < f->n_entries; i++)
		fold_path(f, &f->entry[i], key);
	b.group_of = mem_zalloc(f->m->frames.n + 1, sizeof *b.group_of);
	b.scratch = mem_alloc((f->n_entries + 1) * sizeof *b.scratch);
	*VEC_PUSH(f->node, f->n, f->cap) = (struct flame_node){.total = f->total, .was = f->was};
	*VEC_PUSH(b.todo, b.n_todo, b.cap_todo) = (struct range){0, 0, f->n_entries};
	while (b.n_todo) {
		struct range r = b.todo[--b.n_todo];
		divide(&b, &r);
		if (!b.n)
			continue;
		gather(&b, &r);
		add_children(&b, r.node);
	}
	free(key);
	free(b.group_of);
	free(b.group);
	free(b.scratch);
	free(b.todo);
}
