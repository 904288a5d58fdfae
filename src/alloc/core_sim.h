/* core_sim.h: a device that exists only in numbers: the backend for `whatif` and tests.
 *
 * It hands out address ranges and counts bytes, up to a capacity; nothing is ever touched. As on a
 * real device, memory comes in 2 MiB granules and address space is not short. Pure, except that
 * records come from the page functions it is given.
 */
#ifndef ALLOC_CORE_SIM_H
#define ALLOC_CORE_SIM_H

#include "gpumemalloc.h"
#include <stdbool.h>

#define GMA_SIM_GRANULE (2ull << 20)

struct gma_sim {
	uint64_t capacity, used; /* bytes; capacity may be GMA_UNLIMITED */
	uint64_t total;		 /* what the device says it has; for expandable address space */
	uint64_t next;		 /* address of the next range */
	uint64_t calls, fail_at; /* the call with this number fails (counted from 1; 0: none) */
	uint64_t events;	 /* recorded so far; event numbers are 1, 2, … */
	uint64_t events_done;	 /* events up to this number are complete */
	bool no_events;		 /* event functions are left out of the backend */
	/* where segments are put, and that one is gone; NULL: one behind the other */
	uint64_t (*place)(void *ctx, uint64_t size);
	void (*leave)(void *ctx, uint64_t addr, uint64_t size);
	void *place_ctx;
};

/* total may be UINT64_MAX: a device so large that nothing fails. */
void gma_sim_init(struct gma_sim *s, uint64_t total);
/* Fill b; records come from the two functions, whose ctx is then s. */
void gma_sim_backend(struct gma_sim *s, struct gma_backend *b, void *(*page_get)(void *, size_t),
		     void (*page_put)(void *, void *, size_t));

#endif
