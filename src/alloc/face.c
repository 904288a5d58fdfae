/* face.c: the allocator as programs see it: the core behind a lock, addresses instead of records. */
#include "alloc/face.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* conf of the environment, "" if there is none */
static const char *conf_environment(void)
{
	static const char *const names[] = {"GPUMEMALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"};
	const char *s;
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if ((s = getenv(names[i])))
			return s;
	return "";
}

/* --- between core and backend ------------------------------------------------------------------ */

/* release_lock_on_cudamalloc: other threads may use the cache while the driver works. */
static int unlocked_segment_alloc(void *ctx, uint64_t size, uint64_t *addr)
{
	struct gma *g = ctx;
	int r;

	gma_lock_let_go(&g->lock);
	r = g->be.segment_alloc(g->be.ctx, size, addr);
	gma_lock_take(&g->lock);
	return r;
}

static int pass_segment_free(void *ctx, uint64_t addr, uint64_t size)
{
	struct gma *g = ctx;

	return g->be.segment_free(g->be.ctx, addr, size);
}

static int pass_device_info(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes)
{
	struct gma *g = ctx;

	return g->be.device_info(g->be.ctx, free_bytes, total_bytes);
}

static void *pass_page_get(void *ctx, size_t bytes)
{
	struct gma *g = ctx;

	return g->be.page_get(g->be.ctx, bytes);
}

static void pass_page_put(void *ctx, void *page, size_t bytes)
{
	struct gma *g = ctx;

	g->be.page_put(g->be.ctx, page, bytes);
}

static int pass_event_record(void *ctx, gma_stream stream, uint64_t *event)
{
	struct gma *g = ctx;

	return g->be.event_record(g->be.ctx, stream, event);
}

static int pass_event_query(void *ctx, uint64_t event)
{
	struct gma *g = ctx;

	return g->be.event_query(g->be.ctx, event);
}

static int pass_event_wait(void *ctx, uint64_t event)
{
	struct gma *g = ctx;

	return g->be.event_wait(g->be.ctx, event);
}

static void pass_event_destroy(void *ctx, uint64_t event)
{
	struct gma *g = ctx;

	g->be.event_destroy(g->be.ctx, event);
}

/* Expandable segments are not released early: their calls always hold the lock. */
static struct gma_backend unlocking(struct gma *g)
{
	return (struct gma_backend){.ctx = g,
				    .segment_alloc = unlocked_segment_alloc,
				    .segment_free = pass_segment_free,
				    .event_record = g->be.event_record ? pass_event_record : NULL,
				    .event_query = g->be.event_query ? pass_event_query : NULL,
				    .event_wait = g->be.event_wait ? pass_event_wait : NULL,
				    .event_destroy = g->be.event_destroy ? pass_event_destroy : NULL,
				    .device_info = pass_device_info,
				    .page_get = pass_page_get,
				    .page_put = pass_page_put};
}

/* --- making and ending ---------------------------------------------------------------------------- */

static int read_conf(const char *text, struct gma_conf *c)
{
	struct gma_conf_error wrong;

	if (gma_conf_parse(c, text, &wrong))
		return GMA_OK;
	return gma_fail(GMA_INVALID_CONF, "configuration '%s', character %zu: %s", text, wrong.at + 1, wrong.text);
}

static int apply_limits(struct gma *g, const struct gma_conf *c)
{
	uint64_t free_bytes, total, limit = c->memory_limit;
	int r;

	if (c->has_fraction && c->memory_fraction < 1) {
		r = g->be.device_info(g->be.ctx, &free_bytes, &total);
		if (r)
			return gma_fail(r, "the device does not say how much memory it has");
		if ((uint64_t)(c->memory_fraction * (double)total) < limit)
			limit = (uint64_t)(c->memory_fraction * (double)total);
	}
	if (g->region && gma_region_size(g->region) < limit)
		limit = gma_region_size(g->region);
	gma_core_set_limit(g->core, limit);
	return GMA_OK;
}

/* growth:False takes the whole limit at the start (without one: what is free) and lives on that. */
static int take_region(struct gma *g, const struct gma_conf *c)
{
	struct gma_backend inner;
	uint64_t bytes = c->memory_limit, free_bytes, total;
	int r;

	if (bytes == GMA_UNLIMITED) {
		r = g->be.device_info(g->be.ctx, &free_bytes, &total);
		if (r)
			return gma_fail(r, "growth:False: the device does not say how much memory is free");
		bytes = gma_region_usual(free_bytes);
	}
	r = gma_region_create(&g->region, &g->be, bytes, &inner);
	if (r)
		return gma_fail(r, "growth:False: the device does not give %llu bytes at once", (unsigned long long)bytes);
	g->be = inner;
	return GMA_OK;
}

