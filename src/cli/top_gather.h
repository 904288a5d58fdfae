/* top_gather.h: one look at the machine: NVML, recorded processes, /proc; as render/top.h wants it. */
#ifndef CLI_TOP_GATHER_H
#define CLI_TOP_GATHER_H

#include "render/top.h"

struct gather;
struct gather *gather_new(void);
void gather_free(struct gather *g);
/* Look now; *t is to be freed. If n_pids, only these processes are looked at. In a hurry (a screen waits for
 * it) a long recording may not be read up to now the first time. */
void gather_look(struct gather *g, struct top *t, const uint64_t *pids, size_t n_pids, bool hurry);

#endif
