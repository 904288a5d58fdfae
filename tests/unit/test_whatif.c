/* test_whatif.c: predictions for programs of a few requests, worked out by hand. */
#include "analyze/whatif.h"
#include "models.h"
#include <math.h>

#define MIB (1ull << 20)
#define NEW(addr_, size_)  put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = (addr_), .size = (size_))
#define FREE(addr_)        put(&m, GMS_K_BLOCK, GMS_A_FREE, .addr = (addr_))
#define SEGMENT(addr_, size_) put(&m, GMS_K_SEGMENT, GMS_A_ALLOC, .addr = (addr_), .size = (size_))

/* An address for block number i, far from the others. */
#define AT(i) (0x100000000ull + (uint64_t)(i) * 0x10000000)

static struct model m;
static struct whatif w;

static int begin(void **state)
{
	(void)state;
	model_init(&m, "test");
	m.source = SOURCE_TORCH;
	return 0;
}

static int end(void **state)
{
	(void)state;
	whatif_free(&w);
	model_free(&m);
	return 0;
}

static struct whatif_run *predict_on(const char *conf, uint64_t device_mem)
{
	const char *confs[] = {conf};
	struct whatif_options o = {.conf = confs, .n_conf = conf != NULL, .device_mem = device_mem, .device = -1, .threads = 1};
	struct err e = {0};

	if (!m.linked)
		model_link(&m);
	whatif_free(&w);
	assert_int_equal(whatif_make(&w, &m, &o, &e), 0);
	return w.runs;
}

static struct whatif_run *predict(const char *conf)
{
	return predict_on(conf, 0);
}

/* The row of that name in the table that is shown when no setting is given. */
static const struct whatif_run *row_of(const char *name)
{
	size_t i;

	predict(NULL);
	for (i = 0; i < w.n_runs && strcmp(w.runs[i].conf, name); i++)
		;
	assert_true(i < w.n_runs);
	return &w.runs[i];
}

static void assert_run(const struct whatif_run *r, uint64_t reserved, uint64_t allocs, uint64_t frees, uint64_t retries,
		       uint64_t ooms)
{
	assert_int_equal(r->reserved_peak, reserved);
	assert_int_equal(r->device_allocs, allocs);
	assert_int_equal(r->device_frees, frees);
	assert_int_equal(r->retries, retries);
	assert_int_equal(r->ooms, ooms);
}

static void the_lower_bound_is_the_peak_of_requests_rounded_to_512(void **state)
{
	(void)state;
	NEW(AT(0), 1000); /* 1024 */
	NEW(AT(1), 500);  /* 512 */
	FREE(AT(0));
	NEW(AT(2), 700); /* 1024 */
	FREE(AT(1));
	predict("");
	assert_int_equal(w.traces[0].lower_bound, 1536);
	assert_int_equal(w.runs[0].lower_bound, 1536);
	assert_int_equal(w.runs[0].requested_peak, 1500);
	assert_int_equal(w.runs[0].allocated_peak, 1536);
	assert_run(&w.runs[0], 2 * MIB, 1, 0, 0, 0);
}

static void each_size_gets_the_segment_of_its_class(void **state)
{
	(void)state;
	NEW(AT(0), MIB);           /* small: a 2 MiB segment */
	NEW(AT(1), MIB + 1);       /* large: 20 MiB */
	NEW(AT(2), 10 * MIB - 512); /* fits behind it: 20 - 1 MiB - 512 */
	NEW(AT(3), 10 * MIB);      /* its own, 10 MiB */
	NEW(AT(4), 11 * MIB);      /* its own, rounded to 12 MiB */
	assert_run(predict(""), 44 * MIB, 4, 0, 0, 0);
	/* A segment of 40 has room for all but the small one. */
	assert_run(predict("large_segment_size_mb:40"), 42 * MIB, 2, 0, 0, 0);
}

static void streams_do_not_share_free_blocks(void **state)
{
	uint16_t side;

	(void)state;
	side = model_stream(&m, 0x77, 0);
	NEW(AT(0), 12 * MIB);
	FREE(AT(0));
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = AT(1), .size = 12 * MIB, .stream = side);
	put(&m, GMS_K_BLOCK, GMS_A_FREE, .addr = AT(1), .stream = side);
	NEW(AT(2), 12 * MIB); /* the first one's */
	assert_run(predict(""), 24 * MIB, 2, 0, 0, 0);
}

