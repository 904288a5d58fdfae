/* test_sim_pool.c: the simulated driver's stream-ordered memory: pools, streams, events. */
#include <pthread.h>

#include "sim.h"

static CUstream stream(void)
{
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return s;
}

static CUdeviceptr alloc(size_t bytes, CUstream s)
{
	CUdeviceptr at;

	OK(cuMemAllocAsync(&at, bytes, s));
	return at;
}

/* Keep the stream busy until somebody waits for it. */
static void work(CUdeviceptr at, CUstream s)
{
	OK(cuMemsetD8Async(at, 0, 1, s));
}

static CUmemoryPool default_pool(void)
{
	CUmemoryPool pool;

	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	return pool;
}

static uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute what)
{
	cuuint64_t value = 0;

	OK(cuMemPoolGetAttribute(pool, what, &value));
	return value;
}

static uint64_t reserved(void)
{
	return attribute(default_pool(), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

static void set(CUmemPool_attribute what, int on)
{
	OK(cuMemPoolSetAttribute(default_pool(), what, &on));
}

static void threshold(uint64_t bytes)
{
	OK(cuMemPoolSetAttribute(default_pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
}

SIM_CASE(a_pool_reserves_32_mib_and_gives_it_back_at_a_synchronise, "mem=256MiB,context=0")
{
	CUdeviceptr at;
	CUstream s;

	sim_use(0);
	s = stream();
	at = alloc(1000, s);
	CHECK(reserved() == 32 * MIB && sim_free() == 224 * MIB);
	CHECK(attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 1000);
	OK(cuMemFreeAsync(at, s));
	CHECK(reserved() == 32 * MIB);
	OK(cuStreamSynchronize(s));
	CHECK(reserved() == 0 && sim_free() == 256 * MIB);
	CHECK(attribute(default_pool(), CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 32 * MIB);
	CHECK(attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 1000);
}

SIM_CASE(the_release_threshold_keeps_memory, "mem=256MiB,context=0")
{
	CUdeviceptr at[3];
	CUstream s;

	sim_use(0);
	s = stream();
	threshold(40 * MIB);
	for (int i = 0; i < 3; i++)
		at[i] = alloc(30 * MIB, s);
	CHECK(reserved() == 96 * MIB);
	for (int i = 0; i < 3; i++)
		OK(cuMemFreeAsync(at[i], s));
	OK(cuStreamSynchronize(s));
	CHECK(reserved() == 32 * MIB); /* no more than the threshold */
	OK(cuMemPoolTrimTo(default_pool(), 10 * MIB));
	CHECK(reserved() == 32 * MIB); /* no less than asked for */
	OK(cuMemPoolTrimTo(default_pool(), 0));
	CHECK(reserved() == 0);
}

SIM_CASE(one_small_block_holds_a_whole_range, "mem=256MiB,context=0")
{
	CUdeviceptr big, small;
	CUstream s;

	sim_use(0);
	s = stream();
	big = alloc(31 * MIB, s);
	small = alloc(512, s);
	OK(cuMemFreeAsync(big, s));
	OK(cuStreamSynchronize(s));
	CHECK(reserved() == 32 * MIB);
	OK(cuMemFreeAsync(small, s));
	OK(cuStreamSynchronize(s));
	CHECK(reserved() == 0);
}

SIM_CASE(a_stream_has_its_own_freed_memory_at_once, "mem=256MiB,context=0")
{
	CUdeviceptr at, again;
	CUstream s;

	sim_use(0);
	s = stream();
	at = alloc(8 * MIB, s);
	work(at, s);
	OK(cuMemFreeAsync(at, s));
	again = alloc(8 * MIB, s);
	CHECK(again == at);
}

SIM_CASE(another_stream_must_not_while_the_first_is_busy, "mem=256MiB,context=0")
{
	CUdeviceptr at, other;
	CUstream a, b;

	sim_use(0);
	a = stream();
	b = stream();
	set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
	at = alloc(20 * MIB, a);
	work(at, a);
	OK(cuMemFreeAsync(at, a));
	other = alloc(20 * MIB, b);
	CHECK(other != at && reserved() == 64 * MIB);
}

SIM_CASE(it_waits_for_the_first_rather_than_let_the_pool_grow, "mem=256MiB,context=0")
{
	CUdeviceptr at, other;
	CUstream a, b;

	sim_use(0);
	a = stream();
	b = stream();
	at = alloc(20 * MIB, a);
	work(at, a);
	OK(cuMemFreeAsync(at, a));
	other = alloc(8 * MIB, b); /* there is room beside */
	CHECK(other == at + 20 * MIB);
	CHECK(alloc(20 * MIB, b) == at && reserved() == 32 * MIB);
}

SIM_CASE(nothing_may_be_asked_for_and_freed, "mem=256MiB,context=0")
{
	CUdeviceptr at = 7;

	sim_use(0);
	OK(cuMemAllocAsync(&at, 0, NULL));
	CHECK(at == 0 && reserved() == 0);
	OK(cuMemFreeAsync(at, NULL));
}

SIM_CASE(it_may_once_the_first_was_waited_for, "mem=256MiB,context=0")
{
	CUdeviceptr at;
	CUstream a, b;

	sim_use(0);
	a = stream();
	b = stream();
	threshold(UINT64_MAX);
	at = alloc(20 * MIB, a);
	work(at, a);
	OK(cuMemFreeAsync(at, a));
	OK(cuStreamSynchronize(a));
	CHECK(alloc(20 * MIB, b) == at);
}

SIM_CASE(it_may_when_an_event_orders_the_two, "mem=256MiB,context=0")
{
	CUdeviceptr at, before;
	CUstream a, b, c;
	CUevent e, f;

	sim_use(0);
	a = stream();
	b = stream();
	c = stream();
	set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&f, CU_EVENT_DISABLE_TIMING));
	before = alloc(20 * MIB, a);
	work(before, a);
	OK(cuEventRecord(e, a)); /* too early: the free comes after it */
	OK(cuMemFreeAsync(before, a));
	OK(cuStreamWaitEvent(b, e, 0));
	CHECK(alloc(20 * MIB, b) != before);
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	OK(cuEventRecord(f, b));
	OK(cuStreamWaitEvent(c, f, 0)); /* through b, c comes after a too */
	at = alloc(20 * MIB, c);
	CHECK(at == before);
}

SIM_CASE(an_event_before_a_later_free_does_not_cover_it, "mem=256MiB,context=0")
{
	CUdeviceptr first, second;
	CUstream a, b;
	CUevent e;

	sim_use(0);
	a = stream();
	b = stream();
	set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	first = alloc(16 * MIB, a);
	second = alloc(16 * MIB, a);
	work(first, a);
	OK(cuMemFreeAsync(first, a));
	OK(cuEventRecord(e, a));
	work(second, a);
	OK(cuMemFreeAsync(second, a));
	OK(cuStreamWaitEvent(b, e, 0));
	CHECK(alloc(32 * MIB, b) != first); /* the two are one free block of a's now, but not of b's */
}

SIM_CASE(waiting_for_an_event_frees_what_came_before_it, "mem=256MiB,context=0")
{
	CUdeviceptr first, between, second;
	CUstream a, b;
	CUevent e;

	sim_use(0);
	a = stream();
	b = stream();
	threshold(UINT64_MAX);
	set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	first = alloc(10 * MIB, a);
	between = alloc(1 * MIB, a);
	second = alloc(21 * MIB, a);
	work(between, a);
	OK(cuMemFreeAsync(first, a));
	OK(cuEventRecord(e, a));
	work(between, a);
	OK(cuMemFreeAsync(second, a));
	OK(cuEventSynchronize(e));
	CHECK(alloc(10 * MIB, b) == first);
	CHECK(alloc(21 * MIB, b) != second);
}

SIM_CASE(without_the_opportunistic_policy_only_waiting_helps, "mem=256MiB,context=0")
{
	CUdeviceptr at, other;
	CUstream a, b;

	sim_use(0);
	a = stream();
	b = stream();
	threshold(UINT64_MAX);
	set(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 0);
	set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
	at = alloc(20 * MIB, a);
	OK(cuMemFreeAsync(at, a)); /* the stream is idle, but nobody has looked */
	other = alloc(20 * MIB, b);
	CHECK(other != at);
	OK(cuMemFreeAsync(other, b));
	OK(cuStreamSynchronize(a));
	CHECK(alloc(21 * MIB, b) == at);
}

SIM_CASE(a_free_on_a_blocking_stream_waits_for_the_legacy_stream, "mem=256MiB,context=0")
{
	CUdeviceptr at;
	CUstream blocking, b;

	sim_use(0);
	b = stream();
	set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
	OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	at = alloc(20 * MIB, blocking);
	work(at, NULL);
	OK(cuMemFreeAsync(at, blocking));
	CHECK(alloc(20 * MIB, b) != at);
}

SIM_CASE(events_do_not_help_if_that_policy_is_off, "mem=256MiB,context=0")
{
	CUdeviceptr at;
	CUstream a, b;
	CUevent e;

	sim_use(0);
	a = stream();
	b = stream();
	set(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 0);
	set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	at = alloc(20 * MIB, a);
	work(at, a);
	OK(cuMemFreeAsync(at, a));
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	CHECK(alloc(20 * MIB, b) != at);
}

SIM_CASE(a_full_device_makes_one_stream_wait_for_another, "mem=64MiB,context=0")
{
	CUdeviceptr at, other;
	CUstream a, b;

	sim_use(0);
	a = stream();
	b = stream();
	at = alloc(40 * MIB, a);
	work(at, a);
	OK(cuMemFreeAsync(at, a));
	set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&other, 40 * MIB, b));
	set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 1);
	CHECK(alloc(40 * MIB, b) == at);
}

