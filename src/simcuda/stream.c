/* stream.c: streams, and events recorded on them.
 *
 * The simulated device does all work at once. What is kept is what the host can know: a stream counts
 * the work submitted to it, and how much of it is known to be finished because the host waited for it
 * or asked. That is deterministic, and enough to say which freed memory a stream may have.
 * Streams are never given back to the heap: an event finds out by its stream's id that it is gone.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "simcuda/sim.h"

struct event {
	struct context *context;
	unsigned flags;
	bool recorded;
	struct stream *stream;
	uint64_t stream_id, upto, ns;
	struct after *after; /* what its stream waited for when it was recorded */
	unsigned afters;
};

static struct stream *spare;

/* --- order ---------------------------------------------------------------------------------- */

static bool blocking(const struct stream *s)
{
	return !(s->flags & CU_STREAM_NON_BLOCKING);
}

/* Work on the legacy default stream and on blocking streams waits for each other. */
static bool legacy_order(const struct stream *a, const struct stream *b)
{
	return a->context == b->context &&
	       ((a == a->context->legacy && blocking(b)) || (b == b->context->legacy && blocking(a)));
}

uint64_t sim_stream_order(const struct stream *s, const struct stream *other)
{
	if (s == other || legacy_order(s, other))
		return other->submitted;
	for (unsigned i = 0; i < s->afters; i++)
		if (s->after[i].stream == other->id)
			return s->after[i].upto;
	return 0;
}

bool sim_stream_busy(const struct stream *s)
{
	if (s->completed < s->submitted)
		return true;
	for (const struct stream *o = s->context->streams; o; o = o->next)
		if (o->completed < o->submitted && legacy_order(s, o))
			return true;
	return false;
}

static void after_add(struct stream *s, uint64_t id, uint64_t upto)
{
	struct after *more;

	for (unsigned i = 0; i < s->afters; i++)
		if (s->after[i].stream == id) {
			if (s->after[i].upto < upto)
				s->after[i].upto = upto;
			return;
		}
	more = realloc(s->after, (s->afters + 1) * sizeof(*more));
	if (!more)
		return; /* one possible reuse less */
	s->after = more;
	s->after[s->afters++] = (struct after){id, upto};
}

void sim_stream_wait(struct stream *s, const struct stream *other, uint64_t upto)
{
	after_add(s, other->id, upto);
}

void sim_stream_work(struct stream *s)
{
	s->submitted++;
}

void sim_stream_finish(struct stream *s, uint64_t upto)
{
	if (upto <= s->completed)
		return;
	s->completed = upto;
	sim_pool_ready(s);
	sim_device_ready(s);
	/* What this stream had waited for is then finished too. */
	for (struct stream *o = s->context->streams; o; o = o->next) {
		if (legacy_order(s, o))
			sim_stream_finish(o, o->submitted);
		for (unsigned i = 0; i < s->afters; i++)
			if (s->after[i].stream == o->id)
				sim_stream_finish(o, s->after[i].upto);
	}
}

void sim_streams_drain(struct context *ctx)
{
	bool waited;

	do { /* the list may have changed while another thread had the lock */
		waited = false;
		for (struct stream *s = ctx->streams; s && !waited; s = s->next)
			if (s->calls) {
				sim_stream_drain(s);
				waited = true;
			}
	} while (waited);
}

void sim_streams_finish(struct context *ctx)
{
	for (struct stream *s = ctx->streams; s; s = s->next)
		sim_stream_finish(s, s->submitted);
}

/* --- streams -------------------------------------------------------------------------------- */

static struct stream *stream_new(struct context *ctx, unsigned flags, int priority)
{
	struct stream *s = spare;

	if (s) {
		spare = s->next;
		free(s->after);
		memset(s, 0, sizeof(*s));
	} else {
		s = calloc(1, sizeof(*s));
	}
	if (!s || !sim_handle_add(s, HANDLE_STREAM)) {
		free(s);
		return NULL;
	}
	s->context = ctx;
	s->id = ++sim.next_id;
	s->flags = flags;
	s->priority = priority;
	s->link = &ctx->streams;
	s->next = ctx->streams;
	if (s->next)
		s->next->link = &s->next;
	ctx->streams = s;
	return s;
}

