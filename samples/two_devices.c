/* two_devices.c: one process, two devices, two stories that must not be mixed.
 *
 * Device 0 holds a model and serves requests without losing anything. Device 1 gathers results and
 * never lets them go.
 *
 * Expected story: device 0 peaks at 96 MiB (model 64, request 32) and ends at 0; device 1 ends with
 * its peak, 10 results of 16 MiB, 160 MiB, all from gather. Needs two devices, which the simulated
 * driver has unless GPUMEMSNAP_SIM says otherwise.
 */
#include "sample.h"

enum { REQUESTS = 10 };

NAMED static CUdeviceptr serve(void)
{
	CUdeviceptr request;

	CU(cuMemAlloc(&request, 32 * MIB));
	CU(cuMemsetD8(request, 1, 1 * MIB));
	return request;
}

NAMED static CUdeviceptr gather(void)
{
	CUdeviceptr result;

	CU(cuMemAlloc(&result, 16 * MIB)); /* the bug: main only copies into it */
	return result;
}

int main(void)
{
	CUcontext server, collector;
	CUdeviceptr model;
	int count;

	CU(cuInit(0));
	CU(cuDeviceGetCount(&count));
	if (count < 2) {
		fprintf(stderr, "two_devices: there is only %d device\n", count);
		return 1;
	}
	collector = use_device(1);
	server = use_device(0);
	CU(cuMemAlloc(&model, 64 * MIB));
	for (int i = 0; i < REQUESTS; i++) {
		CUdeviceptr request = serve(), result;

		CU(cuCtxPushCurrent(collector));
		result = gather();
		CU(cuCtxPopCurrent(NULL));
		CU(cuMemcpyPeer(result, collector, request, server, 1 * MIB));
		CU(cuMemFree(request));
	}
	CU(cuMemFree(model));
	printf("two_devices: %d requests served\n", REQUESTS);
	return 0;
}
