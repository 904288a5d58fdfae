/* lock.h: the lock of a struct gma, made for being held a few dozen nanoseconds at a time.
 *
 * Taking it is one atomic exchange, letting go a plain store: half of what a mutex costs when nobody waits,
 * which is most of what a cached request costs. Who has to wait spins a little, then yields, then
 * sleeps in short naps, because the holder may be in a call of the driver.
 */
#ifndef ALLOC_LOCK_H
#define ALLOC_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

struct gma_lock { /* starts as {0} */
	atomic_bool held;
};

void gma_lock_wait(struct gma_lock *l); /* lock.c: until it is ours */

static inline void gma_lock_take(struct gma_lock *l)
{
	if (__builtin_expect(atomic_exchange_explicit(&l->held, true, memory_order_acquire), 0))
		gma_lock_wait(l);
}

static inline void gma_lock_let_go(struct gma_lock *l)
{
	atomic_store_explicit(&l->held, false, memory_order_release);
}

#endif
