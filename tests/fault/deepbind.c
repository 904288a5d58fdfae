/* deepbind.c LIBRARY [lazy|registered]: open a library that is linked with the driver, with a scope of its own, and let
 * it work, by the function that dlsym finds or by the one that it has made known as it was loaded. */
#include "gpu.h"

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	void *lib, *work = NULL;

	gpu_start();
	lib = dlopen(argv[1], (!strcmp(how, "lazy") ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL | RTLD_DEEPBIND);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	if (!strcmp(how, "registered"))
		sscanf(getenv("LINKED_WORK"), "%p", &work);
	else
		work = gpu_fn(lib, "linked_work");
	return ((int (*)(void))work)();
}
