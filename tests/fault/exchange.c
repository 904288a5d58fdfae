/* exchange.c: two threads allocate and two free what those got, for ever. The pace is such that a recording stays small
 * enough to be read often. Prints its process id. */
#include "gpu.h"
#include <pthread.h>

static CUdeviceptr _Atomic handed[2];
static CUresult (*set_current)(CUcontext);

static void *get(void *arg)
{
	CUdeviceptr _Atomic *hand = arg;

	gpu_must(set_current(gpu_context), "cuCtxSetCurrent");
	for (;; usleep(10))
		if (!*hand)
			*hand = gpu_get(4096);
	return NULL;
}

static void *put(void *arg)
{
	CUdeviceptr _Atomic *hand = arg;
	CUdeviceptr p;

	gpu_must(set_current(gpu_context), "cuCtxSetCurrent");
	for (;;)
		if ((p = *hand)) {
			gpu_put(p);
			*hand = 0;
		}
	return NULL;
}

int main(void)
{
	pthread_t t[4];
	int i;

	set_current = GPU(gpu_start(), cuCtxSetCurrent);
	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, i & 1 ? put : get, &handed[i / 2]);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	pause();
	return 0;
}
