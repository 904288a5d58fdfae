/* diff_tree.h: the stacks of a diff as the tree of one differential flame, in the second model's terms. */
#ifndef ANALYZE_DIFF_TREE_H
#define ANALYZE_DIFF_TREE_H

#include "analyze/diff.h"
#include "analyze/flame.h"

/* Add every row of d to f, which was begun on b: values are the bytes (or blocks) live in b at its peak (or
 * end), before them those in a. Stacks that only a has are added to b's tables; a frame whose line moved becomes
 * the one that b has of the function, if that is only one. */
void diff_tree_fill(struct flame *f, struct model *b, const struct model *a, const struct diff *d, bool end,
                    bool count);

#endif
