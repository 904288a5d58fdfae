/* exits.c: calls by which a process ends, becomes another program, starts one or leaves for where the spool is
 * out of reach; and dlclose.
 *
 * They go on to libc's; the spool's state is noted first. (A process killed by a signal says nothing,
 * and does not need to.) A program that is started gets what it needs to be recorded (carry.c).
 */
#include "record/carry.h"
#include "record/rec.h"
#include "record/resolve.h"
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))rec_next(#name))

/* --- the end ------------------------------------------------------------------------------------------ */
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

/* The room is the caller's stack: a child of vfork has nothing else of its own. */
#define MENDED(envp)                                                                                         \
	({                                                                                                   \
		struct rec_carry carry_;                                                                     \
		char *const *e_ = (envp);                                                                    \
		if (rec_carry_lacks(e_, &carry_))                                                            \
			e_ = rec_carry_mend(e_, &carry_, alloca((carry_.n + CARRIED + 1) * sizeof(char *)),  \
					    alloca(carry_.bytes));                                           \
		(char **)e_;                                                                                 \
	})

/* --- becoming another program ---------------------------------------------------------------------------- */
/* exec came back: it failed. */
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
	return came_back(NEXT(execve)(path, argv, MENDED(envp)));
}

REC_EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

REC_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	rec_finish(SPOOL_EXEC);
	return came_back(NEXT(execvpe)(file, argv, MENDED(envp)));
}

REC_EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

REC_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	rec_finish(SPOOL_EXEC);
	return came_back(NEXT(fexecve)(fd, argv, MENDED(envp)));
}

/* The arguments from `first` to NULL as an array on the stack; `list` is left after the NULL. */
#define ARGUMENTS(first, list)                                                                               \
	({                                                                                                   \
		va_list count_;                                                                              \
		size_t n_ = 1, i_;                                                                           \
		char **v_;                                                                                   \
		va_copy(count_, list);                                                                       \
		while (va_arg(count_, char *))                                                               \
			n_++;                                                                                \
		va_end(count_);                                                                              \
		v_ = alloca((n_ + 1) * sizeof *v_);                                                          \
		v_[0] = (char *)(first);                                                                     \
		for (i_ = 1; i_ <= n_; i_++)                                                                 \
			v_[i_] = va_arg(list, char *);                                                       \
		v_;                                                                                          \
	})

REC_EXPORT int execl(const char *path, const char *arg, ...)
{
	va_list list;
	char **argv;

	va_start(list, arg);
	argv = ARGUMENTS(arg, list);
	va_end(list);
	return execve(path, argv, environ);
}

REC_EXPORT int execlp(const char *file, const char *arg, ...)
{
	va_list list;
	char **argv;

	va_start(list, arg);
	argv = ARGUMENTS(arg, list);
	va_end(list);
	return execvpe(file, argv, environ);
}

REC_EXPORT int execle(const char *path, const char *arg, ...)
{
	va_list list;
	char **argv, *const *envp;

	va_start(list, arg);
	argv = ARGUMENTS(arg, list);
	envp = va_arg(list, char *const *);
	va_end(list);
	return execve(path, argv, envp);
}

/* --- starting another program ------------------------------------------------------------------------------ */
REC_EXPORT int posix_spawn(pid_t *restrict pid, const char *restrict path,
			   const posix_spawn_file_actions_t *restrict actions,
			   const posix_spawnattr_t *restrict attr, char *const argv[restrict],
			   char *const envp[restrict])
{
	return NEXT(posix_spawn)(pid, path, actions, attr, argv, MENDED(envp));
}

REC_EXPORT int posix_spawnp(pid_t *restrict pid, const char *restrict file,
			    const posix_spawn_file_actions_t *restrict actions,
			    const posix_spawnattr_t *restrict attr, char *const argv[restrict],
			    char *const envp[restrict])
{
	return NEXT(posix_spawnp)(pid, file, actions, attr, argv, MENDED(envp));
}

/* libc starts the shell of these two by itself, with the environment as it is: what that lacks goes in front
 * of the command. */
#define MENDED_COMMAND(command)                                                                              \
	({                                                                                                   \
		const char *c_ = (command);                                                                  \
		size_t bytes_ = rec_carry_command_bytes(c_);                                                 \
		bytes_ ? rec_carry_command(c_, alloca(bytes_), bytes_) : c_;                                 \
	})

REC_EXPORT int system(const char *command)
{
	return NEXT(system)(MENDED_COMMAND(command));
}

REC_EXPORT FILE *popen(const char *command, const char *type)
{
	return NEXT(popen)(MENDED_COMMAND(command), type);
}

/* --- leaving ------------------------------------------------------------------------------------------------- */
/* Afterwards the spool's path leads nowhere, or may not be opened by who the program is then. */
REC_EXPORT int chroot(const char *path)
{
	rec_spool_keep();
	return NEXT(chroot)(path);
}

REC_EXPORT int setuid(uid_t uid)
{
	rec_spool_keep();
	return NEXT(setuid)(uid);
}

REC_EXPORT int seteuid(uid_t uid)
{
	rec_spool_keep();
	return NEXT(seteuid)(uid);
}

REC_EXPORT int setreuid(uid_t real, uid_t effective)
{
	rec_spool_keep();
	return NEXT(setreuid)(real, effective);
}

REC_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved)
{
	rec_spool_keep();
	return NEXT(setresuid)(real, effective, saved);
}
