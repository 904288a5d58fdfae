/* test_totals.c: requested, allocated, active and reserved bytes, and their peaks, by hand. */
#include "analyze/series.h"
#include "models.h"

static void blocks_and_segments_give_four_sums(void **state)
{
	struct model m;
	struct totals t;
	struct device_totals *d;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_SEGMENT, GMS_A_ALLOC, .addr = 8, .size = 2048);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 8, .size = 100, .block = 512);
	m.n_initial = 2;
	put(&m, GMS_K_SEGMENT, GMS_A_MAP, .addr = 4096, .size = 4096);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 4096, .size = 1000, .block = 1024); /* event 1: the peak */
	put(&m, GMS_K_BLOCK, GMS_A_FREE_REQUESTED, .addr = 8);
	put(&m, GMS_K_TRACE, GMS_A_INFO, .size = 1536);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 6000, .size = 1, .block = 512);
	put(&m, GMS_K_BLOCK, GMS_A_FREE, .addr = 8);
	put(&m, GMS_K_BLOCK, GMS_A_FREE_REQUESTED, .addr = 4096);
	put(&m, GMS_K_SEGMENT, GMS_A_UNMAP, .addr = 4096, .size = 1024);
	put(&m, GMS_K_TRACE, GMS_A_INFO, .size = 7);
	m.history = HISTORY_COMPLETE;
	model_link(&m);
	totals_all(&t, &m);
	d = t.device[0];
	assert_int_equal(d->events, 9);
	assert_int_equal(d->level, GMS_FRAMEWORK);
	assert_int_equal(d->amount[TOTAL_REQUESTED].start, 100);
	assert_int_equal(d->amount[TOTAL_REQUESTED].peak, 1101);
	assert_int_equal(totals_event(&m, 0, d->amount[TOTAL_REQUESTED].peak_row), 4);
	assert_int_equal(d->amount[TOTAL_REQUESTED].end, 1001);
	assert_int_equal(d->amount[TOTAL_ALLOCATED].peak, 1536);
	assert_int_equal(totals_event(&m, 0, d->amount[TOTAL_ALLOCATED].peak_row), 1);
	assert_int_equal(d->amount[TOTAL_ALLOCATED].end, 512);
	assert_int_equal(d->amount[TOTAL_ACTIVE].peak, 2048);
	assert_int_equal(d->amount[TOTAL_ACTIVE].end, 1536);
	assert_int_equal(d->pending, 1024);
	assert_int_equal(d->amount[TOTAL_RESERVED].start, 2048);
	assert_int_equal(d->amount[TOTAL_RESERVED].peak, 6144);
	assert_int_equal(totals_event(&m, 0, d->amount[TOTAL_RESERVED].peak_row), 0);
	assert_int_equal(d->amount[TOTAL_RESERVED].end, 5120);
	assert_int_equal(d->live_blocks, 2);
	assert_int_equal(d->kind[GMS_K_BLOCK].allocs, 2);
	assert_int_equal(d->kind[GMS_K_BLOCK].frees, 1);
	assert_int_equal(d->checksums, 2);
	assert_int_equal(d->checksums_wrong, 1);
	assert_int_equal(totals_event(&m, 0, d->first_wrong), 8);
	totals_free(&t);
	model_free(&m);
}

static void a_block_of_unknown_size_makes_allocated_unknown_while_it_lives(void **state)
{
	struct model m;
	struct totals t;
	struct series s;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 1, .size = 100);
	m.n_initial = 1;
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 600, .size = 100, .block = 512);
	put(&m, GMS_K_BLOCK, GMS_A_FREE, .addr = 1);
	m.history = HISTORY_PARTIAL;
	model_link(&m);
	totals_all(&t, &m);
	assert_int_equal(t.device[0]->amount[TOTAL_REQUESTED].peak, 200);
	assert_true(t.device[0]->amount[TOTAL_ALLOCATED].start == MODEL_UNKNOWN);
	assert_true(t.device[0]->amount[TOTAL_ALLOCATED].peak == MODEL_UNKNOWN);
	assert_int_equal(t.device[0]->amount[TOTAL_ALLOCATED].end, 512);
	assert_true(t.device[0]->amount[TOTAL_RESERVED].end == MODEL_UNKNOWN);
	totals_free(&t);
	series_make(&s, &m, 0, 1u << TOTAL_ALLOCATED | 1u << TOTAL_REQUESTED);
	assert_true(s.value[TOTAL_ALLOCATED][1] == MODEL_UNKNOWN);
	assert_int_equal(s.value[TOTAL_ALLOCATED][2], 512);
	assert_int_equal(s.value[TOTAL_REQUESTED][1], 200);
	assert_null(s.value[TOTAL_RESERVED]);
	assert_int_equal(s.device.amount[TOTAL_REQUESTED].peak_row, 1);
	series_free(&s);
	model_free(&m);
}

