/* killed.c FILE [THREADS]: allocate and free until killed. How many calls have returned stands in FILE,
 * one number per thread. */
#include "gpu.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

static volatile uint64_t *done;
static CUresult (*set_current)(CUcontext);

static void *work(void *arg)
{
	long k = (long)arg;

	gpu_must(set_current(gpu_context), "cuCtxSetCurrent");
	for (;;) {
		CUdeviceptr p = gpu_get(100 + (size_t)k);

		done[k * 8]++;
		gpu_put(p);
		done[k * 8]++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "count", O_RDWR | O_CREAT | O_TRUNC, 0600);
	long threads = argc > 2 ? atol(argv[2]) : 1, i;
	pthread_t t;

	if (fd < 0 || ftruncate(fd, 4096))
		return 1;
	done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	set_current = GPU(gpu_start(), cuCtxSetCurrent);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (i = 1; i < threads; i++)
		pthread_create(&t, NULL, work, (void *)i);
	work(NULL);
	return 0;
}
