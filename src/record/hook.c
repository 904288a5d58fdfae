/* hook.c: from "a call got or gave back memory" to events. */
#include "record/hook.h"

/* Device, stream, pool and context of an event, and the pool's handle. */
static void look_up(struct rec_lane *lane, const struct rec_about *a, struct rec_place *p)
{
	*p = (struct rec_place){.stream = a->stream,
				.pool = a->pool,
				.pool_taken = a->pool,
				.generation = __atomic_load_n(&rec_generation, __ATOMIC_ACQUIRE)};
	p->device = rec_device(lane, &p->context);
	if (a->stream_ordered) {
		p->stream_number = rec_stream(lane, a->stream, p->device);
		if (p->stream_number)
			p->device = rec_stream_device(p->stream_number);
		if (!a->pool && a->size)
			p->pool_taken = rec_current_pool(p->device);
		p->pool_number = rec_pool(lane, p->pool_taken, p->device);
		if (a->pool)
			p->device = rec_pool_device(p->pool_number);
	}
	if (a->on_host)
		p->device = REC_NO_DEVICE;
	else if (a->known_device)
		p->device = a->device;
	if (a->kind == GMS_K_CONTEXT) /* its own, not the current one */
		p->context = rec_context(lane, a->addr, p->device);
	else if (a->kind == GMS_K_POOL)
		p->pool_number = rec_pool(lane, p->pool_taken, p->device);
}

/* The same, remembered where calls are many and alike. The result holds until the next one. */
static struct rec_place *place(struct rec_lane *lane, const struct rec_about *a, struct rec_place *once)
{
	enum rec_place_kind kind = a->pool ? REC_TAKING_FROM_POOL : a->size ? REC_TAKING : REC_GIVING;
	struct rec_place *p = a->stream_ordered ? &lane->place[kind] : once;

	if (p == once || p->generation != __atomic_load_n(&rec_generation, __ATOMIC_RELAXED) ||
	    p->stream != a->stream || p->pool != a->pool)
		look_up(lane, a, p);
	return p;
}

/* The first allocation, and one from time to time, brings a look at what the device and the pool hold; it
 * stands behind the allocation, which it includes. The driver tells only of the current device. */
static void samples(struct rec_lane *lane, struct rec_place *p, uint64_t now)
{
	if (p->samples_ns && !rec_due(now, p->samples_ns, rec_options.sample / 8))
		return;
	p->samples_ns = now;
	if (p->device < REC_DEVICES && p->device == lane->thread->device &&
	    (!rec_sampled_ns[p->device] || rec_due(now, rec_sampled_ns[p->device], rec_options.sample)))
		rec_sample(lane, p->device, now);
	if (p->pool_number && p->pool_taken)
		rec_pool_sample(lane, p->pool_taken, p->pool_number, p->device, now);
}

static inline struct rec_event event_of(enum gms_action action, const struct rec_about *a, const struct rec_place *p)
{
	return (struct rec_event){.op = GMS_OP(a->kind, action),
				  .device = p->device,
				  .stream = p->stream_number,
				  .pool = p->pool_number,
				  .context = p->context,
				  .addr = a->addr,
				  .size = a->size};
}

/* An event in the making: who records it, when, and where the call took place. */
struct making {
	struct rec_lane *lane;
	struct rec_place *place, once;
	uint64_t now;
	int saved_errno;
};

static inline bool begin(struct making *e, const struct rec_site *site, const struct rec_about *a)
{
	e->lane = rec_begin(*site, &e->saved_errno);
	if (!e->lane)
		return false;
	e->now = rec_now();
	e->place = place(e->lane, a, &e->once);
	return true;
}

static void put(const struct rec_site *site, enum gms_action action, const struct rec_about *a, bool with_stack,
		bool off)
{
	struct rec_event ev;
	struct making e;

	if (!begin(&e, site, a))
		return;
	ev = event_of(action, a, e.place);
	rec_put(e.lane, &ev, e.now, with_stack ? rec_stack(e.lane, *site) : 0, off);
	if (action == GMS_A_ALLOC && a->kind != GMS_K_POOL) /* a new pool has nothing yet */
		samples(e.lane, e.place, e.now);
	rec_end(e.lane, e.saved_errno);
}

