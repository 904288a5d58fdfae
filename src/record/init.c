/* init.c: when the recorder wakes, what makes it stop, and how a process's recording ends. */
#include "record/carry.h"
#include "record/phases.h"
#include "record/rec.h"
#include "record/resolve.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct rec_page first_page; /* until the constructor has run */
struct rec_page *rec_page = &first_page;

static bool ready;	  /* the constructor's work is done */
static pid_t recorded;	  /* the process that rec_head belongs to */
static uint64_t began_ns; /* when the process started (as far as we are concerned) */
static bool switched_off, ever_on;
static struct rec_lock waking;
static struct stat stderr_at_start;
static int filter_at_start; /* of system calls: a container's, say */

/* --- small things --------------------------------------------------------------------------------- */
/* The system's clock, which threads agree on to the order in which one hands something to another. The processor's
 * count alone would cost half, but is read before what precedes it. */
uint64_t rec_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int rec_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void rec_cat(char *to, size_t size, const char *s)
{
	size_t n = strnlen(to, size - 1);

	while (n + 1 < size && *s)
		to[n++] = *s++;
	to[n] = '\0';
}

void rec_cat_number(char *to, size_t size, uint64_t n)
{
	char digits[24];
	size_t i = sizeof digits - 1;

	digits[i] = '\0';
	do
		digits[--i] = (char)('0' + n % 10);
	while (n /= 10);
	rec_cat(to, size, digits + i);
}

void *rec_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* What is not allowed then may be punished by a signal. That this may be asked is a guess, but a good one. */
bool rec_confined(void)
{
	return prctl(PR_GET_SECCOMP) > filter_at_start;
}

/* --- trouble ---------------------------------------------------------------------------------------- */
/* Descriptor 2, unless the program has made something else of it meanwhile. */
static void tell(const char *line)
{
	struct stat now;

	if (!rec_confined() && fstat(2, &now) == 0 && now.st_dev == stderr_at_start.st_dev && now.st_ino == stderr_at_start.st_ino)
		syscall(SYS_write, 2, line, strlen(line));
}

void rec_trouble(int error, const char *what)
{
	const char *why = error ? strerrordesc_np(error) : NULL;
	char line[400] = "gpumemsnap: recording stopped in process ";
	struct spool_header *h = rec_head;

	if (__atomic_exchange_n(&rec_page->state, REC_OUT, __ATOMIC_ACQ_REL) == REC_OUT)
		return;
	h->trouble_errno = (uint32_t)error;
	rec_cat(h->trouble, sizeof h->trouble, what);
	if (why) {
		rec_cat(h->trouble, sizeof h->trouble, ": ");
		rec_cat(h->trouble, sizeof h->trouble, why);
	}
	rec_cat_number(line, sizeof line, (uint64_t)getpid());
	rec_cat(line, sizeof line, ": ");
	rec_cat(line, sizeof line, h->trouble);
	rec_cat(line, sizeof line, "\n");
	tell(line);
}

/* --- waking ------------------------------------------------------------------------------------------- */
static void set_state(enum rec_state state)
{
	__atomic_store_n(&rec_page->state, state, __ATOMIC_RELEASE);
}

static void forget_parent(void)
{
	rec_spool_forget();
	rec_threads_forked();
	rec_tables_forked();
	rec_stacks_forked();
	rec_modules_forked();
	rec_contexts_forked();
	rec_vmm_forked();
	rec_share_forked();
	rec_graphs_forked();
	began_ns = rec_now();
}

static void open_spool(void)
{
	pid_t pid = getpid();

	if (recorded && recorded != pid)
		forget_parent();
	recorded = pid;
	if (!rec_options.dir[0]) {
		set_state(REC_OUT);
		return;
	}
	if (!rec_spool_open())
		return;
	set_state(rec_options.start_after || rec_options.duration || switched_off ? REC_WINDOW : REC_ON);
}

static enum rec_mode in_window(void)
{
	const struct rec_options *o = &rec_options;
	uint64_t t = o->start_after || o->duration ? rec_now() - began_ns : 0;

