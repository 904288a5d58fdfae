/* ipc.c: memory of another process: IPC handles, pointers of exported pools, external memory.
 *
 * What is exported is the file behind the bytes; its owner keeps it open, and the importer reaches it
 * through /proc. Imported memory costs the importer's device nothing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simcuda/sim.h"

/* What a handle says; it must fit 64 bytes. */
struct ticket {
	uint64_t magic;
	int32_t pid, fd, device;
	uint32_t pad;
	uint64_t size;          /* of the file */
	uint64_t offset, bytes; /* the allocation in it */
	uint64_t id;
};
static const uint64_t TICKET = 0x6d697370616e736d;

struct imported {
	struct ticket ticket;
	unsigned opened;
};

static CUresult ticket_write(void *out, const struct place *p)
{
	struct ticket t = {.magic = TICKET, .pid = getpid(), .device = p->range->device};

	_Static_assert(sizeof(t) <= CU_IPC_HANDLE_SIZE, "a ticket fits a handle");
	t.fd = p->range->backing ? sim_backing_share(p->range->backing) : -1;
	if (t.fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	t.size = p->range->backing->size;
	t.offset = p->range->offset + (p->base - p->range->base);
	t.bytes = p->bytes;
	t.id = p->piece ? p->piece->id : p->range->id;
	memset(out, 0, CU_IPC_HANDLE_SIZE);
	memcpy(out, &t, sizeof(t));
	return CUDA_SUCCESS;
}

static bool ticket_read(const void *in, struct ticket *t)
{
	memcpy(t, in, sizeof(*t));
	return t->magic == TICKET && t->bytes && t->size % SIM_PAGE == 0 && t->offset <= t->size &&
	       t->bytes <= t->size - t->offset && sim_device_ok(t->device);
}

/* Addresses for bytes of a file that begin at an offset in it. The fd is ours from here on. */
static struct range *import(int fd, uint64_t size, uint64_t offset, uint64_t bytes)
{
	struct range *r = sim_range_new(RANGE_IMPORTED, bytes);
	struct backing *k = r ? sim_backing_import(fd, size) : NULL;

	if (!k) {
		close(fd);
		if (r)
			sim_range_free(r);
		return NULL;
	}
	r->backing = k;
	r->offset = offset;
	r->bytes = bytes;
	return r;
}

static CUresult ticket_open(const struct ticket *t, struct range **out)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->pid, t->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return CUDA_ERROR_INVALID_VALUE;
	*out = import(fd, t->size, t->offset, t->bytes);
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*out)->device = t->device;
	return CUDA_SUCCESS;
}

/* --- IPC handles ---------------------------------------------------------------------------- */

CUresult cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr addr)
{
	struct place p;

	SIM_ENTER(cuIpcGetMemHandle);
	if (!out || !sim_place(addr, &p) || (p.range->kind != RANGE_DEVICE && p.range->kind != RANGE_SMALL))
		return CUDA_ERROR_INVALID_VALUE;
	return ticket_write(out, &p);
}

