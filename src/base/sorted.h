/* sorted.h: numbers in rising order, such as the addresses at which ranges begin and end. */
#ifndef BASE_SORTED_H
#define BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* Sort them and keep each once; returns how many are left. */
size_t sorted_make(uint64_t *v, size_t n);
/* The place of the first that is at least x; n if there is none. */
size_t sorted_find(const uint64_t *v, size_t n, uint64_t x);

#endif
