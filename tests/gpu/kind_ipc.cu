/* kind_ipc.cu: memory of one process opened by another. Both are recorded; only the owner pays. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cu.h"

static int importer(int from)
{
	cudaIpcMemHandle_t handle;
	char byte = 0;
	void *at;

	if (read(from, &handle, sizeof(handle)) != sizeof(handle))
		return 1;
	OK(cudaIpcOpenMemHandle(&at, handle, cudaIpcMemLazyEnablePeerAccess));
	OK(cudaMemcpy(&byte, at, 1, cudaMemcpyDeviceToHost));
	OK(cudaIpcCloseMemHandle(at));
	return byte == 5 ? 0 : 1;
}

int main(void)
{
	cudaIpcMemHandle_t handle;
	int to_child[2], status = 1;
	pid_t pid;
	void *at;

	if (pipe(to_child) != 0)
		return 1;
	pid = fork(); /* before any CUDA call */
	if (pid == 0)
		_exit(importer(to_child[0]));
	OK(cudaMalloc(&at, 32 * MIB));
	OK(cudaMemset(at, 5, 32 * MIB));
	OK(cudaIpcGetMemHandle(&handle, at));
	if (write(to_child[1], &handle, sizeof(handle)) != sizeof(handle))
		return 1;
	waitpid(pid, &status, 0);
	expect("device", 1, 0, 32 * MIB);
	if (status != 0)
		fprintf(stderr, "the importing process failed\n");
	return status ? 1 : finish();
}
