/* gma_threads.c [THREADS [OPS]]: many threads on one allocator; no two blocks may ever overlap.
 *
 * The device is a table with a byte per 512 bytes of memory: whoever gets a block marks all of its
 * bytes and must find them unmarked; before giving it back he takes the marks away and must find them
 * all. Threads free each other's blocks, use them on other streams, empty the cache and read
 * figures meanwhile. In the end the allocator must pass its own check and give everything back.
 * Build with SAN=thread to look for races.
 */
#include "alloc/core_sim.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MIB	 (1ull << 20)
#define BASE	 0x700000000000ull
#define PLAIN	 (2048 * MIB) /* of addresses for segments; behind it ranges to map into */
#define RANGE	 (640 * MIB)
enum { RANGES = 16 };
#define GRANULES ((PLAIN + RANGES * RANGE) / 512)

static struct gma *g;
static struct gma_sim sim;
static _Atomic uint8_t *mark;
static atomic_int wrong;
static _Atomic(void *) exchange[64]; /* where threads hand blocks to each other */
static int ops = 20000;

static void *page_get(void *ctx, size_t bytes)
{
	(void)ctx;
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void page_put(void *ctx, void *page, size_t bytes)
{
	(void)ctx;
	munmap(page, bytes);
}

static uint8_t taken[PLAIN / (2 * MIB)]; /* address space in 2 MiB steps */
static bool range_taken[RANGES];

static uint64_t place(void *ctx, uint64_t size)
{
	uint64_t n = size / (2 * MIB), i, run = 0;

	(void)ctx;
	for (i = 0; i < sizeof taken && run < n; i++)
		run = taken[i] ? 0 : run + 1;
	if (run < n)
		abort(); /* the device is a quarter of the address space */
	memset(taken + i - n, 1, n);
	return BASE + (i - n) * 2 * MIB;
}

static void leave(void *ctx, uint64_t addr, uint64_t size)
{
	(void)ctx;
	memset(taken + (addr - BASE) / (2 * MIB), 0, size / (2 * MIB));
}

static int reserve(void *ctx, uint64_t size, uint64_t *addr)
{
	int i;

	(void)ctx;
	for (i = 0; i < RANGES; i++) {
		if (range_taken[i] || size > RANGE)
			continue;
		range_taken[i] = true;
		*addr = BASE + PLAIN + (uint64_t)i * RANGE;
		return GMA_OK;
	}
	return GMA_OUT_OF_MEMORY;
}

static int unreserve(void *ctx, uint64_t addr, uint64_t size)
{
	(void)ctx;
	(void)size;
	range_taken[(addr - BASE - PLAIN) / RANGE] = false;
	return GMA_OK;
}

/* With release_lock_on_cudamalloc the device is asked by several threads at once. */
static struct gma_backend inner;
static pthread_mutex_t device = PTHREAD_MUTEX_INITIALIZER;
#define LOCKED(name, parameters, arguments)                                                                  \
	static int locked_##name parameters                                                                  \
	{                                                                                                    \
		int r;                                                                                       \
                                                                                                             \
		pthread_mutex_lock(&device);                                                                 \
		r = inner.name arguments;                                                                    \
		pthread_mutex_unlock(&device);                                                               \
		return r;                                                                                    \
	}
LOCKED(segment_alloc, (void *ctx, uint64_t size, uint64_t *addr), (ctx, size, addr))
LOCKED(segment_free, (void *ctx, uint64_t addr, uint64_t size), (ctx, addr, size))
LOCKED(event_record, (void *ctx, gma_stream s, uint64_t *event), (ctx, s, event))
LOCKED(event_query, (void *ctx, uint64_t event), (ctx, event))
LOCKED(event_wait, (void *ctx, uint64_t event), (ctx, event))
LOCKED(device_info, (void *ctx, uint64_t *f, uint64_t *t), (ctx, f, t))

static void change(const void *p, size_t size, uint8_t from, uint8_t to)
{
	uint64_t i = ((uintptr_t)p - BASE) / 512, end = i + (size + 511) / 512;

	for (; i < end; i++) {
		uint8_t was = from;

		if (!atomic_compare_exchange_strong(&mark[i], &was, to))
			atomic_fetch_add(&wrong, 1);
	}
}

static uint32_t dice(uint64_t *s, uint32_t n)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return (uint32_t)(*s >> 32) % n;
}

