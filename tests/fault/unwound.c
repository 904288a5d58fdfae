/* unwound.c: a thread is unwound by force through the recorder's frame (libfake.c), which loads libgcc_s
 * only then; and an old driver lacks functions. */
#include "gpu.h"
#include <pthread.h>

static int cleaned;

static void clean(void *arg)
{
	(void)arg;
	cleaned++;
}

static void *work(void *arg)
{
	(void)arg;
	gpu_get(100);
	pthread_cleanup_push(clean, NULL);
	gpu_get(13); /* does not come back */
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	void *lib = gpu_start(), *result;
	pthread_t t;
	int i;

	if (dlsym(lib, "cuMemAllocAsync"))
		return 1;
	for (i = 0; i < 3; i++) {
		pthread_create(&t, NULL, work, NULL);
		pthread_join(t, &result);
		if (result != (void *)13)
			return 2;
	}
	gpu_get(200);
	return cleaned == 3 ? 0 : 3;
}
