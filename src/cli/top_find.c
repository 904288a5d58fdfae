/* top_find.c: see top_find.h. A process is recorded if it was started with GPUMEMSNAP_SPOOL and has a
 * spool of its own there. */
#include "cli/top_find.h"
#include "base/mem.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENVIRONMENT_MAX (1u << 20)

/* Up to `max` bytes of /proc/PID/NAME, with a NUL behind them; NULL if it cannot be read or is empty. */
static char *read_proc(int pid, const char *name, size_t max, size_t *n)
{
	char path[64], *s = NULL;
	size_t cap = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	for (*n = 0; *n < max; *n += (size_t)got) {
		if (cap - *n < 4096)
			s = mem_resize(s, cap = cap * 2 + 4096, 1);
		got = read(fd, s + *n, (cap - *n < max - *n ? cap - *n : max - *n) - 1);
		if (got <= 0)
			break;
	}
	close(fd);
	if (!*n) {
		free(s);
		return NULL;
	}
	s[*n] = 0;
	return s;
}

/* The value of a variable in a list of NUL-ended "NAME=value"; NULL if it is not there. */
static const char *value_of(const char *list, size_t n, const char *name)
{
	size_t len = strlen(name);
	const char *s;

	for (s = list; s < list + n; s += strlen(s) + 1)
		if (!strncmp(s, name, len) && s[len] == '=')
			return s + len + 1;
	return NULL;
}

/* The id by which the process knows itself: the last of NSpid. */
static int own_pid(int pid)
{
	size_t n;
	char *status = read_proc(pid, "status", 8192, &n), *line = status ? strstr(status, "\nNSpid:") : NULL;
	int own = pid;

	if (line) {
		line += 7;
		line[strcspn(line, "\n")] = 0;
		line = strrchr(line, '\t');
		own = line ? atoi(line + 1) : pid;
	}
	free(status);
	return own;
}

/* The spool of the last program image of a process, in a directory; NULL if there is none. */
static char *last_spool(const char *root, const char *dir, int pid)
{
	char *last = NULL, *path;
	int image;

	for (image = 0;; image++) {
		path = mem_printf("%s%s/%d.%d.spool", root, dir, pid, image);
		if (access(path, R_OK))
			break;
		free(last);
		last = path;
	}
	free(path);
	return last;
}

char *top_spool(int pid)
{
	size_t n;
	char *list = read_proc(pid, "environ", ENVIRONMENT_MAX, &n), *spool = NULL, root[32];
	const char *dir = list ? value_of(list, n, "GPUMEMSNAP_SPOOL") : NULL;

	if (dir && *dir == '/') {
		int own = own_pid(pid);

		spool = last_spool("", dir, own);
		snprintf(root, sizeof root, "/proc/%d/root", pid);
		if (!spool) /* in a container the same name may be another place */
			spool = last_spool(root, dir, own);
	}
	free(list);
	return spool;
}

size_t top_find(struct top_found **out)
{
	DIR *proc = opendir("/proc");
	struct top_found *found = NULL;
	size_t n = 0, cap = 0;
	struct dirent *d;
	char *spool;

	while (proc && (d = readdir(proc)))
		if (isdigit((unsigned char)d->d_name[0]) && (spool = top_spool(atoi(d->d_name))))
			*VEC_PUSH(found, n, cap) = (struct top_found){atoi(d->d_name), spool};
	if (proc)
		closedir(proc);
	*out = found;
	return n;
}

void top_found_free(struct top_found *found, size_t n)
{
	while (n--)
		free(found[n].spool);
	free(found);
}

char *top_command(int pid)
{
	size_t n, i;
	char *s = read_proc(pid, "cmdline", 4096, &n);

	if (!s && (s = read_proc(pid, "comm", 64, &n))) /* a zombie, or a thread of the kernel */
		n = strcspn(s, "\n");
	if (!s)
		return NULL;
	while (n && !s[n - 1])
		n--;
	s[n] = 0;
	for (i = 0; i < n; i++)
		if (!s[i])
			s[i] = ' ';
	return s;
}
