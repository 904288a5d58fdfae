/* phases.h: phases, for gms_* and NVTX. Only src/record includes this. */
#ifndef RECORD_PHASES_H
#define RECORD_PHASES_H

#include "record/rec.h"

/* Texts may be NULL; id matters to BEGIN and END only. */
void rec_phase(struct rec_site site, enum spool_phase_what what, const char *name, const char *domain, uint64_t id);
void rec_trigger_init(void); /* the signal of the options, if the program has no handler for it */

#endif
