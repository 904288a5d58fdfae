/* cupti_memory.c: preloaded, it has CUPTI record memory operations (no stacks) and throws them away:
 * what our recording is compared with. */
#include <cupti.h>
#include <stdlib.h>

static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 1 << 20;
	*buffer = aligned_alloc(8, *size);
	*max = 0;
}

static void CUPTIAPI take(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)ctx;
	(void)stream;
	(void)size;
	(void)valid;
	free(buffer);
}

__attribute__((constructor)) static void start(void)
{
	if (cuptiActivityRegisterCallbacks(give, take) == CUPTI_SUCCESS)
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2);
}
