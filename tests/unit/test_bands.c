/* test_bands.c: memory over time by columns and bands; the order of stacks; lives and address ranges; axes.
 */
#include "analyze/bands.h"
#include "analyze/lives.h"
#include "analyze/rank.h"
#include "base/mem.h"
#include "models.h"
#include "render/axis.h"
#include <stdio.h>

static uint64_t seed = 7;

static uint64_t rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* Random blocks of `sites` stacks; times move on by random steps, often by none. */
static void fill(struct model *m, int events, int sites)
{
	uint64_t addr[64] = {0}, next = 0x1000;
	uint32_t stack[32];
	int64_t t = 1;

	model_init(m, "test");
	for (int i = 0; i < sites; i++) {
		char name[16];
		snprintf(name, sizeof name, "site%d", i);
		stack[i] = site(m, name);
	}
	for (int i = 0; i < events; i++) {
		size_t k = rnd(64);
		t += (int64_t)(rnd(3) * rnd(1000));
		if (addr[k]) {
			put(m, GMS_K_DEVICE, GMS_A_FREE, .addr = addr[k], .t_ns = t);
			addr[k] = 0;
		} else {
			addr[k] = next += 0x1000;
			put(m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = addr[k], .size = 1 + rnd(1u << rnd(30)),
			    .stack = stack[rnd((uint64_t)sites)], .t_ns = t);
		}
	}
	model_link(m);
}

static void the_highest_column_is_the_peak_of_all_rows(void **state)
{
	struct model m;
	struct bands b;

	(void)state;
	fill(&m, 4000, 20);
	uint64_t now = 0, peak = 0;
	for (size_t row = 0; row < m.ev.n; row++) {
		uint32_t alloc =
		    m.ev.op[row] == GMS_OP(GMS_K_DEVICE, GMS_A_ALLOC) ? (uint32_t)row : m.ev.peer[row];
		now += alloc == row ? m.ev.size[alloc] : 0 - m.ev.size[alloc];
		peak = now > peak ? now : peak;
	}
	for (int columns = 1; columns < 3000; columns = columns * 7 + 1) {
		uint64_t highest = 0;
		bands_make(&b, &m, 0, BY_STACK, &(struct bands_axis){0, m.ev.t_ns[m.ev.n - 1], columns}, 12);
		for (int c = 0; c < columns; c++) {
			uint64_t sum = 0;
			for (size_t i = 0; i < b.n; i++)
				sum += b.band[i].value[c];
			assert_int_equal(sum, b.high[c]);
			assert_true(b.low[c] <= b.high[c]);
			highest = b.high[c] > highest ? b.high[c] : highest;
		}
		assert_int_equal(highest, peak);
		assert_int_equal(b.peak, peak);
		assert_int_equal(b.high[b.peak_column], peak);
		assert_int_equal(b.peak_row, live_peak_row(&m, 0));
		bands_free(&b);
	}
	model_free(&m);
}

static void bands_without_columns_are_the_same_bands(void **state)
{
	struct model m;
	struct bands made, chosen;

	(void)state;
	fill(&m, 3000, 20);
	for (size_t i = 0; i < 12; i++) {
		/* also windows that begin with their peak */
		struct bands_axis x = {m.ev.t_ns[i * 200], m.ev.t_ns[i * 200 + 1 + rnd(500)] + 1, 70};
		bands_make(&made, &m, 0, BY_STACK, &x, 7);
		bands_choose(&chosen, &m, 0, BY_STACK, &x, 7);
		assert_int_equal(chosen.n, made.n);
		assert_int_equal(chosen.peak, made.peak);
		for (size_t k = 0; k < made.n; k++) {
			assert_int_equal(chosen.band[k].key, made.band[k].key);
			assert_int_equal(chosen.band[k].members, made.band[k].members);
			assert_int_equal(chosen.band[k].at_peak, made.band[k].at_peak);
		}
		bands_free(&made);
		bands_free(&chosen);
	}
	model_free(&m);
}

