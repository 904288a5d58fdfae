/* core_addr.h: from the address of a live block to its record. Callers serialise. */
#ifndef ALLOC_CORE_ADDR_H
#define ALLOC_CORE_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gma_backend;
struct gma_block;
struct gma_addr_slot {
	uint64_t addr; /* 0: empty */
	struct gma_block *block;
};
struct gma_addr { /* starts with its backend alone */
	const struct gma_backend *be; /* whose pages it is in */
	struct gma_addr_slot *slot;
	size_t n, mask; /* mask + 1 slots; 0: none yet */
};

bool gma_addr_grow(struct gma_addr *a); /* false: no memory */
static inline bool gma_addr_room(struct gma_addr *a) /* for one more */
{
	return (a->slot && 2 * (a->n + 1) <= a->mask) || gma_addr_grow(a);
}
void gma_addr_put(struct gma_addr *a, uint64_t addr, struct gma_block *b); /* there is room, addr is new */
struct gma_block *gma_addr_find(const struct gma_addr *a, uint64_t addr); /* NULL */
struct gma_block *gma_addr_take(struct gma_addr *a, uint64_t addr); /* found, it is dropped; NULL */
void gma_addr_free(struct gma_addr *a);

#endif