/* The CUDA runtime tries once before it has a context, and then again. */
static bool no_device_was_asked(CUresult r, const struct rec_about *a, const struct rec_place *p)
{
	return r == CUDA_ERROR_INVALID_CONTEXT && p->device == REC_NO_DEVICE && !a->on_host;
}

static void tell_failure(const struct making *e, const struct rec_site *site, CUresult r, const struct rec_about *a)
{
	struct rec_event ev = event_of(GMS_A_FAIL, a, e->place);
	uint64_t free = UINT64_MAX, total = UINT64_MAX;

	ev.addr = 0;
	if (ev.device == e->lane->thread->device) /* the driver tells of the current one */
		rec_memory_info(&free, &total);
	rec_put_fail(e->lane, &ev, e->now, rec_options.stack_alloc ? rec_stack(e->lane, *site) : 0, (int)r, free, total);
}

static void put_fail(const struct rec_site *site, CUresult r, const struct rec_about *a)
{
	struct making e;

	if (!begin(&e, site, a))
		return;
	if (!no_device_was_asked(r, a, e.place))
		tell_failure(&e, site, r, a);
	rec_end(e.lane, e.saved_errno);
}

static bool filtered(const struct rec_about *a)
{
	if (a->size >= rec_options.filter_bytes || a->kind == GMS_K_CONTEXT || a->kind == GMS_K_POOL)
		return false;
	__atomic_fetch_add(&rec_head->filtered, 1, __ATOMIC_RELAXED);
	return true;
}

void rec_put_got(const struct rec_site *site, CUresult r, const struct rec_about *a)
{
	if (__builtin_expect(r != CUDA_SUCCESS, 0)) {
		put_fail(site, r, a);
		return;
	}
	if (!a->addr || /* a request for nothing was granted */
	    (a->stream_ordered && __builtin_expect(__atomic_load_n(&rec_any_capture, __ATOMIC_RELAXED), 0) &&
	     rec_captured_alloc(a->stream, a->addr)) ||
	    filtered(a))
		return;
	put(site, GMS_A_ALLOC, a, rec_options.stack_alloc, false);
}

void rec_put_giving(const struct rec_site *site, const struct rec_about *a)
{
	enum rec_mode mode = rec_mode();

	if (__builtin_expect(mode == REC_ALL, 1))
		put(site, GMS_A_FREE, a, rec_options.stack_free, false);
	else if (mode == REC_FREES)
		put(site, GMS_A_FREE, a, false, true);
}

/* What is left to tell of such an address is told by the caller. */
bool rec_returning_borrowed(const struct rec_site *site, struct rec_about *a)
{
	if (a->stream_ordered && __atomic_load_n(&rec_any_capture, __ATOMIC_RELAXED) && rec_capturing(a->stream))
		return false;
	switch (rec_give_back(a->addr)) {
	case REC_GRAPH:
	case REC_STILL_OPEN:
		return false;
	case REC_VIEW:
		a->kind = GMS_K_IMPORTED;
		rec_note(*site, GMS_A_UNMAP, *a);
		return false;
	case REC_IMPORTED:
		a->kind = GMS_K_IMPORTED;
		break;
	case REC_OWN:
		break;
	}
	return true;
}

void rec_put_refused(const struct rec_site *site, const struct rec_about *a)
{
	enum rec_mode mode = rec_mode();

	if (mode != REC_NOTHING)
		put(site, GMS_A_OTHER, a, mode == REC_ALL && rec_options.stack_free, mode != REC_ALL);
}

void rec_put_note(const struct rec_site *site, enum gms_action action, const struct rec_about *a)
{
	put(site, action, a, rec_options.stack_alloc, false);
}
