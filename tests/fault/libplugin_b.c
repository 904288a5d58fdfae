/* libplugin_b.c: as libplugin_a.c, so that it lies at the same addresses after it: a plugin that allocates through what it is given, and is then unloaded. */
#include <cuda.h>

CUdeviceptr plugin_run(CUresult (*alloc)(CUdeviceptr *, size_t), size_t bytes);
CUdeviceptr plugin_helper_b(CUresult (*alloc)(CUdeviceptr *, size_t), size_t bytes);

__attribute__((noinline)) CUdeviceptr plugin_helper_b(CUresult (*alloc)(CUdeviceptr *, size_t), size_t bytes)
{
	CUdeviceptr p = 0;

	alloc(&p, bytes);
	__asm__ volatile("" ::: "memory");
	return p;
}

CUdeviceptr plugin_run(CUresult (*alloc)(CUdeviceptr *, size_t), size_t bytes)
{
	CUdeviceptr p = plugin_helper_b(alloc, bytes);

	__asm__ volatile("" ::: "memory");
	return p;
}
