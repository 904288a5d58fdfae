/* whatif_compile.h: what the two halves of the compiler share. Nobody else includes it.
 *
 *   whatif_compile.c   rows → requests; recordings of plain driver calls
 *   whatif_fidelity.c  recordings of an allocator: requests, and does our core do the same?
 */
#ifndef ANALYZE_WHATIF_COMPILE_H
#define ANALYZE_WHATIF_COMPILE_H

#include "analyze/whatif_device.h"

#define BLOCK(a)   GMS_OP(GMS_K_BLOCK, GMS_A_##a)
#define SEGMENT(a) GMS_OP(GMS_K_SEGMENT, GMS_A_##a)

struct compiler {
	struct whatif_trace *t;
	struct whatif_fidelity *f;
	struct whatif_device d;
	const struct columns *c;
	uint32_t *rows, *number; /* of this device: the allocator's rows, and each one's event number */
	size_t n;
	uint32_t *slot_of;	 /* by row */
	size_t at, end;		 /* the window: rows not yet met, and its end */
	bool off;		 /* the rest of this window was not predicted */
	bool quiet;		 /* nothing is compared just now */
	bool emptying;		 /* the program is emptying the cache: what it waited for is known from rows */
	bool probe;		 /* stop at the first row that was not predicted */
	uint64_t reserved, reserved_max, active, active_max;
	struct map64 replaced; /* alloc row that came over a live block → that block's alloc row */
};

/* whatif_compile.c */
void compile_op(struct compiler *k, enum whatif_what what, uint32_t row, uint32_t slot);
uint32_t compile_slot(struct compiler *k, uint32_t row); /* for the block allocated by row */
void compile_end(struct compiler *k, uint32_t alloc_row); /* that block is gone */
void compile_replaced(struct compiler *k, uint32_t row);
uint64_t compile_reserved(const struct columns *c, uint32_t row); /* what a row adds to reserved bytes */

/* whatif_fidelity.c: limit: reserved bytes the recording was allowed, GMA_UNLIMITED if not known */
void compile_blocks(struct compiler *k, const struct gma_conf *own, uint64_t limit);

#endif
