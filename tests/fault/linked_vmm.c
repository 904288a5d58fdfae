/* linked_vmm.c: physical memory whose handles and mappings end in all orders. Each step's handle has its
 * own size: 2, 4, 6, … MiB. All is given back. */
#include "../../samples/sample.h"

#define PAGE (2 * MIB)

static CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
				   .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
static CUdeviceptr space;

static CUmemGenericAllocationHandle make(int pages)
{
	CUmemGenericAllocationHandle h;

	CU(cuMemCreate(&h, pages * PAGE, &prop, 0));
	return h;
}

int main(void)
{
	CUmemGenericAllocationHandle h, again, imported;
	CUdeviceptr v[2];
	int fd = -1;

	use_device(0);
	CU(cuMemAddressReserve(&space, 64 * PAGE, 0, 0, 0));
	v[0] = space;
	v[1] = space + 32 * PAGE;

	h = make(1); /* released first, then unmapped: ends with the unmap */
	CU(cuMemMap(v[0], PAGE, 0, h, 0));
	CU(cuMemRelease(h));
	CU(cuMemUnmap(v[0], PAGE));

	h = make(2); /* unmapped first: ends with the release */
	CU(cuMemMap(v[0], 2 * PAGE, 0, h, 0));
	CU(cuMemUnmap(v[0], 2 * PAGE));
	CU(cuMemRelease(h));

	h = make(3); /* mapped twice: counts once, ends with the second unmap */
	CU(cuMemMap(v[0], 3 * PAGE, 0, h, 0));
	CU(cuMemMap(v[1], 3 * PAGE, 0, h, 0));
	CU(cuMemRelease(h));
	CU(cuMemUnmap(v[0], 3 * PAGE));
	CU(cuMemUnmap(v[1], 3 * PAGE));

	h = make(4); /* found again by its address: two references */
	CU(cuMemMap(v[0], 4 * PAGE, 0, h, 0));
	CU(cuMemRetainAllocationHandle(&again, (void *)(v[0] + PAGE)));
	CU(cuMemRelease(h));
	CU(cuMemUnmap(v[0], 4 * PAGE));
	CU(cuMemRelease(again));

	h = make(5); /* released while another handle may get its value: two lives, not one */
	CU(cuMemMap(v[0], 5 * PAGE, 0, h, 0));
	CU(cuMemRelease(h));
	again = make(6);
	CU(cuMemRelease(again));
	CU(cuMemUnmap(v[0], 5 * PAGE));

	h = make(7); /* opened a second time through a file: imported, not added */
	CU(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	CU(cuMemImportFromShareableHandle(&imported, (void *)(uintptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	CU(cuMemMap(v[0], 7 * PAGE, 0, imported, 0));
	CU(cuMemUnmap(v[0], 7 * PAGE));
	CU(cuMemRelease(imported));
	CU(cuMemRelease(h));

	CU(cuMemAddressFree(space, 64 * PAGE));
	return 0;
}