static void a_cursor_finds_the_columns_that_division_finds(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++) {
		uint64_t range = 1 + rnd(1ull << rnd(62));
		struct bands_axis x = {.from = -(int64_t)rnd(1ull << rnd(61)), .columns = 1 + (int)rnd(3000)};
		x.to = x.from + (int64_t)range;
		struct bands_cursor k = {.axis = &x};
		int64_t t = x.from - 5;
		for (int step = 0; step < 200; step++) {
			assert_int_equal(bands_next(&k, t), bands_column(&x, t));
			t += (int64_t)rnd(range / 100 + 2);
			t = rnd(20) ? t : x.from + (int64_t)rnd(range);
		}
		assert_int_equal(bands_next(&k, INT64_MIN), 0);
		assert_int_equal(bands_next(&k, INT64_MAX), x.columns - 1);
	}
}

static void a_window_sees_only_its_own_peak(void **state)
{
	struct model m;
	struct bands b;

	(void)state;
	fill(&m, 1000, 5);
	int64_t from = m.ev.t_ns[300], to = m.ev.t_ns[400];
	uint64_t now = 0, want = 0;
	for (size_t row = 0; row < m.ev.n && m.ev.t_ns[row] <= to; row++) {
		uint32_t alloc =
		    m.ev.op[row] == GMS_OP(GMS_K_DEVICE, GMS_A_ALLOC) ? (uint32_t)row : m.ev.peer[row];
		if (m.ev.t_ns[row] >= from && !want)
			want = now;
		now += alloc == row ? m.ev.size[alloc] : 0 - m.ev.size[alloc];
		if (m.ev.t_ns[row] >= from && now > want)
			want = now;
	}
	bands_make(&b, &m, 0, BY_STACK, &(struct bands_axis){from, to, 50}, 3);
	assert_int_equal(b.peak, want);
	assert_int_equal(b.n, 4);
	assert_int_equal(b.band[3].key, BANDS_REST);
	assert_int_equal(b.band[3].members, 2);
	bands_free(&b);
	model_free(&m);
}

static void columns_without_events_hold_the_value(void **state)
{
	struct model m;
	struct bands b;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 1, .size = 100, .stack = site(&m, "f"), .t_ns = 10);
	put(&m, GMS_K_DEVICE, GMS_A_FREE, .addr = 1, .t_ns = 90);
	model_link(&m);
	bands_make(&b, &m, 0, BY_STACK, &(struct bands_axis){0, 100, 10}, 12);
	assert_int_equal(b.high[0], 0);
	for (int c = 2; c < 9; c++) {
		assert_int_equal(b.high[c], 100);
		assert_int_equal(b.low[c], 100);
	}
	assert_int_equal(b.low[9], 0);
	assert_int_equal(b.high[9], 100);
	bands_free(&b);
	model_free(&m);
}

static void an_empty_recording_has_no_bands(void **state)
{
	struct model m;
	struct bands b;

	(void)state;
	model_init(&m, "test");
	model_link(&m);
	bands_make(&b, &m, 0, BY_STACK, &(struct bands_axis){0, 1, 10}, 12);
	assert_int_equal(b.n, 0);
	assert_int_equal(b.peak, 0);
	bands_free(&b);
	model_free(&m);
}

static void a_series_by_columns_keeps_both_extremes_and_skips_the_unknown(void **state)
{
	struct model m;
	uint64_t value[4] = {5, MODEL_UNKNOWN, 9, 2}, high[4], low[4];
	size_t row[4];

	(void)state;
	model_init(&m, "test");
	for (int i = 0; i < 4; i++)
		put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = (uint64_t)i + 1, .size = 1,
		    .t_ns = i == 3 ? 26 : 10 * (i + 1) - 5);
	model_link(&m);
	bands_of_series(&m, 0, &(struct bands_axis){0, 40, 4}, value, high, low, row);
	assert_int_equal(high[0], 5);
	assert_int_equal(high[1], 5); /* still 5 when the column begins */
	assert_int_equal(high[2], 9);
	assert_int_equal(low[2], 2);
	assert_int_equal(row[2], 2);
	assert_int_equal(high[3], 2);
	model_free(&m);
}

