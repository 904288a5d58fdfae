/* test_filter.c: narrowing a recording leaves figures that are those of the part asked for. */
#include "analyze/filter.h"
#include "analyze/totals.h"
#include "models.h"

static void make(struct model *m)
{
	uint32_t conv, load;
	uint16_t stream;

	model_init(m, "test");
	conv = site(m, "conv", "main");
	load = site(m, "load", "main");
	stream = model_stream(m, 0x7f, 0);
	m->history = HISTORY_COMPLETE;
	m->complete = true;
	put(m, GMS_K_SEGMENT, GMS_A_ALLOC, .addr = 0x1000, .size = 4096, .t_ns = 10);
	put(m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 0x1000, .size = 100, .stack = load, .t_ns = 20);
	put(m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 0x1400, .size = 1000, .stack = conv, .stream = stream,
	    .t_ns = 30);
	put(m, GMS_K_BLOCK, GMS_A_FREE, .addr = 0x1400, .t_ns = 40);
	put(m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 0x1400, .size = 500, .stack = conv, .t_ns = 50);
	put(m, GMS_K_BLOCK, GMS_A_FAIL, .size = 9999, .stack = conv, .t_ns = 60);
	model_fail(m, 5, 2, 7, 8);
	put(m, GMS_K_BLOCK, GMS_A_FREE, .addr = 0x1000, .t_ns = 70);
	put(m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x9000, .size = 3, .device = 1, .t_ns = 80);
	model_link(m);
}

/* Apply the conditions to the recording above; the sums of device 0, or NULL. */
static const struct device_totals *narrowed(struct model *m, struct totals *t, const char *first,
                                            const char *second)
{
	struct filter f = {0};
	struct err e = {0};

	make(m);
	assert_int_equal(filter_add(&f, first, &e), 0);
	if (second)
		assert_int_equal(filter_add(&f, second, &e), 0);
	filter_apply(&f, m);
	filter_free(&f);
	totals_all(t, m);
	return t->device[0];
}

static void expect_nothing(const char *first, const char *second, const char *why)
{
	struct totals t;
	struct model m;

	narrowed(&m, &t, first, second);
	assert_int_equal(m.ev.n, 0);
	assert_non_null(m.why_nothing);
	assert_string_equal(m.why_nothing, why);
	totals_free(&t);
	model_free(&m);
}

static void what_nothing_meets_is_told_with_what_there_is(void **state)
{
	(void)state;
	expect_nothing("device=7", NULL, "no allocation has device=7; its devices: 0, 1");
	expect_nothing("stream=5|6", NULL, "no allocation has stream=5|6; its streams: 0, 0x7f");
	expect_nothing("kind=pinned", NULL, "no allocation has kind=pinned; its kinds: block, device");
	expect_nothing("size>1MiB", "device=0", "no allocation has size>1MiB; sizes go from 3 B to 9.76 KiB");
	expect_nothing("phase~x", NULL, "no allocation has phase~x; the recording has no phases");
	expect_nothing("function~nosuch", NULL, "no allocation has function~nosuch");
	expect_nothing("function~load", "stream=0x7f", "no allocation meets all the conditions at once");
	expect_nothing("time>80ns", NULL, "it ends 80 ns after its beginning");
}

static void by_frame_of_the_stack(void **state)
{
	const struct device_totals *d;
	struct totals t;
	struct model m;

	(void)state;
	d = narrowed(&m, &t, "function~^conv$", NULL);
	assert_int_equal(d->events, 4); /* two allocs, one free, the failure */
	assert_int_equal(d->amount[TOTAL_REQUESTED].peak, 1000);
	assert_int_equal(d->amount[TOTAL_REQUESTED].end, 500);
	assert_true(d->amount[TOTAL_RESERVED].end == MODEL_UNKNOWN); /* segments are nobody's */
	assert_int_equal(m.n_failures, 1);
	assert_int_equal(GMS_OP_ACTION(m.ev.op[m.failures[0].event]), GMS_A_FAIL);
	totals_free(&t);
	model_free(&m);
	d = narrowed(&m, &t, "function!~conv", NULL);
	assert_int_equal(d->amount[TOTAL_REQUESTED].peak, 100);
	assert_int_equal(m.n_failures, 0);
	assert_int_equal(m.anomalies.free_unknown, 0);
	totals_free(&t);
	model_free(&m);
}