static void let_go(void *p, uint64_t *s)
{
	size_t size = 0;

	if (!p)
		return;
	if (gma_block_info(g, p, NULL, &size, NULL))
		atomic_fetch_add(&wrong, 1);
	change(p, size, 1, 0);
	if (dice(s, 8) == 0)
		gma_record_stream(g, p, 1000 + dice(s, 3));
	if (gma_free(g, p))
		atomic_fetch_add(&wrong, 1);
}

static void *work(void *arg)
{
	uint64_t s = (uint64_t)(uintptr_t)arg * 0x9e3779b97f4a7c15ull + 1;
	struct gma_stats stats;
	size_t size;
	void *p;
	int i;

	for (i = 0; i < ops; i++) {
		switch (dice(&s, 64)) {
		case 0:
			gma_empty_cache(g);
			break;
		case 1:
			gma_stats(g, &stats);
			break;
		case 2:
			gma_set_memory_limit(g, 400 * MIB + dice(&s, 100) * MIB);
			break;
		default:
			size = dice(&s, 4) ? 1 + dice(&s, 300000) : MIB + dice(&s, 30u << 20);
			if (gma_malloc(g, &p, size, dice(&s, 4)) == GMA_OK) {
				change(p, size, 0, 1);
				let_go(atomic_exchange(&exchange[dice(&s, 64)], p), &s);
			}
		}
	}
	return NULL;
}

/* Returns true if all was well. */
static bool run(const char *conf, int threads)
{
	struct gma_backend be;
	struct gma_stats stats;
	pthread_t t[64];
	uint64_t s = 77;
	const char *bad;
	int i;

	gma_sim_init(&sim, 500 * MIB);
	sim.events_done = UINT64_MAX;
	sim.place = place;
	sim.leave = leave;
	gma_sim_backend(&sim, &inner, page_get, page_put);
	be = inner;
	be.segment_alloc = locked_segment_alloc;
	be.segment_free = locked_segment_free;
	be.event_record = locked_event_record;
	be.event_query = locked_event_query;
	be.event_wait = locked_event_wait;
	be.device_info = locked_device_info;
	be.reserve = reserve;
	be.unreserve = unreserve;
	g = gma_create(conf, &be);
	if (!g) {
		fprintf(stderr, "%s\n", gma_error_text());
		return false;
	}
	for (i = 0; i < threads && i < 64; i++)
		pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < threads && i < 64; i++)
		pthread_join(t[i], NULL);
	bad = gma_valid(g);
	for (i = 0; i < 64; i++)
		let_go(atomic_exchange(&exchange[i], NULL), &s);
	gma_empty_cache(g);
	gma_stats(g, &stats);
	printf("%-32s %lld blocks, %llu calls for memory, %llu failures, %d wrong, %s\n", *conf ? conf : "(default)",
	       (long long)stats.allocation[GMA_STAT_ALL].allocated, (unsigned long long)stats.num_device_alloc,
	       (unsigned long long)stats.num_ooms, atomic_load(&wrong), bad ? bad : "valid");
	bad = bad ? bad : gma_valid(g);
	gma_destroy(g);
	return !bad && !atomic_load(&wrong) && !stats.reserved_bytes[GMA_STAT_ALL].current;
}

int main(int argc, char **argv)
{
	static const char *const confs[] = {"", "release_lock_on_cudamalloc:True", "expandable_segments:True",
					    "max_split_size_mb:24"};
	int threads = argc > 1 ? atoi(argv[1]) : 8;
	bool well = true;
	size_t c;

	if (argc > 2)
		ops = atoi(argv[2]);
	mark = mmap(NULL, GRANULES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (c = 0; c < sizeof confs / sizeof *confs; c++) {
		memset((void *)mark, 0, GRANULES);
		well = run(confs[c], threads) && well;
	}
	return well ? 0 : 1;
}
