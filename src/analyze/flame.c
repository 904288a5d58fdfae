/* flame.c: building the tree. Neighbouring stacks mostly share their outer frames, so the path of the
 * last stack is tried before the table of children is asked. */
#include "analyze/flame.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

#define LONGEST_TURN 8

/* Frames that are one node get one key: the first frame of the kind. */
static void make_keys(struct flame *f)
{
	const struct frames *fr = &f->m->frames;
	struct map64 by_name = {0}, nameless = {0}, by_line = {0};
	bool fresh;

	f->key = mem_alloc((fr->n + 1) * sizeof *f->key);
	for (uint32_t i = 0; i < fr->n; i++) {
		const struct frame *v = &fr->v[i];
		uint32_t *at = v->function
		                   ? map64_put(&by_name, (uint64_t)v->function << 32 | v->file, &fresh)
		                   : map64_put(&nameless, (uint64_t)v->module << 32 | v->line, &fresh);
		uint32_t key = fresh ? (*at = i) : *at;
		if (!f->opt.merge_lines) {
			at = map64_put(&by_line, (uint64_t)key << 32 | v->line, &fresh);
			key = fresh ? (*at = i) : *at;
		}
		f->key[i] = key;
	}
	map64_free(&by_name);
	map64_free(&nameless);
	map64_free(&by_line);
}

void flame_begin(struct flame *f, const struct model *m, const struct flame_options *opt)
{
	*f = (struct flame){.m = m, .opt = *opt};
	f->path = mem_alloc((FLAME_MAX_DEPTH + 1) * sizeof *f->path);
	f->path_key = mem_alloc((FLAME_MAX_DEPTH + 1) * sizeof *f->path_key);
	*VEC_PUSH(f->node, f->n, f->cap) = (struct flame_node){0};
	make_keys(f);
}

void flame_free(struct flame *f)
{
	free(f->node);
	free(f->key);
	free(f->path);
	free(f->path_key);
	map64_free(&f->children);
	*f = (struct flame){0};
}

static uint32_t child(struct flame *f, uint32_t parent, uint32_t key, uint32_t frame)
{
	bool fresh;
	uint32_t *at = map64_put(&f->children, (uint64_t)parent << 32 | key, &fresh);

	if (fresh) {
		uint32_t id = (uint32_t)f->n;
		*at = id;
		struct flame_node *v = VEC_PUSH(f->node, f->n, f->cap);
		*v =
		    (struct flame_node){.parent = parent, .frame = frame, .depth = f->node[parent].depth + 1};
		v->next = f->node[parent].child;
		f->node[parent].child = id;
		if (v->depth > f->depth)
			f->depth = v->depth;
		return id;
	}
	return *at;
}

/* Keys of a stack from the tree's root outward, recursion folded if asked for. frames[] and keys[] have
 * room for FLAME_MAX_DEPTH; the number is returned, and *cut tells if there would be more. */
static size_t outward(const struct flame *f, const uint32_t *stack, size_t n, uint32_t *keys,
                      uint32_t *frames, bool *cut)
{
	size_t k = 0;

	*cut = false;
	for (size_t i = 0; i < n; i++) {
		if (k == FLAME_MAX_DEPTH) {
			*cut = true;
			break;
		}
		frames[k] = stack[f->opt.reverse ? i : n - 1 - i];
		keys[k] = f->key[frames[k]];
		k++;
		for (size_t turn = 1; f->opt.fold && turn <= LONGEST_TURN && 2 * turn <= k; turn++)
			if (!memcmp(keys + k - turn, keys + k - 2 * turn, turn * sizeof *keys)) {
				k -= turn;
				break;
			}
	}
	return k;
}

void flame_add(struct flame *f, uint32_t stack, uint64_t value)
{
	uint32_t keys[FLAME_MAX_DEPTH], frames[FLAME_MAX_DEPTH], at = 0;
	size_t n_frames, n, i = 0;
	bool cut;
	const uint32_t *fr = model_stack_frames(f->m, stack, &n_frames);

	if (!value)
		return;
	n = outward(f, fr, n_frames, keys, frames, &cut);
	if (!n_frames) {
		keys[0] = frames[0] = FLAME_NO_STACK;
		n = 1;
	}
	f->stacks++;
	f->cut += cut;
	f->cut_bytes += cut ? value : 0;
	f->node[0].total += value;
	for (; i < n && i < f->n_path && f->path_key[i] == keys[i]; i++) {
		at = f->path[i];
		f->node[at].total += value;
	}
	for (; i < n; i++) {
		at = child(f, at, keys[i], frames[i]);
		f->node[at].total += value;
		f->path[i] = at;
		f->path_key[i] = keys[i];
	}
	f->n_path = n;
	f->node[at].stack = f->node[at].self ? 0 : stack;
	f->node[at].self += value;
}

static uint32_t merge(struct flame_node *v, uint32_t a, uint32_t b)
{
	uint32_t head = 0, *tail = &head;

	while (a && b) {
		bool first = v[a].total > v[b].total || (v[a].total == v[b].total && a < b);
		uint32_t *from = first ? &a : &b;
		*tail = *from;
		tail = &v[*from].next;
		*from = *tail;
	}
	*tail = a ? a : b;
	return head;
}

void flame_sort_children(struct flame *f, uint32_t node)
{
	struct flame_node *v = f->node;
	uint32_t run[32] = {0}, rest = v[node].child;
	int k, used = 0;

	while (rest) {
		uint32_t one = rest;
		rest = v[one].next;
		v[one].next = 0;
		for (k = 0; k < used && run[k]; k++) {
			one = merge(v, run[k], one);
			run[k] = 0;
		}
		run[k] = one;
		if (k == used)
			used++;
	}
	uint32_t all = 0;
	for (k = 0; k < used; k++)
		all = merge(v, run[k], all);
	v[node].child = all;
}
