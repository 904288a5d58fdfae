/* kind_vmm.cu: virtual memory by the driver API, from a program that is otherwise on the runtime: one
 * handle mapped twice, released before it is unmapped, and a second one that stays. */
#include <cuda.h>

#include "cu.h"

#define CU(call)                                                                                             \
	do {                                                                                                 \
		CUresult result_ = (call);                                                                   \
		if (result_ != CUDA_SUCCESS) {                                                               \
			fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, result_);          \
			exit(1);                                                                             \
		}                                                                                            \
	} while (0)

int main(void)
{
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	CUmemGenericAllocationHandle shared, kept;
	CUdeviceptr at;

	OK(cudaFree(0));
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CU(cuMemAddressReserve(&at, 64 * MIB, 0, 0, 0));
	CU(cuMemCreate(&shared, 4 * MIB, &prop, 0));
	CU(cuMemMap(at, 4 * MIB, 0, shared, 0));
	CU(cuMemMap(at + 4 * MIB, 4 * MIB, 0, shared, 0));
	CU(cuMemRelease(shared));
	CU(cuMemSetAccess(at, 8 * MIB, &access, 1));
	OK(cudaMemset((void *)at, 1, 8 * MIB));
	CU(cuMemUnmap(at, 8 * MIB));
	CU(cuMemCreate(&kept, 6 * MIB, &prop, 0));
	CU(cuMemMap(at, 6 * MIB, 0, kept, 0));
	expect("physical", 2, 1, 6 * MIB);
	return finish();
}
