/* clock.c: what time it is, for half of what the system's clock costs.
 *
 * Where the processor counts at an even rate and the system's own clock is made of that count, a thread takes
 * both once and then reads only the count, until so little time has passed that the two cannot have parted by
 * more than the clock itself is ever adjusted: 500 millionths of SPAN. Anything odd (a count that jumps, a rate
 * that changes, a suspended machine) ends in another look at the system's clock.
 */
#include "record/rec.h"
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t rec_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#ifndef REC_COUNTER
void rec_clock_init(void)
{
}

void rec_clock_forked(void)
{
}

uint64_t rec_clock_look(struct rec_clock *c)
{
	(void)c;
	return rec_now();
}
#else
#include <cpuid.h>

#define SPAN	 200000u	/* ns for which a look at both is good */
#define MEASURE	 10000000u	/* ns at least, and … */
#define MEASURED 1000000000u	/* … at most, over which the rate is taken */

static bool even; /* the count may be used at all */
static uint64_t least = UINT64_MAX / 2; /* counts that reading both takes if nothing comes between */
static struct rec_lock measuring;
static struct rec_clock from; /* where the rate is taken from */
static uint64_t rate;	      /* ns of 2^32 counts; 0 = not known yet */

static bool clock_is_made_of_it(void)
{
	char name[32] = "";
	int fd = rec_open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY);

	if (fd < 0)
		return false;
	if (syscall(SYS_read, fd, name, sizeof name - 1) < 0)
		name[0] = '\0';
	syscall(SYS_close, fd);
	return !strcmp(name, "tsc\n") || !strcmp(name, "kvm-clock\n") || !strcmp(name, "hyperv_clocksource_tsc_page\n");
}

void rec_clock_init(void)
{
	unsigned a, b, c, d = 0;
	int may = 0;

	even = __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8 && prctl(PR_GET_TSC, &may) == 0 &&
	       may == PR_TSC_ENABLE && clock_is_made_of_it();
}

void rec_clock_forked(void)
{
	measuring.owner = 0;
}

/* Both at one time; false if something came between every time. Threads must agree on what comes first when one
 * frees what the other allocated: that takes some 100 ns, so they may differ by less. */
static bool look(struct rec_clock *c)
{
	uint64_t before, took, quick = __atomic_load_n(&least, __ATOMIC_RELAXED);
	int n;

	for (n = 0; n < 4; n++) {
		before = REC_COUNTER();
		c->ns = rec_now();
		took = REC_COUNTER() - before;
		c->count = before + took / 2;
		if (took < quick)
			__atomic_store_n(&least, took, __ATOMIC_RELAXED);
		if (took <= quick + quick / 4)
			return true;
	}
	__atomic_store_n(&least, quick + quick / 16, __ATOMIC_RELAXED); /* the processor may have become slower */
	return false;
}

/* One thread at a time; whoever finds another at it does without. */
static void measure(const struct rec_clock *now)
{
	uint32_t nobody = 0;
	uint64_t ns, counts, r;

	if (!__atomic_compare_exchange_n(&measuring.owner, &nobody, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	ns = now->ns > from.ns ? now->ns - from.ns : 0; /* another thread may have looked later */
	counts = now->count - from.count;
	if (!from.ns || ns > 2ull * MEASURED || (ns && counts >> 36)) {
		/* Long ago, or the count jumped: the machine may have been suspended, or be another one now. */
		__atomic_store_n(&rate, 0, __ATOMIC_RELAXED);
		from = *now;
	} else if (ns >= MEASURE) {
		r = (uint64_t)(((unsigned __int128)ns << 32) / counts);
		if (rate && (r > rate + rate / 1000 || r < rate - rate / 1000))
			r = 0;
		__atomic_store_n(&rate, r, __ATOMIC_RELAXED);
		if (!r || ns > MEASURED)
			from = *now;
	}
	rec_unlock(&measuring);
}

uint64_t rec_clock_look(struct rec_clock *c)
{
	struct rec_clock now = {0};
	uint64_t r;

	c->valid = 0;
	if (!even || !look(&now))
		return rec_now();
	measure(&now);
	r = __atomic_load_n(&rate, __ATOMIC_RELAXED);
	if (r && r >> 33 == 0) {
		now.rate = r;
		now.valid = (uint32_t)(((uint64_t)SPAN << 32) / r);
	}
	*c = now;
	return now.ns;
}
#endif
