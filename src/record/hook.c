/* hook.c: from "a call got or gave back memory" to events. */
#include "record/hook.h"

/* Device, stream, pool and context of the event; returns the pool's handle. */
static uint64_t place(struct rec_lane *lane, const struct rec_about *a, struct rec_event *ev)
{
	uint64_t pool = a->pool;

	ev->device = rec_device(lane, &ev->context);
	if (a->stream_ordered) {
		ev->stream = rec_stream(lane, a->stream, ev->device);
		if (ev->stream)
			ev->device = rec_stream_device(ev->stream);
		if (!pool && a->size)
			pool = rec_current_pool(ev->device);
		ev->pool = rec_pool(lane, pool, ev->device);
		if (a->pool)
			ev->device = rec_pool_device(ev->pool);
	}
	if (a->on_host)
		ev->device = REC_NO_DEVICE;
	else if (a->known_device)
		ev->device = a->device;
	if (a->kind == GMS_K_CONTEXT) /* its own, not the current one */
		ev->context = rec_context(lane, a->addr, ev->device);
	else if (a->kind == GMS_K_POOL)
		ev->pool = rec_pool(lane, pool, ev->device);
	return pool;
}

/* The first allocation, and one from time to time, brings a look at what the device and the pool hold; it
 * stands behind the allocation, which it includes. The driver tells only of the current device. */
static void samples(struct rec_lane *lane, const struct rec_event *ev, uint64_t pool, uint64_t now)
{
	if (ev->device < REC_DEVICES && ev->device == lane->thread->device &&
	    (!rec_sampled_ns[ev->device] || rec_due(now, rec_sampled_ns[ev->device], rec_options.sample)))
		rec_sample(lane, ev->device, now);
	if (ev->pool && pool)
		rec_pool_sample(lane, pool, ev->pool, ev->device, now);
}

static void put(struct rec_site site, enum gms_action action, const struct rec_about *a, CUresult r, bool with_stack,
		bool off)
{
	struct rec_event ev = {.op = GMS_OP(a->kind, action), .addr = a->addr, .size = a->size};
	uint64_t now = rec_now(), free = UINT64_MAX, total = UINT64_MAX, pool;
	struct rec_lane *lane;
	uint32_t stack;
	int saved;

	if (action == GMS_A_FAIL)
		rec_memory_info(&free, &total);
	lane = rec_begin(site, &saved);
	if (!lane)
		return;
	pool = place(lane, a, &ev);
	if (ev.device != lane->thread->device)
		free = total = UINT64_MAX; /* they are the current device's */
	stack = with_stack ? rec_stack(lane, site) : 0;
	if (action == GMS_A_FAIL)
		rec_put_fail(lane, &ev, now, stack, (int)r, free, total);
	else
		rec_put(lane, &ev, now, stack, off);
	if (action == GMS_A_ALLOC && a->kind != GMS_K_POOL) /* a new pool has nothing yet */
		samples(lane, &ev, pool, now);
	rec_end(lane, saved);
}

static bool filtered(const struct rec_about *a)
{
	if (a->size >= rec_options.filter_bytes || a->kind == GMS_K_CONTEXT || a->kind == GMS_K_POOL)
		return false;
	__atomic_fetch_add(&rec_head->filtered, 1, __ATOMIC_RELAXED);
	return true;
}

void rec_got(struct rec_site site, CUresult r, struct rec_about a)
{
	if (rec_mode() != REC_ALL)
		return;
	if (r != CUDA_SUCCESS)
		a.addr = 0;
	else if (!a.addr) /* a request for nothing was granted */
		return;
	else if (a.stream_ordered && rec_captured_alloc(a.stream, a.addr))
		return;
	else if (filtered(&a))
		return;
	put(site, r == CUDA_SUCCESS ? GMS_A_ALLOC : GMS_A_FAIL, &a, r, rec_options.stack_alloc, false);
}

void rec_giving(struct rec_site site, struct rec_about a)
{
	enum rec_mode mode = rec_mode();

	if (mode == REC_ALL)
		put(site, GMS_A_FREE, &a, CUDA_SUCCESS, rec_options.stack_free, false);
	else if (mode == REC_FREES)
		put(site, GMS_A_FREE, &a, CUDA_SUCCESS, false, true);
}

bool rec_returning(struct rec_site site, struct rec_about *a)
{
	if (a->stream_ordered && rec_captured_free(a->stream))
		return false;
	switch (rec_give_back(a->addr)) {
	case REC_GRAPH:
	case REC_STILL_OPEN:
		return false;
	case REC_VIEW:
		a->kind = GMS_K_IMPORTED;
		rec_note(site, GMS_A_UNMAP, *a);
		return false;
	case REC_IMPORTED:
		a->kind = GMS_K_IMPORTED;
		break;
	case REC_OWN:
		break;
	}
	rec_giving(site, *a);
	return true;
}

/* A driver that is shutting down refuses every free, but the memory is gone all the same. */
void rec_gave(struct rec_site site, CUresult r, struct rec_about a)
{
	enum rec_mode mode;

	if (r == CUDA_SUCCESS || r == CUDA_ERROR_DEINITIALIZED)
		return;
	mode = rec_mode();
	if (mode != REC_NOTHING)
		put(site, GMS_A_OTHER, &a, CUDA_SUCCESS, mode == REC_ALL && rec_options.stack_free, mode != REC_ALL);
}

void rec_note(struct rec_site site, enum gms_action action, struct rec_about a)
{
	if (rec_mode() == REC_ALL)
		put(site, action, &a, CUDA_SUCCESS, rec_options.stack_alloc, false);
}
