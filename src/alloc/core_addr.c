/* core_addr.c: open addressing, at most half full; deletion shifts back, so that no tombstones gather. */
#include "alloc/core_addr.h"
#include "gpumemalloc.h"
#include <string.h>

enum { FIRST_SLOTS = 1024 };

static size_t home(const struct gma_addr *a, uint64_t addr)
{
	/* Addresses are multiples of 512; the product's high bits depend on all of theirs. */
	return (size_t)((addr >> 9) * 0x9e3779b97f4a7c15ull >> 20) & a->mask;
}

static struct gma_addr_slot *new_slots(const struct gma_backend *be, size_t n)
{
	void *p = be->page_get(be->ctx, n * sizeof(struct gma_addr_slot));

	return p ? memset(p, 0, n * sizeof(struct gma_addr_slot)) : NULL;
}

bool gma_addr_grow(struct gma_addr *a)
{
	struct gma_addr bigger = {.be = a->be, .mask = a->slot ? 2 * a->mask + 1 : FIRST_SLOTS - 1};
	size_t i;

	bigger.slot = new_slots(a->be, bigger.mask + 1);
	if (!bigger.slot)
		return false;
	for (i = 0; a->slot && i <= a->mask; i++)
		if (a->slot[i].addr)
			gma_addr_put(&bigger, a->slot[i].addr, a->slot[i].block);
	gma_addr_free(a);
	*a = bigger;
	return true;
}

void gma_addr_put(struct gma_addr *a, uint64_t addr, struct gma_block *b)
{
	size_t i = home(a, addr);

	while (a->slot[i].addr)
		i = (i + 1) & a->mask;
	a->slot[i] = (struct gma_addr_slot){addr, b};
	a->n++;
}

static size_t place_of(const struct gma_addr *a, uint64_t addr)
{
	size_t i = home(a, addr);

	while (a->slot[i].addr && a->slot[i].addr != addr)
		i = (i + 1) & a->mask;
	return i;
}

struct gma_block *gma_addr_find(const struct gma_addr *a, uint64_t addr)
{
	return a->slot && addr ? a->slot[place_of(a, addr)].block : NULL;
}

struct gma_block *gma_addr_take(struct gma_addr *a, uint64_t addr)
{
	size_t hole = a->slot && addr ? place_of(a, addr) : 0, i;
	struct gma_block *b = a->slot && addr ? a->slot[hole].block : NULL;

	if (!b)
		return NULL;
	a->n--;
	for (i = (hole + 1) & a->mask; a->slot[i].addr; i = (i + 1) & a->mask) {
		if (((i - home(a, a->slot[i].addr)) & a->mask) < ((i - hole) & a->mask))
			continue; /* it would come before its home */
		a->slot[hole] = a->slot[i];
		hole = i;
	}
	a->slot[hole] = (struct gma_addr_slot){0, NULL};
	return b;
}

void gma_addr_free(struct gma_addr *a)
{
	if (a->slot)
		a->be->page_put(a->be->ctx, a->slot, (a->mask + 1) * sizeof *a->slot);
	*a = (struct gma_addr){.be = a->be};
}
