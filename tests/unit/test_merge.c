/* test_merge.c: two recordings of one process become one, in the order of time. */
#include "base/mem.h"
#include "model/merge.h"
#include "models.h"

/* Driver: two allocations and a failure. Framework: a block live from before, a segment and a block
 * in the first allocation, and a failure of its own. */
static void make(struct model *driver, struct model *framework)
{
	size_t row;

	model_init(driver, "driver");
	put(driver, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 100, .addr = 0x1000, .size = 4096,
	    .stack = site(driver, "cudaMalloc", "main"));
	put(driver, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 200, .addr = 0x8000, .size = 512,
	    .stack = site(driver, "ncclInit"));
	row = put(driver, GMS_K_DEVICE, GMS_A_FAIL, .t_ns = 300, .size = 9999);
	model_fail(driver, row, 2, 10, 20);
	put(driver, GMS_K_DEVICE, GMS_A_FREE, .t_ns = 400, .addr = 0x1000);

	model_init(framework, "framework");
	put(framework, GMS_K_SEGMENT, GMS_A_ALLOC, .t_ns = 1100, .addr = 0x1000, .size = 4096,
	    .stream = model_stream(framework, 7, 0));
	put(framework, GMS_K_BLOCK, GMS_A_ALLOC, .t_ns = 1150, .addr = 0x1000, .size = 100, .block = 512,
	    .stack = site(framework, "train.py:main"),
	    .thread = model_thread(framework, 5, model_cstring(framework, "loader")));
	row = put(framework, GMS_K_BLOCK, GMS_A_FAIL, .t_ns = 1300, .size = 8888);
	model_fail(framework, row, 2, 11, 21);
	put(framework, GMS_K_BLOCK, GMS_A_FREE, .t_ns = 1350, .addr = 0x1000);
	model_prepend_initial(
	    framework,
	    &(struct event){
	        .op = GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC), .addr = 0x500, .size = 64, .block = 64, .t_ns = 1000},
	    1);
	model_note(framework, NOTE_WARNING, "said by the framework");
}

static void rows_are_woven_in_the_order_of_time(void **state)
{
	static const uint8_t ops[] = {GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC),   GMS_OP(GMS_K_DEVICE, GMS_A_ALLOC),
	                              GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC), GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC),
	                              GMS_OP(GMS_K_DEVICE, GMS_A_ALLOC),  GMS_OP(GMS_K_DEVICE, GMS_A_FAIL),
	                              GMS_OP(GMS_K_BLOCK, GMS_A_FAIL),    GMS_OP(GMS_K_BLOCK, GMS_A_FREE),
	                              GMS_OP(GMS_K_DEVICE, GMS_A_FREE)};
	static const int64_t times[] = {0, 100, 100, 150, 200, 300, 300, 350, 400};
	struct model m, f;
	size_t i;

	(void)state;
	make(&m, &f);
	model_merge(&m, &f, -1000);
	model_link(&m);
	assert_int_equal(m.ev.n, 9);
	assert_int_equal(m.n_initial, 1);
	for (i = 0; i < 9; i++) {
		assert_int_equal(m.ev.op[i], ops[i]);
		assert_int_equal(m.ev.t_ns[i], times[i]);
	}
	assert_int_equal(m.ev.peer[1], 8);
	assert_int_equal(m.ev.peer[3], 7);
	assert_int_equal(m.anomalies.free_unknown + m.anomalies.alloc_live + m.anomalies.double_free, 0);
	model_free(&m);
	model_free(&f);
}

static void names_and_sizes_travel_along(void **state)
{
	struct model m, f;
	const uint32_t *frames;
	size_t n;

	(void)state;
	make(&m, &f);
	model_merge(&m, &f, -1000);
	frames = model_stack_frames(&m, m.ev.stack[3], &n);
	assert_int_equal(n, 1);
	assert_string_equal(model_text(&m, m.frames.v[frames[0]].function), "train.py:main");
	frames = model_stack_frames(&m, m.ev.stack[1], &n);
	assert_int_equal(n, 2);
	assert_string_equal(model_text(&m, m.frames.v[frames[1]].function), "main");
	assert_int_equal(m.streams[m.ev.stream[2]].handle, 7);
	assert_int_equal(m.threads[m.ev.thread[3]].tid, 5);
	assert_string_equal(model_text(&m, m.threads[m.ev.thread[3]].name), "loader");
	assert_int_equal(model_block_size(&m, 3), 512);
	assert_true(model_block_size(&m, 1) == MODEL_UNKNOWN);
	assert_string_equal(m.notes[0].text, "said by the framework");
	model_free(&m);
	model_free(&f);
}

