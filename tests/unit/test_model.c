/* test_model.c: interning, columns, and which free ends which allocation. */
#include "model/model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

static size_t add(struct model *m, enum gms_kind kind, enum gms_action action, uint64_t addr, uint64_t size)
{
	return model_add(m, &(struct event){.t_ns = (int64_t)m->ev.n,
					    .op = GMS_OP(kind, action),
					    .addr = addr,
					    .size = size,
					    .block = MODEL_UNKNOWN});
}

static void equal_content_has_one_number(void **state)
{
	struct model m;
	uint32_t i, id[3000], frames[2] = {0, 0};
	char name[32];

	(void)state;
	model_init(&m, "x");
	assert_int_equal(model_cstring(&m, ""), 0);
	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof name, "function %u", i);
		id[i] = model_cstring(&m, name);
	}
	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof name, "function %u", i);
		assert_int_equal(model_cstring(&m, name), id[i]);
		assert_string_equal(model_text(&m, id[i]), name);
	}
	assert_int_equal(model_stack(&m, NULL, 0), 0);
	for (i = 0; i < 3000; i++) {
		frames[0] = model_frame(&m, &(struct frame){.function = id[i], .line = i});
		assert_int_equal(model_stack(&m, frames, 2), i + 1);
	}
	frames[0] = model_frame(&m, &(struct frame){.function = id[17], .line = 17});
	assert_int_equal(model_stack(&m, frames, 2), 18);
	assert_int_not_equal(model_stack(&m, frames, 1), 18);
	model_free(&m);
}

static void strings_with_nul_bytes_stay_apart(void **state)
{
	struct model m;

	(void)state;
	model_init(&m, "x");
	assert_int_not_equal(model_string(&m, "a\0b", 3), model_string(&m, "a\0c", 3));
	assert_int_not_equal(model_string(&m, "a", 1), model_string(&m, "a\0", 2));
	model_free(&m);
}

static void a_free_of_any_va_kind_ends_the_allocation_at_its_address(void **state)
{
	struct model m;
	size_t a, f;

	(void)state;
	model_init(&m, "x");
	a = add(&m, GMS_K_MANAGED, GMS_A_ALLOC, 0x1000, 100);
	f = add(&m, GMS_K_DEVICE, GMS_A_FREE, 0x1000, 0);
	model_link(&m);
	assert_int_equal(m.ev.peer[a], f);
	assert_int_equal(m.ev.peer[f], a);
	assert_int_equal(model_kind(&m, f), GMS_K_MANAGED);
	model_free(&m);
}

static void a_segment_and_its_first_block_do_not_meet(void **state)
{
	struct model m;
	size_t s, b, f;

	(void)state;
	model_init(&m, "x");
	s = add(&m, GMS_K_SEGMENT, GMS_A_ALLOC, 0x1000, 2 << 20);
	b = add(&m, GMS_K_BLOCK, GMS_A_ALLOC, 0x1000, 512);
	f = add(&m, GMS_K_BLOCK, GMS_A_FREE, 0x1000, 512);
	model_link(&m);
	assert_int_equal(m.ev.peer[s], MODEL_NO_PEER);
	assert_int_equal(m.ev.peer[b], f);
	assert_int_equal(m.anomalies.alloc_live, 0);
	model_free(&m);
}

static void the_completed_free_ends_the_block_and_is_no_double_free_of_the_requested_one(void **state)
{
	struct model m;
	size_t a, r, f, again;

	(void)state;
	model_init(&m, "x");
	a = add(&m, GMS_K_BLOCK, GMS_A_ALLOC, 0x1000, 512);
	r = add(&m, GMS_K_BLOCK, GMS_A_FREE_REQUESTED, 0x1000, 512);
	f = add(&m, GMS_K_BLOCK, GMS_A_FREE, 0x1000, 512);
	again = add(&m, GMS_K_BLOCK, GMS_A_FREE, 0x1000, 512);
	model_link(&m);
	assert_int_equal(m.ev.peer[a], f); /* until then its streams may use it */
	assert_int_equal(m.ev.peer[r], a);
	assert_int_equal(m.ev.peer[f], a);
	assert_int_equal(m.ev.peer[again], MODEL_NO_PEER);
	assert_int_equal(m.anomalies.double_free, 1);
	assert_int_equal(m.anomalies.free_unknown, 0);
	model_free(&m);
}

