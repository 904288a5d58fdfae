/* hook_mem.c: device, managed and page-locked host memory. */
#include "record/hook.h"

HOOK cuMemAlloc_v2(CUdeviceptr *p, size_t bytes)
{
	CUresult r;

	REC_SERVE(alloc, (uint64_t *)p, bytes);
	r = REAL(cuMemAlloc_v2)(p, bytes);
	rec_got(REC_SITE, r, (struct rec_about){.kind = GMS_K_DEVICE, .addr = r ? 0 : *p, .size = bytes});
	return r;
}

HOOK cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element)
{
	CUresult r = REAL(cuMemAllocPitch_v2)(p, pitch, width, height, element);

	rec_got(REC_SITE, r,
		(struct rec_about){.kind = GMS_K_DEVICE, .addr = r ? 0 : *p, .size = (r ? width : *pitch) * height});
	return r;
}

HOOK cuMemFree_v2(CUdeviceptr p)
{
	struct rec_about a = {.kind = GMS_K_DEVICE, .addr = p};
	CUresult r;
	bool told;

	REC_SERVE(free, p);
	told = rec_returning(REC_SITE, &a);
	r = REAL(cuMemFree_v2)(p);
	if (told)
		rec_gave(REC_SITE, r, a);
	return r;
}

HOOK cuMemAllocManaged(CUdeviceptr *p, size_t bytes, unsigned flags)
{
	CUresult r = REAL(cuMemAllocManaged)(p, bytes, flags);

	rec_got(REC_SITE, r, (struct rec_about){.kind = GMS_K_MANAGED, .addr = r ? 0 : *p, .size = bytes});
	return r;
}

HOOK cuMemHostAlloc(void **p, size_t bytes, unsigned flags)
{
	CUresult r = REAL(cuMemHostAlloc)(p, bytes, flags);

	rec_got(REC_SITE, r,
		(struct rec_about){
			.kind = GMS_K_PINNED, .addr = r ? 0 : (uintptr_t)*p, .size = bytes, .on_host = true});
	return r;
}

HOOK cuMemAllocHost_v2(void **p, size_t bytes)
{
	CUresult r = REAL(cuMemAllocHost_v2)(p, bytes);

	rec_got(REC_SITE, r,
		(struct rec_about){
			.kind = GMS_K_PINNED, .addr = r ? 0 : (uintptr_t)*p, .size = bytes, .on_host = true});
	return r;
}

HOOK cuMemFreeHost(void *p)
{
	struct rec_about a = {.kind = GMS_K_PINNED, .addr = (uintptr_t)p, .on_host = true};
	CUresult r;

	rec_giving(REC_SITE, a);
	r = REAL(cuMemFreeHost)(p);
	rec_gave(REC_SITE, r, a);
	return r;
}

static CUresult registered(struct rec_site site, CUresult r, const void *p, size_t bytes)
{
	rec_got(site, r,
		(struct rec_about){
			.kind = GMS_K_REGISTERED, .addr = (uintptr_t)p, .size = bytes, .on_host = true});
	return r;
}

HOOK cuMemHostRegister(void *p, size_t bytes, unsigned flags)
{
	return registered(REC_SITE, REAL(cuMemHostRegister)(p, bytes, flags), p, bytes);
}

HOOK cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
	return registered(REC_SITE, REAL(cuMemHostRegister_v2)(p, bytes, flags), p, bytes);
}

HOOK cuMemHostUnregister(void *p)
{
	struct rec_about a = {.kind = GMS_K_REGISTERED, .addr = (uintptr_t)p, .on_host = true};
	CUresult r;

	rec_giving(REC_SITE, a);
	r = REAL(cuMemHostUnregister)(p);
	rec_gave(REC_SITE, r, a);
	return r;
}