static int start(struct gma *g, const struct gma_conf *c)
{
	struct gma_backend be;
	int r = c->growth ? GMA_OK : take_region(g, c);

	if (r)
		return r;
	be = c->release_lock && c->growth && !c->expandable ? unlocking(g) : g->be;
	r = gma_core_create(&g->core, c, &be);
	if (r)
		return gma_fail(r, "no memory for the allocator's records");
	return apply_limits(g, c);
}

GMA_EXPORT struct gma *gma_create(const char *conf, const struct gma_backend *backend)
{
	const char *text = conf ? conf : conf_environment();
	struct gma_conf c;
	struct gma *g;

	if (read_conf(text, &c))
		return NULL;
	g = calloc(1, sizeof *g);
	if (!g) {
		gma_fail(GMA_NO_HOST_MEMORY, "no memory for the allocator");
		return NULL;
	}
	if (!backend && gma_cuda_open(0, &g->own)) {
		free(g);
		return NULL;
	}
	g->be = backend ? *backend : g->own;
	g->live.be = &g->be;
	g->device = gma_cuda_device(&g->be);
	if (g->device >= 0)
		g->capturing = gma_cuda_capturing;
	snprintf(g->conf, sizeof g->conf, "%s", text);
	if (start(g, &c)) {
		gma_destroy(g);
		return NULL;
	}
	gma_instrument(g);
	return g;
}

GMA_EXPORT void gma_destroy(struct gma *g)
{
	if (!g)
		return;
	GMA_CALLED(g);
	if (g->core)
		gma_core_free_all(g->core);
	gma_addr_free(&g->live);
	gma_core_destroy(g->core);
	gma_region_destroy(g->region);
	gma_cuda_close(&g->own);
	free(g);
}

/* --- requests ---------------------------------------------------------------------------------------- */

/* The pool this request is sent to, NULL: the default one. Locked. */
static struct gma_pool *route(struct gma *g, gma_stream stream)
{
	unsigned i;

	for (i = g->n_routes; i-- > 0;) {
		const struct gma_route *r = &g->routes[i];

		if (pthread_equal(r->thread, pthread_self()) ||
		    (r->capture && g->capturing && g->capturing(g->be.ctx, stream)))
			return r->pool;
	}
	return NULL;
}

/* Who allocated, for messages: a function's name, else file and offset as addr2line takes it. */
static void name_caller(void *ctx, uint64_t user, char *buf, size_t n)
{
	const char *file;
	Dl_info info;

	(void)ctx;
	if (!user || !dladdr((void *)(uintptr_t)(user - 1), &info) || !info.dli_fname)
		return;
	file = strrchr(info.dli_fname, '/');
	file = file ? file + 1 : info.dli_fname;
	if (info.dli_sname)
		snprintf(buf, n, "%s", info.dli_sname);
	else
		snprintf(buf, n, "%s+0x%llx", file, (unsigned long long)(user - 1 - (uintptr_t)info.dli_fbase));
}

static int tell_why(struct gma *g, int r, size_t size)
{
	char why[512];

	switch (r) {
	case GMA_OUT_OF_MEMORY:
		gma_core_explain(gma_core_last_oom(g->core), name_caller, NULL, why, sizeof why);
		return gma_fail(r, "%s", why);
	case GMA_INVALID_VALUE:
		return gma_fail(r, "nobody has %zu bytes", size);
	case GMA_NO_HOST_MEMORY:
		return gma_fail(r, "no memory for the allocator's records");
	default:
		return gma_fail(r, "the driver failed while %zu bytes were asked for", size);
	}
}

GMA_EXPORT int gma_malloc(struct gma *g, void **ptr, size_t size, gma_stream stream)
{
	struct gma_request q = {size, stream, NULL, (uintptr_t)__builtin_return_address(0)};
	struct gma_block *b = NULL;
	int r = GMA_OK;

	*ptr = NULL;
	if (!size)
		return GMA_OK;
	gma_lock_take(&g->lock);
	GMA_CALLED(g);
	if (__builtin_expect(g->n_routes, 0))
		q.pool = route(g, stream);
	if (!gma_addr_room(&g->live))
		r = GMA_NO_HOST_MEMORY;
	else
		r = gma_core_malloc(g->core, &q, &b);
	if (__builtin_expect(r, 0)) {
		tell_why(g, r, size);
	} else {
		gma_addr_put(&g->live, b->addr, b);
		*ptr = (void *)(uintptr_t)b->addr;
	}
	gma_lock_let_go(&g->lock);
	return r;
}

