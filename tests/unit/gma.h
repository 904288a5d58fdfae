/* gma.h: the allocator's core on a simulated device, for unit tests. */
#ifndef TESTS_GMA_H
#define TESTS_GMA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc/core.h"
#include "alloc/core_sim.h"

#define KIB (1ull << 10)
#define MIB (1ull << 20)
#define GIB (1ull << 30)

struct rig {
	struct gma_sim sim;
	struct gma_core *core;
	size_t pages_left; /* page_get fails when they are used up */
	size_t pages_out;
};
__attribute__((unused)) static struct rig *rig_now; /* page functions get the sim as ctx */

static inline void *rig_page_get(void *ctx, size_t bytes)
{
	(void)ctx;
	if (!rig_now->pages_left)
		return NULL;
	rig_now->pages_left--;
	rig_now->pages_out++;
	return malloc(bytes);
}

static inline void rig_page_put(void *ctx, void *page, size_t bytes)
{
	(void)ctx;
	(void)bytes;
	rig_now->pages_out--;
	free(page);
}

static inline void rig_begin(struct rig *r, const char *conf, uint64_t device)
{
	struct gma_conf_error wrong;
	struct gma_backend be;
	struct gma_conf c;

	memset(r, 0, sizeof *r);
	rig_now = r;
	r->pages_left = SIZE_MAX;
	if (!gma_conf_parse(&c, conf, &wrong))
		fail_msg("conf '%s': %s", conf, wrong.text);
	gma_sim_init(&r->sim, device);
	gma_sim_backend(&r->sim, &be, rig_page_get, rig_page_put);
	assert_int_equal(gma_core_create(&r->core, &c, &be), GMA_OK);
	if (c.has_fraction)
		gma_core_set_limit(r->core, (uint64_t)(c.memory_fraction * (double)device));
}

static inline void rig_end(struct rig *r)
{
	gma_core_destroy(r->core);
	assert_int_equal(r->pages_out, 0);
}

static inline void rig_check(struct rig *r)
{
	const char *wrong = gma_core_valid(r->core);

	if (wrong)
		fail_msg("%s", wrong);
	assert_int_equal(r->sim.used, gma_core_stats(r->core)->reserved_bytes[GMA_STAT_ALL].current);
}

static inline struct gma_block *get(struct rig *r, uint64_t size, gma_stream stream)
{
	struct gma_block *b;

	assert_int_equal(gma_core_malloc(r->core, &(struct gma_request){.size = size, .stream = stream}, &b), GMA_OK);
	rig_check(r);
	return b;
}

static inline void give(struct rig *r, struct gma_block *b)
{
	gma_core_free(r->core, b);
	rig_check(r);
}

#endif
