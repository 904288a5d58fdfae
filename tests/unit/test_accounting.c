/* test_accounting.c: the account of a device adds up to the byte, each part computed by hand. */
#include "analyze/accounting.h"
#include "models.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define OWN 77

static struct model m;
static int64_t now; /* of the rows to come; 0: their number */

static int begin(void **state)
{
	(void)state;
	model_init(&m, "test");
	m.pid = OWN;
	now = 0;
	m.history = HISTORY_COMPLETE;
	return 0;
}
static int end(void **state)
{
	(void)state;
	model_free(&m);
	return 0;
}

/* A stack of program files, leaf first. */
static uint32_t from(const char *a, const char *b, const char *c)
{
	const char *modules[] = {a, b, c};
	uint32_t frames[3];
	size_t n;

	for (n = 0; n < 3 && modules[n]; n++)
		frames[n] = model_frame(&m, &(struct frame){.function = model_cstring(&m, "f"),
		                                            .module = model_cstring(&m, modules[n])});
	return model_stack(&m, frames, n);
}

static void sample(uint64_t used)
{
	put(&m, GMS_K_MEMORY, GMS_A_INFO, .addr = 16 * GIB - used, .size = 16 * GIB, .t_ns = now);
}
static void nvml(uint32_t pid, uint64_t used, const char *name)
{
	put(&m, GMS_K_PROCESS, GMS_A_INFO, .addr = pid, .size = used, .t_ns = now,
	    .thread = model_thread(&m, pid, model_cstring(&m, name)));
}

static void adds_up(const struct accounting *a)
{
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < a->n; i++) {
		sum += a->v[i].bytes;
		assert_true(i == 0 || a->v[i].part >= a->v[i - 1].part);
	}
	assert_true(sum == a->sum);
	if (a->used != MODEL_UNKNOWN)
		assert_true(sum + a->remainder == (int64_t)a->used);
}

/* The only part of a kind (or, with a name, of that name). */
static int64_t part(const struct accounting *a, enum account_part what, const char *name)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (a->v[i].part == what && (!name || !strcmp(model_text(&m, a->v[i].name), name)))
			return a->v[i].bytes;
	return 0;
}

/* A training process: two segments of 20 MiB and 2 MiB, a third that is empty; NCCL and cuBLAS; a pool;
 * a context of 500 MiB; another process. */
static void training(void)
{
	uint32_t torch = from("/lib/libcuda.so.1", "/t/libc10_cuda.so", "/t/libtorch.so");
	uint16_t pool = model_pool(&m, &(struct pool_info){.handle = 5});

	nvml(OWN, 20 * MIB, "python"); /* its context is being made */
	nvml(OWN, 500 * MIB, "python");
	nvml(9, 100 * MIB, "Xorg");
	sample(600 * MIB);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x10000000, .size = 20 * MIB, .stack = torch);
	put(&m, GMS_K_SEGMENT, GMS_A_ALLOC, .addr = 0x10000000, .size = 20 * MIB);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 0x10000000, .size = 5 * MIB - 100, .block = 5 * MIB);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 0x10500000, .size = 3 * MIB, .block = 3 * MIB);
	put(&m, GMS_K_BLOCK, GMS_A_FREE_REQUESTED, .addr = 0x10500000, .size = 3 * MIB);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x20000000, .size = 2 * MIB, .stack = torch);
	put(&m, GMS_K_SEGMENT, GMS_A_ALLOC, .addr = 0x20000000, .size = 2 * MIB);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 0x20000000, .size = 1000, .block = 1024);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x30000000, .size = 40 * MIB, .stack = torch);
	put(&m, GMS_K_SEGMENT, GMS_A_ALLOC, .addr = 0x30000000, .size = 40 * MIB);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x40000000, .size = 64 * MIB,
	    .stack = from("/x/libcuda.so.1", "/x/libcudart.so.12", "/n/libnccl.so.2"));
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x50000000, .size = 8 * MIB, .stack = from("/c/libcublas.so.12", NULL, NULL));
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x58000000, .size = 1 * MIB, .stack = from("/n/libnccl.so.2", NULL, NULL));
	put(&m, GMS_K_ASYNC, GMS_A_ALLOC, .addr = 0x60000000, .size = 6 * MIB, .pool = pool, .stack = from("/app", NULL, NULL));
	put(&m, GMS_K_POOL, GMS_A_INFO, .pool = pool, .addr = 6 * MIB, .size = 32 * MIB);
	put(&m, GMS_K_MANAGED, GMS_A_ALLOC, .addr = 0x70000000, .size = 11 * MIB);
	put(&m, GMS_K_PINNED, GMS_A_ALLOC, .addr = 0x80000000, .size = 12 * MIB, .device = MODEL_NO_DEVICE);
	put(&m, GMS_K_GRAPH, GMS_A_INFO, .addr = MIB, .size = 4 * MIB);
	/* own: 20 + 2 + 40 + 64 + 8 + 1 + 6 + 26 + 4 = 171 MiB */
	now = 1000000000;
	nvml(OWN, (500 + 171 + 30) * MIB, "python");
	nvml(9, 110 * MIB, "Xorg");
	sample((500 + 171 + 30 + 110 + 3) * MIB);
	put(&m, GMS_K_BLOCK, GMS_A_FREE, .addr = 0x10500000, .size = 3 * MIB, .t_ns = ++now);
	now++;
	sample(700 * MIB);
	model_link(&m);
}

