/* libbroken.c: preloaded after the recorder, it breaks what the recorder's file grows by, at the N-th time:
 *
 *   BROKEN=disk:N     the room cannot be had: EIO      BROKEN=page:N     it is had, but cannot be written to
 *   BROKEN=before:N   SIGKILL before, BROKEN=after:N after it is had, BROKEN=mapped:N once it is mapped, and
 *   BROKEN=touched:N  at the first write to a part of it
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Is it the N-th time that this could happen? */
static bool now(const char *what, int *times)
{
	const char *how = getenv("BROKEN");
	size_t n = strlen(what);

	return how && !strncmp(how, what, n) && how[n] == ':' && ++*times == atoi(how + n + 1);
}

static void kill_now(const char *what, int *times)
{
	if (now(what, times))
		kill(getpid(), SIGKILL);
}

int posix_fallocate(int fd, off_t from, off_t bytes)
{
	static int disk, before, after;
	int (*next)(int, off_t, off_t) = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
	int error;

	kill_now("before", &before);
	if (now("disk", &disk))
		return EIO;
	error = next(fd, from, bytes);
	kill_now("after", &after);
	return error;
}

int madvise(void *p, size_t bytes, int advice)
{
	static int page, mapped, touched;
	int (*next)(void *, size_t, int) = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise");

	if (advice == MADV_DONTFORK)
		kill_now("mapped", &mapped);
	if (advice == MADV_POPULATE_WRITE) {
		kill_now("touched", &touched);
		if (now("page", &page)) {
			errno = EFAULT;
			return -1;
		}
	}
	return next(p, bytes, advice);
}
