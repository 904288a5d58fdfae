/* torch_level.h: PyTorch's own history of a recorded process becomes part of its recording.
 *
 * The files that src/record/python/sitecustomize.py leaves beside a process's spool: see there.
 */
#ifndef CLI_TORCH_LEVEL_H
#define CLI_TORCH_LEVEL_H

#include "model/model.h"
#include <stdbool.h>

/* If there is a history beside the spool, put it into its model, clocks aligned; what is to be said of it
 * becomes notes. Before model_link. */
void torch_level_add(struct model *m, const char *spool);
/* Ask a running process for its history as of now, and wait for it up to `ms` milliseconds. */
void torch_level_ask(const char *spool, int ms);

#endif
