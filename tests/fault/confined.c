/* confined.c HOW: what a program does to itself that leaves the spool out of reach while it grows: all
 * descriptors taken, another root directory, another user. */
#include "gpu.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int confine(const char *how)
{
	struct rlimit few = {16, 64};

	if (!strcmp(how, "descriptors")) {
		if (setrlimit(RLIMIT_NOFILE, &few))
			return -1;
		while (dup(0) >= 0)
			;
		return 0;
	}
	if (!strcmp(how, "chroot"))
		return mkdir("jail", 0755) || chroot("jail") || chdir("/");
	return !strcmp(how, "setuid") ? setuid(65534) : seteuid(65534);
}

int main(int argc, char **argv)
{
	gpu_start();
	gpu_work(20);
	if (argc < 2)
		return 2;
	errno = 0;
	if (confine(argv[1])) {
		perror(argv[1]);
		return 77;
	}
	if (errno && strcmp(argv[1], "descriptors") != 0)
		return 3;
	gpu_work(5000); /* the spool grows now */
	return !strcmp(argv[1], "descriptors") ? open("/dev/null", O_RDONLY) != -1 : 0; /* none is left, as before */
}
