/* forks.c HOW: the parent makes 20 allocations, a child in some way makes 6 or none. */
#include "gpu.h"
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

static int child_status(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int start_child(const char *how, const char *self)
{
	char *args[] = {(char *)self, "child", NULL};
	pid_t pid = 0;

	if (!strcmp(how, "fork") || !strcmp(how, "fork_unused") || !strcmp(how, "fork_exit")) {
		pid = fork();
		if (!pid) {
			CUdeviceptr p;
			int i;

			for (i = 0; !strcmp(how, "fork") && i < 6; i++)
				gpu_alloc(&p, 1000);
			if (!strcmp(how, "fork_exit"))
				exit(0);
			_exit(0);
		}
	} else if (!strcmp(how, "raw_fork")) { /* past every atfork handler */
		pid = (pid_t)syscall(SYS_fork);
		if (!pid) {
			gpu_work(6);
			_exit(0);
		}
	} else if (!strcmp(how, "fork_exec")) {
		pid = fork();
		if (!pid) {
			execv(self, args);
			_exit(98);
		}
	} else if (!strcmp(how, "vfork_exec")) {
		pid = vfork();
		if (!pid) {
			execv(self, args);
			_exit(98);
		}
	} else if (!strcmp(how, "vfork_exit")) {
		pid = vfork();
		if (!pid)
			_exit(0);
	} else if (!strcmp(how, "spawn")) {
		posix_spawn(&pid, self, NULL, NULL, args, environ);
	} else if (!strcmp(how, "system")) {
		char line[512];

		snprintf(line, sizeof line, "%s child", self);
		return system(line);
	}
	return child_status(pid);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "fork";
	int status;

	if (!strcmp(how, "child")) {
		gpu_start();
		gpu_work(6);
		return 0;
	}
	gpu_start();
	gpu_work(10);
	if (!strcmp(how, "daemon")) {
		if (fork())
			_exit(0);
		setsid();
		gpu_work(6);
		return 0;
	}
	status = start_child(how, argv[0]);
	gpu_work(10);
	return status;
}
