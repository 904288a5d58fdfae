/* linked_share.c: a parent's memory opened in a child, twice, and a pointer of its pool. The child is this
 * program again, with what it needs in a file. */
#include "../../samples/sample.h"
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct ticket {
	CUipcMemHandle memory;
};

static int child(const char *file)
{
	struct ticket t;
	CUdeviceptr a, b;
	int fd = open(file, O_RDONLY);

	if (read(fd, &t, sizeof t) != (ssize_t)sizeof t)
		return 2;
	close(fd);
	use_device(0);
	CU(cuIpcOpenMemHandle(&a, t.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CU(cuMemAlloc(&b, MIB));
	CU(cuIpcCloseMemHandle(a));
	return 0;
}

int main(int argc, char **argv)
{
	struct ticket t;
	CUdeviceptr p;
	int fd, status;
	pid_t pid;

	if (argc > 2)
		return child(argv[2]);
	use_device(0);
	CU(cuMemAlloc(&p, 3 * MIB));
	CU(cuIpcGetMemHandle(&t.memory, p));
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(fd, &t, sizeof t) != (ssize_t)sizeof t)
		return 3;
	close(fd);
	pid = fork();
	if (!pid) {
		execl(argv[0], argv[0], "child", argv[1], (char *)NULL);
		_exit(4);
	}
	waitpid(pid, &status, 0);
	CU(cuMemFree(p));
	return WEXITSTATUS(status);
}