static void by_size_stream_kind_and_device(void **state)
{
	const struct device_totals *d;
	struct totals t;
	struct model m;

	(void)state;
	d = narrowed(&m, &t, "size>=500", "size<1000");
	assert_int_equal(d->amount[TOTAL_REQUESTED].peak, 500);
	totals_free(&t);
	model_free(&m);
	d = narrowed(&m, &t, "stream=0x7f", NULL);
	assert_int_equal(d->amount[TOTAL_REQUESTED].peak, 1000);
	assert_int_equal(d->amount[TOTAL_REQUESTED].end, 0);
	totals_free(&t);
	model_free(&m);
	d = narrowed(&m, &t, "device=1", NULL);
	assert_null(d);
	assert_int_equal(t.device[1]->amount[TOTAL_REQUESTED].end, 3);
	totals_free(&t);
	model_free(&m);
	d = narrowed(&m, &t, "kind=device|segment", NULL);
	assert_null(d);
	assert_int_equal(t.device[1]->events, 1);
	totals_free(&t);
	model_free(&m);
}

static void a_time_range_begins_with_what_is_live_and_ends_without_leaks(void **state)
{
	const struct device_totals *d;
	struct totals t;
	struct model m;

	(void)state;
	d = narrowed(&m, &t, "time>=40ns", "time<=60ns");
	assert_int_equal(d->events, 3);
	assert_int_equal(d->amount[TOTAL_REQUESTED].start, 1100);
	assert_int_equal(d->amount[TOTAL_REQUESTED].peak, 1100);
	assert_int_equal(totals_event(&m, 0, d->amount[TOTAL_REQUESTED].peak_row), -1);
	assert_int_equal(d->amount[TOTAL_REQUESTED].end, 600);
	assert_int_equal(d->amount[TOTAL_RESERVED].end, 4096);
	assert_int_equal(m.failures[0].event, m.n_initial + 2);
	assert_false(m.complete);
	totals_free(&t);
	model_free(&m);
}

static void a_block_replaced_by_one_that_does_not_pass_still_ends(void **state)
{
	struct filter f = {0};
	struct totals t;
	struct err e = {0};
	struct model m;

	(void)state;
	model_init(&m, "test");
	m.history = HISTORY_COMPLETE;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 1, .size = 100);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 1, .size = 5);
	model_link(&m);
	assert_int_equal(filter_add(&f, "size>50", &e), 0);
	filter_apply(&f, &m);
	filter_free(&f);
	totals_all(&t, &m);
	assert_int_equal(t.device[0]->amount[TOTAL_REQUESTED].end, 0);
	totals_free(&t);
	model_free(&m);
}

static void what_is_no_condition_is_refused(void **state)
{
	static const char *const bad[] = {"",           "colour=red", "size",    "size~1",
	                                  "size>",      "size>big",   "time=5",  "time>soon",
	                                  "function=f", "function~(", "device<1"};
	struct filter f = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = {0};

		assert_int_equal(filter_add(&f, bad[i], &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_int_equal(f.n, 0);
	}
}

/* Whatever is dropped, no sum of what is left exceeds the whole, and a filter and its opposite add up. */
static void a_condition_and_its_opposite_add_up(void **state)
{
	unsigned seed, side, i;

	(void)state;
	for (seed = 1; seed <= 30; seed++) {
		uint64_t end[3] = {0}, allocs[3] = {0};

		for (side = 0; side < 3; side++) {
			struct filter f = {0};
			struct err e = {0};
			struct totals t;
			struct model m;

			srand(seed);
			model_init(&m, "test");
			m.history = HISTORY_COMPLETE;
			for (i = 0; i < 200; i++) {
				uint64_t addr = 1 + (unsigned)rand() % 30, size = (unsigned)rand() % 200;

				if (rand() & 1)
					put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = addr, .size = size);
				else
					put(&m, GMS_K_DEVICE, GMS_A_FREE, .addr = addr);
			}
			model_link(&m);
			if (side)
				assert_int_equal(filter_add(&f, side == 1 ? "size<100" : "size>=100", &e), 0);
			filter_apply(&f, &m);
			filter_free(&f);
			totals_all(&t, &m);
			end[side] = t.device[0] ? t.device[0]->amount[TOTAL_REQUESTED].end : 0;
			allocs[side] = t.device[0] ? t.device[0]->kind[GMS_K_DEVICE].allocs : 0;
			totals_free(&t);
			model_free(&m);
		}
		assert_int_equal(end[0], end[1] + end[2]);
		assert_int_equal(allocs[0], allocs[1] + allocs[2]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(by_frame_of_the_stack),
	    cmocka_unit_test(what_nothing_meets_is_told_with_what_there_is),
	    cmocka_unit_test(by_size_stream_kind_and_device),
	    cmocka_unit_test(a_time_range_begins_with_what_is_live_and_ends_without_leaks),
	    cmocka_unit_test(a_block_replaced_by_one_that_does_not_pass_still_ends),
	    cmocka_unit_test(what_is_no_condition_is_refused),
	    cmocka_unit_test(a_condition_and_its_opposite_add_up),
	};

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
