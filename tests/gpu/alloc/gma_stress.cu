/* gma_stress.cu [CONF [THREADS [ROUNDS]]]: no overlap and no early reuse, proved by kernels.
 *
 * Threads allocate on several streams, fill blocks with a pattern by a kernel, let a slow kernel on
 * another stream check it, tell the allocator so and free the block at once: if memory came back before
 * that kernel was done, it would find somebody else's pattern. Some blocks go from thread to thread and
 * are checked once more before they are freed; the cache is emptied now and then; the limit is low enough
 * that requests fail and are tried again.
 */
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "../cu.h"
#include "gpumemalloc.h"

enum { STREAMS = 4, HELD = 24 };

static struct gma *g;
static cudaStream_t stream[STREAMS];
static unsigned long long *wrong; /* managed */
static std::atomic<unsigned long long> failures, requests;
static int rounds = 300;

__global__ void fill(uint32_t *p, size_t n, uint32_t value)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		p[i] = value ^ (uint32_t)i;
}

__global__ void check(const uint32_t *p, size_t n, uint32_t value, long long wait, unsigned long long *bad)
{
	long long start = clock64();

	while (clock64() - start < wait)
		;
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		if (p[i] != (value ^ (uint32_t)i))
			atomicAdd(bad, 1ull);
}

struct held {
	uint32_t *p;
	size_t n;
	uint32_t value;
	int stream;
};
static std::mutex lock;
static std::vector<held> shared;

static uint32_t dice(uint64_t &s, uint32_t n)
{
	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return (uint32_t)(s >> 32) % n;
}

/* On the block's own stream: in order, so no record_stream. */
static void check_and_free(const held &h)
{
	check<<<16, 128, 0, stream[h.stream]>>>(h.p, h.n, h.value, 0, wrong);
	if (gma_free(g, h.p))
		failures += 1000000;
}

static void one(uint64_t &s)
{
	size_t bytes = dice(s, 3) ? 512 + dice(s, 400000) : MIB + dice(s, 40u << 20);
	held h = {nullptr, bytes / 4, dice(s, ~0u), (int)dice(s, STREAMS)};
	int other = (int)dice(s, STREAMS);
	cudaEvent_t filled;
	void *p;

	requests++;
	if (gma_malloc(g, &p, bytes, (gma_stream)(uintptr_t)stream[h.stream])) {
		failures++;
		std::lock_guard<std::mutex> hold(lock);
		if (!shared.empty()) {
			check_and_free(shared.back());
			shared.pop_back();
		}
		return;
	}
	h.p = (uint32_t *)p;
	fill<<<16, 128, 0, stream[h.stream]>>>(h.p, h.n, h.value);
	if (other != h.stream) {
		OK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
		OK(cudaEventRecord(filled, stream[h.stream]));
		OK(cudaStreamWaitEvent(stream[other], filled, 0));
		check<<<16, 128, 0, stream[other]>>>(h.p, h.n, h.value, 200000 + dice(s, 2000000), wrong);
		gma_record_stream(g, h.p, (gma_stream)(uintptr_t)stream[other]);
		OK(cudaEventDestroy(filled));
	}
	if (dice(s, 2)) {
		check_and_free(h);
		return;
	}
	std::lock_guard<std::mutex> hold(lock);
	shared.push_back(h);
	if (shared.size() > HELD) {
		size_t i = dice(s, (uint32_t)shared.size());

		check_and_free(shared[i]);
		shared[i] = shared.back();
		shared.pop_back();
	}
}

static void work(int number)
{
	uint64_t s = number * 0x9e3779b97f4a7c15ull + 1;

	OK(cudaSetDevice(0));
	for (int i = 0; i < rounds; i++) {
		one(s);
		if (i % 100 == 99)
			gma_empty_cache(g);
		if (i % 50 == 49)
			OK(cudaStreamSynchronize(stream[dice(s, STREAMS)]));
	}
}

int main(int argc, char **argv)
{
	const char *conf = argc > 1 ? argv[1] : "", *bad;
	int threads = argc > 2 ? atoi(argv[2]) : 4;
	struct gma_backend cuda;
	struct gma_stats st;
	std::vector<std::thread> t;

	if (argc > 3)
		rounds = atoi(argv[3]);
	OK(cudaSetDevice(0));
	OK(cudaFree(0));
	OK(cudaMallocManaged(&wrong, sizeof *wrong));
	*wrong = 0;
	for (int i = 0; i < STREAMS; i++)
		OK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
	if (gma_cuda_open(0, &cuda) || !(g = gma_create(conf, &cuda))) {
		fprintf(stderr, "%s\n", gma_error_text());
		return 1;
	}
	gma_set_memory_limit(g, 700 * MIB);
	for (int i = 0; i < threads; i++)
		t.emplace_back(work, i + 1);
	for (auto &x : t)
		x.join();
	bad = gma_valid(g);
	for (auto &h : shared)
		check_and_free(h);
	OK(cudaDeviceSynchronize());
	gma_empty_cache(g);
	gma_stats(g, &st);
	printf("conf=%s requests=%llu failures=%llu wrong=%llu valid=%s left=%lld device_calls=%llu\n", conf, requests.load(),
	       failures.load(), *wrong, bad ? bad : "yes", (long long)st.reserved_bytes[0].current,
	       (unsigned long long)(st.num_device_alloc + st.num_device_free));
	gma_destroy(g);
	gma_cuda_close(&cuda);
	return bad || *wrong || st.reserved_bytes[0].current || failures > requests / 2;
}