static void driver_memory_reserves_itself_and_pools_what_they_hold(void **state)
{
	struct model m;
	struct totals t;
	uint16_t pool;

	(void)state;
	model_init(&m, "test");
	pool = model_pool(&m, &(struct pool_info){.handle = 77});
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 1, .size = 100);
	put(&m, GMS_K_ASYNC, GMS_A_ALLOC, .addr = 2, .size = 10, .pool = pool);
	put(&m, GMS_K_POOL, GMS_A_INFO, .addr = 10, .size = 64, .pool = pool);
	put(&m, GMS_K_ASYNC, GMS_A_ALLOC, .addr = 3, .size = 90, .pool = pool); /* the pool must hold 100 */
	put(&m, GMS_K_ASYNC, GMS_A_FREE, .addr = 2, .pool = pool);
	put(&m, GMS_K_PINNED, GMS_A_ALLOC, .addr = 9, .size = 5000);
	put(&m, GMS_K_MANAGED, GMS_A_ALLOC, .addr = 10, .size = 6000);
	put(&m, GMS_K_DEVICE, GMS_A_FAIL, .size = 1u << 30);
	put(&m, GMS_K_MEMORY, GMS_A_INFO, .addr = 300, .size = 1000);
	m.history = HISTORY_COMPLETE;
	model_link(&m);
	totals_all(&t, &m);
	assert_int_equal(t.device[0]->amount[TOTAL_REQUESTED].peak, 200);
	assert_int_equal(t.device[0]->amount[TOTAL_REQUESTED].peak_row, 3);
	assert_int_equal(t.device[0]->amount[TOTAL_REQUESTED].end, 190);
	assert_int_equal(t.device[0]->amount[TOTAL_RESERVED].peak, 200);
	assert_int_equal(t.device[0]->amount[TOTAL_RESERVED].end, 190);
	assert_int_equal(t.device[0]->kind[GMS_K_PINNED].end, 5000);
	assert_int_equal(t.device[0]->kind[GMS_K_MANAGED].peak, 6000);
	assert_int_equal(t.device[0]->kind[GMS_K_DEVICE].failed, 1);
	assert_int_equal(t.device[0]->used_end, 700);
	totals_free(&t);
	model_free(&m);
}

static void a_pool_that_was_never_sampled_leaves_reserved_unknown(void **state)
{
	struct model m;
	struct totals t;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_ASYNC, GMS_A_ALLOC, .addr = 2, .size = 10);
	m.history = HISTORY_COMPLETE;
	model_link(&m);
	totals_all(&t, &m);
	assert_int_equal(t.device[0]->amount[TOTAL_REQUESTED].peak, 10);
	assert_true(t.device[0]->amount[TOTAL_RESERVED].peak == MODEL_UNKNOWN);
	assert_true(t.device[0]->amount[TOTAL_RESERVED].end == MODEL_UNKNOWN);
	totals_free(&t);
	model_free(&m);
}

static void without_history_the_peak_is_unknown_and_the_end_is_known(void **state)
{
	struct model m;
	struct totals t;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_SEGMENT, GMS_A_ALLOC, .addr = 8, .size = 2048, .device = 3);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 8, .size = 100, .block = 512, .device = 3);
	m.n_initial = 2;
	m.history = HISTORY_NONE;
	model_link(&m);
	totals_all(&t, &m);
	assert_null(t.device[0]);
	assert_int_equal(t.device[3]->events, 0);
	assert_int_equal(t.device[3]->amount[TOTAL_REQUESTED].start, 100);
	assert_int_equal(t.device[3]->amount[TOTAL_REQUESTED].end, 100);
	assert_true(t.device[3]->amount[TOTAL_REQUESTED].peak == MODEL_UNKNOWN);
	assert_int_equal(totals_event(&m, 3, t.device[3]->amount[TOTAL_REQUESTED].peak_row), -1);
	assert_int_equal(t.device[3]->live_blocks, 1);
	totals_free(&t);
	model_free(&m);
}

