/* hostfn.c: host functions put on streams.
 *
 * They run one after the other on a thread of the driver's own, never inside the call that submits
 * them, so that one may take a lock which its submitter holds. Who waits for a stream waits for its
 * functions too.
 */
#include <signal.h>
#include <stdlib.h>

#include "simcuda/sim.h"

struct call {
	CUhostFn function;
	CUstreamCallback callback; /* instead, in the older form */
	CUstream handle;
	void *data;
	struct stream *stream;
	struct call *next;
};

static struct {
	struct call *first, **end;
	pthread_cond_t came, went;
	bool started;
} queue = {.end = &queue.first, .came = PTHREAD_COND_INITIALIZER, .went = PTHREAD_COND_INITIALIZER};

static void *run_calls(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&sim.lock);
	for (;;) {
		struct call *c = queue.first;

		if (!c) {
			pthread_cond_wait(&queue.came, &sim.lock);
			continue;
		}
		queue.first = c->next;
		if (!queue.first)
			queue.end = &queue.first;
		pthread_mutex_unlock(&sim.lock);
		if (c->function)
			c->function(c->data);
		else
			c->callback(c->handle, CUDA_SUCCESS, c->data);
		pthread_mutex_lock(&sim.lock);
		c->stream->calls--;
		free(c);
		pthread_cond_broadcast(&queue.went);
	}
	return NULL;
}

static bool start_thread(void)
{
	sigset_t all, before;
	pthread_t thread;

	if (queue.started)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	queue.started = pthread_create(&thread, NULL, run_calls, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (queue.started)
		pthread_detach(thread);
	return queue.started;
}

static CUresult submit(struct call call)
{
	struct call *c;

	SIM_STREAM(s, call.handle);
	if (!call.function && !call.callback)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	c = malloc(sizeof(*c));
	if (!c || !start_thread()) {
		free(c);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*c = call;
	c->stream = s;
	*queue.end = c;
	queue.end = &c->next;
	s->calls++;
	sim_stream_work(s);
	pthread_cond_signal(&queue.came);
	return CUDA_SUCCESS;
}

void sim_stream_drain(struct stream *s)
{
	while (s->calls)
		pthread_cond_wait(&queue.went, &sim.lock);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	SIM_ENTER(cuLaunchHostFunc);
	return submit((struct call){.handle = stream, .function = function, .data = data});
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned int flags)
{
	SIM_ENTER(cuStreamAddCallback);
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return submit((struct call){.handle = stream, .callback = callback, .data = data});
}