static void stream_end(struct stream *s)
{
	sim_stream_finish(s, s->submitted);
	sim_pool_forget(s);
	sim_handle_drop(s);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	s->id = 0;
	s->next = spare;
	spare = s;
}

void sim_streams_end(struct context *ctx)
{
	while (ctx->streams)
		stream_end(ctx->streams);
	ctx->legacy = NULL;
}

static struct stream *legacy_stream(struct context *ctx)
{
	if (!ctx->legacy)
		ctx->legacy = stream_new(ctx, 0, 0);
	return ctx->legacy;
}

static struct stream *thread_stream(struct context *ctx)
{
	struct stream *s;

	for (s = ctx->streams; s; s = s->next)
		if (s->thread == &sim_thread)
			return s;
	s = stream_new(ctx, 0, 0);
	if (s)
		s->thread = &sim_thread;
	return s;
}

CUresult sim_stream(CUstream handle, struct stream **out)
{
	struct context *ctx = sim_current();

	if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
		*out = (struct stream *)handle;
		return sim_handle_is(handle, HANDLE_STREAM) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	}
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ctx->alive)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (handle == CU_STREAM_PER_THREAD || (!handle && sim_thread.own_default))
		*out = thread_stream(ctx);
	else
		*out = legacy_stream(ctx);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult stream_create(CUstream *out, unsigned flags, int priority)
{
	struct stream *s;

	SIM_CONTEXT(ctx);
	if (!out || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	s = stream_new(ctx, flags, priority < -5 ? -5 : priority > 0 ? 0 : priority);
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = (CUstream)s;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
	SIM_ENTER(cuStreamCreate);
	return stream_create(out, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
	SIM_ENTER(cuStreamCreateWithPriority);
	return stream_create(out, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream handle)
{
	SIM_ENTER(cuStreamDestroy_v2);
	if (!sim_handle_is(handle, HANDLE_STREAM) || ((struct stream *)handle)->thread ||
	    (struct stream *)handle == ((struct stream *)handle)->context->legacy)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_capture_end((struct stream *)handle);
	sim_stream_drain((struct stream *)handle);
	stream_end((struct stream *)handle);
	return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream handle)
{
	return cuStreamDestroy_v2(handle);
}

CUresult cuStreamSynchronize(CUstream handle)
{
	SIM_ENTER(cuStreamSynchronize);
	SIM_STREAM(s, handle);
	if (s->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	sim_stream_drain(s);
	sim_stream_finish(s, s->submitted);
	sim_pool_sync(s->context->device);
	return CUDA_SUCCESS;
}

/* Asking is how time passes for a stream that nobody waits for: the next answer is yes. */
CUresult cuStreamQuery(CUstream handle)
{
	SIM_ENTER(cuStreamQuery);
	SIM_STREAM(s, handle);
	if (s->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (s->completed == s->submitted)
		return CUDA_SUCCESS;
	if (!s->calls)
		sim_stream_finish(s, s->submitted);
	return CUDA_ERROR_NOT_READY;
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
	SIM_ENTER(cuStreamGetFlags);
	SIM_STREAM(s, handle);
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = s->flags;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream handle, int *priority)
{
	SIM_ENTER(cuStreamGetPriority);
	SIM_STREAM(s, handle);
	if (!priority)
		return CUDA_ERROR_INVALID_VALUE;
	*priority = s->priority;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *id)
{
	SIM_ENTER(cuStreamGetId);
	SIM_STREAM(s, handle);
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = s->id;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *ctx)
{
	SIM_ENTER(cuStreamGetCtx);
	SIM_STREAM(s, handle);
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*ctx = (CUcontext)s->context;
	return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12050
CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *ctx, CUgreenCtx *green)
{
	if (green)
		*green = NULL;
	return cuStreamGetCtx(handle, ctx);
}
#endif

#if CUDA_VERSION >= 12080
CUresult cuStreamGetDevice(CUstream handle, CUdevice *device)
{
	SIM_ENTER(cuStreamGetDevice);
	SIM_STREAM(s, handle);
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = s->context->device;
	return CUDA_SUCCESS;
}
#endif

CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr addr, size_t length, unsigned int flags)
{
	struct place p;

	SIM_ENTER(cuStreamAttachMemAsync);
	SIM_STREAM(s, handle);
	(void)s;
	(void)length;
	(void)flags;
	return sim_place(addr, &p) && p.range->kind == RANGE_MANAGED ? CUDA_SUCCESS
	                                                             : CUDA_ERROR_INVALID_VALUE;
}

/* --- events --------------------------------------------------------------------------------- */

static bool event_done(const struct event *e)
{
	return !e->recorded || e->stream->id != e->stream_id || e->stream->completed >= e->upto;
}

CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
	struct event *e;

	SIM_ENTER(cuEventCreate);
	SIM_CONTEXT(ctx);
	if (!out || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	if (!e || !sim_handle_add(e, HANDLE_EVENT)) {
		free(e);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	e->context = ctx;
	e->flags = flags;
	*out = (CUevent)e;
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent handle)
{
	struct event *e = (struct event *)handle;

	SIM_ENTER(cuEventDestroy_v2);
	if (!sim_handle_is(handle, HANDLE_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	sim_handle_drop(e);
	free(e->after);
	free(e);
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent handle)
{
	return cuEventDestroy_v2(handle);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

CUresult cuEventRecord(CUevent handle, CUstream stream)
{
	struct event *e = (struct event *)handle;

	SIM_ENTER(cuEventRecord);
	SIM_STREAM(s, stream);
	if (!sim_handle_is(handle, HANDLE_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	if (e->context != s->context)
		return CUDA_ERROR_INVALID_HANDLE;
	free(e->after);
	e->after = NULL;
	e->afters = 0;
	if (s->afters) {
		e->after = malloc(s->afters * sizeof(*e->after));
		if (!e->after)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(e->after, s->after, s->afters * sizeof(*e->after));
		e->afters = s->afters;
	}
	e->recorded = true;
	e->stream = s;
	e->stream_id = s->id;
	e->upto = s->submitted;
	e->ns = now_ns();
	return CUDA_SUCCESS;
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned int flags)
{
	return flags & ~1u ? CUDA_ERROR_INVALID_VALUE : cuEventRecord(handle, stream);
}

CUresult cuEventQuery(CUevent handle)
{
	struct event *e = (struct event *)handle;

	SIM_ENTER(cuEventQuery);
	if (!sim_handle_is(handle, HANDLE_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	if (event_done(e))
		return CUDA_SUCCESS;
	if (!e->stream->calls)
		sim_stream_finish(e->stream, e->upto);
	return CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent handle)
{
	struct event *e = (struct event *)handle;

	SIM_ENTER(cuEventSynchronize);
	if (!sim_handle_is(handle, HANDLE_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!event_done(e)) {
		sim_stream_drain(e->stream);
		sim_stream_finish(e->stream, e->upto);
	}
	if (e->recorded)
		sim_pool_sync(e->context->device);
	return CUDA_SUCCESS;
}

static CUresult elapsed(float *ms, CUevent start, CUevent end)
{
	const struct event *a = (const struct event *)start, *b = (const struct event *)end;

	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_handle_is(start, HANDLE_EVENT) || !sim_handle_is(end, HANDLE_EVENT) || !a->recorded ||
	    !b->recorded || (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!event_done(a) || !event_done(b))
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((double)(int64_t)(b->ns - a->ns) / 1e6);
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	SIM_ENTER(cuEventElapsedTime);
	return elapsed(ms, start, end);
}

#if CUDA_VERSION >= 12080
CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	SIM_ENTER(cuEventElapsedTime_v2);
	return elapsed(ms, start, end);
}
#endif

CUresult cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned int flags)
{
	const struct event *e = (const struct event *)handle;

	SIM_ENTER(cuStreamWaitEvent);
	SIM_STREAM(s, stream);
	if (!sim_handle_is(handle, HANDLE_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~1u)
		return CUDA_ERROR_INVALID_VALUE;
	if (!e->recorded || e->stream == s)
		return CUDA_SUCCESS;
	after_add(s, e->stream_id, e->upto);
	for (unsigned i = 0; i < e->afters; i++)
		after_add(s, e->after[i].stream, e->after[i].upto);
	if (!event_done(e))
		sim_stream_work(s);
	return CUDA_SUCCESS;
}