static void replacing_and_double_freeing_never_go_below_zero(void **state)
{
	struct model m;
	struct totals t;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 1, .size = 100);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 1, .size = 30);
	put(&m, GMS_K_DEVICE, GMS_A_FREE, .addr = 1);
	put(&m, GMS_K_DEVICE, GMS_A_FREE, .addr = 1);
	put(&m, GMS_K_DEVICE, GMS_A_FREE, .addr = 99);
	put(&m, GMS_K_DEVICE, GMS_A_FREE);
	m.history = HISTORY_COMPLETE;
	model_link(&m);
	totals_all(&t, &m);
	assert_int_equal(t.device[0]->amount[TOTAL_REQUESTED].peak, 100);
	assert_int_equal(t.device[0]->amount[TOTAL_REQUESTED].end, 0);
	assert_int_equal(t.device[0]->amount[TOTAL_RESERVED].end, 0);
	assert_int_equal(t.device[0]->kind[GMS_K_DEVICE].end, 0);
	assert_int_equal(t.device[0]->live_blocks, 0);
	assert_int_equal(m.anomalies.alloc_live, 1);
	assert_int_equal(m.anomalies.double_free, 1);
	assert_int_equal(m.anomalies.free_unknown, 1);
	assert_int_equal(m.anomalies.free_null, 1);
	totals_free(&t);
	model_free(&m);
}

static void profiles_hold_the_peak_and_carry_values_through_quiet_times(void **state)
{
	struct model m;
	struct totals t;
	const struct profile *p;
	uint64_t max = 0;
	size_t i;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 1, .size = 100, .t_ns = 1);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 2, .size = 900, .t_ns = 2);
	put(&m, GMS_K_DEVICE, GMS_A_FREE, .addr = 2, .t_ns = 3);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 3, .size = 5, .t_ns = 1000000);
	m.history = HISTORY_COMPLETE;
	model_link(&m);
	totals_with_profiles(&t, &m);
	p = t.device[0]->profile;
	assert_false(p->by_time); /* nearly all of the time nothing happens */
	for (i = 0; i < PROFILE_COLUMNS; i++)
		max = p->requested[i] > max ? p->requested[i] : max;
	assert_int_equal(max, 1000);
	assert_int_equal(p->requested[PROFILE_COLUMNS - 2], 100);
	assert_int_equal(p->requested[PROFILE_COLUMNS - 1], 105);
	totals_free(&t);
	model_free(&m);
}

/* A physical handle counts once however often it is mapped, and until its free (the recorder's, which comes when it
 * is released and unmapped). Another process's memory, address space and pinned memory are not the device's. */
static void memory_counts_once_and_only_where_it_is(void **state)
{
	struct model m;
	struct totals t;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_ADDRESS, GMS_A_ALLOC, .addr = 1 << 20, .size = 1 << 30);
	put(&m, GMS_K_PHYSICAL, GMS_A_ALLOC, .addr = 77, .size = 4096);
	put(&m, GMS_K_PHYSICAL, GMS_A_MAP, .addr = 1 << 20, .size = 4096);
	put(&m, GMS_K_PHYSICAL, GMS_A_MAP, .addr = 2 << 20, .size = 4096);
	put(&m, GMS_K_IMPORTED, GMS_A_ALLOC, .addr = 5, .size = 1 << 25);
	put(&m, GMS_K_PINNED, GMS_A_ALLOC, .addr = 9 << 20, .size = 1 << 26);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 7 << 20, .size = 100);
	put(&m, GMS_K_PHYSICAL, GMS_A_UNMAP, .addr = 1 << 20, .size = 4096);
	put(&m, GMS_K_PHYSICAL, GMS_A_UNMAP, .addr = 2 << 20, .size = 4096);
	put(&m, GMS_K_PHYSICAL, GMS_A_FREE, .addr = 77);
	m.history = HISTORY_COMPLETE;
	model_link(&m);
	totals_all(&t, &m);
	assert_int_equal(t.device[0]->amount[TOTAL_REQUESTED].peak, 4196);
	assert_int_equal(t.device[0]->amount[TOTAL_RESERVED].peak, 4196);
	assert_int_equal(t.device[0]->amount[TOTAL_REQUESTED].end, 100);
	assert_int_equal(t.device[0]->kind[GMS_K_IMPORTED].end, 1 << 25);
	assert_int_equal(m.anomalies.free_unknown + m.anomalies.double_free + m.anomalies.alloc_live, 0);
	totals_free(&t);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(blocks_and_segments_give_four_sums),
	    cmocka_unit_test(a_block_of_unknown_size_makes_allocated_unknown_while_it_lives),
	    cmocka_unit_test(driver_memory_reserves_itself_and_pools_what_they_hold),
	    cmocka_unit_test(a_pool_that_was_never_sampled_leaves_reserved_unknown),
	    cmocka_unit_test(without_history_the_peak_is_unknown_and_the_end_is_known),
	    cmocka_unit_test(replacing_and_double_freeing_never_go_below_zero),
	    cmocka_unit_test(memory_counts_once_and_only_where_it_is),
	    cmocka_unit_test(profiles_hold_the_peak_and_carry_values_through_quiet_times),
	};

	return cmocka_run_group_tests_name("totals", tests, NULL, NULL);
}
