/* linked_share.c FILE: a parent's memory opened in a child: by an IPC handle (twice), by a pointer of its pool,
 * and memory of a graphics API, of which a part is mapped. The child is this program again, with what it needs
 * in FILE and in inherited descriptors. */
#include "../../samples/sample.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct ticket {
	CUipcMemHandle memory;
	CUmemPoolPtrExportData in_pool;
	int pool, graphics; /* descriptors */
};

static void open_by_handle(const struct ticket *t)
{
	CUdeviceptr a, again;

	CU(cuIpcOpenMemHandle(&a, t->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CU(cuIpcOpenMemHandle(&again, t->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CU(cuIpcCloseMemHandle(a));
	CU(cuIpcCloseMemHandle(again));
}

static void open_pool(struct ticket *t)
{
	CUmemoryPool pool;
	CUdeviceptr p;

	CU(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)t->pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	CU(cuMemPoolImportPointer(&p, pool, &t->in_pool));
	CU(cuMemFreeAsync(p, NULL));
	CU(cuStreamSynchronize(NULL));
	CU(cuMemPoolDestroy(pool));
}

static void open_graphics(const struct ticket *t)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC all = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .size = 8 * MIB};
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 2 * MIB, .size = 4 * MIB};
	CUexternalMemory memory;
	CUdeviceptr view;

	all.handle.fd = t->graphics;
	CU(cuImportExternalMemory(&memory, &all));
	CU(cuExternalMemoryGetMappedBuffer(&view, memory, &part));
	CU(cuMemFree(view));
	CU(cuDestroyExternalMemory(memory));
}

static int child(const char *file)
{
	struct ticket t;
	CUdeviceptr b;
	int fd = open(file, O_RDONLY);

	if (read(fd, &t, sizeof t) != (ssize_t)sizeof t)
		return 2;
	close(fd);
	use_device(0);
	CU(cuMemAlloc(&b, MIB));
	open_by_handle(&t);
	open_pool(&t);
	open_graphics(&t);
	return 0;
}

static CUmemoryPool shared_pool(void)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemoryPool pool;

	CU(cuMemPoolCreate(&pool, &props));
	return pool;
}

int main(int argc, char **argv)
{
	struct ticket t = {0};
	CUmemoryPool pool;
	CUdeviceptr p, q;
	int fd, status;
	pid_t pid;

	if (argc > 2)
		return child(argv[2]);
	use_device(0);
	CU(cuMemAlloc(&p, 3 * MIB));
	CU(cuIpcGetMemHandle(&t.memory, p));
	pool = shared_pool();
	CU(cuMemAllocFromPoolAsync(&q, 5 * MIB, pool, NULL));
	CU(cuMemPoolExportPointer(&t.in_pool, q));
	CU(cuMemPoolExportToShareableHandle(&t.pool, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	fcntl(t.pool, F_SETFD, 0);
	t.graphics = memfd_create("graphics", 0);
	if (ftruncate(t.graphics, 8 * MIB))
		return 5;
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
	CU(cuMemFreeAsync(q, NULL));
	CU(cuMemFree(p));
	return WEXITSTATUS(status);
}
