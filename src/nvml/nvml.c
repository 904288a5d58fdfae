/* nvml.c: the few functions of libnvidia-ml.so.1 we need, by our own declarations.
 *
 * What is relied on: a return of 0 is success and 7 says that an array is too short; a device is
 * an opaque pointer; ~0 stands for a number that is not available. The array of processes is the
 * one thing whose layout changed under an unchanged name (16, 24 and 32 bytes were seen behind
 * …RunningProcesses_v3), so its stride is measured instead of believed.
 */
#include "nvml/nvml.h"
#include "base/mem.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *device_t;
enum { SUCCESS = 0, TOO_SHORT = 7 };

struct memory_v1 {
	unsigned long long total, free, used;
};
struct memory_v2 { /* "reserved" is no longer part of "used" */
	unsigned version;
	unsigned long long total, reserved, free, used;
};
#define MEMORY_V2 ((unsigned)sizeof(struct memory_v2) | 2u << 24)
struct utilisation {
	unsigned gpu, memory;
};
struct process_head { /* how every version of a process entry begins */
	unsigned pid;
	unsigned long long used;
};
#define STRIDE_MAX 64u

typedef int list_processes(device_t, unsigned *count, void *entries);

struct nvml {
	void *library;
	int (*shutdown)(void);
	const char *(*error_string)(int);
	int (*count)(unsigned *);
	int (*by_index)(unsigned, device_t *);
	int (*name)(device_t, char *, unsigned);
	int (*uuid)(device_t, char *, unsigned);
	int (*memory)(device_t, struct memory_v1 *);
	int (*memory2)(device_t, struct memory_v2 *);
	int (*utilisation)(device_t, struct utilisation *);
	list_processes *compute, *graphics, *mps;
	char driver[96];
	struct nvml_gpu *gpus;
	size_t n_gpus;
};

/* The newest of the spellings that the library has. */
static void *symbol(const struct nvml *n, const char *const *names)
{
	void *at = NULL;

	for (; *names && !at; names++)
		at = dlsym(n->library, *names);
	return at;
}
#define SYMBOL(n, ...) symbol((n), (const char *const[]){__VA_ARGS__, NULL})
#define PROCESSES(n, what)                                                                                   \
	SYMBOL((n), "nvmlDeviceGet" what "RunningProcesses_v3", "nvmlDeviceGet" what "RunningProcesses_v2",  \
	       "nvmlDeviceGet" what "RunningProcesses")

