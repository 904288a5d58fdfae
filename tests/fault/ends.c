/* ends.c HOW: 20 allocations, 10 of them given back, and then the process ends in a certain way. */
#include "gpu.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void *exit_here(void *arg)
{
	(void)arg;
	exit(5);
	return NULL;
}

static void *wait_here(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t t;

	if (!strcmp(how, "nothing"))
		return 6;
	if (!strcmp(how, "closefds")) {
		int fd;

		for (fd = 3; fd < 1024; fd++)
			close(fd);
	}
	gpu_start();
	if (!strcmp(how, "chdir") && (chdir("/") || setenv("GPUMEMSNAP_SPOOL", "/nowhere", 1)))
		return 93;
	gpu_work(20);
	printf("worked\n");
	fflush(stdout);
	if (!strcmp(how, "closefds")) {
		int fd;

		for (fd = 0; fd < 1024; fd++)
			close(fd);
		gpu_work(5000); /* the spool grows now */
		return open("/dev/null", O_RDONLY) == 0 ? 7 : 94; /* no descriptor of the recorder's is left */
	}
	if (!strcmp(how, "_exit"))
		_exit(3);
	if (!strcmp(how, "_Exit"))
		_Exit(3);
	if (!strcmp(how, "quick_exit"))
		quick_exit(4);
	if (!strcmp(how, "exit"))
		exit(2);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "thread")) {
		pthread_create(&t, NULL, exit_here, NULL);
		pause();
	}
	if (!strcmp(how, "main_gone")) {
		pthread_create(&t, NULL, exit_here, NULL);
		pthread_exit(NULL);
	}
	if (!strcmp(how, "waiting_threads")) {
		pthread_create(&t, NULL, wait_here, NULL);
		return 8;
	}
	if (!strcmp(how, "exec"))
		execl(argv[0], argv[0], "nothing", (char *)NULL);
	if (!strcmp(how, "exec_fails")) {
		execl("/nowhere/nothing", "x", (char *)NULL);
		gpu_work(20);
	}
	return 0;
}
