/* flame.h: a tree of frames as a picture. */
#ifndef RENDER_FLAME_H
#define RENDER_FLAME_H

#include "analyze/diff.h"
#include "analyze/flame.h"
#include "analyze/levels.h"
#include "analyze/rank.h"
#include "render/look.h"

/* What a differential flame has besides: widths are what is, colours what that differs from. */
struct flame_change {
	const struct diff *diff;
	const struct model *before; /* in whose terms the stacks of DIFF_A are */
	bool end;                   /* what is compared is live at the end, not at the peak */
};

struct flame_picture {
	const struct model *m;
	struct flame *tree;      /* added to, not built yet: the layout knows what is too small */
	const struct rank *rank; /* stacks with a colour of their own, or NULL */
	const struct flame_change *change; /* or NULL */
	const struct levels *levels;       /* of the tree's stacks, if they are coarse, or NULL */
	const char *title, *subtitle;
	bool count;  /* values are blocks, not bytes */
	bool invert; /* the root on top */
	bool full;   /* never fold library frames to save height */
};

/* p is initialised here (picture_free when done). */
void flame_layout(struct picture *p, const struct flame_picture *f, const struct look_options *o,
                  struct font *font);

#endif
