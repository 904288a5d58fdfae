/* test_pool_verdict.c: the sentence about a pool that a framework took at once. */
#include "analyze/verdict.h"
#include "models.h"

#define GIB (1ull << 30)

static struct model m;

static int begin(void **state)
{
	(void)state;
	model_init(&m, "test");
	m.history = HISTORY_COMPLETE;
	m.device[0].total = 100 * GIB;
	return 0;
}
static int end(void **state)
{
	(void)state;
	model_free(&m);
	return 0;
}

static uint32_t from(const char *module)
{
	uint32_t frame = model_frame(&m, &(struct frame){.function = model_cstring(&m, "Allocate"),
							 .module = model_cstring(&m, module)});

	return model_stack(&m, &frame, 1);
}

/* The first sentence that holds the text; NULL if none does. */
static char *said(const char *text)
{
	struct report r;
	struct verdict v;
	char *found = NULL;
	size_t i;

	model_link(&m);
	report_make(&r, &m, 0);
	verdict_make(&r, &v);
	for (i = 0; i < v.n && !found; i++)
		if (strstr(v.v[i].text, text))
			found = strdup(v.v[i].text);
	verdict_free(&v);
	report_free(&r);
	return found;
}

static void jax_is_named_with_its_share_and_its_settings(void **state)
{
	char *s, *advice;

	(void)state;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 2100000000, .addr = 0x1000, .size = 75 * GIB,
	    .stack = from("/venv/jaxlib/libjax_common.so"));
	s = said("reserved");
	assert_string_equal(s, "JAX reserved 75.00 GiB, 75 % of GPU 0, in one allocation (2.100 s in): a pool that it divides "
			       "itself, unseen by the driver.");
	advice = said("XLA_PYTHON_CLIENT_PREALLOCATE=false");
	assert_non_null(advice);
	free(s);
	free(advice);
}

static void tensorflow_and_rmm_are_named_too(void **state)
{
	char *s, *advice;

	(void)state;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x1000, .size = 93 * GIB,
	    .stack = from("/venv/tensorflow/libtensorflow_cc.so.2"));
	s = said("TensorFlow reserved 93.00 GiB, 93 % of GPU 0");
	advice = said("TF_FORCE_GPU_ALLOW_GROWTH=true");
	assert_true(s && advice);
	free(s);
	free(advice);
	m.linked = false;
	m.ev.stack[0] = from("/venv/lib/librmm.so");
	s = said("RMM reserved 93.00 GiB");
	advice = said("rmm.reinitialize(");
	assert_true(s && advice);
	free(s);
	free(advice);
}

static void a_programs_own_large_buffer_is_no_pool(void **state)
{
	(void)state;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x1000, .size = 50 * GIB, .stack = site(&m, "take_all", "main"));
	assert_null(said("in one allocation"));
}

static void small_shares_and_known_insides_are_not_pools(void **state)
{
	(void)state;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x1000, .size = 30 * GIB, .stack = from("/venv/jaxlib/x.so"));
	assert_null(said("in one allocation"));
}

static void a_frameworks_history_says_more_than_this(void **state)
{
	(void)state;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x1000, .size = 80 * GIB, .stack = from("/t/libc10_cuda.so"));
	put(&m, GMS_K_SEGMENT, GMS_A_ALLOC, .addr = 0x1000, .size = 80 * GIB);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 0x1000, .size = GIB, .block = GIB);
	assert_null(said("in one allocation"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
	const struct CMUnitTest pool_verdict[] = {
		TEST(jax_is_named_with_its_share_and_its_settings),
		TEST(tensorflow_and_rmm_are_named_too),
		TEST(a_programs_own_large_buffer_is_no_pool),
		TEST(small_shares_and_known_insides_are_not_pools),
		TEST(a_frameworks_history_says_more_than_this),
	};
	return cmocka_run_group_tests(pool_verdict, NULL, NULL);
}
