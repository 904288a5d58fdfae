/* instrument.c: every block and segment told to the recorder, if this process has one. */
#include "alloc/face.h"
#include "gpumemsnap.h"
#include "wire/allocator.h"
#include "wire/events.h"
#include <dlfcn.h>
#include <stdio.h>

static gms_allocator_event_fn *recorder;

static const uint8_t op_of[] = {
	[GMA_DID_ALLOC] = GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC),
	[GMA_DID_FREE_REQUESTED] = GMS_OP(GMS_K_BLOCK, GMS_A_FREE_REQUESTED),
	[GMA_DID_FREE_COMPLETED] = GMS_OP(GMS_K_BLOCK, GMS_A_FREE),
	[GMA_DID_SEGMENT_ALLOC] = GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC),
	[GMA_DID_SEGMENT_FREE] = GMS_OP(GMS_K_SEGMENT, GMS_A_FREE),
	[GMA_DID_MAP] = GMS_OP(GMS_K_SEGMENT, GMS_A_MAP),
	[GMA_DID_UNMAP] = GMS_OP(GMS_K_SEGMENT, GMS_A_UNMAP),
	[GMA_DID_OOM] = GMS_OP(GMS_K_BLOCK, GMS_A_FAIL),
};

static void tell(void *ctx, const struct gma_note *n)
{
	const struct gma *g = ctx;
	uint64_t id[2] = {0, 0};
	struct gms_allocator_event e = {.bytes = sizeof e,
					.op = op_of[n->what],
					.device = (uint8_t)(g->device < 0 ? 0 : g->device),
					.addr = n->addr,
					.size = n->size,
					.stream = n->stream,
					.pc = g->pc,
					.frame = g->frame};

	/* A block that is free at once needs one event, not two. */
	if (n->what == GMA_DID_FREE_REQUESTED && !n->block->uses)
		return;
	if (n->pool)
		gma_core_pool_id(n->pool, id);
	e.pool = id[1];
	recorder(&e);
}

void gma_instrument(struct gma *g)
{
	char mark[320];

	gma_watch_alone();
	*(void **)&recorder = dlsym(RTLD_DEFAULT, GMS_ALLOCATOR_EVENT);
	if (!recorder)
		return;
	snprintf(mark, sizeof mark, GMS_SETTING_MARK "PYTORCH_CUDA_ALLOC_CONF=%s", g->conf);
	gms_mark(mark);
	gma_core_on_note(g->core, tell, g);
}
