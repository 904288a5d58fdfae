/* hook_share.c: memory of other processes and of graphics APIs opened here. It is recorded as
 * imported and never added to the owner's bytes.
 *
 * Such addresses are given back by the ordinary functions (cuMemFree, cuMemFreeAsync, …): "borrowed"
 * remembers them, so that the hooks of those can tell.
 */
#include "record/hook.h"
#include "record/map.h"

static struct rec_map borrowed; /* by address: kind = enum rec_loan, count = how often opened */
static struct rec_lock lock;
uint32_t rec_borrowed;

void rec_borrow(uint64_t addr, enum rec_loan loan, bool *first)
{
	struct rec_map_entry *e;

	rec_lock(&lock, NULL);
	e = rec_map_put(&borrowed, addr);
	if (e) {
		*first = e->count++ == 0;
		e->kind = (uint8_t)loan;
	}
	__atomic_store_n(&rec_borrowed, (uint32_t)borrowed.n, __ATOMIC_RELEASE);
	rec_unlock(&lock);
}

enum rec_loan rec_give_back(uint64_t addr)
{
	enum rec_loan loan = REC_OWN;
	struct rec_map_entry *e;

	if (__builtin_expect(!__atomic_load_n(&rec_borrowed, __ATOMIC_RELAXED), 1))
		return REC_OWN;
	rec_lock(&lock, NULL);
	e = rec_map_find(&borrowed, addr);
	if (e) {
		loan = e->count > 1 ? REC_STILL_OPEN : (enum rec_loan)e->kind;
		if (--e->count == 0)
			rec_map_take(&borrowed, addr);
	}
	__atomic_store_n(&rec_borrowed, (uint32_t)borrowed.n, __ATOMIC_RELEASE);
	rec_unlock(&lock);
	return loan;
}

void rec_share_forked(void)
{
	rec_map_clear(&borrowed);
	rec_borrowed = 0;
	lock.owner = 0;
}

static struct rec_about imported(uint64_t addr, uint64_t bytes)
{
	return (struct rec_about){.kind = GMS_K_IMPORTED, .addr = addr, .size = bytes};
}

/* --- memory of another process ------------------------------------------------------------------------ */
static void opened(struct rec_site site, CUresult r, CUdeviceptr *p)
{
	bool first = true;
	size_t bytes = 0;
	CUdeviceptr base;

	if (r == CUDA_SUCCESS) {
		if (REAL(cuMemGetAddressRange_v2)(&base, &bytes, *p) != CUDA_SUCCESS)
			bytes = 0;
		rec_borrow(*p, REC_IMPORTED, &first);
	}
	if (first)
		rec_got(site, r, imported(r ? 0 : *p, bytes));
}

HOOK cuIpcOpenMemHandle(CUdeviceptr *p, CUipcMemHandle handle, unsigned flags)
{
	CUresult r = REAL(cuIpcOpenMemHandle)(p, handle, flags);

	opened(REC_SITE, r, p);
	return r;
}

HOOK cuIpcOpenMemHandle_v2(CUdeviceptr *p, CUipcMemHandle handle, unsigned flags)
{
	CUresult r = REAL(cuIpcOpenMemHandle_v2)(p, handle, flags);

	opened(REC_SITE, r, p);
	return r;
}

HOOK cuIpcCloseMemHandle(CUdeviceptr p)
{
	struct rec_about a = imported(p, 0);
	bool last = rec_give_back(p) != REC_STILL_OPEN;
	CUresult r;

	if (last)
		rec_giving(REC_SITE, a);
	r = REAL(cuIpcCloseMemHandle)(p);
	if (last)
		rec_gave(REC_SITE, r, a);
	return r;
}

HOOK cuMemPoolImportPointer(CUdeviceptr *p, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
	CUresult r = REAL(cuMemPoolImportPointer)(p, pool, data);

	opened(REC_SITE, r, p);
	return r;
}

HOOK cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr p)
{
	return REAL(cuMemPoolExportPointer)(data, p);
}

/* --- memory of graphics APIs ------------------------------------------------------------------------------ */
HOOK cuImportExternalMemory(CUexternalMemory *memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d)
{
	CUresult r = REAL(cuImportExternalMemory)(memory, d);

	rec_got(REC_SITE, r, imported(r ? 0 : (uintptr_t)*memory, d ? d->size : 0));
	return r;
}

HOOK cuDestroyExternalMemory(CUexternalMemory memory)
{
	struct rec_about a = imported((uintptr_t)memory, 0);
	CUresult r;

	rec_giving(REC_SITE, a);
	r = REAL(cuDestroyExternalMemory)(memory);
	rec_gave(REC_SITE, r, a);
	return r;
}

HOOK cuExternalMemoryGetMappedBuffer(CUdeviceptr *p, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *d)
{
	CUresult r = REAL(cuExternalMemoryGetMappedBuffer)(p, memory, d);
	bool first;

	if (r == CUDA_SUCCESS) {
		rec_borrow(*p, REC_VIEW, &first);
		rec_note(REC_SITE, GMS_A_MAP, imported(*p, d ? d->size : 0));
	}
	return r;
}

HOOK cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *array, CUexternalMemory memory,
					     const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *d)
{
	CUresult r = REAL(cuExternalMemoryGetMappedMipmappedArray)(array, memory, d);
	bool first;

	if (r == CUDA_SUCCESS)
		rec_borrow((uintptr_t)*array, REC_VIEW, &first);
	return r;
}