static void every_part_is_exact_and_the_sum_is_what_is_used(void **state)
{
	struct accounting a;

	(void)state;
	training();
	accounting_make(&a, &m, 0);
	adds_up(&a);
	assert_true(a.by_nvml);
	assert_int_equal(a.used, 814 * MIB);
	assert_int_equal(a.total, 16 * GIB);
	assert_int_equal(part(&a, ACCOUNT_ACTIVE, NULL), 5 * MIB - 100 + 1000);
	assert_int_equal(part(&a, ACCOUNT_PENDING, NULL), 3 * MIB);
	assert_int_equal(part(&a, ACCOUNT_ROUNDING, NULL), 100 + 24);
	assert_int_equal(part(&a, ACCOUNT_CACHED_PARTS, NULL), 12 * MIB + 2 * MIB - 1024);
	assert_int_equal(part(&a, ACCOUNT_CACHED_WHOLE, NULL), 40 * MIB);
	assert_int_equal(part(&a, ACCOUNT_LIBRARY, "/n/libnccl.so.2"), 65 * MIB);
	assert_int_equal(part(&a, ACCOUNT_LIBRARY, "/c/libcublas.so.12"), 8 * MIB);
	assert_int_equal(part(&a, ACCOUNT_LIBRARY, "/app"), 6 * MIB);
	assert_int_equal(part(&a, ACCOUNT_LIBRARY, "/t/libc10_cuda.so"), 0);
	assert_int_equal(part(&a, ACCOUNT_POOL_RESERVE, NULL), 26 * MIB);
	assert_int_equal(part(&a, ACCOUNT_GRAPHS, NULL), 4 * MIB);
	assert_int_equal(part(&a, ACCOUNT_CONTEXT, NULL), 500 * MIB);
	assert_int_equal(part(&a, ACCOUNT_CONTEXT_LATER, NULL), 30 * MIB);
	assert_int_equal(part(&a, ACCOUNT_OTHERS, "Xorg"), 110 * MIB);
	assert_int_equal(a.remainder, 3 * MIB);
	assert_int_equal(a.managed, 11 * MIB);
	assert_int_equal(a.pinned, 12 * MIB);
	accounting_free(&a);
}

static void without_nvml_what_was_there_before_is_one_part(void **state)
{
	struct accounting a;

	(void)state;
	sample(400 * MIB);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x10000000, .size = 20 * MIB, .stack = from("/app", NULL, NULL));
	sample(425 * MIB);
	model_link(&m);
	accounting_make(&a, &m, 0);
	adds_up(&a);
	assert_false(a.by_nvml);
	assert_int_equal(part(&a, ACCOUNT_BEFORE, NULL), 400 * MIB);
	assert_int_equal(part(&a, ACCOUNT_LIBRARY, "/app"), 20 * MIB);
	assert_int_equal(a.remainder, 5 * MIB);
	accounting_free(&a);
}

