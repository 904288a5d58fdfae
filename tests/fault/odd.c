/* odd.c HOW: a program that allocates, does something a recorder might stumble over, and allocates on. Prints how many
 * allocations there were (every second one is given back), where it ends in order.
 *
 * Each way is a function; what it returns is the program's status.
 */
#include "gpu.h"
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#define MANY 5000 /* so many that the spool grows */

static long made;
static CUresult (*set_current)(CUcontext);

static void work(int n)
{
	gpu_work(n);
	__atomic_fetch_add(&made, n, __ATOMIC_RELAXED);
}

static int told(int status)
{
	printf("%ld\n", __atomic_load_n(&made, __ATOMIC_RELAXED));
	fflush(stdout);
	return status;
}

static void thread(void *(*body)(void *), void *arg)
{
	pthread_attr_t detached;
	pthread_t t;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&t, arg ? NULL : &detached, body, arg))
		exit(95);
	if (arg)
		pthread_join(t, NULL);
}

/* --- stacks --------------------------------------------------------------------------------------------- */
static ucontext_t main_place, place[3];
static char room[3][65536];

static void coroutine(int k)
{
	int i;

	for (i = 0; i < 4; i++) {
		work(10);
		swapcontext(&place[k], &place[(k + 1) % 3]);
	}
}

static int coroutines(void)
{
	int k;

	for (k = 0; k < 3; k++) {
		getcontext(&place[k]);
		place[k].uc_stack.ss_sp = room[k];
		place[k].uc_stack.ss_size = sizeof room[k];
		place[k].uc_link = &main_place;
		makecontext(&place[k], (void (*)(void))coroutine, 1, k);
	}
	swapcontext(&main_place, &place[0]);
	return told(0);
}

static sigjmp_buf back;
static volatile int jumps;

static void on_altstack(int sig)
{
	(void)sig;
	work(10);
	if (jumps)
		siglongjmp(back, 1);
}

static int altstack(void)
{
	stack_t s = {.ss_sp = malloc(1 << 17), .ss_size = 1 << 17};
	struct sigaction act = {.sa_handler = on_altstack, .sa_flags = SA_ONSTACK};
	volatile int i;

	sigaltstack(&s, NULL);
	sigaction(SIGUSR1, &act, NULL);
	for (i = 0; i < 6; i++) {
		jumps = i >= 3;
		if (!sigsetjmp(back, 1))
			raise(SIGUSR1);
		work(10);
	}
	return told(0);
}

/* --- limits ----------------------------------------------------------------------------------------------- */
static int with_descriptors(rlim_t n)
{
	struct rlimit limit = {n, n};

	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 77;
	work(MANY);
	return told(open("/dev/null", O_RDONLY) == -1 ? 0 : 3);
}

static int descriptors(void)
{
	return with_descriptors(0);
}

static int few_descriptors(void)
{
	return with_descriptors(3);
}

static int address_space(void)
{
	struct rlimit tight = {1 << 20, RLIM_INFINITY};

	if (setrlimit(RLIMIT_AS, &tight)) /* there is more than that already */
		return 77;
	work(MANY);
	return told(0);
}

static int close_all(void)
{
	if (close_range(3, ~0U, 0))
		return 77;
	work(MANY);
	return told(open("/dev/null", O_RDONLY) == 3 ? 0 : 3);
}

static int undumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	work(MANY);
	return told(0);
}

/* A sandbox in which files are neither opened nor extended, on pain of death. A child of it is in there, too. */
static int sandboxed(void)
{
#define FORBID(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
	struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
				      FORBID(openat),
				      FORBID(fallocate),
				      FORBID(process_vm_readv),
				      FORBID(pipe2),
				      FORBID(prlimit64),
				      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
	int status;
	pid_t pid;

	work(10);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return 77;
	work(MANY);
	pid = fork();
	if (!pid) {
		CUdeviceptr p;

		gpu_alloc(&p, 1000);
		_exit(7);
	}
	return told(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 3);
}

/* --- processes -------------------------------------------------------------------------------------------- */
static volatile int stop;

static void *allocate(void *arg)
{
	(void)arg;
	gpu_must(set_current(gpu_context), "cuCtxSetCurrent");
	for (; !stop; usleep(20))
		work(2);
	stop = 2;
	return NULL;
}

