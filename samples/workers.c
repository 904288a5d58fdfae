/* workers.c: a pool of threads, each with its own stream.
 *
 * Four workers take jobs from a queue. A job needs two buffers from the device's memory pool; the
 * second is freed by the next job of the same worker, as a cache would do it. All four meet once in
 * the middle, each holding its memory.
 *
 * Expected story: five threads, four of them allocating: 4 x 25 x 2 allocations from 4 streams. When
 * the workers meet each holds 3 MiB + 1 MiB + 1 MiB, so at least 20 MiB are live. Nothing is live at
 * the end, and the totals of the four threads are equal.
 */
#include <pthread.h>

#include "sample.h"

enum { WORKERS = 4, JOBS = 25, MEETING = 12 };

static pthread_barrier_t meeting;
static CUcontext context;

struct worker {
	pthread_t thread;
	CUstream stream;
	CUdeviceptr cached;
};

NAMED static CUdeviceptr scratch(struct worker *w, size_t bytes)
{
	CUdeviceptr at;

	CU(cuMemAllocAsync(&at, bytes, w->stream));
	CU(cuMemsetD8Async(at, 0, bytes, w->stream));
	return at;
}

NAMED static void do_job(struct worker *w, int number)
{
	CUdeviceptr input = scratch(w, 3 * MIB);
	CUdeviceptr output = scratch(w, 1 * MIB);

	if (number == MEETING)
		pthread_barrier_wait(&meeting);
	if (w->cached)
		CU(cuMemFreeAsync(w->cached, w->stream));
	w->cached = output;
	CU(cuMemFreeAsync(input, w->stream));
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;

	CU(cuCtxSetCurrent(context));
	CU(cuStreamCreate(&w->stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < JOBS; i++)
		do_job(w, i);
	CU(cuMemFreeAsync(w->cached, w->stream));
	CU(cuStreamSynchronize(w->stream));
	CU(cuStreamDestroy(w->stream));
	return NULL;
}

int main(void)
{
	static struct worker worker[WORKERS];

	context = use_device(0);
	pthread_barrier_init(&meeting, NULL, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&worker[i].thread, NULL, run_worker, &worker[i]) != 0)
			return 1;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(worker[i].thread, NULL);
	printf("workers: %d threads did %d jobs each\n", WORKERS, JOBS);
	return 0;
}
