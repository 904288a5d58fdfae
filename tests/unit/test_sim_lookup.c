/* test_sim_lookup.c: driver.def against cuda.h and against the library built from it. */
#define __CUDA_API_VERSION_INTERNAL
#include "sim.h"
#include <cudaProfiler.h>
#include <dlfcn.h>
#include <string.h>

#include "driver/driver.h"

#if CUDA_VERSION >= 13000 /* older headers lack the newest functions */
/* Every symbol of the list is one that cuda.h declares, or this does not compile. */
#define DRIVER_FN(base, symbol, since, variant, hooked) typedef __typeof__(symbol) *symbol##_declared;
#include "driver/driver.def"
#undef DRIVER_FN
#endif

static const char *meant(const char *base, int version, int per_thread)
{
	int row = driver_lookup(base, version, per_thread);

	return row >= 0 ? driver_fns[row].symbol : row == DRIVER_UNKNOWN ? "unknown" : "too new";
}

static void names_mean_the_newest_form_not_newer_than_asked(void **state)
{
	(void)state;
	assert_string_equal(meant("cuMemAlloc", 3010, 0), "cuMemAlloc");
	assert_string_equal(meant("cuMemAlloc", 3020, 0), "cuMemAlloc_v2");
	assert_string_equal(meant("cuMemAlloc", 13000, 0), "cuMemAlloc_v2");
	assert_string_equal(meant("cuCtxCreate", 11030, 0), "cuCtxCreate_v2");
	assert_string_equal(meant("cuCtxCreate", 11040, 0), "cuCtxCreate_v3");
	assert_string_equal(meant("cuCtxCreate", 12050, 0), "cuCtxCreate_v4");
	assert_string_equal(meant("cuGetProcAddress", 11030, 0), "cuGetProcAddress");
	assert_string_equal(meant("cuGetProcAddress", 12000, 0), "cuGetProcAddress_v2");
	assert_string_equal(meant("cuMemAllocAsync", 11010, 0), "too new");
	assert_string_equal(meant("cuMemAlloc_v2", 13000, 0), "unknown");
	assert_string_equal(meant("", 13000, 0), "unknown");
}