static int vforks(void)
{
	char *const argv[] = {(char *)"true", NULL};
	volatile int i;
	int status;
	pid_t pid;

	thread(allocate, NULL);
	for (i = 0; i < 20; i++) {
		pid = vfork();
		if (!pid) {
			execv("/bin/true", argv);
			_exit(98);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return 4;
	}
	for (stop = 1; stop != 2;)
		usleep(100);
	return told(0);
}

static int execs(void)
{
	const char *left = getenv("LEFT");
	int n = left ? atoi(left) : 8;
	char next[16];

	work(10);
	if (!n)
		return told(0);
	snprintf(next, sizeof next, "%d", n - 1);
	setenv("LEFT", next, 1);
	execl("/proc/self/exe", "odd", "execs", (char *)NULL);
	return 98;
}

/* --- ends ------------------------------------------------------------------------------------------------- */
static int main_gone(void)
{
	int i;

	for (i = 0; i < 4; i++)
		thread(allocate, NULL);
	while (__atomic_load_n(&made, __ATOMIC_RELAXED) < 1000)
		usleep(100);
	return 5; /* they still allocate */
}

static void at_end(void)
{
	work(10);
}

static int quick(void)
{
	at_quick_exit(at_end);
	work(10);
	quick_exit(4);
}

static void at_end_abort(void)
{
	work(10);
	abort();
}

static int abort_late(void)
{
	atexit(at_end_abort);
	work(10);
	return 0;
}

static int close_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	work(10);
	if (!lib || dlclose(lib) || dlclose(lib))
		return 3;
	gpu_start();
	work(10);
	return told(0);
}

/* --- signals ---------------------------------------------------------------------------------------------- */
static volatile sig_atomic_t caught;

static void on_any(int sig)
{
	caught = sig;
}

static void on_fault(int sig)
{
	static const char text[] = "fault\n";

	work(10);
	if (write(1, text, sizeof text - 1) < 0)
		_exit(97);
	_exit(sig);
}

static int own_handlers(void)
{
	static const int sigs[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPIPE, SIGALRM};
	size_t i;

	for (i = 0; i < sizeof sigs / sizeof *sigs; i++)
		signal(sigs[i], on_any);
	signal(SIGSEGV, on_fault);
	for (i = 0; i < sizeof sigs / sizeof *sigs; i++) {
		work(10);
		raise(sigs[i]);
		if (caught != sigs[i])
			return 3;
	}
	*(volatile int *)(uintptr_t)(i - sizeof sigs / sizeof *sigs) = 1;
	return 4;
}

static void *blocked_too(void *arg)
{
	gpu_must(set_current(gpu_context), "cuCtxSetCurrent");
	work(MANY);
	return arg;
}

static int all_blocked(void)
{
	sigset_t all, pending;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	thread(blocked_too, &all);
	kill(getpid(), SIGTERM);
	work(MANY);
	sigpending(&pending);
	return told(sigismember(&pending, SIGTERM) && !sigismember(&pending, SIGUSR1) ? 0 : 3);
}

/* As the CUDA runtime does, which gets its context only then. */
static int no_context(void)
{
	CUdeviceptr p;

	gpu_must(set_current(NULL), "cuCtxSetCurrent");
	if (gpu_alloc(&p, 4096) != CUDA_ERROR_INVALID_CONTEXT)
		return 4;
	gpu_must(set_current(gpu_context), "cuCtxSetCurrent");
	work(20);
	return told(0);
}

/* Until a signal ends it. */
static int wait_here(void)
{
	work(20);
	told(0);
	for (;;)
		pause();
	return 4;
}

static int wait_and_end(void)
{
	signal(SIGINT, on_any);
	signal(SIGTERM, on_any);
	signal(SIGHUP, on_any);
	signal(SIGCONT, on_any);
	work(20);
	told(0);
	while (!caught)
		usleep(1000);
	work(20);
	return 9;
}

#define WAY(name) {#name, name}
static const struct way {
	const char *name;
	int (*go)(void);
} ways[] = {WAY(coroutines), WAY(altstack), WAY(descriptors), WAY(few_descriptors), WAY(address_space), WAY(close_all),
	    WAY(undumpable), WAY(sandboxed), WAY(vforks), WAY(execs), WAY(main_gone), WAY(quick), WAY(abort_late), WAY(close_driver),
	    WAY(own_handlers), WAY(all_blocked), WAY(no_context), WAY(wait_here), WAY(wait_and_end)};

int main(int argc, char **argv)
{
	size_t i;

	set_current = GPU(gpu_start(), cuCtxSetCurrent);
	for (i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].go();
	return 2;
}
