/* torch_plug.c: what torch.cuda.memory.CUDAPluggableAllocator and its optional hooks call.
 *
 * PyTorch takes a null pointer for out of memory but throws nothing by itself, so the sentence why
 * goes to stderr, once for each failure.
 */
#include "alloc/face.h"
#include <stdio.h>

GMA_EXPORT void *gma_torch_malloc(size_t size, int device, void *stream)
{
	struct gma *g = gma_for_device(device);
	void *p = NULL;

	if (!g || gma_malloc(g, &p, size, (uintptr_t)stream))
		fprintf(stderr, "gpumemalloc: GPU %d: %s\n", device, gma_error_text());
	return p;
}

GMA_EXPORT void gma_torch_free(void *ptr, size_t size, int device, void *stream)
{
	struct gma *g = gma_for_device(device);

	(void)size;
	(void)stream;
	if (g && gma_free(g, ptr))
		fprintf(stderr, "gpumemalloc: GPU %d: %s\n", device, gma_error_text());
}

GMA_EXPORT void gma_torch_init(int device_count)
{
	(void)device_count; /* allocators are made when a device is used first */
}

/* The allocator a pointer belongs to. */
static struct gma *owner(const void *ptr, size_t *size)
{
	int d;

	for (d = 0; d < GMA_DEVICES; d++) {
		struct gma *g = gma_existing(d);

		if (g && gma_block_info(g, ptr, size, NULL, NULL) == GMA_OK)
			return g;
	}
	return NULL;
}

GMA_EXPORT void gma_torch_reset(void)
{
	int d;

	for (d = 0; d < GMA_DEVICES; d++)
		if (gma_existing(d))
			gma_empty_cache(gma_existing(d));
}

GMA_EXPORT void gma_torch_memory_fraction(double fraction, int device)
{
	struct gma *g = gma_for_device(device);

	if (!g || gma_set_memory_fraction(g, fraction))
		fprintf(stderr, "gpumemalloc: GPU %d: %s\n", device, gma_error_text());
}

GMA_EXPORT void *gma_torch_base_alloc(void *ptr, size_t *size)
{
	size_t bytes = 0;

	owner(ptr, &bytes);
	if (size)
		*size = bytes;
	return ptr;
}

GMA_EXPORT void gma_torch_record_stream(void *ptr, void *stream)
{
	struct gma *g = owner(ptr, NULL);

	if (g)
		gma_record_stream(g, ptr, (uintptr_t)stream);
}

/* A graph being captured, or a MemPool: requests of this thread and of capturing streams go to the pool
 * with this id. The filter (a std::function) tells the same and is not called. */
GMA_EXPORT void gma_torch_begin_pool(int device, struct gma_torch_pool_id id, void *filter)
{
	struct gma *g = gma_for_device(device);
	struct gma_pool *p;

	(void)filter;
	p = g ? gma_pool_of_id(g, id.v[0], id.v[1], true) : NULL;
	if (!p || gma_pool_begin(g, p, 1))
		fprintf(stderr, "gpumemalloc: GPU %d: %s\n", device, gma_error_text());
}

GMA_EXPORT void gma_torch_end_pool(int device, struct gma_torch_pool_id id)
{
	struct gma *g = gma_existing(device);
	struct gma_pool *p = g ? gma_pool_of_id(g, id.v[0], id.v[1], false) : NULL;

	if (p)
		gma_pool_end(g, p);
}

GMA_EXPORT void gma_torch_release_pool(int device, struct gma_torch_pool_id id)
{
	struct gma *g = gma_existing(device);
	struct gma_pool *p = g ? gma_pool_of_id(g, id.v[0], id.v[1], false) : NULL;

	if (p)
		gma_pool_release(g, p);
}
