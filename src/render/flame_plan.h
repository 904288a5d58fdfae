/* flame_plan.h: a flame in the making, between flame_place.c (which box goes where), flame_layout.c and
 * flame_change.c (what is different in a differential one). */
#ifndef RENDER_FLAME_PLAN_H
#define RENDER_FLAME_PLAN_H

#include "analyze/code.h"
#include "render/flame.h"

#define MAX_ENTRIES 20 /* of the legend of names */

enum box_kind { BOX_FRAME, BOX_SMALLER };

struct flame_box {
	uint32_t node;
	uint32_t name;  /* the node whose name it bears: itself, or one of those folded into it */
	uint32_t count; /* siblings merged, or frames behind the first that are folded into the box */
	int x, w, row;
	enum box_kind kind;
	int entry; /* number in the legend of names, 0: none */
};

struct flame_plan {
	const struct flame_picture *f;
	struct flame *tree;
	struct picture *p;
	struct look l;
	struct code_memo codes;
	struct flame_box *box;
	size_t n, cap;
	int rows, rows_wanted; /* drawn; and without the limit of the height */
	int top;               /* y of the uppermost row */
	int width, least;      /* of the root; of a box worth drawing */
	int pitch, pad;
	uint32_t entry[MAX_ENTRIES]; /* the widest box of that name: its node */
	int n_entries;
	uint64_t names_left; /* shortened names that are in no entry */
	uint64_t most;       /* the largest change of a drawn box */
};

/* Boxes for everything worth drawing; squeeze: how readily frames in a row are folded into one box (0: not at
 * all, 1: library and interpreter frames, 2: Python libraries too, 3: everything). */
void flame_place(struct flame_plan *g, int squeeze);
/* The node n single children further. */
uint32_t flame_skip(const struct flame_plan *g, uint32_t node, uint32_t n);
/* Whose code a node is, and how much it tells (code.h). */
enum code flame_code(struct flame_plan *g, uint32_t node, unsigned *worth);


/* flame_change.c. First what the strongest colour stands for; then a box's colour, what is said behind its
 * name, and below the boxes the scale and what is gone (the y below them is returned). */
void flame_change_scale(struct flame_plan *g);
uint32_t flame_change_fill(const struct flame_plan *g, uint32_t node);
void flame_change_words(const struct flame_plan *g, char *buf, size_t size, uint32_t node);
int flame_change_legend(struct flame_plan *g, bool draw, int y);

#endif
