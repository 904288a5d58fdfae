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

/* A program of two devices with all that a fold must keep, made up by a generator of numbers. */
struct story {
	uint32_t seed;
	uint64_t live[200];
	size_t n;
	uint64_t next;
};

static uint32_t roll(struct story *s, uint32_t below)
{
	s->seed = s->seed * 1664525u + 1013904223u;
	return (s->seed >> 8) % below;
}

static void tell_one(struct story *s, struct model *m, int64_t t)
{
	static const char *const names[] = {"weights", "cache", "batch", "table"};
	uint32_t what = roll(s, 20), i;
	uint8_t device = (uint8_t)roll(s, 2);

	if (what < 10 && s->n < 200) {
		s->live[s->n++] = ++s->next << 12;
		put(m, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = t, .addr = s->next << 12, .size = 1 + roll(s, 5000),
		    .device = device, .stack = site(m, names[roll(s, 4)], "main"));
	} else if (what < 17 && s->n) {
		i = roll(s, (uint32_t)s->n);
		put(m, GMS_K_DEVICE, GMS_A_FREE, .t_ns = t, .addr = s->live[i]);
		s->live[i] = s->live[--s->n];
	} else if (what == 17) {
		model_fail(m, put(m, GMS_K_DEVICE, GMS_A_FAIL, .t_ns = t, .size = 1u << 30, .device = device), 2, 1000, 2000);
	} else {
		put(m, GMS_K_MEMORY, GMS_A_INFO, .t_ns = t, .addr = 1000 + roll(s, 500), .size = 9000, .device = device);
	}
}

static void assert_same(const struct pulse *a, const struct pulse *b)
{
	size_t i, k;

	assert_int_equal(a->n, b->n);
	assert_int_equal(a->events, b->events);
	assert_int_equal(a->recent, b->recent);
	for (i = 0; i < a->n; i++) {
		const struct pulse_device *x = &a->devices[i], *y = &b->devices[i];

		assert_int_equal(x->live, y->live);
		assert_int_equal(x->blocks, y->blocks);
		assert_int_equal(x->peak, y->peak);
		assert_int_equal(x->reserved, y->reserved);
		assert_int_equal(x->change, y->change);
		assert_int_equal(x->used, y->used);
		assert_int_equal(x->total, y->total);
		assert_int_equal(x->failures, y->failures);
		assert_int_equal(x->n_sites, y->n_sites);
		for (k = 0; k < x->n_sites; k++) {
			assert_int_equal(x->sites[k].stack, y->sites[k].stack);
			assert_int_equal(x->sites[k].bytes, y->sites[k].bytes);
			assert_int_equal(x->sites[k].count, y->sites[k].count);
			assert_int_equal(x->sites[k].change, y->sites[k].change);
		}
	}
}

static void folding_changes_no_figure(void **state)
{
	struct story whole_story = {.seed = 7}, folded_story = {.seed = 7};
	struct pulse_past past = {0};
	struct pulse_base base = {0};
	struct model whole, folded;
	struct pulse a, b;
	size_t row, most = 0;

	(void)state;
	model_init(&whole, "test");
	model_init(&folded, "test");
	whole.history = folded.history = HISTORY_COMPLETE;
	for (row = 0; row < 6000; row++) {
		tell_one(&whole_story, &whole, (int64_t)(row + 1) * S / 100);
		tell_one(&folded_story, &folded, (int64_t)(row + 1) * S / 100);
		if (row % 500 == 499) {
			model_link(&folded);
			pulse_fold(&past, &folded);
			model_link(&folded);
			most = folded.ev.n > most ? folded.ev.n : most;
		}
		if (row == 2999) {
			pulse_base_take(&base, &folded, folded.ev.n - 1, 30 * S);
			base.events += past.events;
		}
	}
	model_link(&whole);
	pulse_take(&a, &whole, 60 * S, 30 * S);
	pulse_since(&b, &folded, &past, &base, 60 * S);
	assert_same(&a, &b);
	assert_true(a.devices[0].failures > 64 && folded.n_failures == 64);
	assert_int_equal(folded.ev.op[folded.failures[63].event], GMS_OP(GMS_K_DEVICE, GMS_A_FAIL));
	assert_true(most < 300); /* live, samples and failures */
	pulse_free(&a);
	pulse_free(&b);
	pulse_base_free(&base);
	model_free(&whole);
	model_free(&folded);
}

static void a_device_whose_blocks_are_gone_still_has_an_allocator(void **state)
{
	struct pulse_past past = {0};
	struct model m;
	struct pulse p;

	(void)state;
	model_init(&m, "test");
	m.history = HISTORY_COMPLETE;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 1, .addr = 0x200000, .size = 1 << 21);
	put(&m, GMS_K_SEGMENT, GMS_A_ALLOC, .t_ns = 2, .addr = 0x200000, .size = 1 << 21);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .t_ns = 3, .addr = 0x200000, .size = 1000, .block = 1024);
	put(&m, GMS_K_BLOCK, GMS_A_FREE, .t_ns = 4, .addr = 0x200000);
	model_link(&m);
	pulse_fold(&past, &m);
	model_link(&m);
	pulse_fold(&past, &m); /* twice: nothing happened meanwhile */
	model_link(&m);
	pulse_since(&p, &m, &past, &(struct pulse_base){0}, 10 * S);
	assert_int_equal(p.devices[0].live, 0);
	assert_int_equal(p.devices[0].peak, 1000);
	assert_int_equal(p.devices[0].reserved, 1 << 21);
	assert_int_equal(p.events, 4);
	pulse_free(&p);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest pulse[] = {
		cmocka_unit_test(live_peak_and_change_over_the_window),
		cmocka_unit_test(a_young_recording_has_no_rate),
		cmocka_unit_test(folding_changes_no_figure),
		cmocka_unit_test(a_device_whose_blocks_are_gone_still_has_an_allocator),
		cmocka_unit_test(an_empty_recording_has_nothing),
		cmocka_unit_test(segments_tell_utilisation_and_fragmentation),
	};
	return cmocka_run_group_tests(pulse, NULL, NULL);
}
