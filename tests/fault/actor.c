/* actor.c: a program that uses GPU memory and then misbehaves, as its arguments say, one step after another.
 *
 *   alloc:BYTES       allocate            sleep:MS      wait
 *   free              free the latest     print:TEXT    to standard output
 *   count:FILE        allocate and free for ever; FILE (mapped, so that nothing is lost) holds how many
 *                     calls have returned
 *   pace:US           let count rest so long after each round
 *   fork              a child does the remaining steps, then the parent ends with its status
 *   both              a child does the remaining steps, and so does the parent
 *   background        a child does the remaining steps, the parent ends at once with status 0
 *   exec              become this program again, with the remaining steps
 *   exit:N  _exit:N  abort  segv  kill:N       the ends
 *
 * Standard streams are not buffered. It finds the driver with dlopen, as the CUDA runtime does.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static CUresult (*alloc)(CUdeviceptr *, size_t), (*release)(CUdeviceptr);
static CUdeviceptr live[4096];
static size_t n_live;
static useconds_t pace;
static volatile int *volatile nowhere;

static void *function(void *driver, const char *name)
{
	void *f = dlsym(driver, name);

	if (!f) {
		fprintf(stderr, "actor: no %s\n", name);
		exit(70);
	}
	return f;
}

static void check(CUresult result, const char *call)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "actor: %s: error %d\n", call, (int)result);
	exit(71);
}

static void start_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*init)(unsigned), (*retain)(CUcontext *, CUdevice), (*set)(CUcontext);
	CUcontext context;

	if (alloc)
		return;
	if (!driver) {
		fprintf(stderr, "actor: %s\n", dlerror());
		exit(69);
	}
	*(void **)&init = function(driver, "cuInit");
	*(void **)&retain = function(driver, "cuDevicePrimaryCtxRetain");
	*(void **)&set = function(driver, "cuCtxSetCurrent");
	*(void **)&alloc = function(driver, "cuMemAlloc_v2");
	*(void **)&release = function(driver, "cuMemFree_v2");
	check(init(0), "cuInit");
	check(retain(&context, 0), "cuDevicePrimaryCtxRetain");
	check(set(context), "cuCtxSetCurrent");
}

__attribute__((noinline)) static void allocate(size_t bytes)
{
	start_driver();
	check(alloc(&live[n_live], bytes), "cuMemAlloc");
	n_live += n_live < 4095;
}

__attribute__((noinline)) static void count_calls(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);
	_Atomic unsigned long *calls;
	CUdeviceptr p;

	start_driver();
	if (fd < 0 || ftruncate(fd, 4096))
		exit(72);
	calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (calls == MAP_FAILED)
		exit(72);
	for (;;) {
		check(alloc(&p, 4096), "cuMemAlloc");
		atomic_fetch_add(calls, 1);
		check(release(p), "cuMemFree");
		atomic_fetch_add(calls, 1);
		if (pace)
			usleep(pace);
	}
}

static void fork_steps(const char *how)
{
	pid_t child = fork();
	int status;

	if (!child)
		return;
	if (!strcmp(how, "background"))
		_exit(0);
	if (strcmp(how, "fork") != 0)
		return;
	waitpid(child, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void become_again(char **rest)
{
	static char self[] = "/proc/self/exe";
	char **argv = rest - 1;

	argv[0] = self;
	execv(self, argv);
	exit(73);
}

static void end(const char *how, int number)
{
	if (!strcmp(how, "exit"))
		exit(number);
	if (!strcmp(how, "_exit"))
		_exit(number);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		*nowhere = 1;
	if (!strcmp(how, "kill"))
		kill(getpid(), number);
}

int main(int argc, char **argv)
{
	int i;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (i = 1; i < argc; i++) {
		char *value = strchr(argv[i], ':'), how[32] = "";
		long number = value ? strtol(value + 1, NULL, 0) : 0;

		snprintf(how, sizeof how, "%.*s", (int)(value ? value - argv[i] : 31), argv[i]);
		if (!strcmp(how, "alloc"))
			allocate((size_t)number);
		else if (!strcmp(how, "free"))
			check(release(live[--n_live]), "cuMemFree");
		else if (!strcmp(how, "sleep"))
			usleep((useconds_t)number * 1000);
		else if (!strcmp(how, "print"))
			puts(value + 1);
		else if (!strcmp(how, "pace"))
			pace = (useconds_t)number;
		else if (!strcmp(how, "count"))
			count_calls(value + 1);
		else if (!strcmp(how, "exec"))
			become_again(argv + i + 1);
		else if (strstr("fork both background", how))
			fork_steps(how);
		else
			end(how, (int)number);
	}
	return 0;
}
