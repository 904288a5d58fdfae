/* test_gma_fault.c: whatever call of the device fails, and wherever host memory ends: no block is lost.
 *
 * One workload that uses every part of the core is run again and again, and each time another call
 * fails. Requests may fail then; but the core must stay valid, no two live blocks may overlap, and in
 * the end, when nothing fails any more, everything can be given back.
 */
#include "gma.h"

enum { BLOCKS = 40 };

struct work {
	struct rig rig;
	struct gma_block *b[BLOCKS];
	struct gma_pool *pool;
	int failures;
};

static void overlap_check(const struct work *w)
{
	int i, j;

	for (i = 0; i < BLOCKS; i++)
		for (j = 0; j < i; j++)
			if (w->b[i] && w->b[j])
				assert_true(w->b[i]->addr + w->b[i]->size <= w->b[j]->addr ||
					    w->b[j]->addr + w->b[j]->size <= w->b[i]->addr);
}

static void take(struct work *w, int i, uint64_t size, gma_stream stream, struct gma_pool *pool)
{
	struct gma_request q = {.size = size, .stream = stream, .pool = pool};
	int r = gma_core_malloc(w->rig.core, &q, &w->b[i]);

	assert_true((r == GMA_OK) == (w->b[i] != NULL));
	w->failures += r != GMA_OK;
	rig_check(&w->rig);
	overlap_check(w);
}

static void give_up(struct work *w, int i)
{
	if (w->b[i])
		gma_core_free(w->rig.core, w->b[i]);
	w->b[i] = NULL;
	rig_check(&w->rig);
}

static void use_elsewhere(struct work *w, int i, gma_stream stream)
{
	if (w->b[i])
		w->failures += gma_core_record_stream(w->rig.core, w->b[i], stream) != GMA_OK;
	rig_check(&w->rig);
}

static void do_everything(struct work *w)
{
	static const uint64_t sizes[] = {100, 512 * KIB, MIB, 3 * MIB, 9 * MIB, 25 * MIB, 40 * MIB, 7 * MIB};
	int i;

	for (i = 0; i < 16; i++)
		take(w, i, sizes[i % 8], (gma_stream)i % 3, NULL);
	for (i = 0; i < 16; i += 2) {
		use_elsewhere(w, i, 7);
		use_elsewhere(w, i, 8);
		give_up(w, i);
	}
	w->rig.sim.events_done = w->rig.sim.events;
	for (i = 0; i < 16; i += 2)
		take(w, i, sizes[(i + 3) % 8], 0, NULL);
	if (!w->pool && gma_core_pool_create(w->rig.core, &w->pool, 0, 1, 0))
		w->pool = NULL;
	for (i = 16; i < 20; i++)
		take(w, i, sizes[i % 8], 1, w->pool);
	use_elsewhere(w, 16, 9);
	gma_core_capture(w->rig.core, true);
	use_elsewhere(w, 17, 9);
	give_up(w, 16);
	give_up(w, 17);
	gma_core_capture(w->rig.core, false);
	for (i = 20; i < BLOCKS; i++) { /* until the device is full: flush, retry, fail */
		take(w, i, sizes[i % 8] + 6 * MIB, 2, NULL);
		if (i % 5 == 0)
			give_up(w, i - 3);
	}
	gma_core_empty_cache(w->rig.core, NULL);
	rig_check(&w->rig);
	for (i = 0; i < BLOCKS; i += 3)
		give_up(w, i);
	gma_core_empty_cache(w->rig.core, NULL);
	rig_check(&w->rig);
}

/* Nothing fails any more: everything goes back. */
static void clean_up(struct work *w)
{
	const struct gma_segment *g;
	int i;

	w->rig.sim.fail_at = 0;
	w->rig.pages_left = SIZE_MAX;
	for (i = 0; i < BLOCKS; i++)
		give_up(w, i);
	if (w->pool)
		gma_core_pool_release(w->pool);
	gma_core_empty_cache(w->rig.core, NULL);
	rig_check(&w->rig);
	assert_int_equal(gma_core_stats(w->rig.core)->reserved_bytes[GMA_STAT_ALL].current, 0);
	/* Address space that could not be given back may stay, without memory. */
	for (g = gma_core_segments(w->rig.core); g; g = g->next)
		assert_true(g->expandable && g->first->state == GMA_UNMAPPED && !g->first->next);
	rig_end(&w->rig);
}

static const char *const confs[] = {"", "expandable_segments:True", "max_split_size_mb:24",
				    "per_process_memory_fraction:0.9,garbage_collection_threshold:0.5"};

static void any_call_of_the_device_may_fail(void **state)
{
	struct work *w = calloc(1, sizeof *w);
	size_t c;
	uint64_t n, calls;

	(void)state;
	for (c = 0; c < sizeof confs / sizeof *confs; c++) {
		memset(w, 0, sizeof *w);
		rig_begin(&w->rig, confs[c], 400 * MIB);
		do_everything(w);
		calls = w->rig.sim.calls;
		clean_up(w);
		assert_true(calls > 60);
		for (n = 1; n <= calls; n++) {
			memset(w, 0, sizeof *w);
			rig_begin(&w->rig, confs[c], 400 * MIB);
			w->rig.sim.fail_at = n;
			do_everything(w);
			clean_up(w);
		}
	}
	free(w);
}

static void host_memory_may_end_at_any_page(void **state)
{
	struct work *w = calloc(1, sizeof *w);
	size_t c, n;
	int failed = 0;

	(void)state;
	for (c = 0; c < sizeof confs / sizeof *confs; c++) {
		for (n = 0; n < 12; n++) {
			memset(w, 0, sizeof *w);
			rig_begin(&w->rig, confs[c], 400 * MIB);
			w->rig.pages_left = n;
			do_everything(w);
			failed += w->failures;
			clean_up(w);
		}
	}
	assert_true(failed > 0);
	free(w);
}

static void a_core_that_cannot_begin_says_so(void **state)
{
	struct rig r = {.pages_left = 0};
	struct gma_backend be;
	struct gma_conf c;
	struct gma_core *core;

	(void)state;
	rig_now = &r;
	gma_conf_default(&c);
	gma_sim_init(&r.sim, GIB);
	gma_sim_backend(&r.sim, &be, rig_page_get, rig_page_put);
	assert_int_equal(gma_core_create(&core, &c, &be), GMA_NO_HOST_MEMORY);
	assert_null(core);
}

static void senseless_requests_are_refused(void **state)
{
	struct rig r;
	struct gma_block *b;

	(void)state;
	rig_begin(&r, "", GIB);
	assert_int_equal(gma_core_malloc(r.core, &(struct gma_request){.size = 0}, &b), GMA_INVALID_VALUE);
	assert_int_equal(gma_core_malloc(r.core, &(struct gma_request){.size = UINT64_MAX}, &b), GMA_INVALID_VALUE);
	assert_int_equal(gma_core_malloc(r.core, &(struct gma_request){.size = 1ull << 50}, &b), GMA_OUT_OF_MEMORY);
	rig_check(&r);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest gma_fault[] = {
		cmocka_unit_test(any_call_of_the_device_may_fail),
		cmocka_unit_test(host_memory_may_end_at_any_page),
		cmocka_unit_test(a_core_that_cannot_begin_says_so),
		cmocka_unit_test(senseless_requests_are_refused),
	};

	return cmocka_run_group_tests(gma_fault, NULL, NULL);
}