static void a_limit_makes_the_cache_go_back_and_then_the_program_fail(void **state)
{
	const struct whatif_run *r;

	(void)state;
	NEW(AT(0), 12 * MIB);
	FREE(AT(0));
	NEW(AT(1), 24 * MIB); /* 12 + 24 > 32: the 12 go back */
	NEW(AT(2), 14 * MIB); /* 24 + 14 > 32: nothing can go back */
	NEW(AT(3), MIB);      /* never asked for */
	r = predict_on("per_process_memory_fraction:0.5", 64 * MIB);
	assert_run(r, 24 * MIB, 2, 1, 2, 1);
	assert_int_equal(r->first_oom_event, 3);
	assert_int_equal(r->first_oom_size, 14 * MIB);
	assert_int_equal(r->requested_peak, 24 * MIB);
	/* The same by its amount, and no limit at all. */
	assert_run(predict_on("memory_limit:32MiB", 64 * MIB), 24 * MIB, 2, 1, 2, 1);
	assert_run(predict_on("", 64 * MIB), 52 * MIB, 4, 0, 0, 0);
	/* A device that small: the same as a limit. */
	assert_run(predict_on("", 32 * MIB), 24 * MIB, 2, 1, 2, 1);
}

static void growth_false_takes_everything_at_the_start(void **state)
{
	const struct whatif_run *r;

	(void)state;
	NEW(AT(0), 12 * MIB);
	NEW(AT(1), 3 * MIB); /* a segment of 20 MiB */
	assert_run(predict_on("growth:False,memory_limit:64MiB", 100 * MIB), 64 * MIB, 1, 0, 0, 0);
	assert_run(predict_on("growth:False", 64 * MIB), 60 * MIB, 1, 0, 0, 0); /* 15 of 16 parts */
	r = predict_on("growth:False,memory_limit:30MiB", 100 * MIB); /* 12 + 20 > 30 */
	assert_run(r, 30 * MIB, 1, 0, 1, 1);
	assert_int_equal(r->first_oom_event, 1);
	r = predict_on("growth:False,memory_limit:200MiB", 100 * MIB); /* it does not even start */
	assert_int_equal(r->ooms, 1);
	assert_int_equal(r->first_oom_event, -1);
	assert_int_equal(r->first_oom_size, 200 * MIB);
}

static void plain_cudaMalloc_takes_granules_and_calls_for_every_request(void **state)
{
	const struct whatif_run *r;

	(void)state;
	NEW(AT(0), 3 * MIB);      /* 4 MiB of granules */
	NEW(AT(1), 2 * MIB);      /* 2 MiB */
	NEW(AT(2), 1000);         /* small ones share: 2 MiB */
	NEW(AT(3), MIB - 1024);   /* also there */
	FREE(AT(0));
	FREE(AT(2));
	r = row_of("cudaMalloc");
	assert_run(r, 8 * MIB, 4, 2, 0, 0);
	assert_true(isnan(r->fragmentation_at_peak));
}

static void a_stream_ordered_pool_grows_by_32_MiB_and_shares_across_streams(void **state)
{
	uint16_t side;

	(void)state;
	side = model_stream(&m, 0x77, 0);
	NEW(AT(0), 24 * MIB);
	FREE(AT(0));
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = AT(1), .size = 24 * MIB, .stream = side);
	assert_int_equal(row_of("cudaMallocAsync")->reserved_peak, 32 * MIB);
	assert_run(predict(""), 48 * MIB, 2, 0, 0, 0);
}

static void the_offline_plan_puts_short_lives_apart_from_long_ones(void **state)
{
	int i;

	(void)state;
	NEW(AT(0), 2 * MIB); /* short */
	NEW(AT(1), 2 * MIB); /* long */
	FREE(AT(0));
	NEW(AT(2), 4 * MIB); /* with the long one: 6 MiB, if that was put to an end */
	FREE(AT(2));
	for (i = 0; i < 20; i++) {
		NEW(AT(3), 512);
		FREE(AT(3));
	}
	FREE(AT(1));
	assert_int_equal(row_of("offline plan")->reserved_peak, 6 * MIB);
	assert_int_equal(w.traces[0].lower_bound, 6 * MIB);
}