static void without_samples_nothing_is_invented(void **state)
{
	struct accounting a;

	(void)state;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x10000000, .size = 20 * MIB);
	model_link(&m);
	accounting_make(&a, &m, 0);
	adds_up(&a);
	assert_true(a.used == MODEL_UNKNOWN);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.remainder, 0);
	accounting_free(&a);
}

static void the_fullest_moment_is_taken(void **state)
{
	struct accounting a;

	(void)state;
	sample(MIB);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x10000000, .size = 20 * MIB);
	sample(21 * MIB);
	put(&m, GMS_K_DEVICE, GMS_A_FREE, .addr = 0x10000000);
	sample(MIB);
	model_link(&m);
	accounting_make(&a, &m, 0);
	adds_up(&a);
	assert_int_equal(a.row, 2);
	assert_int_equal(a.used, 21 * MIB);
	assert_int_equal(a.remainder, 0);
	accounting_free(&a);
}

static void expandable_segments_are_not_counted_twice(void **state)
{
	struct accounting a;
	uint32_t torch = from("/t/libc10_cuda.so", NULL, NULL);

	(void)state;
	put(&m, GMS_K_PHYSICAL, GMS_A_ALLOC, .addr = 1, .size = 20 * MIB, .stack = torch);
	put(&m, GMS_K_PHYSICAL, GMS_A_MAP, .addr = 0x10000000, .size = 20 * MIB, .stack = torch);
	put(&m, GMS_K_SEGMENT, GMS_A_MAP, .addr = 0x10000000, .size = 20 * MIB);
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 0x10000000, .size = MIB, .block = MIB);
	put(&m, GMS_K_PHYSICAL, GMS_A_ALLOC, .addr = 2, .size = 4 * MIB, .stack = from("/s/libnvshmem.so.3", NULL, NULL));
	sample(24 * MIB);
	model_link(&m);
	accounting_make(&a, &m, 0);
	adds_up(&a);
	assert_int_equal(part(&a, ACCOUNT_ACTIVE, NULL), MIB);
	assert_int_equal(part(&a, ACCOUNT_CACHED_PARTS, NULL), 19 * MIB);
	assert_int_equal(part(&a, ACCOUNT_LIBRARY, "/s/libnvshmem.so.3"), 4 * MIB);
	assert_int_equal(part(&a, ACCOUNT_LIBRARY, "/t/libc10_cuda.so"), 0);
	assert_int_equal(a.remainder, 0);
	accounting_free(&a);
}

static void devices_have_books_of_their_own(void **state)
{
	struct accounting a;

	(void)state;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x10000000, .size = 20 * MIB, .device = 1);
	put(&m, GMS_K_MEMORY, GMS_A_INFO, .device = 1, .addr = 0, .size = 30 * MIB);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x20000000, .size = 3 * MIB);
	sample(4 * MIB);
	model_link(&m);
	accounting_make(&a, &m, 0);
	adds_up(&a);
	assert_int_equal(a.used, 4 * MIB);
	assert_int_equal(part(&a, ACCOUNT_LIBRARY, NULL), 3 * MIB);
	accounting_free(&a);
	accounting_make(&a, &m, 1);
	adds_up(&a);
	assert_int_equal(a.used, 30 * MIB);
	assert_int_equal(part(&a, ACCOUNT_LIBRARY, NULL), 20 * MIB);
	accounting_free(&a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
static void the_mapper_of_expandable_segments_is_their_owner(void **state)
{
	uint32_t torch = from("/lib/libcuda.so.1", "/t/libc10_cuda.so", NULL);
	uint32_t nccl = from("/lib/libcuda.so.1", "/n/libnccl.so.2", NULL);
	struct accounting a;

	(void)state;
	put(&m, GMS_K_PHYSICAL, GMS_A_ALLOC, .addr = 1, .size = 20 * MIB, .stack = torch);
	put(&m, GMS_K_PHYSICAL, GMS_A_MAP, .addr = 0x10000000, .size = 20 * MIB, .stack = torch);
	put(&m, GMS_K_SEGMENT, GMS_A_MAP, .addr = 0x10000000, .size = 20 * MIB);
	put(&m, GMS_K_PHYSICAL, GMS_A_ALLOC, .addr = 2, .size = 64 * MIB, .stack = nccl);
	put(&m, GMS_K_PHYSICAL, GMS_A_MAP, .addr = 0x90000000, .size = 64 * MIB, .stack = nccl);
	sample(100 * MIB);
	model_link(&m);
	accounting_make(&a, &m, 0);
	adds_up(&a);
	assert_true(part(&a, ACCOUNT_LIBRARY, "/n/libnccl.so.2") == 64 * MIB);
	assert_true(part(&a, ACCOUNT_LIBRARY, "/t/libc10_cuda.so") == 0);
	accounting_free(&a);
}

static void ids_of_another_namespace_are_told(void **state)
{
	struct accounting a;

	(void)state;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x1000, .size = MIB, .stack = from("/app/solver", NULL, NULL));
	sample(10 * MIB);
	nvml(4711, 9 * MIB, "");
	model_link(&m);
	accounting_make(&a, &m, 0);
	adds_up(&a);
	assert_true(a.foreign_ids && !a.by_nvml);
	assert_true(part(&a, ACCOUNT_OTHERS, NULL) == 0);
	accounting_free(&a);
}

