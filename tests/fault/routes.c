/* routes.c HOW: reach the driver in a certain way, then 8 allocations (2 stream-ordered) of which 4 are
 * given back. */
#include "gpu.h"

typedef CUresult get_v1(const char *, void **, int, cuuint64_t);
typedef CUresult get_v2(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

static void *lib;
static get_v1 *v1;
static get_v2 *v2;
static int version = 12000;
static cuuint64_t flags;

static void *find(const char *base, const char *symbol)
{
	CUdriverProcAddressQueryResult status;
	void *p = NULL;

	if (v2)
		gpu_must(v2(base, &p, version, flags, &status), base);
	else if (v1)
		gpu_must(v1(base, &p, version, flags), base);
	else
		p = gpu_fn(lib, symbol);
	return p;
}

#define FIND(base, symbol) ((__typeof__(&base))find(#base, symbol))

static void work(void)
{
	CUdeviceptr p[8];
	CUcontext c;
	CUstream none = NULL;
	int i;

	gpu_must(FIND(cuInit, "cuInit")(0), "cuInit");
	gpu_must(FIND(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")(&c, 0), "retain");
	gpu_must(FIND(cuCtxSetCurrent, "cuCtxSetCurrent")(c), "current");
	for (i = 0; i < 6; i++)
		gpu_must(((CUresult(*)(CUdeviceptr *, size_t))find("cuMemAlloc", "cuMemAlloc_v2"))(&p[i], 1000), "alloc");
	for (; i < 8; i++)
		gpu_must(FIND(cuMemAllocAsync, "cuMemAllocAsync")(&p[i], 1000, none), "async");
	for (i = 0; i < 3; i++)
		gpu_must(((CUresult(*)(CUdeviceptr))find("cuMemFree", "cuMemFree_v2"))(p[i]), "free");
	gpu_must(FIND(cuMemFreeAsync, "cuMemFreeAsync")(p[7], none), "free async");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "dlsym";
	int mode = RTLD_NOW | (strstr(how, "global") ? RTLD_GLOBAL : RTLD_LOCAL);
	CUdriverProcAddressQueryResult status;
	void *p = NULL;

	if (!strcmp(how, "absent")) /* no driver is loaded: nobody must find one */
		return dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") || dlsym(dlopen(NULL, RTLD_NOW), "cuInit") ? 1 : 0;
	lib = dlopen("libcuda.so.1", mode | (strstr(how, "deepbind") ? RTLD_DEEPBIND : 0));
	if (!lib)
		return 92;
	if (strstr(how, "default")) /* once it is in the global scope */
		lib = RTLD_DEFAULT;
	if (strstr(how, "dlvsym"))
		return dlvsym(lib, "cuMemAlloc_v2", "NO_SUCH_VERSION") ? 1 : 0;
	if (strstr(how, "unknown"))
		return dlsym(lib, "cuMemNoSuchFunction") ? 1 : 0;
	if (argc > 2)
		version = atoi(argv[2]);
	if (strstr(how, "ptsz"))
		flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	if (strstr(how, "v1"))
		v1 = (get_v1 *)gpu_fn(lib, "cuGetProcAddress");
	if (strstr(how, "v2"))
		v2 = (get_v2 *)gpu_fn(lib, "cuGetProcAddress_v2");
	if (strstr(how, "itself")) { /* the looker-up looked up by itself */
		gpu_must(v2("cuGetProcAddress", &p, 12000, 0, &status), "cuGetProcAddress");
		v2 = (get_v2 *)p;
	}
	work();
	return 0;
}
