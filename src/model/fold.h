/* fold.h: forget how a recording came to where it stands.
 *
 * A long recording that is followed while it goes on must not be kept whole: its rows are folded into
 * the state they led to, from which an analysis of what comes later starts.
 */
#ifndef MODEL_FOLD_H
#define MODEL_FOLD_H

#include "model/model.h"

#define FOLD_FAILURES 64 /* so many of the last failures stay, with their rows */

/* The rows of a linked model become initial rows: what is live, the last sample of each kind
 * and pool, the last failures. Whether a device has blocks or segments at all stays known by an INFO row
 * of that kind. The model is not linked afterwards.
 * Not for a model with mapped segments (model_maps): what is mapped is known from all its rows only. */
void model_fold(struct model *m);
bool model_maps(const struct model *m);

#endif
