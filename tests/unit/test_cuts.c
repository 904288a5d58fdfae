/* test_cuts.c: a time axis without long idle times: what is cut, and that every instant has its place. */
#include "analyze/cuts.h"
#include "models.h"

/* So many events from a time on, 10 apart. */
static void burst(struct model *m, int64_t from, int events)
{
	for (int i = 0; i < events; i++)
		put(m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x1000 + (uint64_t)m->ev.n * 0x1000, .size = 8,
		    .t_ns = from + 10 * i);
}

static void times_idle_in_all_recordings_are_cut(void **state)
{
	struct model m[2];
	int64_t shift[2] = {0, 500};
	struct cuts c;

	(void)state;
	model_init(&m[0], "a");
	burst(&m[0], 0, 100);      /* to 990 */
	burst(&m[0], 100000, 100); /* to 100990 */
	model_init(&m[1], "b");
	burst(&m[1], 0, 100);                                /* from 500 to 1490 */
	burst(&m[1], 49500, 100);                            /* from 50000 to 50990 */
	put(&m[1], GMS_K_MEMORY, GMS_A_INFO, .t_ns = 70000); /* a sample is no event */
	cuts_find(&c, m, shift, 2, 0, 100990);
	assert_int_equal(c.n, 2);
	assert_int_equal(c.v[0].from, 1490);
	assert_int_equal(c.v[0].to, 50000);
	assert_int_equal(c.v[1].from, 50990);
	assert_int_equal(c.v[1].to, 100000);
	/* all that is left is as long as it was, and a cut short beside it */
	assert_int_equal(cuts_shown(&c, 700), 700);
	assert_int_equal(cuts_shown(&c, 50990) - cuts_shown(&c, 50000), 990);
	assert_int_equal(cuts_shown(&c, 50000) - cuts_shown(&c, 1490), c.width);
	assert_true(c.width < (1490 + 990 + 990) / 20);
	model_free(&m[0]);
	model_free(&m[1]);
}

static void every_instant_has_its_place(void **state)
{
	struct model m;
	struct cuts c;

	(void)state;
	model_init(&m, "a");
	burst(&m, 1000, 300);
	burst(&m, 900000, 300);
	cuts_find(&c, &m, (int64_t[]){0}, 1, 0, 2000000);
	assert_int_equal(c.n, 2); /* between the bursts and behind them; the begin is short */
	for (int64_t t = 0, last = -1; t <= 2000000; t += 7) {
		int64_t shown = cuts_shown(&c, t), back = cuts_real(&c, shown);
		assert_true(shown >= last);
		last = shown;
		bool in_cut = false;
		for (size_t i = 0; i < c.n; i++)
			in_cut |= t > c.v[i].from && t < c.v[i].to;
		if (!in_cut)
			assert_int_equal(back, t);
		assert_true(back <= t && cuts_shown(&c, back) <= shown);
	}
	model_free(&m);
}

static void what_is_busy_or_small_stays_as_it_is(void **state)
{
	struct model m;
	struct cuts c;

	(void)state;
	model_init(&m, "a");
	burst(&m, 0, 1000);
	burst(&m, 15000, 1000); /* a third is idle */
	cuts_find(&c, &m, (int64_t[]){0}, 1, 0, 24990);
	assert_int_equal(c.n, 0);
	assert_int_equal(cuts_shown(&c, 12345), 12345);
	assert_int_equal(cuts_real(&c, 12345), 12345);
	model_free(&m);
	model_init(&m, "a");
	burst(&m, 0, 20);
	burst(&m, 15000, 20); /* so few can be told apart */
	cuts_find(&c, &m, (int64_t[]){0}, 1, 0, 15190);
	assert_int_equal(c.n, 0);
	cuts_find(&c, &m, (int64_t[]){0}, 1, INT64_MIN, INT64_MAX); /* no such times */
	assert_int_equal(c.n, 0);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(times_idle_in_all_recordings_are_cut),
	    cmocka_unit_test(every_instant_has_its_place),
	    cmocka_unit_test(what_is_busy_or_small_stays_as_it_is),
	};

	return cmocka_run_group_tests_name("cuts", tests, NULL, NULL);
}
