/* test_nvml.c: reading devices and processes from the fake management library (tests/fake). */
#include "nvml/nvml.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (1ull << 20)

static char world[] = "/tmp/gpumemsnap-test-nvml-XXXXXX";

static void world_is(const char *text)
{
	FILE *f = fopen(world, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct nvml *open_it(void)
{
	char why[128] = "";
	struct nvml *n = nvml_open(why, sizeof why);

	assert_string_equal(why, "");
	assert_non_null(n);
	return n;
}

static void devices_and_figures(void **state)
{
	const struct nvml_gpu *g;
	struct nvml *n;

	(void)state;
	world_is("driver 580.95\n"
	         "gpu GPU-aa 1073741824 1048576 3145728 37 12 NVIDIA Test 1000\n"
	         "gpu GPU-bb 2147483648 0 0 255 0 Old Card\n");
	n = open_it();
	assert_string_equal(nvml_driver(n), "580.95");
	assert_int_equal(nvml_look(n, &g), 2);
	assert_string_equal(g[0].name, "NVIDIA Test 1000");
	assert_string_equal(g[0].uuid, "GPU-aa");
	assert_int_equal(g[0].total, 1024 * MIB);
	assert_int_equal(g[0].reserved, MIB);
	assert_int_equal(g[0].used, 3 * MIB);
	assert_int_equal(g[0].free, 1020 * MIB);
	assert_int_equal(g[0].busy, 37);
	assert_int_equal(g[1].busy, -1);
	assert_true(g[1].processes_known);
	assert_int_equal(g[1].n_processes, 0);
	nvml_close(n);
}

static void strides(void **state)
{
	const unsigned strides[] = {16, 24, 32};
	const struct nvml_gpu *g;
	struct nvml *n = open_it();
	char text[256];
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		snprintf(
		    text, sizeof text,
		    "stride %u\ngpu GPU-aa 1000 0 9 0 0 X\nprocess 11 100 compute\nprocess 12 ? compute\n"
		    "process 13 300 graphics\nprocess 11 100 graphics\n",
		    strides[i]);
		world_is(text);
		assert_int_equal(nvml_look(n, &g), 1);
		assert_int_equal(g->n_processes, 3);
		assert_int_equal(g->processes[0].pid, 11);
		assert_int_equal(g->processes[0].used, 100);
		assert_true(g->processes[0].graphics);
		assert_int_equal(g->processes[1].pid, 12);
		assert_true(g->processes[1].used == NVML_UNKNOWN);
		assert_int_equal(g->processes[2].pid, 13);
		assert_int_equal(g->processes[2].used, 300);
	}
	nvml_close(n);
}

static void many_processes(void **state)
{
	const struct nvml_gpu *g;
	struct nvml *n = open_it();
	FILE *f = fopen(world, "w");
	int i;

	(void)state;
	fprintf(f, "gpu GPU-aa 1000 0 9 0 0 X\n");
	for (i = 1; i <= 300; i++)
		fprintf(f, "process %d %d compute\n", i, i * 10);
	fclose(f);
	assert_int_equal(nvml_look(n, &g), 1);
	assert_int_equal(g->n_processes, 300);
	assert_int_equal(g->processes[299].used, 3000);
	nvml_close(n);
}

static void lost_and_refused(void **state)
{
	const struct nvml_gpu *g;
	struct nvml *n;
	char why[128] = "";

	(void)state;
	world_is("gpu GPU-aa 1000 0 9 0 0 X\nprocess 1 5 compute\nlost 0\ngpu GPU-bb 1000 0 9 0 0 "
	         "Y\nno-processes\n");
	n = open_it();
	assert_int_equal(nvml_look(n, &g), 2);
	assert_true(g[0].total == NVML_UNKNOWN && g[0].used == NVML_UNKNOWN);
	assert_string_equal(g[0].name, "GPU 0 does not answer");
	assert_int_equal(g[1].used, 9);
	assert_false(g[1].processes_known);
	nvml_close(n);
	world_is("fail init\n");
	assert_null(nvml_open(why, sizeof why));
	assert_string_equal(why, "NVML does not start: GPU is lost");
}

/* A library already loaded under this name is what dlopen of the name finds. */
static int load_fake(void **state)
{
	char exe[512], path[600];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);

	(void)state;
	if (len < 0)
		return -1;
	exe[len] = 0;
	*strrchr(exe, '/') = 0;
	snprintf(path, sizeof path, "%s/../fake/libnvidia-ml.so.1", exe);
	close(mkstemp(world));
	setenv("FAKE_NVML", world, 1);
	return dlopen(path, RTLD_NOW) ? 0 : -1;
}

static int remove_world(void **state)
{
	(void)state;
	return unlink(world);
}

int main(void)
{
	const struct CMUnitTest nvml[] = {
	    cmocka_unit_test(devices_and_figures),
	    cmocka_unit_test(strides),
	    cmocka_unit_test(many_processes),
	    cmocka_unit_test(lost_and_refused),
	};
	return cmocka_run_group_tests(nvml, load_fake, remove_world);
}
