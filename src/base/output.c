/* output.c: a file that appears whole or not at all. */
#include "base/output.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

struct output {
	char *path, *temp; /* temp is NULL when writing straight through (pipe, device) */
	int fd;
	gzFile gz;
};

static int ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), k = strlen(tail);

	return n > k && !strcmp(s + n - k, tail);
}

static int open_temp(struct output *o, struct err *e)
{
	mode_t mask = umask(0);

	umask(mask);
	o->temp = mem_printf("%s.XXXXXX", o->path);
	o->fd = mkostemp(o->temp, O_CLOEXEC);
	if (o->fd < 0) {
		free(o->temp);
		o->temp = NULL;
		return err_sys(e, o->path, "cannot write");
	}
	(void)!fchmod(o->fd, 0666 & ~mask);
	return 0;
}

struct output *output_open(const char *path, struct err *e)
{
	struct output *o = mem_zalloc(1, sizeof *o);
	struct stat st;
	int rc = 0;

	o->path = mem_strdup(strcmp(path, "-") ? path : "standard output");
	if (!strcmp(path, "-")) {
		o->fd = fcntl(1, F_DUPFD_CLOEXEC, 3);
		if (o->fd < 0)
			rc = err_sys(e, "standard output", "cannot write");
	} else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		o->fd = open(path, O_WRONLY | O_CLOEXEC);
		if (o->fd >= 0 && (fstat(o->fd, &st) || S_ISREG(st.st_mode))) { /* it is another one now */
			close(o->fd);
			o->fd = -1;
			errno = EEXIST;
		}
		if (o->fd < 0)
			rc = err_sys(e, path, "cannot write");
	} else {
		rc = open_temp(o, e);
	}
	if (!rc && ends_with(path, ".gz"))
		o->gz = gzdopen(dup(o->fd), "wb6");
	if (rc) {
		free(o->path);
		free(o);
		return NULL;
	}
	return o;
}

int output_write(struct output *o, const void *p, size_t n, struct err *e)
{
	const char *s = p;

	while (n) {
		ssize_t put;

		if (o->gz)
			put = gzwrite(o->gz, s, n > 1 << 30 ? 1 << 30 : (unsigned)n);
		else
			put = write(o->fd, s, n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return err_sys(e, o->path, "write");
		s += put;
		n -= (size_t)put;
	}
	return 0;
}

static void output_free(struct output *o)
{
	free(o->path);
	free(o->temp);
	free(o);
}

/* Give the present file a second name; it is under its own all the while. -1 with errno. */
static int keep_old(const char *path, const char *old)
{
	int rc = link(path, old);

	if (rc && errno == EEXIST && !unlink(old))
		rc = link(path, old);
	if (!rc || errno == ENOENT) /* no present file: an older one stays */
		return 0;
	if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK) /* no links here */
		return rename(path, old);
	return -1;
}

static int commit(struct output *o, struct err *e)
{
	char *old = mem_printf("%s.old", o->path);
	int rc = 0;

	if (keep_old(o->path, old))
		rc = err_sys(e, o->path, "cannot keep the old file");
	else if (rename(o->temp, o->path))
		rc = err_sys(e, o->path, "rename");
	free(old);
	return rc;
}

int output_close(struct output *o, struct err *e)
{
	int rc = 0;

	if (o->gz && gzclose(o->gz) != Z_OK)
		rc = err_set(e, ERR_SYSTEM, o->path, -1, "write: %s", strerror(errno));
	if (close(o->fd) && !rc)
		rc = err_sys(e, o->path, "close");
	if (!rc && o->temp)
		rc = commit(o, e);
	if (rc && o->temp)
		unlink(o->temp);
	output_free(o);
	return rc;
}

void output_abandon(struct output *o)
{
	if (o->gz)
		gzclose(o->gz);
	close(o->fd);
	if (o->temp)
		unlink(o->temp);
	output_free(o);
}

int output_end(struct output *o, int rc, struct err *e)
{
	if (!rc)
		return output_close(o, e);
	output_abandon(o);
	return -1;
}
