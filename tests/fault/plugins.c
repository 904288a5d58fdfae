/* plugins.c DIR: load a plugin, let it allocate, unload it, load another, which then lies at the same
 * addresses. Prints whether it does. */
#include "gpu.h"

typedef CUdeviceptr run_fn(CUresult (*alloc)(CUdeviceptr *, size_t), size_t bytes);

static void *run(const char *dir, const char *name, size_t bytes)
{
	char path[4096];
	void *lib;
	run_fn *fn;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	lib = dlopen(path, RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	fn = (run_fn *)gpu_fn(lib, "plugin_run");
	fn(gpu_alloc, bytes);
	dlclose(lib);
	return (void *)fn;
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : ".";
	int i, same = 0;

	gpu_start();
	for (i = 0; i < 3; i++)
		same += run(dir, "libplugin_a.so", 1000) == run(dir, "libplugin_b.so", 2000);
	printf("same addresses: %d\n", same);
	return 0;
}
