/* child.c: see child.h. */
#include "cli/child.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void held_signals(sigset_t *set)
{
	static const int held[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
	size_t i;

	sigemptyset(set);
	for (i = 0; i < sizeof held / sizeof *held; i++)
		sigaddset(set, held[i]);
}

/* In the child: become the program, or write errno to the pipe. */
static void become(const char *path, char **argv, const struct child_variable *env, size_t n_env, int pipe)
{
	int error;
	size_t i, n;

	for (i = 0; i < n_env; i++)
		setenv(env[i].name, env[i].value, 1);
	execv(path, argv);
	if (errno == ENOEXEC) { /* a script without #!, which shells run too */
		char **with_shell;

		for (n = 0; argv[n]; n++)
			;
		with_shell = mem_zalloc(n + 2, sizeof *with_shell);
		with_shell[0] = (char *)"sh";
		with_shell[1] = (char *)path;
		memcpy(with_shell + 2, argv + 1, n * sizeof *argv);
		execv("/bin/sh", with_shell);
	}
	error = errno;
	if (write(pipe, &error, sizeof error) < 0)
		_exit(126);
	_exit(127);
}

int child_start(struct child *c, const char *path, char **argv, const struct child_variable *env, size_t n_env,
		struct err *e)
{
	int ends[2], error;
	sigset_t held;
	ssize_t got;

	*c = (struct child){0};
	sigemptyset(&c->passed_on);
	if (pipe2(ends, O_CLOEXEC))
		return err_sys(e, NULL, "pipe");
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* to learn how processes end whose own parents are gone */
	held_signals(&held);
	sigprocmask(SIG_BLOCK, &held, &c->old_mask);
	c->pid = fork();
	if (c->pid == 0) {
		sigprocmask(SIG_SETMASK, &c->old_mask, NULL);
		become(path, argv, env, n_env, ends[1]);
	}
	error = errno;
	close(ends[1]);
	if (c->pid < 0) {
		close(ends[0]);
		child_let_signals(c);
		errno = error;
		return err_sys(e, NULL, "fork");
	}
	do
		got = read(ends[0], &error, sizeof error);
	while (got < 0 && errno == EINTR);
	close(ends[0]);
	if (got != sizeof error)
		return 0;
	waitpid(c->pid, NULL, 0);
	child_let_signals(c);
	return err_set(e, ERR_NOT_RUNNABLE, NULL, -1, "%s: %s", argv[0], strerror(error));
}

static void reap(struct child *c)
{
	struct child_end end;

	while ((end.pid = waitpid(-1, &end.status, WNOHANG)) > 0)
		*VEC_PUSH(c->ended, c->n_ended, c->cap_ended) = end;
}

int child_pause(struct child *c, int ms)
{
	struct timespec limit = {ms / 1000, ms % 1000 * 1000000L};
	siginfo_t info;
	sigset_t held;
	int sig, status;
	bool to_dump;

	held_signals(&held);
	sig = sigtimedwait(&held, &info, &limit);
	reap(c);
	if (sig <= 0 || sig == SIGCHLD)
		return 0;
	to_dump = sig == SIGUSR1 || sig == SIGUSR2;
	if (!child_ended(c, c->pid, &status) && info.si_code <= 0) {
		if (!to_dump && c->before_end) {
			c->before_end(c->ctx);
			c->before_end = NULL; /* who asks again is in a hurry */
		}
		kill(c->pid, sig);
		sigaddset(&c->passed_on, sig);
	}
	return to_dump ? 0 : sig;
}

bool child_ended(const struct child *c, pid_t pid, int *status)
{
	size_t i;

	for (i = c->n_ended; i-- > 0;)
		if (c->ended[i].pid == pid) {
			*status = c->ended[i].status;
			return true;
		}
	return false;
}

bool child_is_running(pid_t pid)
{
	char path[64], line[512], *state;
	bool running = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(line, sizeof line, f) && (state = strrchr(line, ')')))
		running = state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
	fclose(f);
	return running;
}

bool child_left_some(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void child_let_signals(struct child *c)
{
	static const int keys[] = {SIGINT, SIGQUIT};
	sigset_t held, mask;
	struct timespec none = {0, 0};
	size_t i;

	held_signals(&held);
	while (sigtimedwait(&held, NULL, &none) > 0) /* what came in the meantime was meant for the child */
		;
	for (i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!sigismember(&c->passed_on, keys[i])) /* timeout(1) sends each twice: to us, and to all */
			sigdelset(&held, keys[i]);
	sigorset(&mask, &c->old_mask, &held);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

void child_done(struct child *c)
{
	free(c->ended);
	*c = (struct child){0};
}
