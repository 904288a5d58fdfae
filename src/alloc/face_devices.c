/* face_devices.c: the process's own allocator of each CUDA device. */
#include "alloc/face.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct gma *) made[GMA_DEVICES];
static struct gma_backend backend[GMA_DEVICES];

static struct gma *make(int device)
{
	struct gma *g = NULL;

	if (gma_cuda_open(device, &backend[device]) == GMA_OK) {
		g = gma_create(NULL, &backend[device]);
		if (!g)
			gma_cuda_close(&backend[device]);
	}
	return g;
}

struct gma *gma_existing(int device)
{
	return device >= 0 && device < GMA_DEVICES ? atomic_load_explicit(&made[device], memory_order_acquire) : NULL;
}

void gma_abandon(int device)
{
	if (device >= 0 && device < GMA_DEVICES)
		atomic_store(&made[device], NULL);
}

GMA_EXPORT struct gma *gma_for_device(int device)
{
	struct gma *g;

	if (device < 0 || device >= GMA_DEVICES) {
		gma_fail(GMA_INVALID_VALUE, "there is no device %d", device);
		return NULL;
	}
	g = atomic_load_explicit(&made[device], memory_order_acquire);
	if (g)
		return g;
	pthread_mutex_lock(&lock);
	g = atomic_load(&made[device]);
	if (!g) {
		g = make(device);
		atomic_store_explicit(&made[device], g, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	return g;
}
