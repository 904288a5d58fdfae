/* exits.c: calls by which a process ends, becomes another program or starts one; and dlclose.
 *
 * They go on to libc's; the spool's state is noted first. (A process killed by a signal says nothing,
 * and does not need to.) A program started with an LD_PRELOAD of its own gets ours in front of it, as
 * long as it inherits the rest of the recording's environment.
 */
#include "record/rec.h"
#include "record/resolve.h"
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
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

/* --- the environment of a new program ------------------------------------------------------------------ */
#define PRELOAD "LD_PRELOAD="

static const char *our_path(void)
{
	Dl_info self;

	return dladdr(PRELOAD, &self) && self.dli_fname && self.dli_fname[0] == '/' ? self.dli_fname : NULL;
}

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* How many strings envp has, which is LD_PRELOAD (or SIZE_MAX); false if there is nothing to mend. */
static bool needs_preload(char *const envp[], size_t *n, size_t *at)
{
	const char *self = our_path();
	bool ours = false;

	*at = SIZE_MAX;
	for (*n = 0; envp && envp[*n]; ++*n) {
		if (begins(envp[*n], PRELOAD))
			*at = *n;
		else if (begins(envp[*n], "GPUMEMSNAP_SPOOL="))
			ours = true;
	}
	return ours && self && (*at == SIZE_MAX || !strstr(envp[*at], self));
}

static size_t line_bytes(char *const envp[], size_t at)
{
	return strlen(PRELOAD) + strlen(our_path()) + 2 + (at == SIZE_MAX ? 0 : strlen(envp[at]));
}

/* envp with our library in front of LD_PRELOAD, in the room given. */
static char *const *mend(char *const envp[], size_t n, size_t at, char **env, char *line, size_t bytes)
{
	*line = '\0';
	rec_cat(line, bytes, PRELOAD);
	rec_cat(line, bytes, our_path());
	if (at != SIZE_MAX && envp[at][strlen(PRELOAD)]) {
		rec_cat(line, bytes, ":");
		rec_cat(line, bytes, envp[at] + strlen(PRELOAD));
	}
	memcpy(env, envp, n * sizeof *env);
	env[at == SIZE_MAX ? n : at] = line;
	env[n + (at == SIZE_MAX)] = NULL;
	return env;
}

/* The room is the caller's stack: a child of vfork has nothing else of its own. */
#define MENDED(envp)                                                                                         \
	({                                                                                                   \
		size_t n_, at_;                                                                              \
		char *const *e_ = (envp);                                                                    \
		if (needs_preload(e_, &n_, &at_)) {                                                          \
			size_t bytes_ = line_bytes(e_, at_);                                                 \
			e_ = mend(e_, n_, at_, alloca((n_ + 2) * sizeof(char *)), alloca(bytes_), bytes_);   \
		}                                                                                            \
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
