/* test_align.c: the shift between a framework's clock and the recorder's. */
#include "analyze/align.h"
#include "models.h"

static struct model d, f; /* driver's and framework's */

static int begin(void **state)
{
	(void)state;
	model_init(&d, "driver");
	model_init(&f, "framework");
	return 0;
}
static int end(void **state)
{
	(void)state;
	model_free(&d);
	model_free(&f);
	return 0;
}

/* A segment that the driver gives at t and the framework notes `late` after it, on a clock 5000 ahead. */
#define AHEAD 5000
static void segment(int64_t t, uint64_t addr, int64_t late)
{
	put(&d, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = t, .addr = addr, .size = 4096);
	put(&f, GMS_K_SEGMENT, GMS_A_ALLOC, .t_ns = t + late + AHEAD, .addr = addr, .size = 4096);
}
static void give_back(int64_t t, uint64_t addr, int64_t early)
{
	put(&f, GMS_K_SEGMENT, GMS_A_FREE, .t_ns = t - early + AHEAD, .addr = addr, .size = 4096);
	put(&d, GMS_K_DEVICE, GMS_A_FREE, .t_ns = t, .addr = addr);
}

static void the_quickest_segment_tells_the_shift(void **state)
{
	struct align a;

	(void)state;
	segment(100, 0x1000, 400);
	segment(9000, 0x2000, 20);
	segment(20000, 0x3000, 700);
	put(&d, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 30000, .addr = 0x9000, .size = 77); /* nobody's segment */
	assert_int_equal(align_find(&d, &f, &a), 0);
	assert_int_equal(a.shift_ns, -AHEAD - 20);
	assert_int_equal(a.segments, 3);
	assert_int_equal(a.found, 3);
	assert_true(a.error_ns == INT64_MAX); /* nothing bounds it from above */
	assert_false(a.torn || a.by_wall_clock);
}

static void what_is_given_back_bounds_the_error(void **state)
{
	struct align a;

	(void)state;
	segment(100, 0x1000, 400);
	segment(9000, 0x2000, 300);
	give_back(50000, 0x1000, 6000);
	give_back(60000, 0x2000, 2000);
	assert_int_equal(align_find(&d, &f, &a), 0);
	assert_int_equal(a.shift_ns, -AHEAD - 300);
	assert_int_equal(a.error_ns, 2300); /* between 300 below and 2000 above the truth */
	assert_false(a.torn);
}

static void a_reused_address_is_paired_in_order(void **state)
{
	struct align a;

	(void)state;
	segment(100000, 0x1000, 50);
	give_back(200000, 0x1000, 40);
	segment(300000, 0x1000, 60);
	give_back(400000, 0x1000, 30);
	assert_int_equal(align_find(&d, &f, &a), 0);
	assert_int_equal(a.shift_ns, -AHEAD - 50);
	assert_int_equal(a.error_ns, 1000);
	assert_int_equal(a.found, 2);
}

static void a_late_history_is_paired_by_wall_clock(void **state)
{
	struct align a;

	(void)state;
	d.start_wall_ns = 1000000;
	f.start_wall_ns = 1000000 - AHEAD + 7; /* as good as wall clocks are */
	put(&d, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 100, .addr = 0x1000,
	    .size = 4096); /* before it was switched on */
	put(&d, GMS_K_DEVICE, GMS_A_FREE, .t_ns = 200, .addr = 0x1000);
	segment(900000, 0x1000, 80);
	assert_int_equal(align_find(&d, &f, &a), 0);
	assert_int_equal(a.shift_ns, -AHEAD - 80);
	assert_int_equal(a.found, 1);
}

static void mapped_ranges_count_as_segments(void **state)
{
	struct align a;

	(void)state;
	put(&d, GMS_K_PHYSICAL, GMS_A_ALLOC, .t_ns = 100, .addr = 0x77, .size = 1 << 21);
	put(&d, GMS_K_PHYSICAL, GMS_A_MAP, .t_ns = 110, .addr = 0x200000, .size = 1 << 21);
	put(&f, GMS_K_SEGMENT, GMS_A_MAP, .t_ns = 110 + AHEAD + 10, .addr = 0x200000, .size = 1 << 21);
	assert_int_equal(align_find(&d, &f, &a), 0);
	assert_int_equal(a.shift_ns, -AHEAD - 10);
	assert_int_equal(a.found, 1);
}

static void a_clock_set_in_between_is_noticed(void **state)
{
	struct align a;

	(void)state;
	segment(100, 0x1000, 30);
	put(&f, GMS_K_SEGMENT, GMS_A_FREE, .t_ns = 900000 + AHEAD + 50000, .addr = 0x1000, .size = 4096);
	put(&d, GMS_K_DEVICE, GMS_A_FREE, .t_ns = 900000, .addr = 0x1000);
	assert_int_equal(align_find(&d, &f, &a), 0);
	assert_true(a.torn);
}

static void without_common_memory_wall_clocks_decide(void **state)
{
	struct align a;

	(void)state;
	put(&f, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 0x1000, .size = 5);
	assert_int_equal(align_find(&d, &f, &a), -1);
	d.start_wall_ns = 2000;
	f.start_wall_ns = 2500;
	assert_int_equal(align_find(&d, &f, &a), 0);
	assert_true(a.by_wall_clock);
	assert_int_equal(a.shift_ns, 500);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
	const struct CMUnitTest align[] = {
	    TEST(the_quickest_segment_tells_the_shift),     TEST(what_is_given_back_bounds_the_error),
	    TEST(a_reused_address_is_paired_in_order),      TEST(a_late_history_is_paired_by_wall_clock),
	    TEST(mapped_ranges_count_as_segments),          TEST(a_clock_set_in_between_is_noticed),
	    TEST(without_common_memory_wall_clocks_decide),
	};
	return cmocka_run_group_tests(align, NULL, NULL);
}
