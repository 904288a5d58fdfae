/* liblinked_now.c: a library that is itself linked with the driver, for programs that open it with RTLD_DEEPBIND.
 * It reaches the driver by calls, by an address in its data, and by dlopen and dlsym of its own. (Linked so that
 * its tables are sealed once they are filled; liblinked_lazy is the same, filled at the first call.) */
#include <cuda.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef CUresult alloc_fn(CUdeviceptr *, size_t);

int linked_work(void);

static alloc_fn *const volatile by_address = cuMemAlloc;

/* Three allocations, of 1000, 2000 and 3000 bytes; one is given back. */
int linked_work(void)
{
	CUdeviceptr a, b, c;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	alloc_fn *found = driver ? (alloc_fn *)dlsym(driver, "cuMemAlloc_v2") : NULL;

	return !found || cuMemAlloc(&a, 1000) || by_address(&b, 2000) || found(&c, 3000) || cuMemFree(a);
}

/* As plugins do, which are called by nobody who looks them up. */
__attribute__((constructor)) static void make_known(void)
{
	char text[32];

	snprintf(text, sizeof text, "%p", (void *)linked_work);
	setenv("LINKED_WORK", text, 1);
}
