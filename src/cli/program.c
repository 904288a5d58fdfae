/* program.c: see program.h. */
#include "cli/program.h"
#include "base/input.h"
#include "base/mem.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static char *check(const char *path, const char *name, struct err *e)
{
	if (!is_file(path)) {
		if (access(path, F_OK))
			err_set(e, ERR_NOT_FOUND, NULL, -1, "%s: %s", name, strerror(errno));
		else
			err_set(e, ERR_NOT_RUNNABLE, NULL, -1, "%s: is not a program", name);
		return NULL;
	}
	if (access(path, X_OK)) {
		err_set(e, ERR_NOT_RUNNABLE, NULL, -1, "%s: %s", name, strerror(errno));
		return NULL;
	}
	return mem_strdup(path);
}

char *program_find(const char *name, struct err *e)
{
	const char *p = getenv("PATH"), *end;
	char *path, *refused = NULL;

	if (strchr(name, '/'))
		return check(name, name, e);
	for (p = p ? p : "/usr/local/bin:/usr/bin:/bin"; p && name[0]; p = *end ? end + 1 : NULL) {
		end = strchrnul(p, ':');
		path = end == p ? mem_printf("./%s", name) : mem_printf("%.*s/%s", (int)(end - p), p, name);
		if (is_file(path) && !access(path, X_OK)) {
			free(refused);
			return path;
		}
		if (!refused && is_file(path))
			refused = path;
		else
			free(path);
	}
	if (refused)
		check(refused, refused, e);
	else
		err_set(e, ERR_NOT_FOUND, NULL, -1, "%s: no such program%s", name,
			is_file(name) ? " on PATH (did you mean ./ before it?)" : " on PATH");
	free(refused);
	return NULL;
}

/* Is there a PT_INTERP, that is, a loader which will read LD_PRELOAD? */
static bool has_loader(const struct input *in)
{
	Elf64_Ehdr h;
	Elf64_Phdr p;
	size_t i;

	memcpy(&h, in->data, sizeof h);
	for (i = 0; i < h.e_phnum && h.e_phentsize == sizeof p; i++) {
		if (h.e_phoff > in->n || in->n - h.e_phoff < (i + 1) * sizeof p)
			return true; /* damaged: not for us to say */
		memcpy(&p, in->data + h.e_phoff + i * sizeof p, sizeof p);
		if (p.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static bool runs_privileged(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	return ((st.st_mode & S_ISUID) && st.st_uid != getuid()) || ((st.st_mode & S_ISGID) && st.st_gid != getgid()) ||
	       (getuid() && getxattr(path, "security.capability", NULL, 0) > 0);
}

const char *program_obstacle(const char *path)
{
	const char *why = NULL;
	struct err ignored = {0};
	struct input in;

	if (runs_privileged(path))
		return "runs with other privileges than yours (setuid, setgid or capabilities), and the system then "
		       "ignores preloading";
	if (input_open(&in, path, &ignored))
		return NULL;
	if (in.n >= sizeof(Elf64_Ehdr) && !memcmp(in.data, ELFMAG, SELFMAG)) {
		if (in.data[EI_CLASS] != ELFCLASS64)
			why = "is a 32-bit program";
		else if (!has_loader(&in))
			why = "is statically linked, so nothing can be preloaded into it";
	}
	input_close(&in);
	return why;
}

int program_driver_present(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (driver)
		dlclose(driver);
	return driver != NULL;
}

char *program_neighbour(const char *name, struct err *e)
{
	char *own = realpath("/proc/self/exe", NULL), *slash, *path;

	if (!own) {
		err_sys(e, "/proc/self/exe", "cannot tell where gpumemsnap is installed");
		return NULL;
	}
	for (int up = 0; up < 2; up++)
		if ((slash = strrchr(own, '/')))
			*slash = 0;
	path = mem_printf("%s/lib/gpumemsnap/%s", own, name);
	free(own);
	if (access(path, R_OK)) {
		err_sys(e, path, "cannot read");
		free(path);
		return NULL;
	}
	return path;
}
