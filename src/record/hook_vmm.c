/* hook_vmm.c: virtual memory: address space, physical handles, mappings.
 *
 * Bytes are counted once per physical handle: it is obtained by cuMemCreate and ends when it was
 * released and is mapped nowhere, in whatever order. A handle imported from another process counts
 * as imported, from its first mapping on, with the mapping's size (the driver tells no other).
 * The numbers are kept also while recording is switched off.
 */
#include "record/hook.h"
#include "record/map.h"
#include <string.h>

/* A physical handle: a = its address in the record, b = bytes, count = references to the handle,
 * kind = PHYSICAL or IMPORTED. Mappings of it are counted apart, by its record address. */
static struct rec_map handles;	/* by handle, while the program holds it */
static struct rec_map physical; /* by record address: count = mappings, b = bytes, a = held? */
static struct rec_map mapped;	/* by virtual address: a = record address, b = bytes */
static struct rec_lock lock;
static uint64_t serial;

void rec_vmm_forked(void)
{
	rec_map_clear(&handles);
	rec_map_clear(&physical);
	rec_map_clear(&mapped);
	lock.owner = 0;
}

static struct rec_about about(enum gms_kind kind, uint64_t addr, uint64_t size, uint8_t device)
{
	return (struct rec_about){
		.kind = kind, .addr = addr, .size = size, .known_device = true, .device = device};
}

/* --- address space ------------------------------------------------------------------------------------ */
HOOK cuMemAddressReserve(CUdeviceptr *p, size_t bytes, size_t align, CUdeviceptr at, unsigned long long flags)
{
	CUresult r = REAL(cuMemAddressReserve)(p, bytes, align, at, flags);

	rec_got(REC_SITE, r, (struct rec_about){.kind = GMS_K_ADDRESS, .addr = r ? 0 : *p, .size = bytes});
	return r;
}

HOOK cuMemAddressFree(CUdeviceptr p, size_t bytes)
{
	struct rec_about a = {.kind = GMS_K_ADDRESS, .addr = p, .size = bytes};
	CUresult r;

	rec_giving(REC_SITE, a);
	r = REAL(cuMemAddressFree)(p, bytes);
	rec_gave(REC_SITE, r, a);
	return r;
}

/* --- physical handles ----------------------------------------------------------------------------------- */
static uint8_t device_of(const CUmemLocation *at)
{
	return at->type == CU_MEM_LOCATION_TYPE_DEVICE && at->id >= 0 && at->id < REC_DEVICES ? (uint8_t)at->id
											      : REC_NO_DEVICE;
}

/* The program holds a new handle. The driver may use a handle's value again while the memory it meant
 * before is still mapped: then the record gives it another address. */
static uint64_t hold(uint64_t handle, uint64_t bytes, enum gms_kind kind, uint8_t device)
{
	struct rec_map_entry *h, *p;
	uint64_t id = handle;

	rec_lock(&lock, NULL);
	if (rec_map_find(&physical, id))
		id ^= ++serial << 48;
	h = rec_map_put(&handles, handle);
	p = h ? rec_map_put(&physical, id) : NULL;
	if (p) {
		h->a = id;
		h->count = 1;
		p->a = 1;
		p->b = bytes;
		p->kind = (uint8_t)kind;
		p->device = device;
	}
	rec_unlock(&lock);
	return id;
}

HOOK cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *prop,
		 unsigned long long flags)
{
	CUresult r = REAL(cuMemCreate)(handle, bytes, prop, flags);
	uint8_t device = prop ? device_of(&prop->location) : REC_NO_DEVICE;
	uint64_t id = r ? 0 : hold(*handle, bytes, GMS_K_PHYSICAL, device);

	rec_got(REC_SITE, r, about(GMS_K_PHYSICAL, id, bytes, device));
	return r;
}

HOOK cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os, CUmemAllocationHandleType type)
{
	CUresult r = REAL(cuMemImportFromShareableHandle)(handle, os, type);

	if (r == CUDA_SUCCESS) {
		CUmemAllocationProp prop;
		bool known = rec_real_exists(DRIVER_FN_cuMemGetAllocationPropertiesFromHandle) &&
			     REAL(cuMemGetAllocationPropertiesFromHandle)(&prop, *handle) == CUDA_SUCCESS;

		hold(*handle, 0, GMS_K_IMPORTED, known ? device_of(&prop.location) : REC_NO_DEVICE);
	}
	return r;
}

HOOK cuMemExportToShareableHandle(void *os, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
				  unsigned long long flags)
{
	return REAL(cuMemExportToShareableHandle)(os, handle, type, flags);
}

/* The record address of what is mapped at an address that may lie inside a mapping. */
static uint64_t mapped_at(uint64_t addr)
{
	const struct rec_map_entry *m = rec_map_find(&mapped, addr);
	uint64_t i;

	for (i = 0; !m && mapped.entry && i <= mapped.mask; i++)
		if (mapped.entry[i].used && addr >= mapped.entry[i].key &&
		    addr - mapped.entry[i].key < mapped.entry[i].b)
			m = &mapped.entry[i];
	return m ? m->a : 0;
}

