/* storm.c THREADS PAIRS [short]: many threads allocate and free at once; "short": threads that live for
 * a few allocations only. Each leaves one allocation live. */
#include "gpu.h"
#include <pthread.h>

static int pairs;
static CUresult (*set_current)(CUcontext);

static void *work(void *arg)
{
	int i;

	(void)arg;
	gpu_must(set_current(gpu_context), "cuCtxSetCurrent");
	for (i = 0; i < pairs; i++)
		gpu_put(gpu_get(256));
	pthread_setname_np(pthread_self(), "stormy"); /* named late, as some do */
	gpu_get(4096);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4, i, wave = argc > 3 ? 8 : threads;
	pthread_t t[1024];

	pairs = argc > 2 ? atoi(argv[2]) : 100;
	if (threads > 1024)
		return 1;
	set_current = GPU(gpu_start(), cuCtxSetCurrent);
	for (i = 0; i < threads; i += wave) {
		int k, n = threads - i < wave ? threads - i : wave;

		for (k = 0; k < n; k++)
			pthread_create(&t[k], NULL, work, NULL);
		for (k = 0; k < n; k++)
			pthread_join(t[k], NULL);
	}
	return 0;
}
