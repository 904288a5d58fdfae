/* signals.c MS [jump]: a timer's handler allocates while the main loop does, at whatever instruction
 * that is; with "jump" the handler now and then jumps out. Needs a driver without locks (libfake.c).
 * Prints how many calls there were. */
#include "gpu.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static long calls; /* counted in one instruction, so that a signal cannot come within */
static volatile long handled;
static sigjmp_buf back;
static volatile int may_jump;

/* Once more, a little later: never so fast that only the handler runs. */
static void arm(void)
{
	struct itimerval once = {{0, 0}, {0, 50 + calls % 100}};

	setitimer(ITIMER_REAL, &once, NULL);
}

static void on_timer(int number)
{
	CUdeviceptr p = gpu_get(64);

	(void)number;
	gpu_put(p);
	__atomic_fetch_add(&calls, 2, __ATOMIC_RELAXED);
	arm();
	if (may_jump && ++handled % 7 == 0)
		siglongjmp(back, 1);
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 100;
	struct itimerval off = {{0, 0}, {0, 0}};
	volatile int jumping = argc > 2;
	struct timespec now, end;

	gpu_start();
	signal(SIGALRM, on_timer);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	end.tv_nsec += ms % 1000 * 1000000;
	arm();
	do {
		CUdeviceptr p;

		if (sigsetjmp(back, 1)) {
			clock_gettime(CLOCK_MONOTONIC, &now);
			continue;
		}
		may_jump = jumping;
		errno = 77;
		p = gpu_get(128);
		gpu_put(p);
		may_jump = 0;
		if (errno != 77)
			return 3;
		__atomic_fetch_add(&calls, 2, __ATOMIC_RELAXED);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	setitimer(ITIMER_REAL, &off, NULL);
	gpu_get(999999);
	printf("%ld\n", calls);
	return 0;
}