/* Ever larger requests: a fixed segment never fits the next one, a range that grows does. */
static void growing_requests(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		NEW(AT(i), (20 + 2 * (uint64_t)i) * MIB);
		FREE(AT(i));
	}
}

static void a_setting_that_saves_is_recommended_with_its_saving(void **state)
{
	(void)state;
	growing_requests();
	predict(NULL);
	assert_int_equal(w.runs[0].reserved_peak, 290 * MIB); /* 20 + 22 + … + 38 */
	assert_string_equal(w.recommended, "expandable_segments:True");
	assert_int_equal(w.saves_bytes, 250 * MIB); /* it maps two pages of 20 MiB */
	assert_false(w.avoids_oom);
}

static void what_is_on_already_is_not_recommended(void **state)
{
	size_t i;

	(void)state;
	model_setting(&m, "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
	growing_requests();
	predict(NULL);
	assert_null(w.recommended);
	assert_int_equal(w.saves_bytes, 0);
	/* It is there once, as what was recorded. */
	for (i = 1; i < w.n_runs; i++)
		assert_string_not_equal(w.runs[i].conf, "expandable_segments:True");
	assert_true(w.runs[0].own);
	/* Asked for by name, it is no news either. */
	predict("expandable_segments:True");
	assert_null(w.recommended);
}

static void what_saves_nothing_is_not_recommended(void **state)
{
	(void)state;
	NEW(AT(0), 512);
	NEW(AT(1), 12 * MIB);
	predict(NULL);
	assert_null(w.recommended);
}

static void a_recorded_failure_tells_what_there_was_and_what_would_have_helped(void **state)
{
	int i;

	(void)state;
	/* Four segments of 58 MiB; 1.5 MiB at the end of each keep them, and 100 MiB do not fit any more. */
	for (i = 0; i < 4; i++) {
		SEGMENT(AT(i), 58 * MIB);
		NEW(AT(i), 56 * MIB + MIB / 2);
		NEW(AT(i) + 56 * MIB + MIB / 2, MIB + MIB / 2);
	}
	for (i = 0; i < 4; i++)
		FREE(AT(i));
	model_fail(&m, put(&m, GMS_K_BLOCK, GMS_A_FAIL, .size = 100 * MIB), 2, MODEL_UNKNOWN, MODEL_UNKNOWN);
	predict(NULL);
	assert_int_equal(w.traces[0].recorded_oom, 16);
	assert_int_equal(w.traces[0].available, 332 * MIB - 1);
	assert_int_equal(w.runs[0].device_mem, 332 * MIB - 1);
	assert_int_equal(w.runs[0].ooms, 1);
	assert_int_equal(w.runs[0].first_oom_event, 16);
	assert_true(w.avoids_oom);
	assert_non_null(strstr(w.recommended, "expandable_segments:True"));
	assert_true(w.fidelity.known && w.fidelity.matched == w.fidelity.events);
	/* Told how much there is, nothing is guessed. */
	assert_int_equal(predict_on("", 1024 * MIB)->ooms, 0);
}

static void a_segment_in_another_place_is_the_first_mismatch(void **state)
{
	(void)state;
	SEGMENT(AT(0), 20 * MIB);
	NEW(AT(0), 3 * MIB);
	NEW(AT(0) + 4 * MIB, 3 * MIB); /* the allocator would have put it at + 3 MiB */
	predict("");
	assert_int_equal(w.fidelity.events, 3);
	assert_int_equal(w.fidelity.matched, 2);
	assert_int_equal(w.fidelity.first.event, 2);
	assert_string_equal(w.fidelity.first.recorded, "block.alloc of 3145728 bytes at 0x100400000");
	assert_string_equal(w.fidelity.first.predicted, "block.alloc of 3145728 bytes at 0x100300000");
}

static void a_private_pool_serves_nobody_else_until_it_is_given_up(void **state)
{
	uint16_t graph;

	(void)state;
	graph = model_pool(&m, &(struct pool_info){.id = {0, 1}});
	put(&m, GMS_K_SEGMENT, GMS_A_ALLOC, .addr = AT(0), .size = 12 * MIB, .pool = graph);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = AT(0), .size = 12 * MIB, .pool = graph);
	FREE(AT(0));
	SEGMENT(AT(1), 12 * MIB);
	NEW(AT(1), 12 * MIB);
	put(&m, GMS_K_SEGMENT, GMS_A_FREE, .addr = AT(0), .size = 12 * MIB, .pool = graph);
	FREE(AT(1)); /* so that it was not the next request that emptied the cache */
	SEGMENT(AT(2), 30 * MIB);
	NEW(AT(2), 30 * MIB);
	assert_run(predict(""), 42 * MIB, 3, 1, 0, 0);
	assert_int_equal(w.fidelity.matched, w.fidelity.events);
}