static void every_kind_of_wrong_free_is_counted_apart(void **state)
{
	struct model m;

	(void)state;
	model_init(&m, "x");
	add(&m, GMS_K_DEVICE, GMS_A_FREE, 0, 0);
	add(&m, GMS_K_DEVICE, GMS_A_FREE, 0xdead, 0);
	add(&m, GMS_K_DEVICE, GMS_A_ALLOC, 0x1000, 1);
	add(&m, GMS_K_DEVICE, GMS_A_ALLOC, 0x1000, 2);
	add(&m, GMS_K_DEVICE, GMS_A_FREE, 0x1000, 0);
	add(&m, GMS_K_DEVICE, GMS_A_FREE, 0x1000, 0);
	model_link(&m);
	assert_int_equal(m.anomalies.free_null, 1);
	assert_int_equal(m.anomalies.free_unknown, 1);
	assert_int_equal(m.anomalies.alloc_live, 1);
	assert_int_equal(m.anomalies.double_free, 1);
	assert_int_equal(m.ev.peer[2], 3); /* replaced by the second allocation */
	assert_int_equal(m.ev.peer[3], 4);
	model_free(&m);
}

static void a_refused_free_brings_the_allocation_back(void **state)
{
	struct model m;

	(void)state;
	model_init(&m, "x");
	add(&m, GMS_K_DEVICE, GMS_A_ALLOC, 0x1000, 7);
	add(&m, GMS_K_DEVICE, GMS_A_FREE, 0x1000, 0);
	add(&m, GMS_K_DEVICE, GMS_A_OTHER, 0x1000, 0);
	model_link(&m);
	assert_int_equal(m.ev.peer[0], MODEL_NO_PEER);
	assert_int_equal(m.ev.peer[1], MODEL_NO_PEER);
	model_free(&m);

	model_init(&m, "x");
	add(&m, GMS_K_DEVICE, GMS_A_ALLOC, 0x1000, 7);
	add(&m, GMS_K_DEVICE, GMS_A_FREE, 0x1000, 0);
	add(&m, GMS_K_DEVICE, GMS_A_OTHER, 0x1000, 0);
	add(&m, GMS_K_DEVICE, GMS_A_FREE, 0x1000, 0);
	model_link(&m);
	assert_int_equal(m.ev.peer[0], 3);
	assert_int_equal(m.anomalies.double_free, 0);
	model_free(&m);
}

static void initial_rows_go_in_front_and_failures_follow(void **state)
{
	struct model m;
	struct event first = {.op = GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC), .addr = 0x9000, .size = 5, .block = 512};
	size_t row;

	(void)state;
	model_init(&m, "x");
	add(&m, GMS_K_BLOCK, GMS_A_ALLOC, 0x1000, 7);
	row = add(&m, GMS_K_BLOCK, GMS_A_FAIL, 0, 8);
	model_fail(&m, row, 2, MODEL_UNKNOWN, MODEL_UNKNOWN);
	model_prepend_initial(&m, &first, 1);
	assert_int_equal(m.n_initial, 1);
	assert_int_equal(m.failures[0].event, 2);
	assert_int_equal(m.ev.addr[0], 0x9000);
	assert_int_equal(m.ev.size[1], 7);
	assert_int_equal(model_block_size(&m, 0), 512);
	assert_true(model_block_size(&m, 1) == MODEL_UNKNOWN);
	model_free(&m);
}

static void too_many_streams_share_the_last_number_and_it_is_said(void **state)
{
	struct model m;
	uint64_t i;

	(void)state;
	model_init(&m, "x");
	m.n_streams = UINT16_MAX; /* as if that many had been seen */
	m.streams = realloc(m.streams, (UINT16_MAX + 8) * sizeof *m.streams);
	m.cap_streams = UINT16_MAX + 8;
	memset(m.streams, 0xff, (UINT16_MAX + 8) * sizeof *m.streams);
	for (i = 1; i < 5; i++)
		assert_int_equal(model_stream(&m, i, 0), UINT16_MAX);
	assert_int_equal(m.n_notes, 1);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_content_has_one_number),
		cmocka_unit_test(strings_with_nul_bytes_stay_apart),
		cmocka_unit_test(a_free_of_any_va_kind_ends_the_allocation_at_its_address),
		cmocka_unit_test(a_segment_and_its_first_block_do_not_meet),
		cmocka_unit_test(the_completed_free_ends_the_block_and_is_no_double_free_of_the_requested_one),
		cmocka_unit_test(every_kind_of_wrong_free_is_counted_apart),
		cmocka_unit_test(a_refused_free_brings_the_allocation_back),
		cmocka_unit_test(initial_rows_go_in_front_and_failures_follow),
		cmocka_unit_test(too_many_streams_share_the_last_number_and_it_is_said),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
