/* walk.c: the recorder's walk of the stack against libc's own, through all kinds of frames: with and
 * without frame pointers, alloca, arrays of variable length, realigned stacks, callbacks through libc,
 * threads, deep and random recursion. A signal handler's frames are left to libunwind. */
#include "record/cfi.c"
#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH 400

static volatile long walks, differ, left, remembered, wrongly;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int sink;

struct memory {
	struct rec_registers start;
	struct rec_step step[DEPTH];
	int n;
};
static __thread struct memory last[16];

/* A walk that is still the same must be the walk there is now. */
static void remember(struct rec_registers r, const struct rec_step *s, int n)
{
	struct memory *m = &last[(r.pc * 0x9e3779b97f4a7c15ull) >> 60];

	if (m->n && m->start.pc == r.pc && m->start.sp == r.sp && m->start.bp == r.bp && rec_walk_same(m->step, m->n)) {
		remembered++;
		if (m->n != n || memcmp(m->step, s, (size_t)n * sizeof *s) != 0)
			wrongly++;
	}
	m->start = r;
	m->n = n;
	memcpy(m->step, s, (size_t)n * sizeof *s);
}

__attribute__((noinline)) static void look(void)
{
	void **frame = __builtin_frame_address(0), *truth[DEPTH];
	struct rec_registers r = {(uintptr_t)__builtin_return_address(0), (uintptr_t)frame + 16, (uintptr_t)frame[0]};
	struct rec_step s[DEPTH];
	bool ended, same;
	int n = rec_cfi_walk(r, s, DEPTH - 8, &ended), t = backtrace(truth, DEPTH), i;

	/* truth[0] is in here, truth[1] our return address, truth[i + 2] the i-th step's. */
	pthread_mutex_lock(&lock);
	walks++;
	if (n < 0) {
		left++;
	} else {
		same = ended && (n + 2 == t || (n + 3 == t && !truth[t - 1])) && truth[1] == (void *)(uintptr_t)r.pc;
		for (i = 0; same && i < n; i++)
			same = truth[i + 2] == (void *)(uintptr_t)s[i].pc;
		differ = differ + !same;
		remember(r, s, n);
	}
	pthread_mutex_unlock(&lock);
}

#define SHAPE(name, attributes) __attribute__((noinline attributes)) static void name(unsigned n)

static void go(unsigned n);

SHAPE(plain, )
{
	go(n);
	sink++;
}

SHAPE(unoptimized, )
{
	volatile unsigned copy = n;

	go(copy);
	sink++;
}

SHAPE(with_alloca, )
{
	char *p = alloca(n % 700 + 1);

	p[0] = (char)n;
	go(n);
	sink += p[0];
}

SHAPE(with_array, )
{
	int v[n % 50 + 1];

	v[n % 50] = (int)n;
	go(n);
	sink += v[n % 50];
}

SHAPE(aligned, )
{
	int v[8] __attribute__((aligned(64)));

	v[n % 8] = (int)n;
	go(n);
	sink += v[n % 8];
}

SHAPE(aligned_alloca, )
{
	int v[8] __attribute__((aligned(32)));
	char *p = alloca(n % 300 + 1);

	p[0] = (char)n;
	v[n % 8] = (int)n;
	go(n);
	sink += v[n % 8] + p[0];
}

SHAPE(many_registers, )
{
	unsigned a = n * 3, b = n ^ 5, c = n + 7, d = n << 2, e = n >> 1, f = n * n;

	go(n);
	sink += (int)(a + b + c + d + e + f);
	go(n ? n - 1 : 0);
	sink += (int)(a * b ^ c * d ^ e * f);
}

static int compare(const void *a, const void *b)
{
	go(*(const unsigned *)a);
	return *(const int *)a - *(const int *)b;
}

SHAPE(through_qsort, )
{
	unsigned v[2] = {n, n};

	qsort(v, 2, sizeof *v, compare);
	sink++;
}

static void many_arguments(int a, int b, int c, int d, int e, int f, int g, int h, unsigned n)
{
	go(n);
	sink += a + b + c + d + e + f + g + h;
}

SHAPE(with_arguments, )
{
	many_arguments(1, 2, 3, 4, 5, 6, 7, 8, n);
	sink++;
}

static void (*const shapes[])(unsigned) = {plain,   unoptimized,	 with_alloca,   with_array,	aligned,
					   aligned_alloca, many_registers, through_qsort, with_arguments};

static __thread unsigned state = 1;
static __thread int depth;

/* Down by a random shape, or look from here. */
static void go(unsigned n)
{
	state = state * 1664525u + 1013904223u;
	if (!n || depth > 60) {
		look();
		return;
	}
	depth++;
	shapes[(state >> 16) % (sizeof shapes / sizeof *shapes)](n - 1);
	depth--;
}

static void *in_thread(void *seed)
{
	int i;

	state = (unsigned)(uintptr_t)seed;
	for (i = 0; i < 150; i++)
		go((unsigned)i % 14);
	for (i = 0; i < 100; i++) /* the same again and again: remembered walks */
		plain(0);
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
	look();
}

int main(void)
{
	pthread_t t[2];
	uintptr_t i;

	in_thread((void *)7);
	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, in_thread, (void *)(i + 9));
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%ld walks, %ld left to libunwind, %ld differ, %ld of %ld remembered wrongly\n", walks, left, differ,
	       wrongly, remembered);
	left = 0;
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	return differ || wrongly || remembered < 100 || left != 1;
}
