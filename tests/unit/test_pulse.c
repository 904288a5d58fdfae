/* test_pulse.c: the figures of a running process. */
#include "analyze/pulse.h"
#include "models.h"

#include <math.h>

#define S 1000000000ll

static void live_peak_and_change_over_the_window(void **state)
{
	struct model m;
	struct pulse p;

	(void)state;
	model_init(&m, "test");
	m.history = HISTORY_COMPLETE;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 1 * S, .addr = 0x1000, .size = 1000, .stack = site(&m, "old"));
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 2 * S, .addr = 0x2000, .size = 5000, .stack = site(&m, "gone"));
	put(&m, GMS_K_DEVICE, GMS_A_FREE, .t_ns = 75 * S, .addr = 0x2000);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 80 * S, .addr = 0x3000, .size = 300, .stack = site(&m, "new"));
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 90 * S, .addr = 0x4000, .size = 100, .stack = site(&m, "old"));
	model_link(&m);
	pulse_take(&p, &m, 100 * S, 30 * S);
	assert_int_equal(p.n, 1);
	assert_int_equal(p.events, 5);
	assert_int_equal(p.recent, 3);
	assert_int_equal(p.devices[0].live, 1400);
	assert_int_equal(p.devices[0].blocks, 3);
	assert_int_equal(p.devices[0].peak, 6000);
	assert_int_equal(p.devices[0].change, -4600);
	assert_int_equal(pulse_per_minute(&p, p.devices[0].change), -9200);
	assert_int_equal(p.devices[0].n_sites, 2);
	assert_int_equal(p.devices[0].sites[0].bytes, 1100);
	assert_int_equal(p.devices[0].sites[0].change, 100);
	assert_int_equal(p.devices[0].sites[1].change, 300);
	assert_true(isnan(p.devices[0].external));
	assert_true(p.devices[0].used == MODEL_UNKNOWN);
	pulse_free(&p);
	model_free(&m);
}

static void a_young_recording_has_no_rate(void **state)
{
	struct model m;
	struct pulse p;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 5, .addr = 0x1000, .size = 1000);
	model_link(&m);
	pulse_take(&p, &m, S / 2, 60 * S);
	assert_int_equal(p.window_ns, S / 2);
	assert_int_equal(p.devices[0].change, 1000);
	assert_true(pulse_per_minute(&p, 1000) == PULSE_UNKNOWN);
	pulse_free(&p);
	pulse_take(&p, &m, 2 * S, 60 * S);
	assert_int_equal(pulse_per_minute(&p, p.devices[0].change), 30000);
	pulse_free(&p);
	model_free(&m);
}

static void an_empty_recording_has_nothing(void **state)
{
	struct model m;
	struct pulse p;

	(void)state;
	model_init(&m, "test");
	model_link(&m);
	pulse_take(&p, &m, 100, 60 * S);
	assert_int_equal(p.n, 0);
	assert_int_equal(p.events, 0);
	assert_int_equal(p.recent, 0);
	pulse_free(&p);
	model_free(&m);
}

static void segments_tell_utilisation_and_fragmentation(void **state)
{
	struct model m;
	struct pulse p;
	size_t row;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_SEGMENT, GMS_A_ALLOC, .t_ns = 1, .addr = 0x1000, .size = 4096);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .t_ns = 2, .addr = 0x1400, .size = 1000, .block = 1024);
	row = put(&m, GMS_K_BLOCK, GMS_A_FAIL, .t_ns = 3, .size = 1 << 30);
	model_fail(&m, row, 2, 77, 100);
	put(&m, GMS_K_MEMORY, GMS_A_INFO, .t_ns = 4, .addr = 77, .size = 100);
	model_link(&m);
	pulse_take(&p, &m, 5, 60 * S);
	assert_int_equal(p.devices[0].reserved, 4096);
	assert_int_equal(p.devices[0].active, 1024);
	assert_int_equal((int)(p.devices[0].external * 3 + 0.5), 1); /* holes of 1024 and 2048 */
	assert_int_equal(p.devices[0].failures, 1);
	assert_int_equal(p.devices[0].used, 23);
	assert_int_equal(p.devices[0].total, 100);
	pulse_free(&p);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest pulse[] = {
		cmocka_unit_test(live_peak_and_change_over_the_window),
		cmocka_unit_test(a_young_recording_has_no_rate),
		cmocka_unit_test(an_empty_recording_has_nothing),
		cmocka_unit_test(segments_tell_utilisation_and_fragmentation),
	};
	return cmocka_run_group_tests(pulse, NULL, NULL);
}