	if (t < o->start_after)
		return REC_NOTHING;
	if (switched_off || (o->duration && t - o->start_after >= o->duration))
		return ever_on ? REC_FREES : REC_NOTHING;
	ever_on = true;
	if (!o->duration)
		set_state(REC_ON);
	return REC_ALL;
}

static void prepare(void);

enum rec_mode rec_wake(void)
{
	int saved = errno;
	enum rec_mode mode;

	if (__atomic_load_n(&rec_page->state, __ATOMIC_ACQUIRE) == REC_ASLEEP) {
		if (waking.owner == (uint32_t)syscall(SYS_gettid))
			return REC_NOTHING; /* a signal handler, or what prepare() calls */
		rec_lock(&waking, NULL);
		prepare();
		if (__atomic_load_n(&rec_page->state, __ATOMIC_ACQUIRE) == REC_ASLEEP)
			open_spool();
		rec_unlock(&waking);
	}
	switch (__atomic_load_n(&rec_page->state, __ATOMIC_ACQUIRE)) {
	case REC_ON:
		mode = REC_ALL;
		break;
	case REC_WINDOW:
		mode = in_window();
		break;
	default:
		mode = REC_NOTHING;
	}
	errno = saved;
	return mode;
}

void rec_switch(bool on)
{
	if (__atomic_load_n(&rec_page->state, __ATOMIC_ACQUIRE) == REC_ON)
		ever_on = true;
	switched_off = !on;
	if (rec_running())
		set_state(REC_WINDOW);
}

/* --- start and end -------------------------------------------------------------------------------------- */
static void forked_unseen(void)
{
	set_state(REC_ASLEEP);
	waking.owner = 0;
}

static void prepare(void)
{
	struct rec_page *page;

	if (ready)
		return;
	ready = true;
	began_ns = rec_now();
	rec_options_read();
	rec_carry_init();
	switched_off = rec_options.off;
	fstat(2, &stderr_at_start);
	filter_at_start = prctl(PR_GET_SECCOMP);
	rec_resolve_init();
	if (!rec_options.dir[0])
		return;
	page = rec_memory((size_t)sysconf(_SC_PAGESIZE));
	if (page && madvise(page, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK) == 0)
		rec_page = page;
	/* The wiped page misses a lock that another thread held at the fork; and not every kernel wipes. */
	pthread_atfork(NULL, NULL, forked_unseen);
	rec_threads_init();
	rec_stacks_init();
	rec_trigger_init();
	at_quick_exit(rec_quick_exit);
}

void rec_quick_exit(void)
{
	rec_finish(SPOOL_FAST_EXIT);
}

void rec_finish(enum spool_state how)
{
	struct spool_header *h = rec_head;

	rec_term_due();
	/* In a vfork's child, memory is the parent's, which goes on. */
	if (!rec_running() || getpid() != recorded)
		return;
	if (!rec_confined())
		rec_threads_rename();
	h->end_ns = rec_now();
	__atomic_store_n(&h->state, how, __ATOMIC_RELEASE);
}

void rec_resume(void)
{
	if (!rec_running() || getpid() != recorded)
		return;
	__atomic_store_n(&rec_head->state, SPOOL_RUNNING, __ATOMIC_RELEASE);
	rec_head->end_ns = 0;
}

__attribute__((constructor)) static void loaded(void)
{
	int saved = errno;

	prepare();
	if (!rec_options.dir[0])
		set_state(REC_OUT);
	else if (rec_options.parent && rec_options.parent == getppid()) {
		rec_lock(&waking, NULL);
		if (__atomic_load_n(&rec_page->state, __ATOMIC_ACQUIRE) == REC_ASLEEP)
			open_spool();
		rec_unlock(&waking);
	}
	errno = saved;
}

__attribute__((destructor)) static void unloaded(void)
{
	int saved = errno;

	rec_finish(SPOOL_EXITED);
	errno = saved;
}