/* As the headers of CUDA 11.6 have it: the version from which on the newest form that it knows is meant. */
static void what_cuda_11_programs_mean_is_hooked(void **state)
{
	static const struct {
		const char *base;
		int since;
	} names[] = {
	    {"cuInit", 2000}, {"cuGetProcAddress", 11030}, {"cuDevicePrimaryCtxRetain", 7000},
	    {"cuDevicePrimaryCtxRelease", 11000}, {"cuDevicePrimaryCtxReset", 11000}, {"cuCtxCreate", 11040},
	    {"cuCtxDestroy", 4000}, {"cuCtxPushCurrent", 4000}, {"cuCtxPopCurrent", 4000}, {"cuCtxSetCurrent", 4000},
	    {"cuCtxSetLimit", 3010}, {"cuMemAlloc", 3020}, {"cuMemAllocPitch", 3020}, {"cuMemFree", 3020},
	    {"cuMemAllocHost", 3020}, {"cuMemFreeHost", 2000}, {"cuMemHostAlloc", 2020}, {"cuMemAllocManaged", 6000},
	    {"cuMemHostRegister", 6050}, {"cuMemHostUnregister", 4000}, {"cuDeviceSetMemPool", 11020},
	    {"cuMemAllocAsync", 11020}, {"cuMemAllocFromPoolAsync", 11020}, {"cuMemFreeAsync", 11020},
	    {"cuMemPoolCreate", 11020}, {"cuMemPoolDestroy", 11020}, {"cuMemPoolTrimTo", 11020},
	    {"cuMemPoolSetAttribute", 11020}, {"cuMemPoolExportPointer", 11020}, {"cuMemPoolImportPointer", 11020},
	    {"cuMemAddressReserve", 10020}, {"cuMemAddressFree", 10020}, {"cuMemCreate", 10020}, {"cuMemRelease", 10020},
	    {"cuMemMap", 10020}, {"cuMemUnmap", 10020}, {"cuMemRetainAllocationHandle", 11000},
	    {"cuMemExportToShareableHandle", 10020}, {"cuMemImportFromShareableHandle", 10020}, {"cuArrayCreate", 3020},
	    {"cuArray3DCreate", 3020}, {"cuArrayDestroy", 2000}, {"cuMipmappedArrayCreate", 5000},
	    {"cuMipmappedArrayDestroy", 5000}, {"cuIpcOpenMemHandle", 11000}, {"cuIpcCloseMemHandle", 4010},
	    {"cuImportExternalMemory", 10000}, {"cuExternalMemoryGetMappedBuffer", 10000},
	    {"cuExternalMemoryGetMappedMipmappedArray", 10000}, {"cuDestroyExternalMemory", 10000},
	    {"cuGraphLaunch", 10000}, {"cuGraphAddMemAllocNode", 11040}, {"cuGraphAddMemFreeNode", 11040},
	    {"cuDeviceGraphMemTrim", 11040}, {"cuStreamBeginCapture", 10010}, {"cuStreamDestroy", 4000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (int version = 11060; version <= 11080; version += 10) {
			int row = driver_lookup(names[i].base, version, 0);

			assert_in_range(row, 0, DRIVER_ROWS - 1);
			assert_int_equal(driver_fns[row].since, names[i].since);
			assert_int_equal(driver_fns[row].hooked, DRIVER_HOOKED);
		}
}

static void the_per_thread_form_is_taken_where_there_is_one(void **state)
{
	(void)state;
	assert_string_equal(meant("cuMemAllocAsync", 11020, 1), "cuMemAllocAsync_ptsz");
	assert_string_equal(meant("cuMemAllocAsync", 11010, 1), "too new");
	assert_string_equal(meant("cuMemcpyHtoD", 13000, 1), "cuMemcpyHtoD_v2_ptds");
	assert_string_equal(meant("cuMemcpyHtoD", 6050, 1), "cuMemcpyHtoD_v2");
	assert_string_equal(meant("cuMemPrefetchAsync", 8000, 1), "cuMemPrefetchAsync_ptsz");
	assert_string_equal(meant("cuMemPrefetchAsync", 12020, 1), "cuMemPrefetchAsync_v2_ptsz");
	assert_string_equal(meant("cuMemAlloc", 13000, 1), "cuMemAlloc_v2");
}

static void rows_of_a_name_stand_together_oldest_first(void **state)
{
	(void)state;
	for (int i = 1; i < DRIVER_ROWS; i++) {
		const struct driver_fn *a = &driver_fns[i - 1], *b = &driver_fns[i];

		for (int j = 0; j < i - 1 && strcmp(a->base, b->base) != 0; j++)
			assert_string_not_equal(driver_fns[j].base, b->base);
		if (strcmp(a->base, b->base) == 0)
			assert_true(a->variant < b->variant ||
			            (a->variant == b->variant && a->since < b->since));
		assert_int_equal(driver_by_symbol(b->symbol), i);
	}
}

static void every_symbol_is_exported_and_found_by_name_and_version(void **state)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	(void)state;
	assert_non_null(lib);
	for (int i = 0; i < DRIVER_ROWS; i++) {
		const struct driver_fn *f = &driver_fns[i];
		CUdriverProcAddressQueryResult status;
		void *found;

		assert_non_null(dlsym(lib, f->symbol));
		assert_int_equal(cuGetProcAddress_v2(f->base, &found, f->since,
		                                     f->variant == DRIVER_PER_THREAD
		                                         ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
		                                         : CU_GET_PROC_ADDRESS_LEGACY_STREAM,
		                                     &status),
		                 CUDA_SUCCESS);
		assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
		assert_ptr_equal(found, dlsym(lib, f->symbol));
	}
	dlclose(lib);
}

static void what_cannot_be_found_is_said(void **state)
{
	CUdriverProcAddressQueryResult status;
	void *found = &status;

	(void)state;
	assert_int_equal(cuGetProcAddress_v2("cuNoSuch", &found, 12000, 0, &status), CUDA_SUCCESS);
	assert_null(found);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	assert_int_equal(cuGetProcAddress_v2("cuMemAllocAsync", &found, 11000, 0, &status), CUDA_SUCCESS);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	found = &status;
	assert_int_equal(cuGetProcAddress_v2("cuNoSuch", &found, 12000, 0, NULL), CUDA_SUCCESS);
	assert_null(found);
	assert_int_equal(cuGetProcAddress("cuNoSuch", &found, 12000, 0), CUDA_ERROR_NOT_FOUND);
	assert_int_equal(cuGetProcAddress_v2("cuInit", &found, CUDA_VERSION + 1000, 0, &status),
	                 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGetProcAddress_v2(NULL, &found, 12000, 0, &status), CUDA_ERROR_INVALID_VALUE);
}

SIM_CASE(an_old_driver_lacks_newer_functions, "driver=11010")
{
	CUdriverProcAddressQueryResult status;
	void *found;
	int version;

	OK(cuDriverGetVersion(&version));
	CHECK(version == 11010);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuMemAllocAsync", &found, 11020, 0, &status));
	OK(cuGetProcAddress_v2("cuMemAllocAsync", &found, 11010, 0, &status));
	CHECK(!found && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

SIM_CASE(what_is_not_modelled_is_not_supported, "")
{
	CUmodule module;

	sim_use(0);
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuModuleLoadData(&module, "x"));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMulticastCreate(NULL, NULL));
}

/* The CUDA runtime asks for these tables first. */
SIM_CASE(the_runtime_is_told_once_why_it_cannot_run, "")
{
	const void *table = &table;
	CUuuid id = {{0}};
	char said[1000];
	ssize_t n;
	int ends[2];

	CHECK(pipe(ends) == 0 && dup2(ends[1], 2) == 2);
	OK(cuInit(0));
	for (int i = 0; i < 3; i++)
		GIVES(CUDA_ERROR_NOT_SUPPORTED, cuGetExportTable(&table, &id));
	CHECK(table == NULL);
	n = read(ends[0], said, sizeof(said) - 1);
	CHECK(n > 0);
	said[n] = '\0';
	CHECK(strstr(said, "CUDA runtime") && strchr(said, '\n') == said + n - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_mean_the_newest_form_not_newer_than_asked),
	    cmocka_unit_test(what_cuda_11_programs_mean_is_hooked),
	    cmocka_unit_test(the_per_thread_form_is_taken_where_there_is_one),
	    cmocka_unit_test(rows_of_a_name_stand_together_oldest_first),
	    cmocka_unit_test(every_symbol_is_exported_and_found_by_name_and_version),
	    cmocka_unit_test(what_cannot_be_found_is_said),
	    cmocka_unit_test(an_old_driver_lacks_newer_functions),
	    cmocka_unit_test(what_is_not_modelled_is_not_supported),
	    cmocka_unit_test(the_runtime_is_told_once_why_it_cannot_run),
	};

	return cmocka_run_group_tests_name("sim_lookup", tests, NULL, NULL);
}
