/* test_live.c: what is live at one instant, on recordings short enough to work out by hand. */
#include "analyze/live.h"
#include "models.h"

#define NEW(addr_, size_, stack_)                                                                            \
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = (addr_), .size = (size_), .stack = (stack_))
#define FREE(addr_) put(&m, GMS_K_DEVICE, GMS_A_FREE, .addr = (addr_))

static void the_peak_is_the_first_row_with_most_live_bytes(void **state)
{
	struct model m;
	struct live l;

	(void)state;
	model_init(&m, "test");
	uint32_t a = site(&m, "a", "main"), b = site(&m, "b", "main");
	NEW(0x1000, 100, a);
	NEW(0x2000, 50, b); /* 150: the peak */
	FREE(0x1000);
	NEW(0x3000, 100, a); /* 150 again, later */
	FREE(0x2000);
	model_link(&m);
	assert_int_equal(live_peak_row(&m, 0), 1);
	live_at(&m, 0, 1, &l);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.bytes, 150);
	assert_int_equal(l.rows[0].stack, a);
	assert_int_equal(l.rows[0].bytes, 100);
	assert_int_equal(l.rows[1].stack, b);
	live_free(&l);
	live_at(&m, 0, SIZE_MAX, &l);
	assert_int_equal(l.n, 0);
	live_free(&l);
	live_at(&m, 0, 4, &l);
	assert_int_equal(l.bytes, 100);
	assert_int_equal(l.rows[0].first_t_ns, 3);
	live_free(&l);
	model_free(&m);
}

static void a_peak_before_the_window_is_told_apart(void **state)
{
	struct model m;

	(void)state;
	model_init(&m, "test");
	NEW(0x1000, 100, 0);
	NEW(0x2000, 100, 0);
	m.n_initial = 2;
	FREE(0x1000);
	NEW(0x1000, 100, 0);
	model_link(&m);
	assert_int_equal(live_peak_row(&m, 0), 1);
	model_free(&m);

	model_init(&m, "test");
	FREE(0x1000);
	model_link(&m);
	assert_true(live_peak_row(&m, 0) == SIZE_MAX);
	assert_int_equal(m.anomalies.free_unknown, 1);
	model_free(&m);
}

static void devices_and_levels_are_never_mixed(void **state)
{
	struct model m;
	struct live l;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x1000, .size = 1000);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 0x1000, .size = 10);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x9000, .size = 7, .device = 1);
	put(&m, GMS_K_PINNED, GMS_A_ALLOC, .addr = 0xa000, .size = 5, .device = 1);
	put(&m, GMS_K_DEVICE, GMS_A_FREE, .addr = 0x1000);
	model_link(&m);
	assert_int_equal(live_level(&m, 0), GMS_FRAMEWORK);
	assert_int_equal(live_level(&m, 1), GMS_DRIVER);
	live_at(&m, 0, 4, &l);
	assert_int_equal(l.bytes, 10);
	live_free(&l);
	live_at(&m, 1, 4, &l);
	assert_int_equal(l.bytes, 7);
	live_free(&l);
	model_free(&m);
}

static void a_block_awaiting_its_streams_is_live_until_the_free_completes(void **state)
{
	struct model m;
	struct live l;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 1, .size = 10);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 2, .size = 5);
	put(&m, GMS_K_BLOCK, GMS_A_FREE_REQUESTED, .addr = 1);
	put(&m, GMS_K_BLOCK, GMS_A_FREE, .addr = 1);
	put(&m, GMS_K_BLOCK, GMS_A_FREE_REQUESTED, .addr = 2);
	model_link(&m);
	live_at(&m, 0, 2, &l);
	assert_int_equal(l.bytes, 15);
	live_free(&l);
	live_at(&m, 0, 4, &l);
	assert_int_equal(l.bytes, 5);
	live_free(&l);
	assert_int_equal(live_sign(&m, 2, 0, GMS_FRAMEWORK), 0);
	assert_int_equal(live_sign(&m, 3, 0, GMS_FRAMEWORK), -1);
	model_free(&m);
}