SIM_CASE(the_legacy_stream_orders_blocking_streams, "mem=256MiB,context=0")
{
	CUdeviceptr at;
	CUstream a;

	sim_use(0);
	OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
	at = alloc(20 * MIB, a);
	work(at, a);
	OK(cuMemFreeAsync(at, a));
	CHECK(alloc(20 * MIB, NULL) == at);
}

SIM_CASE(a_query_says_no_once_and_then_yes, "")
{
	CUdeviceptr at;
	CUstream s;
	CUevent e;

	sim_use(0);
	s = stream();
	OK(cuEventCreate(&e, 0));
	OK(cuStreamQuery(s));
	OK(cuEventQuery(e));
	at = alloc(1000, s);
	work(at, s);
	GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	OK(cuStreamQuery(s));
	work(at, s);
	OK(cuEventRecord(e, s));
	GIVES(CUDA_ERROR_NOT_READY, cuEventQuery(e));
	OK(cuEventQuery(e));
}

SIM_CASE(cuMemAlloc_gets_what_pools_hold_without_using_it, "mem=64MiB,context=0")
{
	CUdeviceptr at;
	CUstream s;

	sim_use(0);
	s = stream();
	threshold(UINT64_MAX);
	at = alloc(40 * MIB, s);
	OK(cuMemFreeAsync(at, s));
	OK(cuStreamSynchronize(s));
	CHECK(sim_free() == 0);
	OK(cuMemAlloc(&at, 60 * MIB));
	CHECK(reserved() == 0);
}

