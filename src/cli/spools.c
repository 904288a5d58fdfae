/* spools.c: see spools.h. */
#include "cli/spools.h"
#include "base/mem.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_BYTES 65536

/* Can files here be allocated and mapped, as a spool is? -1 with errno. */
static int probe(int dir)
{
	int fd = openat(dir, ".probe", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), error;
	void *p;

	if (fd < 0)
		return -1;
	error = posix_fallocate(fd, 0, PROBE_BYTES);
	p = error ? MAP_FAILED : mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		error = error ? error : errno;
	else
		munmap(p, PROBE_BYTES);
	close(fd);
	unlinkat(dir, ".probe", 0);
	errno = error;
	return error ? -1 : 0;
}

/* Make the directory at this path ours; -1 with errno, and nothing is left behind. */
static int take(struct spools *s, const char *path)
{
	int error;

	if (mkdir(path, 0700))
		return -1;
	s->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->lock >= 0) {
		flock(s->lock, LOCK_EX | LOCK_NB); /* on a file system without locks nobody has any */
		if (!probe(s->lock)) {
			s->dir = realpath(path, NULL);
			if (s->dir)
				return 0;
		}
	}
	error = errno;
	if (s->lock >= 0)
		close(s->lock);
	s->lock = -1;
	rmdir(path);
	errno = error;
	return -1;
}

static bool is_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

static int take_temporary(struct spools *s, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	char *path = mem_printf("%s/gpumemsnap-%d.spool", tmp && tmp[0] == '/' ? tmp : "/tmp", (int)getpid());
	int rc = take(s, path) ? err_sys(e, path, "cannot make the recording's directory") : 0;

	free(path);
	return rc;
}

static int take_beside(struct spools *s, const char *output, struct err *e)
{
	const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
	char *path = mem_printf("%.*s.%s.spool", (int)(name - output), output, name);
	int rc = take(s, path), error = errno;

	if (rc && error == EEXIST) { /* of a recording that goes on, or of one that was killed */
		s->name_taken = is_locked(path);
		if (s->name_taken)
			free(path);
		else
			s->leftover = path;
		path = mem_printf("%.*s.%s.%d.spool", (int)(name - output), output, name, (int)getpid());
		rc = take(s, path);
		error = errno;
	}
	free(path);
	if (!rc)
		return 0;
	if (error == EOPNOTSUPP || error == ENODEV || error == EINVAL) /* the snapshot can be here, a spool cannot */
		return take_temporary(s, e);
	errno = error;
	return err_sys(e, output, "cannot write");
}

static int take_place(struct spools *s, const char *output, struct err *e)
{
	struct stat st;

	if (!strcmp(output, "-"))
		return take_temporary(s, e);
	if (!stat(output, &st)) {
		if (S_ISDIR(st.st_mode))
			return err_set(e, ERR_SYSTEM, output, -1, "cannot write: is a directory");
		if (!S_ISREG(st.st_mode))
			return access(output, W_OK) ? err_sys(e, output, "cannot write") : take_temporary(s, e);
	}
	return take_beside(s, output, e);
}

int spools_create(struct spools *s, const char *output, struct err *e)
{
	int rc;

	*s = (struct spools){.lock = -1};
	rc = take_place(s, output, e);
	if (rc)
		spools_keep(s);
	return rc;
}

static int by_process(const void *a, const void *b)
{
	const struct spools_entry *x = a, *y = b;

	return x->pid != y->pid ? (x->pid > y->pid ? 1 : -1) : (x->image > y->image) - (x->image < y->image);
}

size_t spools_list(const char *dir, struct spools_entry **out)
{
	DIR *d = opendir(dir);
	struct dirent *file;
	size_t n = 0, cap = 0;

	*out = NULL;
	while (d && (file = readdir(d))) {
		struct spools_entry entry = {0};
		struct err ignored = {0};
		int end = 0;

		if (sscanf(file->d_name, "%d.%d.spool%n", &entry.pid, &entry.image, &end) != 2 || !end ||
		    file->d_name[end])
			continue;
		entry.path = mem_printf("%s/%s", dir, file->d_name);
		if (spool_peek(entry.path, &entry.info, &ignored))
			free(entry.path);
		else
			*VEC_PUSH(*out, n, cap) = entry;
	}
	if (d)
		closedir(d);
	if (n)
		qsort(*out, n, sizeof **out, by_process);
	return n;
}

void spools_list_free(struct spools_entry *v, size_t n)
{
	while (n)
		free(v[--n].path);
	free(v);
}

void spools_keep(struct spools *s)
{
	if (s->lock >= 0)
		close(s->lock);
	free(s->dir);
	free(s->leftover);
	*s = (struct spools){.lock = -1};
}

void spools_remove(struct spools *s)
{
	DIR *d = s->dir ? opendir(s->dir) : NULL;
	struct dirent *file;

	while (d && (file = readdir(d)))
		if (strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0)
			unlinkat(dirfd(d), file->d_name, 0);
	if (d)
		closedir(d);
	if (s->dir)
		rmdir(s->dir);
	spools_keep(s);
}