static void stacks_are_ranked_by_peak_and_lasting(void **state)
{
	struct model m;
	struct rank r;

	(void)state;
	model_init(&m, "test");
	uint32_t brief = site(&m, "brief"), lasting = site(&m, "lasting"), big = site(&m, "big");
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 1, .size = 100, .stack = lasting, .t_ns = 1);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 2, .size = 100, .stack = brief, .t_ns = 2);
	put(&m, GMS_K_DEVICE, GMS_A_FREE, .addr = 2, .t_ns = 3);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 3, .size = 1000, .stack = big, .t_ns = 50);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 4, .size = 5000, .stack = 0, .t_ns = 99);
	put(&m, GMS_K_DEVICE, GMS_A_FREE, .addr = 3, .t_ns = 100);
	model_link(&m);
	rank_make(&r, &m);
	assert_int_equal(r.n, 3);
	assert_int_equal(rank_of(&r, big), 0);
	assert_int_equal(rank_of(&r, lasting), 1);
	assert_int_equal(rank_of(&r, brief), 2);
	assert_int_equal(rank_of(&r, 0), RANK_NONE);
	model_free(&m);
}

static void mapped_ranges_live_piece_by_piece(void **state)
{
	struct model m;
	struct lives l;
	struct ranges r;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_SEGMENT, GMS_A_MAP, .addr = 100, .size = 40); /* row 0 */
	put(&m, GMS_K_SEGMENT, GMS_A_MAP, .addr = 140, .size = 20); /* 1 */
	put(&m, GMS_K_SEGMENT, GMS_A_UNMAP, .addr = 120,
	    .size = 30);                                             /* 2: the end of 0 and the middle of 1 */
	put(&m, GMS_K_SEGMENT, GMS_A_ALLOC, .addr = 500, .size = 7); /* 3 */
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 100, .size = 8);   /* 4 */
	model_link(&m);
	lives_held(&l, &m, 0);
	lives_ranges(&l, &r);
	assert_int_equal(l.n, 5);
	uint64_t ended = 0, lasting = 0;
	for (size_t i = 0; i < l.n; i++)
		*(l.v[i].end == MODEL_NO_PEER ? &lasting : &ended) += l.v[i].size;
	assert_int_equal(ended, 30);
	assert_int_equal(lasting, 20 + 10 + 7);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.v[0].addr, 100);
	assert_int_equal(r.v[0].size, 60);
	assert_int_equal(lives_range_of(&r, 99), SIZE_MAX);
	assert_int_equal(lives_range_of(&r, 159), 0);
	assert_int_equal(lives_range_of(&r, 160), SIZE_MAX);
	assert_int_equal(lives_range_of(&r, 506), 1);
	lives_ranges_free(&r);
	lives_free(&l);
	lives_blocks(&l, &m, 0);
	assert_int_equal(l.n, 1);
	lives_free(&l);
	model_free(&m);
}

static void ranges_at_the_end_of_the_address_space_do_not_wrap(void **state)
{
	struct model m;
	struct lives l;
	struct ranges r;

	(void)state;
	model_init(&m, "test");
	put(&m, GMS_K_SEGMENT, GMS_A_MAP, .addr = UINT64_MAX - 10, .size = UINT64_MAX);
	put(&m, GMS_K_SEGMENT, GMS_A_ALLOC, .addr = UINT64_MAX - 20, .size = UINT64_MAX - 1);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 100, .size = 8);
	model_link(&m);
	lives_held(&l, &m, 0);
	lives_ranges(&l, &r);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.v[0].addr + r.v[0].size, UINT64_MAX);
	lives_ranges_free(&r);
	lives_free(&l);
	model_free(&m);
}

