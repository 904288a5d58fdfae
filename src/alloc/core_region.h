/* core_region.h: growth:False: a backend that cuts segments out of one range, taken at the start. */
#ifndef ALLOC_CORE_REGION_H
#define ALLOC_CORE_REGION_H

#include "gpumemalloc.h"

struct gma_region;
/* b is filled; below is copied. What fails leaves *out NULL or to be destroyed. */
int gma_region_create(struct gma_region **out, const struct gma_backend *below, uint64_t bytes, struct gma_backend *b);
void gma_region_destroy(struct gma_region *r);
uint64_t gma_region_size(const struct gma_region *r);
/* How much to take if no limit says it: nearly all that is free. */
uint64_t gma_region_usual(uint64_t free_bytes);

#endif
