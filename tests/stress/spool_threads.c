/* spool_threads.c [THREADS [EVENTS]]: many threads write to one spool; none of their events may be lost.
 *
 * Runs with the recorder in its process: preloaded, or compiled in to look for races (tests/arch/races.sh).
 * Each thread reports blocks that come and go, as an allocator would; threads end and new ones take over
 * their chunks meanwhile. Prints how many events of each kind the spool must hold.
 */
#include "wire/allocator.h"
#include "wire/events.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIVES = 4, MOST = 64 }; /* threads one after the other, at a time */

extern void gms_allocator_event(const struct gms_allocator_event *e) __attribute__((weak));

static int events = 2000;

static void tell(uint8_t action, uint64_t addr, uint64_t stream)
{
	struct gms_allocator_event e = {.bytes = sizeof e, .op = GMS_OP(GMS_K_BLOCK, action), .addr = addr, .size = 512,
					.stream = stream, .pc = __builtin_return_address(0), .frame = __builtin_frame_address(0)};

	gms_allocator_event(&e);
}

static void *work(void *arg)
{
	uint64_t me = (uint64_t)(uintptr_t)arg, i;

	for (i = 0; i < (uint64_t)events; i++) {
		uint64_t addr = (me << 32) + ((i / 2) << 9);

		tell(i % 2 ? GMS_A_FREE : GMS_A_ALLOC, addr, i % 5);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 8, life, i;
	pthread_t t[MOST];

	if (argc > 2)
		events = atoi(argv[2]) / 2 * 2;
	if (!gms_allocator_event) {
		fprintf(stderr, "spool_threads: there is no recorder in this process\n");
		return 1;
	}
	for (life = 0; life < LIVES; life++) {
		for (i = 0; i < threads && i < MOST; i++)
			if (pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(life * MOST + i + 1)))
				return 1;
		while (i)
			pthread_join(t[--i], NULL);
	}
	printf("%d\n", LIVES * (threads < MOST ? threads : MOST) * (events / 2));
	return 0;
}
