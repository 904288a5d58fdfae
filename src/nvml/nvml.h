/* nvml.h: what the NVIDIA management library says about devices and the processes on them.
 *
 * The library is opened at run time by its name; nothing else here knows its types. Every figure
 * it does not give is NVML_UNKNOWN, and a machine without it simply has no struct nvml.
 * Used by cli/ alone (top, record); one struct belongs to one thread at a time.
 */
#ifndef NVML_NVML_H
#define NVML_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVML_UNKNOWN UINT64_MAX

struct nvml_process {
	uint32_t pid;
	bool graphics; /* it draws, too or only */
	uint64_t used; /* bytes; NVML_UNKNOWN if the driver does not say */
};
struct nvml_gpu {
	char name[96];
	char uuid[96];  /* "GPU-…", "" if not known */
	uint64_t total; /* bytes of the board */
	uint64_t used;  /* by anybody */
	uint64_t free;
	uint64_t reserved;     /* by the driver itself, part of neither */
	int busy, busy_memory; /* percent of the last moments; -1 = not known */
	struct nvml_process *processes;
	size_t n_processes;
	bool processes_known; /* false: the driver refused to list them */
};

struct nvml;
/* NULL if there is no such library, or it does not work here; then why (why_bytes long) says so. */
struct nvml *nvml_open(char *why, size_t why_bytes);
void nvml_close(struct nvml *n);               /* NULL is fine */
const char *nvml_driver(const struct nvml *n); /* its version, "" if not known */
/* Look at every device now; *gpus stays valid until the next call. Returns how many. */
size_t nvml_look(struct nvml *n, const struct nvml_gpu **gpus);

#endif