static void where_no_free_is_ever_completed_the_request_ends_the_block(void **state)
{
	struct model m;
	struct live l;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 1, .size = 10);
	put(&m, GMS_K_BLOCK, GMS_A_FREE_REQUESTED, .addr = 1);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 1, .size = 4);
	model_link(&m);
	assert_int_equal(m.anomalies.alloc_live, 0);
	live_at(&m, 0, 2, &l);
	assert_int_equal(l.bytes, 4);
	live_free(&l);
	model_free(&m);
}

static void an_alloc_over_a_live_address_replaces_the_block(void **state)
{
	struct model m;
	struct live_walk w;
	struct live l;

	(void)state;
	model_init(&m, "test");
	NEW(0x1000, 100, 0);
	NEW(0x2000, 1, 0);
	NEW(0x1000, 30, 0); /* ends the first */
	FREE(0x1000);
	FREE(0x1000);
	model_link(&m);
	assert_int_equal(m.anomalies.alloc_live, 1);
	assert_int_equal(m.anomalies.double_free, 1);
	live_begin(&w, &m, 0);
	assert_true(live_next(&w) && w.row == 0 && w.begins == 0 && w.ends == MODEL_NO_PEER);
	assert_true(live_next(&w) && w.row == 1);
	assert_true(live_next(&w) && w.row == 2 && w.begins == 2 && w.ends == 0);
	assert_true(live_next(&w) && w.row == 3 && w.begins == MODEL_NO_PEER && w.ends == 2);
	assert_false(live_next(&w));
	live_end(&w);
	assert_int_equal(live_peak_row(&m, 0), 1);
	live_at(&m, 0, 2, &l);
	assert_int_equal(l.bytes, 31);
	live_free(&l);
	model_free(&m);
}

/* Random traces against the obvious way: a list of live addresses, searched from end to end. */
static void random_traces_agree_with_a_slow_list(void **state)
{
	unsigned seed, i, j;

	(void)state;
	for (seed = 1; seed <= 40; seed++) {
		struct slow {
			uint64_t addr, size;
		} live[64];
		unsigned n = 0;
		uint64_t now = 0, peak = 0;
		size_t peak_row = SIZE_MAX;
		struct model m;
		struct live l;

		srand(seed);
		model_init(&m, "test");
		for (i = 0; i < 300; i++) {
			uint64_t addr = 0x1000u * (1 + (unsigned)rand() % 40), size = (unsigned)rand() % 1000;
			bool alloc = rand() & 1;

			for (j = 0; j < n && live[j].addr != addr; j++)
				;
			if (alloc)
				NEW(addr, size, 0);
			else
				FREE(addr);
			if (j < n) {
				now -= live[j].size;
				live[j] = live[--n];
			}
			if (alloc) {
				live[n++] = (struct slow){addr, size};
				now += size;
			}
			if (now > peak) {
				peak = now;
				peak_row = i;
			}
		}
		model_link(&m);
		assert_true(live_peak_row(&m, 0) == peak_row);
		live_at(&m, 0, peak_row, &l);
		assert_int_equal(l.bytes, peak);
		live_free(&l);
		live_at(&m, 0, 299, &l);
		assert_int_equal(l.bytes, now);
		assert_int_equal(l.count, n);
		live_free(&l);
		model_free(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_peak_is_the_first_row_with_most_live_bytes),
	    cmocka_unit_test(a_peak_before_the_window_is_told_apart),
	    cmocka_unit_test(devices_and_levels_are_never_mixed),
	    cmocka_unit_test(a_block_awaiting_its_streams_is_live_until_the_free_completes),
	    cmocka_unit_test(where_no_free_is_ever_completed_the_request_ends_the_block),
	    cmocka_unit_test(an_alloc_over_a_live_address_replaces_the_block),
	    cmocka_unit_test(random_traces_agree_with_a_slow_list),
	};

	return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
