/* watch.c: recording without `gpumemsnap record`: GPUMEMSNAP_OUTPUT=run.json ./app
 *
 * The first allocator of the process loads the recorder and starts a watcher: a process of its own,
 * nobody's child, that waits until this one has ended (however it ends: a pipe breaks) and then turns
 * the recording into the snapshot. Nothing happens if the process is being recorded already.
 */
#include "alloc/face.h"
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The folder that bin/ and lib/ are in: that of this library, else where programs are installed. */
static bool find_home(char *home, size_t size)
{
	static const char *const usual[] = {"/usr/local", "/usr"};
	char probe[PATH_MAX];
	Dl_info info;
	size_t i;
	char *end;

	if (dladdr((void *)(uintptr_t)gma_watch_alone, &info) && info.dli_fname && realpath(info.dli_fname, probe)) {
		for (i = 0; i < 2; i++) { /* the file's name, then lib */
			end = strrchr(probe, '/');
			if (end)
				*end = '\0';
		}
		snprintf(home, size, "%s", probe);
		snprintf(probe, sizeof probe, "%.4000s/lib/gpumemsnap/libgpumemsnap.so", home);
		if (!access(probe, R_OK))
			return true;
	}
	for (i = 0; i < sizeof usual / sizeof *usual; i++) {
		snprintf(probe, sizeof probe, "%s/lib/gpumemsnap/libgpumemsnap.so", usual[i]);
		snprintf(home, size, "%s", usual[i]);
		if (!access(probe, R_OK))
			return true;
	}
	return false;
}

/* The snapshot's name for a process that the watched one forked: its process id stands before .json or .json.gz. */
static void name_for(char *to, size_t size, const char *output, pid_t pid)
{
	const char *base = strrchr(output, '/'), *dot = strstr(base ? base : output, ".json");

	if (!dot)
		dot = strrchr(base ? base : output, '.');
	if (!dot)
		dot = output + strlen(output);
	snprintf(to, size, "%.*s.%d%s", (int)(dot - output), output, (int)pid, dot);
}

static void convert(const char *program, const char *spool, const char *output)
{
	if (fork() == 0) {
		execl(program, program, "dump", "--quiet", "--output", output, spool, (char *)NULL);
		_exit(127);
	}
	wait(NULL);
	unlink(spool);
}

/* In the watcher: wait for the end of the watched and of those it forked, then make the snapshots. */
static void watch(int alive, const char *home, const char *dir, pid_t pid, const char *output)
{
	char program[PATH_MAX], spool[PATH_MAX], other[PATH_MAX], byte;
	struct dirent *file;
	int of, image;
	DIR *d;

	while (read(alive, &byte, 1) > 0)
		;
	snprintf(program, sizeof program, "%.4000s/bin/gpumemsnap", home);
	unsetenv("GPUMEMSNAP_SPOOL");
	unsetenv("GPUMEMSNAP_OUTPUT");
	d = opendir(dir);
	while (d && (file = readdir(d))) {
		if (sscanf(file->d_name, "%d.%d.spool", &of, &image) != 2)
			continue;
		snprintf(spool, sizeof spool, "%.3800s/%.255s", dir, file->d_name);
		name_for(other, sizeof other, output, of);
		convert(program, spool, of == pid ? output : other);
	}
	rmdir(dir);
	_exit(0);
}

/* The end of the pipe that this process keeps open for as long as it lives. */
static bool start_watcher(const char *home, const char *dir, const char *output)
{
	pid_t self = getpid(), child;
	int alive[2];

	if (pipe2(alive, O_CLOEXEC))
		return false;
	child = fork();
	if (child == 0) {
		close(alive[1]);
		setsid();
		if (fork() == 0)
			watch(alive[0], home, dir, self, output);
		_exit(0); /* so that the program never meets the watcher in wait() */
	}
	close(alive[0]);
	return child > 0 && waitpid(child, NULL, 0) == child;
}

enum { TEMPORARY_MAX = 400 }; /* the recorder takes no longer one */

static const char *temporary(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp && tmp[0] == '/' && strlen(tmp) < TEMPORARY_MAX - 20 ? tmp : "/tmp";
}

static void begin(const char *output)
{
	char home[PATH_MAX], library[PATH_MAX], dir[TEMPORARY_MAX], full[PATH_MAX], cwd[PATH_MAX / 2];

	if (!find_home(home, sizeof home)) {
		fprintf(stderr, "gpumemalloc: GPUMEMSNAP_OUTPUT: gpumemsnap is not installed beside this library\n");
		return;
	}
	if (output[0] == '/' || !getcwd(cwd, sizeof cwd))
		snprintf(full, sizeof full, "%s", output);
	else
		snprintf(full, sizeof full, "%s/%.2000s", cwd, output);
	snprintf(dir, sizeof dir, "%s/gpumemsnap.XXXXXX", temporary());
	if (!mkdtemp(dir))
		dir[0] = '\0';
	if (!dir[0] || setenv("GPUMEMSNAP_SPOOL", dir, 1) || !start_watcher(home, dir, full)) {
		if (dir[0])
			rmdir(dir);
		unsetenv("GPUMEMSNAP_SPOOL");
		fprintf(stderr, "gpumemalloc: GPUMEMSNAP_OUTPUT: recording cannot be started\n");
		return;
	}
	snprintf(library, sizeof library, "%.4000s/lib/gpumemsnap/libgpumemsnap.so", home);
	if (!dlopen(library, RTLD_NOW | RTLD_GLOBAL))
		fprintf(stderr, "gpumemalloc: GPUMEMSNAP_OUTPUT: %s\n", dlerror());
}

void gma_watch_alone(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool done;
	const char *output;

	pthread_mutex_lock(&lock);
	output = getenv("GPUMEMSNAP_OUTPUT");
	if (!done && output && *output && !getenv("GPUMEMSNAP_SPOOL"))
		begin(output);
	done = true;
	pthread_mutex_unlock(&lock);
}