/* Ranks that share a device in a container: one grows after this process's first sample. */
static void processes_of_another_namespace_are_one_part(void **state)
{
	uint32_t solver = from("/app/solver", NULL, NULL);
	struct accounting a;

	(void)state;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x1000, .size = MIB, .stack = solver);
	sample(5 * MIB);
	nvml(0, 5 * MIB, "");
	nvml(4711, 3 * MIB, "");
	nvml(4712, 2 * MIB, "");
	nvml(0, 100 * MIB, "");
	nvml(4712, 97 * MIB, "");
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x900000, .size = 10 * MIB, .stack = solver);
	sample(110 * MIB);
	model_link(&m);
	accounting_make(&a, &m, 0);
	adds_up(&a);
	assert_true(a.foreign_ids && a.used == 110 * MIB);
	assert_int_equal(part(&a, ACCOUNT_UNNAMED, NULL), 99 * MIB);
	assert_int_equal(part(&a, ACCOUNT_BEFORE, NULL), 0);
	assert_int_equal(a.remainder, 0);
	accounting_free(&a);
}

/* A pool's reserve is sampled now and then: NVML may have seen it grow before that. */
static void what_nvml_saw_before_it_was_noted_is_no_context(void **state)
{
	uint32_t torch = from("/t/libc10_cuda.so", NULL, NULL);
	struct accounting a;

	(void)state;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x1000, .size = MIB, .stack = torch);
	sample(501 * MIB);
	nvml(OWN, 501 * MIB, "");
	now = 1000000000;
	nvml(OWN, 601 * MIB, ""); /* 68 MiB of code, and 32 of the pool */
	put(&m, GMS_K_POOL, GMS_A_INFO, .pool = model_pool(&m, &(struct pool_info){.handle = 7}), .size = 32 * MIB, .t_ns = now + 1);
	now += 2;
	sample(603 * MIB);
	model_link(&m);
	accounting_make(&a, &m, 0);
	adds_up(&a);
	assert_int_equal(part(&a, ACCOUNT_POOL_RESERVE, NULL), 32 * MIB);
	assert_int_equal(part(&a, ACCOUNT_CONTEXT, NULL), 500 * MIB);
	assert_int_equal(part(&a, ACCOUNT_CONTEXT_LATER, NULL), 68 * MIB);
	assert_int_equal(a.remainder, 2 * MIB);
	accounting_free(&a);
}

int main(void)
{
	const struct CMUnitTest accounting[] = {
		TEST(every_part_is_exact_and_the_sum_is_what_is_used),
		TEST(without_nvml_what_was_there_before_is_one_part),
		TEST(without_samples_nothing_is_invented),
		TEST(the_fullest_moment_is_taken),
		TEST(expandable_segments_are_not_counted_twice),
		TEST(the_mapper_of_expandable_segments_is_their_owner),
		TEST(ids_of_another_namespace_are_told),
		TEST(processes_of_another_namespace_are_one_part),
		TEST(what_nvml_saw_before_it_was_noted_is_no_context),
		TEST(devices_have_books_of_their_own),
	};
	return cmocka_run_group_tests(accounting, NULL, NULL);
}
