/* linked_plain.c: a program linked with the driver, so that the loader itself binds its calls. */
#include <cuda.h>
#include <stdio.h>

int main(void)
{
	CUcontext c;
	CUdeviceptr p;
	int i;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c))
		return 1;
	for (i = 0; i < 5; i++)
		if (cuMemAlloc(&p, 1000))
			return 2;
	printf("done\n");
	return 0;
}
