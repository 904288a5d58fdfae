/* streams.c: who may reuse stream-ordered memory, and when.
 *
 * Memory freed by cuMemFreeAsync belongs at once to its own stream again; another stream may have it
 * after an event has ordered the two, after the first one is known to be done, or, where the pool
 * would have to grow, by waiting for it.
 *
 * Expected story: three phases with the same 8 MiB of work in flight. One stream alone needs one
 * block. Two streams that know nothing of each other need two. Two streams ordered by an event need
 * one again. In all 3 x 16 allocations of 8 MiB, half of them from each stream, nothing live at the
 * end, and never more than 16 MiB live.
 */
#include "sample.h"

enum { ROUNDS = 16 };

NAMED static CUdeviceptr work(CUstream stream)
{
	CUdeviceptr at;

	CU(cuMemAllocAsync(&at, 8 * MIB, stream));
	CU(cuMemsetD8Async(at, 0, 8 * MIB, stream));
	return at;
}

/* How many different addresses ROUNDS pieces of work got. */
static int addresses(const CUdeviceptr *at)
{
	int distinct = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int seen = 0;

		for (int j = 0; j < i; j++)
			seen |= at[j] == at[i];
		distinct += !seen;
	}
	return distinct;
}

NAMED static int one_stream(CUstream a)
{
	CUdeviceptr at[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		at[i] = work(a);
		CU(cuMemFreeAsync(at[i], a));
	}
	CU(cuCtxSynchronize());
	return addresses(at);
}

NAMED static int two_streams(CUstream a, CUstream b)
{
	CUdeviceptr at[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		CUstream s = i % 2 ? b : a;

		at[i] = work(s);
		CU(cuMemFreeAsync(at[i], s));
	}
	CU(cuCtxSynchronize());
	return addresses(at);
}

NAMED static int ordered_streams(CUstream a, CUstream b)
{
	CUdeviceptr at[ROUNDS];
	CUevent done;

	CU(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < ROUNDS; i++) {
		CUstream s = i % 2 ? b : a;

		at[i] = work(s);
		CU(cuMemFreeAsync(at[i], s));
		CU(cuEventRecord(done, s));
		CU(cuStreamWaitEvent(i % 2 ? a : b, done, 0));
	}
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(done));
	return addresses(at);
}

int main(void)
{
	CUstream a, b;
	CUmemoryPool pool;
	cuuint64_t keep = UINT64_MAX;
	int one, two, ordered;

	use_device(0);
	CU(cuDeviceGetDefaultMemPool(&pool, 0));
	CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	CU(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	one = one_stream(a);
	two = two_streams(a, b);
	ordered = ordered_streams(a, b);
	printf("streams: blocks of 8 MiB used by one stream: %d, by two: %d, by two ordered by events: %d\n",
	       one, two, ordered);
	CU(cuMemPoolTrimTo(pool, 0));
	CU(cuStreamDestroy(a));
	CU(cuStreamDestroy(b));
	return 0;
}
