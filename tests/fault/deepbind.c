/* deepbind.c LIBRARY [lazy]: open a library that is linked with the driver, with a scope of its own, and let it work. */
#include "gpu.h"

int main(int argc, char **argv)
{
	int (*work)(void);
	void *lib;

	gpu_start();
	lib = dlopen(argv[1], (argc > 2 ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL | RTLD_DEEPBIND);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	work = (int (*)(void))gpu_fn(lib, "linked_work");
	return work();
}
