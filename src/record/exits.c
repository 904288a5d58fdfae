/* exits.c: calls by which a process ends, becomes another program, starts one or leaves for where the spool is
 * out of reach; and dlclose.
 *
 * They go on to libc's; the spool's state is noted first. (A process killed by a signal says nothing,
 * and does not need to.) A program started with an LD_PRELOAD of its own gets ours in front of it, and
 * one that inherits nothing (env -i) what it needs to be recorded.
 */
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

/* --- the environment of a new program ------------------------------------------------------------------ */
#define PRELOAD "LD_PRELOAD="
#define SPOOL	"GPUMEMSNAP_SPOOL="
#define OPTIONS "GPUMEMSNAP_OPTIONS="

static const char *our_path(void)
{
	Dl_info self;

	return dladdr(PRELOAD, &self) && self.dli_fname && self.dli_fname[0] == '/' ? self.dli_fname : NULL;
}

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* What a new program's environment has, and what it lacks to be recorded. */
struct environment {
	size_t n, preload; /* strings; which is LD_PRELOAD, or SIZE_MAX */
	bool spool, preloaded;
	size_t bytes; /* of the strings that it needs */
};

static bool lacks(char *const envp[], struct environment *e)
{
	const char *self = rec_options.dir[0] ? our_path() : NULL;

	*e = (struct environment){.preload = SIZE_MAX};
	if (!self)
		return false;
	for (; envp && envp[e->n]; e->n++) {
		if (begins(envp[e->n], PRELOAD))
			e->preload = e->n;
		else if (begins(envp[e->n], SPOOL))
			e->spool = true;
	}
	e->preloaded = e->preload != SIZE_MAX && strstr(envp[e->preload], self);
	e->bytes = sizeof PRELOAD + strlen(self) + 1 + (e->preload == SIZE_MAX ? 0 : strlen(envp[e->preload])) +
		   sizeof SPOOL + strlen(rec_options.dir) + sizeof OPTIONS + strlen(rec_options.text);
	return !e->spool || !e->preloaded;
}

/* NAME=value in the room, which the next one follows. */
static char *line(char **room, const char *name, const char *value, const char *more)
{
	size_t bytes = strlen(name) + strlen(value) + strlen(more) + 2;
	char *at = *room;

	*at = '\0';
	rec_cat(at, bytes, name);
	rec_cat(at, bytes, value);
	if (*more)
		rec_cat(at, bytes, ":");
	rec_cat(at, bytes, more);
	*room = at + strlen(at) + 1;
	return at;
}

/* envp with our library in front of LD_PRELOAD, and where to record to, in the room given. */
static char *const *mend(char *const envp[], const struct environment *e, char **env, char *room)
{
	size_t n = e->n;

	memcpy(env, envp, n * sizeof *env);
	if (!e->preloaded)
		env[e->preload == SIZE_MAX ? n++ : e->preload] =
			line(&room, PRELOAD, our_path(), e->preload == SIZE_MAX ? "" : envp[e->preload] + strlen(PRELOAD));
	if (!e->spool) {
		env[n++] = line(&room, SPOOL, rec_options.dir, "");
		env[n++] = line(&room, OPTIONS, rec_options.text, "");
	}
	env[n] = NULL;
	return env;
}

/* The room is the caller's stack: a child of vfork has nothing else of its own. */
#define MENDED(envp)                                                                                         \
	({                                                                                                   \
		struct environment environment_;                                                             \
		char *const *e_ = (envp);                                                                    \
		if (lacks(e_, &environment_))                                                                \
			e_ = mend(e_, &environment_, alloca((environment_.n + 4) * sizeof(char *)),          \
				  alloca(environment_.bytes));                                               \
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
#define COMMAND_MAX 8192 /* it is copied to the caller's stack */

static bool plain(const char *s)
{
	return !strchr(s, '\'');
}

static size_t command_bytes(const char *command)
{
	struct environment e;
	size_t bytes = command ? strnlen(command, COMMAND_MAX) : COMMAND_MAX;

	if (bytes == COMMAND_MAX || !lacks(environ, &e) || !plain(our_path()) || !plain(rec_options.dir) ||
	    !plain(rec_options.text))
		return 0;
	return bytes + e.bytes + 128;
}

static const char *mend_command(const char *command, char *room, size_t bytes)
{
	*room = '\0';
	rec_cat(room, bytes, "export " SPOOL "'");
	rec_cat(room, bytes, rec_options.dir);
	rec_cat(room, bytes, "' " OPTIONS "'");
	rec_cat(room, bytes, rec_options.text);
	rec_cat(room, bytes, "' " PRELOAD "'");
	rec_cat(room, bytes, our_path());
	rec_cat(room, bytes, "'\"${LD_PRELOAD:+:$LD_PRELOAD}\"; ");
	rec_cat(room, bytes, command);
	return room;
}

#define MENDED_COMMAND(command)                                                                              \
	({                                                                                                   \
		const char *c_ = (command);                                                                  \
		size_t bytes_ = command_bytes(c_);                                                           \
		bytes_ ? mend_command(c_, alloca(bytes_), bytes_) : c_;                                      \
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