static void the_range_of_an_address_is_found_wherever_ranges_lie(void **state)
{
	struct lives l = {0};
	struct ranges r;

	(void)state;
	/* dense here, and one far away */
	for (uint64_t i = 0; i < 3000; i++)
		*VEC_PUSH(l.v, l.n, l.cap) = (struct life){.addr = 1000 + 20 * i, .size = 1 + rnd(20)};
	*VEC_PUSH(l.v, l.n, l.cap) = (struct life){.addr = 1ull << 57, .size = 77};
	lives_ranges(&l, &r);
	for (uint64_t addr = 900; addr < 1000 + 20 * 3000; addr++) {
		size_t want = 0;
		while (want < r.n && r.v[want].addr + r.v[want].size <= addr)
			want++;
		assert_int_equal(lives_range_of(&r, addr), r.v[want].addr <= addr ? want : SIZE_MAX);
	}
	assert_int_equal(lives_range_of(&r, (1ull << 57) + 76), r.n - 1);
	assert_int_equal(lives_range_of(&r, (1ull << 57) + 77), SIZE_MAX);
	assert_int_equal(lives_range_of(&r, UINT64_MAX), SIZE_MAX);
	lives_ranges_free(&r);
	lives_free(&l);
}

static void only_what_lives_at_a_row_is_asked_for(void **state)
{
	struct model m;
	struct lives all, some;

	(void)state;
	fill(&m, 500, 5);
	lives_blocks(&all, &m, 0);
	for (size_t row = 0; row < m.ev.n; row += 7) {
		size_t want = 0;
		lives_blocks_at(&some, &m, 0, row);
		for (size_t i = 0; i < all.n; i++)
			if (all.v[i].begin <= row && all.v[i].end > row)
				assert_int_equal(some.v[want++].addr, all.v[i].addr);
		assert_int_equal(some.n, want);
		lives_free(&some);
	}
	lives_free(&all);
	model_free(&m);
}

static void axes_have_round_steps(void **state)
{
	char buf[64];

	(void)state;
	assert_int_equal(axis_bytes_step(1ull << 30, 4), 1ull << 28);
	assert_int_equal(axis_bytes_step(1000, 5), 256);
	assert_string_equal(axis_bytes(buf, sizeof buf, 3ull << 29), "1.5 GiB");
	assert_string_equal(axis_bytes(buf, sizeof buf, 0), "0");
	assert_int_equal(axis_time_step(1000000000, 10, true), 100000000);
	assert_int_equal(axis_time_step(4000000000, 9, true), 500000000);
	assert_int_equal(axis_time_step(600ll * 1000000000, 6, true), 120ll * 1000000000);
	assert_int_equal(axis_time_step(10307, 6, false), 2000);
	assert_string_equal(axis_time(buf, sizeof buf, 1500000000, 500000000, true), "1.5 s");
	assert_string_equal(axis_time(buf, sizeof buf, 250000, 50000, true), "250 \xc2\xb5s");
	assert_string_equal(axis_time(buf, sizeof buf, 150ll * 1000000000, 30ll * 1000000000, true),
	                    "2:30 min");
	assert_string_equal(axis_time(buf, sizeof buf, 2000, 500, false), "2,000");
	/* however long: a bounded number of ticks */
	for (int64_t range = 1; range < INT64_MAX / 20; range *= 17) {
		assert_true(range / axis_time_step(range, 10, true) <= 10);
		assert_true(range / axis_time_step(range, 10, false) <= 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_highest_column_is_the_peak_of_all_rows),
	    cmocka_unit_test(bands_without_columns_are_the_same_bands),
	    cmocka_unit_test(a_cursor_finds_the_columns_that_division_finds),
	    cmocka_unit_test(a_window_sees_only_its_own_peak),
	    cmocka_unit_test(columns_without_events_hold_the_value),
	    cmocka_unit_test(an_empty_recording_has_no_bands),
	    cmocka_unit_test(a_series_by_columns_keeps_both_extremes_and_skips_the_unknown),
	    cmocka_unit_test(stacks_are_ranked_by_peak_and_lasting),
	    cmocka_unit_test(mapped_ranges_live_piece_by_piece),
	    cmocka_unit_test(ranges_at_the_end_of_the_address_space_do_not_wrap),
	    cmocka_unit_test(the_range_of_an_address_is_found_wherever_ranges_lie),
	    cmocka_unit_test(only_what_lives_at_a_row_is_asked_for),
	    cmocka_unit_test(axes_have_round_steps),
	};

	return cmocka_run_group_tests_name("bands", tests, NULL, NULL);
}
