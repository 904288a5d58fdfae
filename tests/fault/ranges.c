/* ranges.c: NVTX ranges of every sort around allocations, by NVTX's own header: nested pushes, a range that
 * another thread ends, domains, registered and wide names, marks. Exits with 77 where there is no NVTX. */
#include "gpu.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

static void *end_range(void *id)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

static nvtxEventAttributes_t named(nvtxStringHandle_t name)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};

	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = name;
	return a;
}

int main(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
	nvtxStringHandle_t sweep = nvtxDomainRegisterStringA(domain, "sweep");
	nvtxEventAttributes_t a = named(sweep);
	nvtxRangeId_t id;
	pthread_t thread;

	gpu_start();
	nvtxRangePushA("epoch");
	gpu_get(111);
	nvtxRangePushW(L"st\u00e4p");
	gpu_get(222);
	nvtxRangePop();
	nvtxMarkA("half-way");
	nvtxDomainRangePushEx(domain, &a); /* lies across the end of another domain's range */
	gpu_get(333);
	nvtxRangePop();
	gpu_get(444);
	nvtxDomainRangePop(domain);
	id = nvtxRangeStartA("upload");
	gpu_get(555);
	pthread_create(&thread, NULL, end_range, &id);
	pthread_join(thread, NULL);
	gpu_get(666);
	nvtxRangePop(); /* one too many */
	nvtxRangePushA("never ended");
	gpu_get(777);
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
