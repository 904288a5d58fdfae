/* exits.c: calls by which a process ends or becomes another program, and dlclose.
 *
 * They go on to libc's at once; only the spool's state is noted. (A process killed by a signal says
 * nothing, and does not need to.)
 */
#include "record/rec.h"
#include "record/resolve.h"
#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))rec_next(#name))

REC_EXPORT __attribute__((noreturn)) void _exit(int status)
{
	rec_finish(SPOOL_FAST_EXIT);
	for (;;)
		syscall(SYS_exit_group, status);
}

REC_EXPORT __attribute__((noreturn)) void _Exit(int status)
{
	_exit(status);
}

REC_EXPORT int dlclose(void *handle)
{
	int r = NEXT(dlclose)(handle);

	rec_modules_stale();
	return r;
}

/* The new program image opens its own spool; this one's ends, unless exec comes back. */
static int came_back(int r)
{
	int saved = errno;

	rec_resume();
	errno = saved;
	return r;
}

REC_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	rec_finish(SPOOL_EXEC);
	return came_back(NEXT(execve)(path, argv, envp));
}

REC_EXPORT int execv(const char *path, char *const argv[])
{
	rec_finish(SPOOL_EXEC);
	return came_back(NEXT(execv)(path, argv));
}

REC_EXPORT int execvp(const char *file, char *const argv[])
{
	rec_finish(SPOOL_EXEC);
	return came_back(NEXT(execvp)(file, argv));
}

REC_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	rec_finish(SPOOL_EXEC);
	return came_back(NEXT(execvpe)(file, argv, envp));
}
