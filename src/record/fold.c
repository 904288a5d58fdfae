/* fold.c: the flight recorder: the oldest events become live slots, their chunks free. */
#include "record/rec.h"

struct spool_chunk *rec_fold(struct rec_chunk *v, size_t n, uint32_t chunk_bytes)
{
	(void)v;
	(void)n;
	(void)chunk_bytes;
	return NULL;
}

void rec_fold_forked(void)
{
}