static int not_ours(const void *ptr)
{
	return gma_fail(GMA_INVALID_POINTER, "%p is not the start of a block that is handed out", ptr);
}

/* Locked. */
static struct gma_block *block_of(struct gma *g, const void *ptr)
{
	struct gma_block *b = gma_addr_find(&g->live, (uintptr_t)ptr);

	if (!b)
		not_ours(ptr);
	return b;
}

GMA_EXPORT int gma_free(struct gma *g, void *ptr)
{
	struct gma_block *b;

	if (!ptr)
		return GMA_OK;
	gma_lock_take(&g->lock);
	GMA_CALLED(g);
	b = gma_addr_take(&g->live, (uintptr_t)ptr);
	if (b)
		gma_core_free(g->core, b);
	gma_lock_let_go(&g->lock);
	return b ? GMA_OK : not_ours(ptr);
}

GMA_EXPORT int gma_record_stream(struct gma *g, void *ptr, gma_stream stream)
{
	struct gma_block *b;
	int r = GMA_INVALID_POINTER;

	gma_lock_take(&g->lock);
	b = block_of(g, ptr);
	if (b)
		r = gma_core_record_stream(g->core, b, stream);
	gma_lock_let_go(&g->lock);
	return r == GMA_NO_HOST_MEMORY ? gma_fail(r, "no memory for the allocator's records") : r;
}

GMA_EXPORT int gma_empty_cache(struct gma *g)
{
	gma_lock_take(&g->lock);
	GMA_CALLED(g);
	gma_core_empty_cache(g->core, NULL);
	gma_lock_let_go(&g->lock);
	return GMA_OK;
}

GMA_EXPORT int gma_block_info(struct gma *g, const void *ptr, size_t *size, size_t *requested, gma_stream *stream)
{
	struct gma_block *b;

	gma_lock_take(&g->lock);
	b = block_of(g, ptr);
	if (b && size)
		*size = b->size;
	if (b && requested)
		*requested = b->requested;
	if (b && stream)
		*stream = gma_segment_stream(b->segment);
	gma_lock_let_go(&g->lock);
	return b ? GMA_OK : GMA_INVALID_POINTER;
}

/* --- limits, figures ------------------------------------------------------------------------------------ */

GMA_EXPORT int gma_set_memory_limit(struct gma *g, uint64_t bytes)
{
	gma_lock_take(&g->lock);
	gma_core_set_limit(g->core, bytes);
	gma_lock_let_go(&g->lock);
	return GMA_OK;
}

GMA_EXPORT int gma_set_memory_fraction(struct gma *g, double fraction)
{
	uint64_t free_bytes, total;
	int r;

	if (!(fraction >= 0 && fraction <= 1))
		return gma_fail(GMA_INVALID_VALUE, "a fraction is from 0 to 1, not %g", fraction);
	gma_lock_take(&g->lock);
	r = g->be.device_info(g->be.ctx, &free_bytes, &total);
	if (!r)
		gma_core_set_limit(g->core, (uint64_t)(fraction * (double)total));
	gma_lock_let_go(&g->lock);
	return r ? gma_fail(r, "the device does not say how much memory it has") : GMA_OK;
}

GMA_EXPORT void gma_stats(struct gma *g, struct gma_stats *out)
{
	gma_lock_take(&g->lock);
	*out = *gma_core_stats(g->core);
	gma_lock_let_go(&g->lock);
}

GMA_EXPORT void gma_reset_peak(struct gma *g)
{
	gma_lock_take(&g->lock);
	gma_core_reset_peak(g->core);
	gma_lock_let_go(&g->lock);
}

GMA_EXPORT void gma_reset_accumulated(struct gma *g)
{
	gma_lock_take(&g->lock);
	gma_core_reset_accumulated(g->core);
	gma_lock_let_go(&g->lock);
}

GMA_EXPORT const char *gma_valid(struct gma *g)
{
	const char *wrong;

	gma_lock_take(&g->lock);
	wrong = gma_core_valid(g->core);
	if (!wrong && (int64_t)g->live.n != gma_core_stats(g->core)->allocation[GMA_STAT_ALL].current)
		wrong = "the table of addresses does not have every live block";
	gma_lock_let_go(&g->lock);
	return wrong;
}
