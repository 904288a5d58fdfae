/* whatif_device.h: what the files of whatif share about the allocator core: a core with a device made
 * of numbers, streams and pools by the model's numbers, and the state a recording begins with. */
#ifndef ANALYZE_WHATIF_DEVICE_H
#define ANALYZE_WHATIF_DEVICE_H

#include "alloc/core.h"
#include "alloc/core_sim.h"
#include "analyze/whatif.h"

struct whatif_device {
	const struct model *m;
	struct gma_sim sim;
	struct gma_core *core;
	struct gma_pool **pools;   /* by the model's number; NULL: not met yet, or the default pool */
	struct gma_block **blocks; /* by slot; NULL: does not live in this replay */
};
/* page functions for gma_backend; they ignore ctx */
void *whatif_page_get(void *ctx, size_t bytes);
void whatif_page_put(void *ctx, void *page, size_t bytes);

struct gma_request whatif_request(struct whatif_device *d, uint64_t size, uint16_t stream, uint16_t pool, uint32_t slot);
/* The block of a slot if it is still that block: the core may have freed it earlier than the recording,
 * and used its record again. */
struct gma_block *whatif_block(const struct whatif_device *d, uint32_t slot);
/* The pool of that number was given up by the program: its segments may go back. */
void whatif_pool_dead(struct whatif_device *d, uint16_t pool);
/* The segments and blocks that were there when the recording began: the first n_initial ops of the trace. */
void whatif_adopt(struct whatif_device *d, const struct whatif_trace *t);

#endif