SIM_CASE(pools_can_be_made_and_set_and_outlive_their_end, "mem=256MiB,context=0")
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
	                        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
	                        .maxSize = 64 * MIB};
	CUmemoryPool pool, of;
	CUdeviceptr at, more;
	CUstream s;

	sim_use(0);
	s = stream();
	OK(cuMemPoolCreate(&pool, &props));
	OK(cuDeviceSetMemPool(0, pool));
	at = alloc(60 * MIB, s);
	CHECK(reserved() == 0 && attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 64 * MIB);
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&more, 20 * MIB, s)); /* maxSize */
	OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at));
	CHECK(of == pool);
	OK(cuMemPoolDestroy(pool));
	OK(cuDeviceGetMemPool(&of, 0));
	CHECK(of == default_pool());
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&more, 1, pool, s));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(default_pool()));
	CHECK(sim_free() == 192 * MIB);
	OK(cuMemFreeAsync(at, s));
	CHECK(sim_free() == 256 * MIB);
}

SIM_CASE(cuMemFree_takes_stream_ordered_memory_too, "")
{
	CUdeviceptr at;

	sim_use(0);
	at = alloc(1000, NULL);
	OK(cuMemFree(at));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(at, NULL));
	CHECK(attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 1000); /* as a real driver's */
}

