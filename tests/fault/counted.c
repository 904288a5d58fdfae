/* counted.c: the recorder's clock against the system's, from several threads that work and rest by turns; with
 * "odd" by a counter that jumps to and fro and changes its rate, as after a move to another machine. */
#define REC_COUNTER count
static unsigned long long count(void);
#include "record/clock.c"
#include <pthread.h>
#include <stdio.h>

static bool odd;
static volatile long looks, wrong;
static volatile unsigned long long added, factor = 3;

static unsigned long long count(void)
{
	return odd ? rec_now() * factor + added : __builtin_ia32_rdtsc();
}

int rec_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags);
}

void rec_unlock(struct rec_lock *lock)
{
	__atomic_store_n(&lock->owner, 0, __ATOMIC_RELEASE);
}

/* A jump between the two readings of the system's clock may be mistaken for what it is not, once. */
static void *work(void *first)
{
	enum { SLACK = 100 };
	struct rec_clock c = {0};
	uint64_t end = rec_now() + 300000000, n = 0, before, now, after;

	do {
		before = rec_now();
		now = rec_clock_now(&c);
		after = rec_now();
		if (now + SLACK < before || now > after + SLACK)
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
		if (++n % 4096 == 0)
			usleep(1000);
		if (odd && first && n % 10000 == 0)
			added += n % 20000 ? 1ull << 40 : 0ull - (1ull << 39);
		if (odd && first && n == 400000)
			factor = 4;
	} while (after < end);
	__atomic_add_fetch(&looks, (long)n, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	enum { THREADS = 3 };
	pthread_t thread[THREADS];
	long i;

	rec_clock_init();
	odd = argc > 1 && !strcmp(argv[1], "odd");
	even |= odd;
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, i ? NULL : &odd);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%ld times, rate %s, %ld wrong\n", looks, rate ? "known" : even ? "not known" : "not even", wrong);
	return 0;
}