static void find_functions(struct nvml *n)
{
	n->shutdown = SYMBOL(n, "nvmlShutdown");
	n->error_string = SYMBOL(n, "nvmlErrorString");
	n->count = SYMBOL(n, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
	n->by_index = SYMBOL(n, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
	n->name = SYMBOL(n, "nvmlDeviceGetName");
	n->uuid = SYMBOL(n, "nvmlDeviceGetUUID");
	n->memory = SYMBOL(n, "nvmlDeviceGetMemoryInfo");
	n->memory2 = SYMBOL(n, "nvmlDeviceGetMemoryInfo_v2");
	n->utilisation = SYMBOL(n, "nvmlDeviceGetUtilizationRates");
	n->compute = PROCESSES(n, "Compute");
	n->graphics = PROCESSES(n, "Graphics");
	n->mps = PROCESSES(n, "MPSCompute");
}

struct nvml *nvml_open(char *why, size_t why_bytes)
{
	struct nvml *n = mem_zalloc(1, sizeof *n);
	int (*init)(void), (*driver)(char *, unsigned);
	int rc;

	n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!n->library) {
		snprintf(why, why_bytes, "no NVML here (libnvidia-ml.so.1 of the NVIDIA driver)");
		goto fail;
	}
	find_functions(n);
	init = SYMBOL(n, "nvmlInit_v2", "nvmlInit");
	if (!init || !n->count || !n->by_index) {
		snprintf(why, why_bytes, "libnvidia-ml.so.1 lacks the functions for devices");
		goto fail;
	}
	if ((rc = init()) != SUCCESS) {
		snprintf(why, why_bytes, "NVML does not start: %s",
		         n->error_string ? n->error_string(rc) : "?");
		n->shutdown = NULL;
		goto fail;
	}
	driver = SYMBOL(n, "nvmlSystemGetDriverVersion");
	if (!driver || driver(n->driver, sizeof n->driver) != SUCCESS)
		n->driver[0] = 0;
	return n;
fail:
	nvml_close(n);
	return NULL;
}

static void forget(struct nvml *n)
{
	size_t i;

	for (i = 0; i < n->n_gpus; i++)
		free(n->gpus[i].processes);
	free(n->gpus);
	n->gpus = NULL;
	n->n_gpus = 0;
}

void nvml_close(struct nvml *n)
{
	if (!n)
		return;
	forget(n);
	if (n->library && n->shutdown)
		n->shutdown();
	if (n->library)
		dlclose(n->library);
	free(n);
}

const char *nvml_driver(const struct nvml *n)
{
	return n->driver;
}

static void look_at_memory(const struct nvml *n, device_t d, struct nvml_gpu *g)
{
	struct memory_v2 m2 = {.version = MEMORY_V2};
	struct memory_v1 m1;

	if (n->memory2 && n->memory2(d, &m2) == SUCCESS) {
		g->total = m2.total;
		g->used = m2.used;
		g->free = m2.free;
		g->reserved = m2.reserved;
	} else if (n->memory && n->memory(d, &m1) == SUCCESS) {
		g->total = m1.total;
		g->used = m1.used;
		g->free = m1.free;
	}
}

static void add_process(struct nvml_gpu *g, const struct process_head *p, bool graphics)
{
	size_t i;

	for (i = 0; i < g->n_processes; i++)
		if (g->processes[i].pid == p->pid) { /* listed as computing already: the same bytes */
			g->processes[i].graphics |= graphics;
			return;
		}
	g->processes = mem_resize(g->processes, g->n_processes + 1, sizeof *g->processes);
	g->processes[g->n_processes++] = (struct nvml_process){p->pid, graphics, p->used};
}

/* Bytes of one entry: `entries` of them were written from the start over words of `blank`. If that
 * cannot be seen, what NVIDIA's header says today. */
static size_t stride_of(const unsigned long long *words, size_t n_words, unsigned long long blank,
                        unsigned entries)
{
	size_t stride;

	while (n_words && words[n_words - 1] == blank)
		n_words--;
	stride = n_words * sizeof *words / entries;
	return stride * entries == n_words * sizeof *words && stride >= 16 && stride <= 40 ? stride : 24;
}

static void look_at_processes(list_processes *list, device_t d, struct nvml_gpu *g, bool graphics)
{
	const unsigned long long blank = 0xa5a5a5a5a5a5a5a5ull;
	unsigned count, cap, i;
	unsigned long long *words = NULL;
	size_t n_words, stride;
	int rc;

	if (!list)
		return;
	for (cap = 64;; cap *= 4) {
		n_words = cap * STRIDE_MAX / sizeof *words;
		words = mem_resize(words, n_words, sizeof *words);
		for (i = 0; i < n_words; i++)
			words[i] = blank;
		count = cap;
		rc = list(d, &count, words);
		if (rc != TOO_SHORT || cap > 100000)
			break;
	}
	if (rc == SUCCESS && count <= cap) {
		g->processes_known = true;
		stride = count ? stride_of(words, n_words, blank, count) : 0;
		for (i = 0; i < count; i++)
			add_process(g, (const void *)((const char *)words + i * stride), graphics);
	}
	free(words);
}

static void look_at_device(const struct nvml *n, device_t d, struct nvml_gpu *g)
{
	struct utilisation u;

	if (!n->name || n->name(d, g->name, sizeof g->name) != SUCCESS)
		g->name[0] = 0;
	if (!n->uuid || n->uuid(d, g->uuid, sizeof g->uuid) != SUCCESS)
		g->uuid[0] = 0;
	look_at_memory(n, d, g);
	if (n->utilisation && n->utilisation(d, &u) == SUCCESS && u.gpu <= 100) {
		g->busy = (int)u.gpu;
		g->busy_memory = (int)u.memory;
	}
	look_at_processes(n->compute, d, g, false);
	look_at_processes(n->mps, d, g, false);
	look_at_processes(n->graphics, d, g, true);
}

static struct nvml_gpu *add_device(struct nvml *n)
{
	struct nvml_gpu *g;

	n->gpus = mem_resize(n->gpus, n->n_gpus + 1, sizeof *n->gpus);
	g = &n->gpus[n->n_gpus++];
	*g = (struct nvml_gpu){.busy = -1, .busy_memory = -1};
	g->total = g->used = g->free = g->reserved = NVML_UNKNOWN;
	return g;
}

size_t nvml_look(struct nvml *n, const struct nvml_gpu **gpus)
{
	unsigned i, count = 0;
	struct nvml_gpu *g;
	device_t d;

	forget(n);
	if (n->count(&count) != SUCCESS)
		count = 0;
	for (i = 0; i < count; i++) {
		g = add_device(n);
		if (n->by_index(i, &d) == SUCCESS)
			look_at_device(n, d, g);
		else /* a lost card keeps its place in the list */
			snprintf(g->name, sizeof g->name, "GPU %u does not answer", i);
	}
	*gpus = n->gpus;
	return n->n_gpus;
}