HOOK cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	CUresult r = REAL(cuMemRetainAllocationHandle)(handle, addr);
	struct rec_map_entry *h, *p;
	uint64_t id;

	if (r != CUDA_SUCCESS)
		return r;
	rec_lock(&lock, NULL);
	id = mapped_at((uintptr_t)addr);
	p = id ? rec_map_find(&physical, id) : NULL;
	h = p ? rec_map_put(&handles, *handle) : NULL;
	if (h) {
		h->a = id;
		h->count++;
		p->a = 1;
	}
	rec_unlock(&lock);
	return r;
}

/* One reference less. True, and what it was in *a, if the memory ends with it. */
static bool let_go(uint64_t handle, struct rec_about *a)
{
	struct rec_map_entry *h, *p = NULL;
	bool ends = false;

	rec_lock(&lock, NULL);
	h = rec_map_find(&handles, handle);
	if (h && --h->count == 0) {
		p = rec_map_find(&physical, h->a);
		*a = about(p ? (enum gms_kind)p->kind : GMS_K_PHYSICAL, h->a, p ? p->b : 0,
			   p ? p->device : REC_NO_DEVICE);
		rec_map_take(&handles, handle);
	}
	if (p) {
		p->a = 0;
		ends = p->count == 0;
	}
	if (ends)
		rec_map_take(&physical, a->addr);
	rec_unlock(&lock);
	return ends && (a->kind == GMS_K_PHYSICAL || a->size);
}

HOOK cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct rec_about a = {0};
	bool ends = let_go(handle, &a);
	CUresult r;

	if (ends)
		rec_giving(REC_SITE, a);
	r = REAL(cuMemRelease)(handle);
	if (ends)
		rec_gave(REC_SITE, r, a);
	return r;
}

/* --- mappings --------------------------------------------------------------------------------------------- */
/* Returns true if this is the first mapping of an imported handle: only now are its bytes known. */
static bool add_mapping(uint64_t addr, uint64_t bytes, uint64_t handle, struct rec_about *first)
{
	struct rec_map_entry *h, *m, *p;
	bool imported = false;

	rec_lock(&lock, NULL);
	h = rec_map_find(&handles, handle);
	p = h ? rec_map_find(&physical, h->a) : NULL;
	m = p ? rec_map_put(&mapped, addr) : NULL;
	if (m) {
		m->a = h->a;
		m->b = bytes;
		m->device = p->device;
		p->count++;
		imported = p->kind == GMS_K_IMPORTED && !p->b;
		if (imported)
			p->b = bytes;
		*first = about((enum gms_kind)p->kind, h->a, p->b, p->device);
	}
	rec_unlock(&lock);
	return imported;
}

HOOK cuMemMap(CUdeviceptr p, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult r = REAL(cuMemMap)(p, bytes, offset, handle, flags);
	struct rec_about first = {0};

	if (r != CUDA_SUCCESS)
		return r;
	if (add_mapping(p, bytes, handle, &first))
		rec_got(REC_SITE, r, first);
	rec_note(REC_SITE, GMS_A_MAP, about(GMS_K_PHYSICAL, p, bytes, first.size ? first.device : REC_NO_DEVICE));
	return r;
}

/* Take the mapping that begins at addr away; *ended tells what memory ended with it (size 0: none). */
static uint64_t end_mapping(uint64_t addr, struct rec_about *ended, uint8_t *device)
{
	struct rec_map_entry *m, *p;
	uint64_t bytes = 0, id = 0;

	*ended = (struct rec_about){0};
	rec_lock(&lock, NULL);
	m = rec_map_find(&mapped, addr);
	if (m) {
		bytes = m->b;
		id = m->a;
		*device = m->device;
		rec_map_take(&mapped, addr);
	}
	p = id ? rec_map_find(&physical, id) : NULL;
	if (p && --p->count == 0 && !p->a) {
		*ended = about((enum gms_kind)p->kind, id, p->b, p->device);
		rec_map_take(&physical, id);
	}
	rec_unlock(&lock);
	return bytes;
}

HOOK cuMemUnmap(CUdeviceptr p, size_t bytes)
{
	uint64_t at = p, end = (uint64_t)p + bytes, n;
	uint8_t device = REC_NO_DEVICE;
	CUresult r = REAL(cuMemUnmap)(p, bytes);
	struct rec_about ended;

	/* One call may end several mappings. They are told after the call: the address space stays the
	 * program's, so nobody else can have got it meanwhile. */
	if (r != CUDA_SUCCESS)
		return r;
	for (; at < end && (n = end_mapping(at, &ended, &device)); at += n) {
		rec_note(REC_SITE, GMS_A_UNMAP, about(GMS_K_PHYSICAL, at, n, device));
		if (ended.size)
			rec_giving(REC_SITE, ended);
	}
	return r;
}
