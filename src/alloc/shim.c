/* shim.c: libgpumemcache.so: the allocator behind the cuMemAlloc and cuMemFree of an unchanged program.
 *
 * Loaded by `gpumemsnap record --allocator`, beside the recorder, which has every way to the driver in
 * hand and asks here first. What is allocated in a device's primary context is served from the pool;
 * everything else is left to the driver. GPUMEMSNAP_ALLOCATOR says how:
 *   caching         cuMemAlloc and cuMemFree. A free waits for the device, as the driver's does.
 *   caching-async   cuMemAllocAsync and cuMemFreeAsync too.
 *   caching-nosync  like caching, but a free does not wait: for programs that free nothing in use.
 */
#include "alloc/face.h"
#include "wire/allocator.h"
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct {
	__typeof__(cuCtxGetCurrent) *current;
	__typeof__(cuCtxGetDevice) *device;
	__typeof__(cuCtxSynchronize) *synchronize;
	__typeof__(cuDevicePrimaryCtxGetState) *primary_state;
} driver;
static bool async_too, wait;
static __thread bool inside; /* the allocator itself is asking the driver */

static void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		return;
	*(void **)&driver.current = dlsym(library, "cuCtxGetCurrent");
	*(void **)&driver.device = dlsym(library, "cuCtxGetDevice");
	*(void **)&driver.synchronize = dlsym(library, "cuCtxSynchronize");
	*(void **)&driver.primary_state = dlsym(library, "cuDevicePrimaryCtxGetState");
}

static bool found_driver(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_driver);
	return driver.current && driver.device && driver.synchronize && driver.primary_state;
}

/* The allocator for the current context, NULL if that is none of ours to serve. */
static struct gma *here(void)
{
	CUcontext context = NULL;
	CUdevice device;
	unsigned flags;
	struct gma *g;
	int active = 0;

	if (!found_driver() || driver.current(&context) != CUDA_SUCCESS || !context ||
	    driver.device(&device) != CUDA_SUCCESS)
		return NULL;
	g = gma_existing(device);
	if (!g && driver.primary_state(device, &flags, &active) == CUDA_SUCCESS && active)
		g = gma_for_device(device);
	return g && gma_cuda_in_context(g, context) ? g : NULL;
}

static int serve_alloc_on(uint64_t *addr, uint64_t size, uint64_t stream)
{
	struct gma *g;
	void *p = NULL;
	int r = GMS_NOT_SERVED;

	if (inside || !size)
		return GMS_NOT_SERVED;
	inside = true;
	g = here();
	if (g) {
		r = gma_malloc(g, &p, size, stream);
		if (!r)
			*addr = (uintptr_t)p;
		r = r == GMA_OK ? CUDA_SUCCESS : r == GMA_OUT_OF_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : GMS_NOT_SERVED;
	}
	inside = false;
	return r;
}

static int serve_alloc(uint64_t *addr, uint64_t size)
{
	return serve_alloc_on(addr, size, 0);
}

static int serve_alloc_async(uint64_t *addr, uint64_t size, uint64_t stream)
{
	return async_too ? serve_alloc_on(addr, size, stream) : GMS_NOT_SERVED;
}

/* Whose block is it? Tried in the current context's device first. */
static struct gma *owner(uint64_t addr)
{
	void *p = (void *)(uintptr_t)addr;
	struct gma *g = here();
	int d;

	if (g && gma_block_info(g, p, NULL, NULL, NULL) == GMA_OK)
		return g;
	for (d = 0; d < GMA_DEVICES; d++) {
		g = gma_existing(d);
		if (g && gma_block_info(g, p, NULL, NULL, NULL) == GMA_OK)
			return g;
	}
	return NULL;
}

/* cuMemFree waits until nothing on the device uses the memory any more. */
static int serve_free(uint64_t addr)
{
	struct gma *g;
	int r = GMS_NOT_SERVED;

	if (inside || !addr)
		return GMS_NOT_SERVED;
	inside = true;
	g = owner(addr);
	if (g) {
		r = wait ? (int)driver.synchronize() : CUDA_SUCCESS;
		gma_free(g, (void *)(uintptr_t)addr);
	}
	inside = false;
	return r;
}

/* Free in the order of `stream`, which need not be the one it was allocated for. */
static int serve_free_async(uint64_t addr, uint64_t stream)
{
	struct gma *g;
	int r = GMS_NOT_SERVED;

	if (inside || !addr || !async_too)
		return GMS_NOT_SERVED;
	inside = true;
	g = owner(addr);
	if (g) {
		gma_record_stream(g, (void *)(uintptr_t)addr, stream);
		gma_free(g, (void *)(uintptr_t)addr);
		r = CUDA_SUCCESS;
	}
	inside = false;
	return r;
}

static void reset(int device)
{
	gma_abandon(device);
}

static const struct gms_served served = {
	.bytes = sizeof served,
	.alloc = serve_alloc,
	.free = serve_free,
	.alloc_async = serve_alloc_async,
	.free_async = serve_free_async,
	.reset = reset,
};

__attribute__((constructor)) static void begin(void)
{
	const char *how = getenv("GPUMEMSNAP_ALLOCATOR");
	gms_serve_fn *serve;

	*(void **)&serve = dlsym(RTLD_DEFAULT, GMS_SERVE);
	if (!how || !serve)
		return;
	async_too = !strcmp(how, "caching-async");
	wait = strcmp(how, "caching-nosync") != 0;
	serve(&served);
}
