/* face_pools.c: private pools, which requests go to them, and captures of CUDA graphs. */
#include "alloc/face.h"

/* First half of the id of pools made here: PyTorch's own have 0 or small numbers. */
#define OWN_POOLS 0x676d61ull

GMA_EXPORT int gma_pool_create(struct gma *g, unsigned flags, struct gma_pool **out)
{
	int r;

	if (flags & ~(unsigned)(GMA_POOL_NO_SPLIT | GMA_POOL_ON_OOM))
		return gma_fail(GMA_INVALID_VALUE, "unknown pool flags 0x%x", flags);
	gma_lock_take(&g->lock);
	r = gma_core_pool_create(g->core, out, OWN_POOLS, ++g->pools_ever, flags);
	gma_lock_let_go(&g->lock);
	return r ? gma_fail(r, "no memory for the allocator's records") : GMA_OK;
}

struct gma_pool *gma_pool_of_id(struct gma *g, uint64_t id0, uint64_t id1, bool use)
{
	struct gma_pool *p;

	gma_lock_take(&g->lock);
	p = gma_core_pool_find(g->core, id0, id1);
	if (p && use)
		gma_core_pool_retain(p);
	else if (use && gma_core_pool_create(g->core, &p, id0, id1, 0))
		gma_fail(GMA_NO_HOST_MEMORY, "no memory for the allocator's records");
	gma_lock_let_go(&g->lock);
	return p;
}

GMA_EXPORT int gma_pool_begin(struct gma *g, struct gma_pool *pool, int capture)
{
	int r = GMA_OK;

	gma_lock_take(&g->lock);
	if (g->n_routes == GMA_ROUTES) {
		r = gma_fail(GMA_INVALID_VALUE, "requests are sent to %d pools already", GMA_ROUTES);
	} else {
		g->routes[g->n_routes++] = (struct gma_route){pool, pthread_self(), capture != 0};
		gma_core_pool_retain(pool);
		if (capture)
			gma_core_capture(g->core, true);
	}
	gma_lock_let_go(&g->lock);
	return r;
}

GMA_EXPORT int gma_pool_end(struct gma *g, struct gma_pool *pool)
{
	int r = GMA_INVALID_VALUE;
	unsigned i;

	gma_lock_take(&g->lock);
	for (i = g->n_routes; i-- > 0 && r;) {
		if (g->routes[i].pool != pool)
			continue;
		if (g->routes[i].capture)
			gma_core_capture(g->core, false);
		for (g->n_routes--; i < g->n_routes; i++)
			g->routes[i] = g->routes[i + 1];
		gma_core_pool_release(pool);
		r = GMA_OK;
		break;
	}
	gma_lock_let_go(&g->lock);
	return r ? gma_fail(r, "no requests are being sent to this pool") : GMA_OK;
}

GMA_EXPORT int gma_pool_release(struct gma *g, struct gma_pool *pool)
{
	gma_lock_take(&g->lock);
	gma_core_pool_release(pool);
	gma_lock_let_go(&g->lock);
	return GMA_OK;
}
