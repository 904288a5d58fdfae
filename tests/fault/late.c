/* late.c LIBRARY: load a C++ library only after the recorder is at work, and let it throw and catch around our calls. */
#include "gpu.h"

static int call(void)
{
	gpu_work(2);
	return 0;
}

int main(int argc, char **argv)
{
	int (*late)(int (*)(void));
	void *lib;
	int i, wrong = 0;

	gpu_start();
	lib = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return 1;
	late = (int (*)(int (*)(void)))gpu_fn(lib, "late");
	for (i = 0; i < 10; i++)
		wrong += late(call);
	return wrong;
}