SIM_CASE(the_per_thread_stream_is_not_the_legacy_one, "")
{
	CUresult (*id_of)(CUstream, unsigned long long *);
	unsigned long long legacy, own, asked;

	sim_use(0);
	OK(cuStreamGetId(NULL, &legacy));
	OK(cuStreamGetId(CU_STREAM_PER_THREAD, &own));
	CHECK(legacy != own);
	OK(cuGetProcAddress("cuStreamGetId", (void **)&id_of, 12000,
	                    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	OK(id_of(NULL, &asked));
	CHECK(asked == own);
	OK(id_of(CU_STREAM_LEGACY, &asked));
	CHECK(asked == legacy);
}

SIM_CASE(a_stream_that_is_gone_is_an_invalid_handle, "mem=256MiB,context=0")
{
	CUdeviceptr at;
	CUstream s;

	sim_use(0);
	s = stream();
	at = alloc(1000, s);
	work(at, s);
	OK(cuMemFreeAsync(at, s));
	OK(cuStreamDestroy(s));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuMemAllocAsync(&at, 1000, s));
	OK(cuCtxSynchronize());
	CHECK(sim_free() == 256 * MIB);
}

static pthread_mutex_t held_by_submitter = PTHREAD_MUTEX_INITIALIZER;
static int order[100], ran;

static void note(void *n)
{
	pthread_mutex_lock(&held_by_submitter);
	order[ran++] = (int)(intptr_t)n;
	pthread_mutex_unlock(&held_by_submitter);
}

static void note_callback(CUstream s, CUresult status, void *n)
{
	(void)s;
	CHECK(status == CUDA_SUCCESS);
	note(n);
}

SIM_CASE(host_functions_run_in_order_outside_the_call_that_submits_them, "")
{
	CUstream s;

	sim_use(0);
	s = stream();
	pthread_mutex_lock(&held_by_submitter);
	for (intptr_t i = 0; i < 100; i++)
		if (i % 2)
			OK(cuLaunchHostFunc(s, note, (void *)i));
		else
			OK(cuStreamAddCallback(s, note_callback, (void *)i, 0));
	GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	CHECK(ran == 0);
	pthread_mutex_unlock(&held_by_submitter);
	OK(cuStreamSynchronize(s));
	CHECK(ran == 100);
	for (int i = 0; i < 100; i++)
		CHECK(order[i] == i);
}

/* --- a model check -------------------------------------------------------------------------- */

struct held {
	CUdeviceptr at;
	size_t bytes;
};

static void overlaps_nothing(const struct held *held, int count, int k)
{
	for (int i = 0; i < count; i++)
		CHECK(i == k || !held[i].at || held[i].at + held[i].bytes <= held[k].at ||
		      held[k].at + held[k].bytes <= held[i].at);
}

SIM_CASE(live_blocks_never_overlap_and_the_books_balance, "mem=512MiB,context=0")
{
	enum { SLOTS = 200, STREAMS = 4 };
	struct held held[SLOTS] = {{0, 0}};
	CUstream s[STREAMS];
	uint64_t used = 0;

	sim_use(0);
	srand(7);
	for (int i = 0; i < STREAMS; i++)
		s[i] = stream();
	for (int round = 0; round < 20000; round++) {
		int k = rand() % SLOTS;
		CUstream on = s[rand() % STREAMS];

		if (round % 1000 == 999)
			OK(cuStreamSynchronize(on));
		if (held[k].at) {
			if (rand() % 2)
				work(held[k].at, on);
			OK(cuMemFreeAsync(held[k].at, on));
			used -= held[k].bytes;
			held[k].at = 0;
			continue;
		}
		held[k].bytes = (size_t)(1 + rand() % (rand() % 8 ? 40000 : 3000000));
		if (cuMemAllocAsync(&held[k].at, held[k].bytes, on) != CUDA_SUCCESS) {
			held[k].at = 0;
			continue;
		}
		used += held[k].bytes;
		overlaps_nothing(held, SLOTS, k);
		CHECK(attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == used);
		CHECK(sim_free() + reserved() == 512 * MIB);
	}
	for (int k = 0; k < SLOTS; k++)
		if (held[k].at)
			OK(cuMemFreeAsync(held[k].at, s[0]));
	OK(cuCtxSynchronize());
	CHECK(reserved() == 0 && sim_free() == 512 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_pool_reserves_32_mib_and_gives_it_back_at_a_synchronise),
	    cmocka_unit_test(the_release_threshold_keeps_memory),
	    cmocka_unit_test(one_small_block_holds_a_whole_range),
	    cmocka_unit_test(a_stream_has_its_own_freed_memory_at_once),
	    cmocka_unit_test(another_stream_must_not_while_the_first_is_busy),
	    cmocka_unit_test(it_waits_for_the_first_rather_than_let_the_pool_grow),
	    cmocka_unit_test(nothing_may_be_asked_for_and_freed),
	    cmocka_unit_test(it_may_once_the_first_was_waited_for),
	    cmocka_unit_test(it_may_when_an_event_orders_the_two),
	    cmocka_unit_test(an_event_before_a_later_free_does_not_cover_it),
	    cmocka_unit_test(waiting_for_an_event_frees_what_came_before_it),
	    cmocka_unit_test(without_the_opportunistic_policy_only_waiting_helps),
	    cmocka_unit_test(a_free_on_a_blocking_stream_waits_for_the_legacy_stream),
	    cmocka_unit_test(events_do_not_help_if_that_policy_is_off),
	    cmocka_unit_test(a_full_device_makes_one_stream_wait_for_another),
	    cmocka_unit_test(the_legacy_stream_orders_blocking_streams),
	    cmocka_unit_test(a_query_says_no_once_and_then_yes),
	    cmocka_unit_test(cuMemAlloc_gets_what_pools_hold_without_using_it),
	    cmocka_unit_test(pools_can_be_made_and_set_and_outlive_their_end),
	    cmocka_unit_test(cuMemFree_takes_stream_ordered_memory_too),
	    cmocka_unit_test(the_per_thread_stream_is_not_the_legacy_one),
	    cmocka_unit_test(host_functions_run_in_order_outside_the_call_that_submits_them),
	    cmocka_unit_test(a_stream_that_is_gone_is_an_invalid_handle),
	    cmocka_unit_test(live_blocks_never_overlap_and_the_books_balance),
	};

	return cmocka_run_group_tests_name("sim_pool", tests, NULL, NULL);
}