static void a_block_that_other_streams_use_is_taken_back_when_they_are_done(void **state)
{
	(void)state;
	NEW(AT(0), 12 * MIB);
	put(&m, GMS_K_BLOCK, GMS_A_FREE_REQUESTED, .addr = AT(0));
	NEW(AT(1), 12 * MIB); /* the first one still waits */
	FREE(AT(0));
	NEW(AT(2), 12 * MIB); /* now it does not */
	assert_run(predict(""), 24 * MIB, 2, 0, 0, 0);
	assert_int_equal(w.runs[0].allocated_peak, 24 * MIB);
	/* A limit makes the program wait for them. */
	assert_run(predict_on("memory_limit:20MiB", 64 * MIB), 12 * MIB, 2, 1, 2, 1);
}

static void each_device_is_replayed_for_itself(void **state)
{
	(void)state;
	NEW(AT(0), 12 * MIB);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = AT(1), .size = 30 * MIB, .device = 1);
	put(&m, GMS_K_BLOCK, GMS_A_FREE, .addr = AT(1), .device = 1);
	FREE(AT(0));
	predict("");
	assert_int_equal(w.n_traces, 2);
	assert_run(&w.runs[0], 12 * MIB, 1, 0, 0, 0);
	assert_run(&w.runs[1], 30 * MIB, 1, 0, 0, 0);
	assert_int_equal(w.runs[1].device, 1);
}

static void a_fraction_needs_to_know_of_what(void **state)
{
	const char *conf[] = {"per_process_memory_fraction:0.5"}, *all[] = {"growth:False"};
	struct whatif_options o = {.conf = conf, .n_conf = 1, .device = -1, .threads = 1};
	struct err e = {0}, e2 = {0};

	(void)state;
	NEW(AT(0), MIB);
	model_link(&m);
	assert_int_equal(whatif_make(&w, &m, &o, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	o.conf = all;
	assert_int_equal(whatif_make(&w, &m, &o, &e2), -1);
	assert_non_null(strstr(e2.msg, "--device-mem"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_lower_bound_is_the_peak_of_requests_rounded_to_512),
		TEST(each_size_gets_the_segment_of_its_class),
		TEST(streams_do_not_share_free_blocks),
		TEST(a_limit_makes_the_cache_go_back_and_then_the_program_fail),
		TEST(growth_false_takes_everything_at_the_start),
		TEST(plain_cudaMalloc_takes_granules_and_calls_for_every_request),
		TEST(a_stream_ordered_pool_grows_by_32_MiB_and_shares_across_streams),
		TEST(the_offline_plan_puts_short_lives_apart_from_long_ones),
		TEST(a_setting_that_saves_is_recommended_with_its_saving),
		TEST(what_is_on_already_is_not_recommended),
		TEST(what_saves_nothing_is_not_recommended),
		TEST(a_recorded_failure_tells_what_there_was_and_what_would_have_helped),
		TEST(a_segment_in_another_place_is_the_first_mismatch),
		TEST(a_private_pool_serves_nobody_else_until_it_is_given_up),
		TEST(a_block_that_other_streams_use_is_taken_back_when_they_are_done),
		TEST(each_device_is_replayed_for_itself),
		TEST(a_fraction_needs_to_know_of_what),
	};

	return cmocka_run_group_tests_name("whatif", tests, NULL, NULL);
}
