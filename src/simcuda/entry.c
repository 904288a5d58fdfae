/* entry.c: how programs get in: start-up, versions, error texts, looking functions up; and the table
 * that knows every handle given out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simcuda/sim.h"

struct sim sim = {.lock = PTHREAD_MUTEX_INITIALIZER};
__thread struct thread sim_thread;

/* --- start ---------------------------------------------------------------------------------- */

static void before_fork(void)
{
	pthread_mutex_lock(&sim.lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&sim.lock);
}

/* As with the real driver, what was initialised before a fork is of no use in the child. */
static void after_fork_child(void)
{
	sim.forked = sim.ready;
	pthread_mutex_unlock(&sim.lock);
}

static void map_faults(void)
{
	for (int row = 0; row < DRIVER_ROWS; row++)
		for (int i = 0; i < sim.config.fault_count; i++)
			if (strcmp(driver_fns[row].base, sim.config.faults[i].base) == 0)
				sim.faulty[row] = true;
}

static CUresult start(void)
{
	static bool watching;

	if (!sim_configure(&sim.config))
		return CUDA_ERROR_SYSTEM_NOT_READY;
	if (sim.config.devices == 0)
		return CUDA_ERROR_NO_DEVICE;
	if (!sim_space_open())
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (int i = 0; i < sim.config.devices; i++)
		if (!sim_device_open(i))
			return CUDA_ERROR_OUT_OF_MEMORY;
	map_faults();
	if (!watching)
		watching = pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
	sim.ready = true;
	return CUDA_SUCCESS;
}

/* Several faults may name one function: each counts its calls, the first that hits decides. */
CUresult sim_refuse(enum driver_row row)
{
	CUresult result = CUDA_SUCCESS;

	if (!sim.ready || sim.forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	for (int i = 0; i < sim.config.fault_count; i++) {
		struct fault *f = &sim.config.faults[i];

		if (strcmp(f->base, driver_fns[row].base) != 0)
			continue;
		f->calls++;
		if (result == CUDA_SUCCESS && f->calls >= f->from && f->calls <= f->to)
			result = f->error;
	}
	return result;
}

CUresult cuInit(unsigned int flags)
{
	struct sim_guard guard __attribute__((cleanup(sim_leave), unused)) = sim_enter();
	CUresult result;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim.forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!sim.ready) {
		result = start();
		if (result != CUDA_SUCCESS)
			return result;
	}
	return sim.faulty[DRIVER_FN_cuInit] ? sim_refuse(DRIVER_FN_cuInit) : CUDA_SUCCESS;
}

/* Asked before cuInit too. */
static int driver_version(void)
{
	struct config config;

	if (sim.ready)
		return sim.config.driver_version;
	return sim_configure(&config) ? config.driver_version : CUDA_VERSION;
}

CUresult cuDriverGetVersion(int *version)
{
	struct sim_guard guard __attribute__((cleanup(sim_leave), unused)) = sim_enter();

	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = driver_version();
	return CUDA_SUCCESS;
}

/* --- errors --------------------------------------------------------------------------------- */

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
#define SIM_ERROR(number, name, text) {number, #name, text},
#include "simcuda/errors.def"
#undef SIM_ERROR
};

static CUresult error_words(CUresult error, const char **name, const char **text)
{
	*(name ? name : text) = NULL;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code != (int)error)
			continue;
		*(name ? name : text) = name ? errors[i].name : errors[i].text;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
	return name ? error_words(error, name, NULL) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
	return text ? error_words(error, NULL, text) : CUDA_ERROR_INVALID_VALUE;
}

/* --- looking functions up ------------------------------------------------------------------- */

/* The newer form never fails for want of a function, asked for the status or not. */
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
	int row;

	if (!name || !function || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ||
	    version > driver_version())
		return CUDA_ERROR_INVALID_VALUE;
	row = driver_lookup(name, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
	*function = row >= 0 ? sim_functions[row] : NULL;
	if (status)
		*status = row >= 0                ? CU_GET_PROC_ADDRESS_SUCCESS
		          : row == DRIVER_TOO_NEW ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
		                                  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags)
{
	CUresult result = cuGetProcAddress_v2(name, function, version, flags, NULL);

	return result == CUDA_SUCCESS && !*function ? CUDA_ERROR_NOT_FOUND : result;
}

/* Only the CUDA runtime asks for these undocumented tables: say why it is about to give up. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	static bool said;

	(void)id;
	if (table)
		*table = NULL;
	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		fputs("gpumemsnap: the simulated driver runs programs of the CUDA driver API only; this one "
		      "uses the "
		      "CUDA runtime, which needs a real driver\n",
		      stderr);
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* --- handles -------------------------------------------------------------------------------- */

static struct {
	struct handle {
		const void *at;
		enum handle_kind kind;
	} * slot;
	size_t size, used; /* size is a power of two; used counts removed entries too */
} handles;

static size_t handle_slot(const void *at)
{
	size_t i = ((uintptr_t)at >> 4) * 0x9e3779b97f4a7c15u >> 20;

	for (;; i++) {
		struct handle *h = &handles.slot[i & (handles.size - 1)];

		if (h->at == at || !h->at)
			return i & (handles.size - 1);
	}
}

static bool handles_grow(void)
{
	struct handle *old = handles.slot;
	size_t old_size = handles.size, live = 0;

	for (size_t i = 0; i < old_size; i++)
		live += old[i].kind != HANDLE_NONE;
	handles.size = 256;
	while (handles.size < live * 4)
		handles.size *= 2;
	handles.slot = calloc(handles.size, sizeof(*handles.slot));
	if (!handles.slot) {
		handles.slot = old;
		handles.size = old_size;
		return false;
	}
	handles.used = live;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].kind != HANDLE_NONE)
			handles.slot[handle_slot(old[i].at)] = old[i];
	free(old);
	return true;
}

bool sim_handle_add(const void *at, enum handle_kind kind)
{
	struct handle *h;

	if (handles.used * 2 >= handles.size && !handles_grow())
		return false;
	h = &handles.slot[handle_slot(at)];
	handles.used += !h->at;
	*h = (struct handle){at, kind};
	return true;
}

void sim_handle_drop(const void *at)
{
	handles.slot[handle_slot(at)].kind = HANDLE_NONE;
}

bool sim_handle_is(const void *at, enum handle_kind kind)
{
	return at && handles.size && handles.slot[handle_slot(at)].kind == kind;
}