static struct range *opened(const struct context *ctx, const struct ticket *t)
{
	for (struct range *r = ctx->ranges; r; r = r->next)
		if (r->kind == RANGE_IMPORTED && r->imported &&
		    memcmp(&r->imported->ticket, t, sizeof(*t)) == 0)
			return r;
	return NULL;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags)
{
	struct ticket t;
	struct range *r;
	CUresult result;

	SIM_ENTER(cuIpcOpenMemHandle_v2);
	SIM_CONTEXT(ctx);
	if (!out || flags & ~1u || !ticket_read(&handle, &t))
		return CUDA_ERROR_INVALID_VALUE;
	if (t.pid == getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	r = opened(ctx, &t);
	if (!r) {
		result = ticket_open(&t, &r);
		if (result != CUDA_SUCCESS)
			return result;
		r->imported = calloc(1, sizeof(*r->imported));
		if (!r->imported) {
			sim_range_free(r);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		r->imported->ticket = t;
		r->context = ctx;
		sim_range_own(r, &ctx->ranges);
	}
	r->imported->opened++;
	*out = r->base;
	return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags)
{
	return cuIpcOpenMemHandle_v2(out, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr addr)
{
	struct range *r;

	SIM_ENTER(cuIpcCloseMemHandle);
	r = sim_range_at(addr);
	if (!r || r->kind != RANGE_IMPORTED || !r->imported || r->base != addr)
		return CUDA_ERROR_INVALID_VALUE;
	if (--r->imported->opened == 0)
		sim_range_free(r);
	return CUDA_SUCCESS;
}

/* --- pools ---------------------------------------------------------------------------------- */

/* An exported pool is a small file that names its device; the pointers carry all else. */
CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool pool, CUmemAllocationHandleType type,
                                          unsigned long long flags)
{
	const struct pool *p = (const struct pool *)pool;
	struct ticket t = {.magic = TICKET, .pid = getpid()};
	int fd;

	SIM_ENTER(cuMemPoolExportToShareableHandle);
	if (!out || flags || !sim_pool_ok(pool) || p->imported || !(p->handle_types & type))
		return CUDA_ERROR_INVALID_VALUE;
	t.device = p->device;
	fd = memfd_create("gpumemsnap-sim-pool", MFD_CLOEXEC);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	if (write(fd, &t, sizeof(t)) != (ssize_t)sizeof(t)) {
		close(fd);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	*(int *)out = fd;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle, CUmemAllocationHandleType type,
                                            unsigned long long flags)
{
	struct ticket t;
	struct pool *p;

	SIM_ENTER(cuMemPoolImportFromShareableHandle);
	if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    pread((int)(intptr_t)handle, &t, sizeof(t), 0) != (ssize_t)sizeof(t) || t.magic != TICKET ||
	    !sim_device_ok(t.device))
		return CUDA_ERROR_INVALID_VALUE;
	p = sim_pool_new(t.device);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->imported = true;
	*out = (CUmemoryPool)p;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr addr)
{
	struct place p;

	SIM_ENTER(cuMemPoolExportPointer);
	if (!out || !sim_place(addr, &p) || p.range->kind != RANGE_POOL || !p.range->pool->handle_types)
		return CUDA_ERROR_INVALID_VALUE;
	return ticket_write(out, &p);
}

CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
	struct pool *p = (struct pool *)pool;
	struct ticket t;
	struct range *r;
	CUresult result;

	SIM_ENTER(cuMemPoolImportPointer);
	if (!out || !data || !sim_pool_ok(pool) || !p->imported || !ticket_read(data, &t))
		return CUDA_ERROR_INVALID_VALUE;
	result = ticket_open(&t, &r);
	if (result != CUDA_SUCCESS)
		return result;
	r->pool = p;
	sim_range_own(r, &p->ranges);
	*out = r->base;
	return CUDA_SUCCESS;
}

/* --- external memory ------------------------------------------------------------------------ */

struct external {
	int fd;
	uint64_t size;
};

CUresult cuImportExternalMemory(CUexternalMemory *out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
	struct external *e;
	struct stat st;

	SIM_ENTER(cuImportExternalMemory);
	SIM_CONTEXT(ctx);
	(void)ctx;
	if (!out || !desc || !desc->size)
		return CUDA_ERROR_INVALID_VALUE;
	if (desc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (fstat(desc->handle.fd, &st) < 0 || (uint64_t)st.st_size < desc->size)
		return CUDA_ERROR_INVALID_VALUE;
	e = malloc(sizeof(*e));
	if (!e || !sim_handle_add(e, HANDLE_EXTERNAL)) {
		free(e);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*e = (struct external){desc->handle.fd, desc->size}; /* the file is the driver's from here on */
	*out = (CUexternalMemory)e;
	return CUDA_SUCCESS;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *out, CUexternalMemory handle,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
	const struct external *e = (const struct external *)handle;
	struct range *r;

	SIM_ENTER(cuExternalMemoryGetMappedBuffer);
	SIM_CONTEXT(ctx);
	if (!out || !desc || !desc->size || !sim_handle_is(handle, HANDLE_EXTERNAL) ||
	    desc->offset > e->size || desc->size > e->size - desc->offset)
		return CUDA_ERROR_INVALID_VALUE;
	r = import(dup(e->fd), e->size, desc->offset, desc->size);
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->device = ctx->device;
	r->context = ctx;
	sim_range_own(r, &ctx->ranges);
	*out = r->base;
	return CUDA_SUCCESS;
}

CUresult cuDestroyExternalMemory(CUexternalMemory handle)
{
	struct external *e = (struct external *)handle;

	SIM_ENTER(cuDestroyExternalMemory);
	if (!sim_handle_is(handle, HANDLE_EXTERNAL))
		return CUDA_ERROR_INVALID_HANDLE;
	sim_handle_drop(e);
	close(e->fd);
	free(e);
	return CUDA_SUCCESS;
}
