/* libnext.c: another preloaded library that wraps the driver, by dlsym(RTLD_NEXT) or, if NEXT_BY_HANDLE
 * is set, by dlopen and dlsym: counts the calls it sees and says so at the end. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int seen, allocs;

void *malloc(size_t n)
{
	static void *(*next)(size_t);

	if (!next)
		next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	__atomic_fetch_add(&allocs, 1, __ATOMIC_RELAXED);
	return next(n);
}

int cuMemAlloc_v2(unsigned long long *p, size_t n);
int cuMemAlloc_v2(unsigned long long *p, size_t n)
{
	const char *by = getenv("NEXT_BY_HANDLE");
	void *from = by && *by ? dlopen("libcuda.so.1", RTLD_NOW) : RTLD_NEXT;
	int (*next)(unsigned long long *, size_t) = (int (*)(unsigned long long *, size_t))dlsym(from, "cuMemAlloc_v2");

	seen++;
	return next ? next(p, n) : 999;
}

__attribute__((destructor)) static void at_end(void)
{
	printf("next saw %d, malloc %s\n", seen, allocs ? "seen" : "not seen");
}
