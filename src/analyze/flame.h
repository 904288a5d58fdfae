/* flame.h: stacks with bytes, merged into one tree of frames.
 *
 * Give all stacks with flame_add, then flame_build makes the tree. A node's total is its own bytes plus
 * those of its children plus those of children too small to be nodes, and the root's total is the sum of
 * all that was added: nothing is lost, whatever is merged, folded or cut. Frames are told apart by
 * function, file and line (or without the line). Node 0 is the root; it has no frame.
 */
#ifndef ANALYZE_FLAME_H
#define ANALYZE_FLAME_H

#include "model/model.h"

#define FLAME_MAX_DEPTH 5000
#define FLAME_NO_STACK  UINT32_MAX /* stands for a frame where no stack was recorded */

struct flame_options {
	bool reverse;     /* the root's children are the innermost frames */
	bool fold;        /* direct and mutual recursion (up to 8 frames long) is one turn of it */
	bool merge_lines; /* lines of one function are one node */
};

struct flame_node {
	uint64_t total, self;
	uint64_t was;                 /* the total of what flame_add_change says it was before */
	uint64_t small;               /* bytes of children below the least value */
	uint32_t n_small;             /* and how many they are */
	uint32_t parent, child, next; /* 0: none; children are sorted, largest first, then first seen first */
	uint32_t frame;               /* the first of the frames merged here, or FLAME_NO_STACK */
	uint32_t stack;               /* the only stack that ends here; 0: several or none */
	uint32_t depth;               /* root 0 */
};

struct flame {
	struct flame_options opt;
	uint64_t total, stacks; /* added with more than 0 */
	uint64_t was;
	/* after flame_build: */
	struct flame_node *node;
	size_t n, cap;
	uint64_t cut, cut_bytes; /* stacks deeper than FLAME_MAX_DEPTH, and what they hold */
	/* private */
	const struct model *m;
	struct flame_entry {
		uint64_t value, was;
		uint32_t stack;
		uint32_t n; /* frames of its path */
		size_t at;  /* of its path in `path`, if recursion is folded */
	} * entry;
	size_t n_entries, cap_entries;
	uint32_t *path;
	size_t n_path, cap_path;
};

void flame_begin(struct flame *f, const struct model *m, const struct flame_options *opt);
void flame_add(struct flame *f, uint32_t stack, uint64_t value);
/* The same with what it was before: it is summed up beside the totals and changes nothing else. */
void flame_add_change(struct flame *f, uint32_t stack, uint64_t value, uint64_t was);
/* Nodes are made for totals of at least `least`; once. */
void flame_build(struct flame *f, uint64_t least);
void flame_free(struct flame *f);

#endif
