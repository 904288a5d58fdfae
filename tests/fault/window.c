/* window.c: gms_record off and on, phases, marks, a snapshot, and allocations in and out of them. */
#include "gpu.h"
#include "gpumemsnap.h"

int main(int argc, char **argv)
{
	CUdeviceptr before, during;

	gpu_start();
	if (argc > 1 && !strcmp(argv[1], "off")) {
		before = gpu_get(111); /* not recorded: --off */
		gms_record(true);
		gpu_get(222);
		gpu_put(before);
		return gms_is_recording() ? 0 : 1;
	}
	before = gpu_get(111);
	gms_record(false);
	during = gpu_get(222); /* not recorded … */
	gpu_put(before);       /* … but this end is */
	gpu_put(during);       /* … and this is no free of something unknown */
	gms_record(true);
	gms_phase_begin("outer");
	gpu_get(333);
	gms_phase_begin("inner");
	gpu_get(444);
	gms_phase_end();
	gms_mark("here");
	gms_snapshot("middle");
	gms_phase_end();
	gpu_get(555);
	return 0;
}
