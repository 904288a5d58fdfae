/* killed.c FILE [THREADS [CALLS]]: allocate and free until killed, or until one thread has made so many calls. How many
 * have returned stands in FILE, one number per thread. */
#include "gpu.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

static volatile uint64_t *done;
static CUresult (*set_current)(CUcontext);
static uint64_t most = UINT64_MAX;

static void *work(void *arg)
{
	long k = (long)arg;

	gpu_must(set_current(gpu_context), "cuCtxSetCurrent");
	while (done[k * 8] < most) {
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

	if (argc > 3)
		most = strtoull(argv[3], NULL, 10);
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
