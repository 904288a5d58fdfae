/* thread.c: the recorder's state of each thread, its two lanes, and the locks.
 *
 * A thread's state lives in memory of our own that is never given back, only used again by a later
 * thread: a signal handler or a late destructor may still look at it.
 */
#include "record/rec.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct rec_thread *rec_self;
static __thread bool starting; /* the state is being made: a handler that comes now must do without */
static struct rec_thread *all, *unused;
static struct rec_lock list_lock;
static uint32_t count; /* indexes given out */
static pthread_key_t at_exit_key;

/* --- locks ---------------------------------------------------------------------------------- */
static uint32_t me(const struct rec_lane *lane)
{
	return lane ? (uint32_t)lane->thread->tid : (uint32_t)syscall(SYS_gettid);
}

bool rec_lock(struct rec_lock *lock, const struct rec_lane *lane)
{
	uint32_t mine = me(lane), spins = 0, seen = 0;

	while (!__atomic_compare_exchange_n(&lock->owner, &seen, mine, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (lane && lane->nested)
			return false;
		if (seen == mine) /* left behind by a handler that jumped out of the recorder */
			return true;
		if (++spins > 100)
			sched_yield();
		seen = 0;
	}
	return true;
}

void rec_unlock(struct rec_lock *lock)
{
	__atomic_store_n(&lock->owner, 0, __ATOMIC_RELEASE);
}

/* --- coming and going of threads ------------------------------------------------------------- */
static void write_thread(struct rec_lane *lane)
{
	struct rec_thread *t = lane->thread;
	struct spool_thread record = {.w = {.kind = SPOOL_THREAD, .device = REC_NO_DEVICE},
				      .index = t->index,
				      .tid = (uint32_t)t->tid};

	memcpy(record.name, t->name, sizeof record.name);
	if (!rec_tables_lock(lane))
		return;
	rec_table_put(lane, &record, sizeof record, NULL, 0);
	rec_tables_unlock();
}

/* The thread ends. Its chunk is free for another; so is its state, once it is off the thread. */
static void thread_gone(void *p)
{
	struct rec_thread *t = p;
	int saved = errno;

	if (t != rec_self)
		return;
	if (!rec_running()) /* also: a fork's child, whose t is the parent's */
		return;
	if (prctl(PR_GET_NAME, t->name) == 0)
		write_thread(&t->lane[0]);
	starting = true;
	rec_self = NULL;
	rec_lock(&list_lock, &t->lane[0]);
	rec_release_chunk(&t->lane[0]);
	rec_release_chunk(&t->lane[1]);
	t->next_free = unused;
	unused = t;
	rec_unlock(&list_lock);
	starting = false;
	errno = saved;
}

void rec_threads_init(void)
{
	/* An early key is one of the first 32, for which pthread_setspecific needs no memory. */
	pthread_key_create(&at_exit_key, thread_gone);
}

/* A fork's child: only the forking thread is there, and nothing of the parent's is ours. */
void rec_threads_forked(void)
{
	struct rec_thread *t;

	for (t = all; t; t = t->next) {
		t->lane[0].at = t->lane[0].end = t->lane[1].at = t->lane[1].end = NULL;
		t->lane[0].chunk = t->lane[1].chunk = NULL;
		t->busy = 0;
	}
	unused = all;
	for (t = all; t; t = t->next)
		t->next_free = t->next;
	rec_self = NULL;
	starting = false;
	count = 0;
	list_lock.owner = 0;
}

static struct rec_thread *thread_state(void)
{
	struct rec_thread *t = NULL;

	rec_lock(&list_lock, NULL);
	if (unused) {
		t = unused;
		unused = t->next_free;
	}
	rec_unlock(&list_lock);
	if (!t) {
		t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (t == MAP_FAILED)
			return NULL;
		do
			t->next = __atomic_load_n(&all, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(&all, &t->next, t, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	}
	t->lane[0].thread = t->lane[1].thread = t;
	t->lane[1].nested = true;
	t->lane[0].last_ns = t->lane[1].last_ns = 0;
	t->error = &errno;
	t->busy = 0;
	t->tid = (pid_t)syscall(SYS_gettid);
	t->index = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	if (t->index > SPOOL_MANY)
		t->index = SPOOL_MANY;
	return t;
}

void rec_thread_context_stale(void)
{
	struct rec_thread *t = rec_self;
	int i;

	if (!t)
		return;
	t->ctx_generation = 0;
	for (i = 0; i < REC_PLACES; i++)
		t->lane[0].place[i].generation = t->lane[1].place[i].generation = 0;
}

static struct rec_thread *thread_new(void)
{
	struct rec_thread *t;

	if (starting)
		return NULL;
	starting = true;
	t = thread_state();
	if (t) {
		prctl(PR_GET_NAME, t->name);
		write_thread(&t->lane[0]);
		pthread_setspecific(at_exit_key, t);
		rec_self = t;
		rec_thread_context_stale();
	}
	starting = false;
	return t;
}

/* --- begin and end ----------------------------------------------------------------------------- */
static bool on_signal_stack(void)
{
	stack_t ss;

	return sigaltstack(NULL, &ss) == 0 && (ss.ss_flags & SS_ONSTACK);
}

/* Lanes whose call does not lie above ours on the same stack will not go on: a signal handler jumped
 * out of the recorder. What they were writing stays unfinished in its chunk. */
static void abandon_dead_lanes(struct rec_thread *t, const void *frame)
{
	if (on_signal_stack())
		return;
	while (t->busy && (uintptr_t)t->lane[t->busy - 1].frame <= (uintptr_t)frame) {
		struct rec_lane *dead = &t->lane[t->busy - 1];

		rec_abandon_chunk(dead);
		dead->unwinding = false;
		t->busy--;
	}
}

/* A new thread, or a signal handler that interrupted the recorder. */
struct rec_lane *rec_begin_slow(const void *frame, int *saved_errno)
{
	struct rec_thread *t = rec_self;
	struct rec_lane *lane;

	*saved_errno = errno;
	if (!t && !(t = thread_new())) {
		rec_dropped();
		return NULL;
	}
	abandon_dead_lanes(t, frame);
	if (t->busy > 1) {
		rec_dropped();
		errno = *saved_errno;
		return NULL;
	}
	lane = &t->lane[t->busy];
	lane->frame = frame;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->busy++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return lane;
}

/* --- names ---------------------------------------------------------------------------------------- */
static bool name_of(pid_t tid, char *name)
{
	char path[48];
	ssize_t got = -1;
	int fd;

	path[0] = '\0';
	rec_cat(path, sizeof path, "/proc/self/task/");
	rec_cat_number(path, sizeof path, (uint64_t)tid);
	rec_cat(path, sizeof path, "/comm");
	fd = rec_open(path, O_RDONLY);
	if (fd < 0)
		return false;
	got = syscall(SYS_read, fd, name, 16);
	syscall(SYS_close, fd);
	if (got <= 0)
		return false;
	name[got - (name[got - 1] == '\n')] = '\0';
	return true;
}

void rec_threads_rename(void)
{
	struct rec_thread *t;
	char name[17];

	for (t = __atomic_load_n(&all, __ATOMIC_ACQUIRE); t; t = t->next) {
		if (!name_of(t->tid, name) || !strncmp(name, t->name, sizeof t->name))
			continue;
		memcpy(t->name, name, sizeof t->name);
		if (rec_self)
			write_thread(&t->lane[0]);
	}
}
