/* vmm.c: virtual memory: reserved addresses, physical handles, mappings of one in the other.
 *
 * A physical handle lives until it is released as often as it was obtained and nothing maps it any
 * more; only then does its memory go back to the device. None of this belongs to a context.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simcuda/sim.h"

struct reservation {
	struct block *va;
	uint64_t base, size;
	struct reservation *next;
};

struct physical {
	struct backing *backing;
	CUmemAllocationProp prop;
	uint64_t size;
	unsigned handles, mappings;
	struct physical *next;
};

static struct reservation *reservations;
static struct physical *physicals;

/* --- addresses ------------------------------------------------------------------------------ */

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t align, CUdeviceptr hint,
                             unsigned long long flags)
{
	struct reservation *r;

	SIM_ENTER(cuMemAddressReserve);
	if (!out || !size || size % SIM_PAGE || align & (align - 1) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	r = malloc(sizeof(*r));
	if (r)
		r->va = sim_space_take(size, align, hint);
	if (!r || !r->va) {
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r->base = sim_space_addr(r->va);
	r->size = size;
	r->next = reservations;
	reservations = r;
	*out = r->base;
	return CUDA_SUCCESS;
}

/* The first mapped page of a span; NULL if it is all free. */
static struct range *mapped_in(uint64_t addr, uint64_t size)
{
	for (uint64_t at = addr; at < addr + size; at += SIM_PAGE)
		if (sim_range_at(at))
			return sim_range_at(at);
	return NULL;
}

CUresult cuMemAddressFree(CUdeviceptr addr, size_t size)
{
	struct reservation **at = &reservations, *r;

	SIM_ENTER(cuMemAddressFree);
	while (*at && (*at)->base != addr)
		at = &(*at)->next;
	r = *at;
	if (!r || r->size != size || mapped_in(addr, size))
		return CUDA_ERROR_INVALID_VALUE;
	*at = r->next;
	sim_space_drop(r->va);
	free(r);
	return CUDA_SUCCESS;
}

static bool reserved(uint64_t addr, uint64_t size)
{
	const struct reservation *r = reservations;

	while (r && addr - r->base >= r->size)
		r = r->next;
	return r && size <= r->base + r->size - addr;
}

/* --- physical memory ------------------------------------------------------------------------ */

static struct physical *physical_new(struct backing *backing, const CUmemAllocationProp *prop)
{
	struct physical *ph = calloc(1, sizeof(*ph));

	if (!ph || !sim_handle_add(ph, HANDLE_PHYSICAL)) {
		free(ph);
		return NULL;
	}
	ph->backing = backing;
	ph->prop = *prop;
	ph->size = backing->size;
	ph->handles = 1;
	ph->next = physicals;
	physicals = ph;
	return ph;
}

static void physical_drop(struct physical *ph)
{
	struct physical **at = &physicals;

	if (!ph->handles)
		sim_handle_drop(ph);
	if (ph->handles || ph->mappings)
		return;
	while (*at != ph)
		at = &(*at)->next;
	*at = ph->next;
	sim_backing_drop(ph->backing);
	free(ph);
}

unsigned sim_physical_handle_types(const struct physical *ph)
{
	return ph->prop.requestedHandleTypes;
}

static bool prop_ok(const CUmemAllocationProp *prop)
{
	return prop && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
	       prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
	       !(prop->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t size, const CUmemAllocationProp *prop,
                     unsigned long long flags)
{
	struct physical *ph = NULL;
	struct backing *backing;

	SIM_ENTER(cuMemCreate);
	if (!out || !size || size % SIM_PAGE || flags || !prop_ok(prop))
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_ok(prop->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!sim_charge(prop->location.id, size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	backing = sim_backing_new(prop->location.id, size);
	if (backing)
		ph = physical_new(backing, prop);
	if (!ph) {
		if (backing)
			sim_backing_drop(backing);
		else
			sim_refund(prop->location.id, size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = (CUmemGenericAllocationHandle)ph;
	return CUDA_SUCCESS;
}

static struct physical *physical_of(CUmemGenericAllocationHandle handle)
{
	struct physical *ph = (struct physical *)handle;

	return sim_handle_is(ph, HANDLE_PHYSICAL) ? ph : NULL;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct physical *ph;

	SIM_ENTER(cuMemRelease);
	ph = physical_of(handle);
	if (!ph)
		return CUDA_ERROR_INVALID_VALUE;
	ph->handles--;
	physical_drop(ph);
	return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *addr)
{
	const struct range *r;

	SIM_ENTER(cuMemRetainAllocationHandle);
	r = sim_range_at((uint64_t)addr);
	if (!out || !r || r->kind != RANGE_MAPPED)
		return CUDA_ERROR_INVALID_VALUE;
	if (!r->physical->handles && !sim_handle_add(r->physical, HANDLE_PHYSICAL))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->physical->handles++;
	*out = (CUmemGenericAllocationHandle)r->physical;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
	SIM_ENTER(cuMemGetAllocationGranularity);
	if (!out || !prop_ok(prop) || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_ok(prop->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	*out = SIM_PAGE;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out, CUmemGenericAllocationHandle handle)
{
	const struct physical *ph;

	SIM_ENTER(cuMemGetAllocationPropertiesFromHandle);
	ph = physical_of(handle);
	if (!out || !ph)
		return CUDA_ERROR_INVALID_VALUE;
	*out = ph->prop;
	return CUDA_SUCCESS;
}

/* --- mappings ------------------------------------------------------------------------------- */

CUresult cuMemMap(CUdeviceptr addr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
	struct physical *ph;
	struct range *r;

	SIM_ENTER(cuMemMap);
	ph = physical_of(handle);
	if (!ph || flags || !size || addr % SIM_PAGE || size % SIM_PAGE || offset % SIM_PAGE ||
	    size > ph->size || offset > ph->size - size || !reserved(addr, size) || mapped_in(addr, size))
		return CUDA_ERROR_INVALID_VALUE;
	if (size < ph->size) /* a handle is mapped whole */
		return CUDA_ERROR_NOT_SUPPORTED;
	r = calloc(1, sizeof(*r));
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*r = (struct range){.kind = RANGE_MAPPED,
	                    .base = addr,
	                    .size = size,
	                    .bytes = size,
	                    .id = ++sim.next_id,
	                    .device = ph->prop.location.id,
	                    .backing = ph->backing,
	                    .physical = ph};
	ph->backing->refs++;
	ph->mappings++;
	sim_range_index(r);
	return CUDA_SUCCESS;
}

/* Is the span made of whole mappings, from the first byte to the last? */
static bool whole_mappings(uint64_t addr, uint64_t size)
{
	uint64_t end = addr + size;

	while (addr < end) {
		const struct range *r = sim_range_at(addr);

		if (!r || r->kind != RANGE_MAPPED || r->base != addr || r->size > end - addr)
			return false;
		addr += r->size;
	}
	return addr == end;
}

CUresult cuMemUnmap(CUdeviceptr addr, size_t size)
{
	SIM_ENTER(cuMemUnmap);
	if (!size || !whole_mappings(addr, size))
		return CUDA_ERROR_INVALID_VALUE;
	for (uint64_t at = addr; at < addr + size;) {
		struct range *r = sim_range_at(at);
		struct physical *ph = r->physical;

		at += r->size;
		sim_range_free(r);
		ph->mappings--;
		physical_drop(ph);
	}
	return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr addr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	bool access = false;

	SIM_ENTER(cuMemSetAccess);
	if (!size || (!desc && count) || !whole_mappings(addr, size))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (desc[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
		    !sim_device_ok(desc[i].location.id))
			return CUDA_ERROR_INVALID_DEVICE;
		access |= desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
	}
	for (uint64_t at = addr; at < addr + size; at += sim_range_at(at)->size)
		sim_range_at(at)->access = access;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr addr)
{
	const struct range *r;

	SIM_ENTER(cuMemGetAccess);
	r = sim_range_at(addr);
	if (!flags || !location || !r || r->kind != RANGE_MAPPED)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = r->access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return CUDA_SUCCESS;
}

/* --- to and from other processes ------------------------------------------------------------ */

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
	struct physical *ph;
	int fd;

	SIM_ENTER(cuMemExportToShareableHandle);
	ph = physical_of(handle);
	if (!out || flags || !ph || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    !(ph->prop.requestedHandleTypes & type))
		return CUDA_ERROR_INVALID_VALUE;
	fd = sim_backing_share(ph->backing);
	fd = fd < 0 ? fd : dup(fd);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	*(int *)out = fd;
	return CUDA_SUCCESS;
}

/* Memory of this very process that is behind a file: it is one memory, however it is reached. */
static struct backing *own_backing(const struct stat *want)
{
	struct stat st;

	for (const struct physical *ph = physicals; ph; ph = ph->next)
		if (ph->backing->fd >= 0 && fstat(ph->backing->fd, &st) == 0 && st.st_ino == want->st_ino &&
		    st.st_dev == want->st_dev)
			return ph->backing;
	return NULL;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *os_handle,
                                        CUmemAllocationHandleType type)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	                            .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	int fd = (int)(intptr_t)os_handle;
	struct backing *backing;
	struct physical *ph;
	struct stat st;

	SIM_ENTER(cuMemImportFromShareableHandle);
	if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fstat(fd, &st) < 0 || !st.st_size ||
	    st.st_size % SIM_PAGE)
		return CUDA_ERROR_INVALID_VALUE;
	backing = own_backing(&st);
	if (backing)
		backing->refs++;
	else
		backing = sim_backing_import(dup(fd), (uint64_t)st.st_size);
	ph = backing ? physical_new(backing, &prop) : NULL;
	if (!ph) {
		if (backing)
			sim_backing_drop(backing);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = (CUmemGenericAllocationHandle)ph;
	return CUDA_SUCCESS;
}
