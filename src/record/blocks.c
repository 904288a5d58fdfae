/* blocks.c: what a caching allocator in this process says about its blocks and segments. */
#include "record/hook.h"
#include "wire/allocator.h"

static bool ends(enum gms_action action)
{
	return action == GMS_A_FREE || action == GMS_A_FREE_REQUESTED;
}

void gms_allocator_event(const struct gms_allocator_event *e);
REC_EXPORT void gms_allocator_event(const struct gms_allocator_event *e)
{
	enum gms_action action = GMS_OP_ACTION(e->op);
	enum rec_mode mode = rec_mode();
	struct rec_event ev = {.op = e->op, .addr = e->addr, .size = e->size};
	uint64_t now, free = UINT64_MAX, total = UINT64_MAX;
	struct rec_site site = e->pc ? (struct rec_site){e->pc, e->frame, *(const void *const *)e->frame} : REC_SITE;
	struct rec_lane *lane;
	uint32_t stack = 0;
	int saved;

	if (mode == REC_NOTHING || (mode == REC_FREES && !ends(action)))
		return;
	lane = rec_begin(site, &saved);
	if (!lane)
		return;
	now = rec_now();
	if (action == GMS_A_FAIL)
		rec_memory_info(&free, &total);
	rec_device(lane, &ev.context);
	ev.device = e->device;
	ev.stream = e->stream ? rec_stream(lane, e->stream, e->device) : 0;
	ev.pool = e->pool ? rec_pool(lane, e->pool, e->device) : 0;
	if (ends(action) ? rec_options.stack_free : rec_options.stack_alloc)
		stack = rec_stack(lane, site);
	if (action == GMS_A_FAIL)
		rec_put_fail(lane, &ev, now, stack, 2 /* CUDA_ERROR_OUT_OF_MEMORY */, free, total);
	else
		rec_put(lane, &ev, now, stack, mode != REC_ALL);
	rec_end(lane, saved);
}