static void failures_follow_their_rows(void **state)
{
	struct model m, f;

	(void)state;
	make(&m, &f);
	model_merge(&m, &f, -1000);
	assert_int_equal(m.n_failures, 2);
	assert_int_equal(m.failures[0].event, 5);
	assert_int_equal(m.failures[0].free, 10);
	assert_int_equal(m.failures[1].event, 6);
	assert_int_equal(m.failures[1].free, 11);
	model_free(&m);
	model_free(&f);
}

static void unsorted_rows_keep_their_failures(void **state)
{
	struct model m, f;
	size_t row;

	(void)state;
	model_init(&m, "a");
	model_init(&f, "b"); /* device 1's trace after device 0's, as some files have it */
	put(&f, GMS_K_BLOCK, GMS_A_ALLOC, .t_ns = 10, .addr = 1, .size = 1);
	put(&f, GMS_K_BLOCK, GMS_A_ALLOC, .t_ns = 30, .addr = 2, .size = 2);
	row = put(&f, GMS_K_BLOCK, GMS_A_FAIL, .t_ns = 20, .size = 3, .device = 1);
	model_fail(&f, row, 2, 1, 1);
	model_merge(&m, &f, 0);
	assert_int_equal(m.ev.size[0], 1);
	assert_int_equal(m.ev.size[1], 3);
	assert_int_equal(m.ev.size[2], 2);
	assert_int_equal(m.failures[0].event, 1);
	model_free(&m);
	model_free(&f);
}

static void the_final_state_is_appended(void **state)
{
	struct model m, f;

	(void)state;
	make(&m, &f);
	*VEC_PUSH(m.blocks, m.n_blocks, m.cap_blocks) = (struct final_block){.addr = 1};
	*VEC_PUSH(f.blocks, f.n_blocks, f.cap_blocks) =
	    (struct final_block){.addr = 2, .stack = site(&f, "train.py:main")};
	*VEC_PUSH(f.segments, f.n_segments, f.cap_segments) =
	    (struct final_segment){.addr = 2, .size = 8, .n_blocks = 1};
	model_merge(&m, &f, -1000);
	assert_int_equal(m.n_segments, 1);
	assert_int_equal(m.segments[0].first_block, 1);
	assert_int_equal(m.blocks[1].stack, m.ev.stack[3]);
	model_free(&m);
	model_free(&f);
}

static void loose_rows_are_inserted_by_time(void **state)
{
	struct model m, f;
	struct event samples[] = {{.t_ns = 150,
	                           .op = GMS_OP(GMS_K_MEMORY, GMS_A_INFO),
	                           .addr = 5,
	                           .size = 9,
	                           .block = MODEL_UNKNOWN},
	                          {.t_ns = 999,
	                           .op = GMS_OP(GMS_K_MEMORY, GMS_A_INFO),
	                           .addr = 6,
	                           .size = 9,
	                           .block = MODEL_UNKNOWN}};

	(void)state;
	make(&m, &f);
	model_insert(&m, samples, 2);
	assert_int_equal(m.ev.n, 6);
	assert_int_equal(m.ev.addr[1], 5);
	assert_int_equal(m.ev.addr[5], 6);
	assert_int_equal(m.failures[0].event, 3);
	model_free(&m);
	model_free(&f);
}

int main(void)
{
	const struct CMUnitTest merge[] = {
	    cmocka_unit_test(rows_are_woven_in_the_order_of_time),
	    cmocka_unit_test(names_and_sizes_travel_along),
	    cmocka_unit_test(failures_follow_their_rows),
	    cmocka_unit_test(unsorted_rows_keep_their_failures),
	    cmocka_unit_test(the_final_state_is_appended),
	    cmocka_unit_test(loose_rows_are_inserted_by_time),
	};
	return cmocka_run_group_tests(merge, NULL, NULL);
}
