/* lock.c: see lock.h. */
#include "alloc/lock.h"
#include <sched.h>
#include <time.h>

enum { SPINS = 64, YIELDS = 20, NAP_NS = 20000 };

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	atomic_signal_fence(memory_order_seq_cst);
#endif
}

void gma_lock_wait(struct gma_lock *l)
{
	const struct timespec nap = {0, NAP_NS};
	unsigned tries, i;

	for (tries = 0;; tries++) {
		if (!atomic_load_explicit(&l->held, memory_order_relaxed) &&
		    !atomic_exchange_explicit(&l->held, true, memory_order_acquire))
			return;
		if (tries < SPINS)
			for (i = 0; i <= tries % 16; i++) /* not all look at the same time */
				relax();
		else if (tries < SPINS + YIELDS)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
}
