/* libnvidia-ml.c: a stand-in for NVIDIA's management library, told what to say by the file that
 * FAKE_NVML names. The file is read anew at every call, so that a test can change the world.
 *
 *   driver VERSION
 *   gpu UUID TOTAL RESERVED USED BUSY BUSY_MEMORY NAME…      one line a device
 *   process PID USED compute|graphics                        of the gpu above; USED may be "?"
 *   stride N        bytes of a process entry behind the _v3 name: 16, 24 or 32 (default 24)
 *   fail init       nvmlInit refuses;  lost N  device N does not answer;  no-processes  lists refused
 *
 * The file of that name with ".looks" behind it, if there is one, grows by a byte when devices are
 * counted: as a look at them begins, and the one before has ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum {
	OK = 0,
	UNINITIALISED = 1,
	INVALID = 2,
	NOT_SUPPORTED = 3,
	NO_PERMISSION = 4,
	TOO_SHORT = 7,
	LOST = 15
};
enum { DEVICES = 16, PROCESSES = 512 };

struct gpu {
	char uuid[80], name[80];
	unsigned long long total, reserved, used;
	unsigned busy, busy_memory;
	int lost;
};
static struct world {
	char driver[80];
	struct gpu gpu[DEVICES];
	struct process {
		unsigned pid, gpu, graphics;
		unsigned long long used;
	} process[PROCESSES];
	unsigned gpus, processes, stride, fail_init, no_processes;
} world;

static void read_line(const char *line)
{
	struct gpu g = {0};
	struct process p = {0};
	char used[32], kind[16];
	unsigned n;

	if (sscanf(line, "driver %79s", world.driver) == 1 || sscanf(line, "stride %u", &world.stride) == 1)
		return;
	if (sscanf(line, "gpu %79s %llu %llu %llu %u %u %79[^\n]", g.uuid, &g.total, &g.reserved, &g.used,
	           &g.busy, &g.busy_memory, g.name) == 7 &&
	    world.gpus < DEVICES)
		world.gpu[world.gpus++] = g;
	if (sscanf(line, "process %u %31s %15s", &p.pid, used, kind) == 3 && world.processes < PROCESSES) {
		p.gpu = world.gpus - 1;
		p.graphics = !strcmp(kind, "graphics");
		p.used = *used == '?' ? ~0ull : strtoull(used, NULL, 10);
		world.process[world.processes++] = p;
	}
	if (sscanf(line, "lost %u", &n) == 1 && n < DEVICES)
		world.gpu[n].lost = 1;
	world.fail_init |= !strncmp(line, "fail init", 9);
	world.no_processes |= !strncmp(line, "no-processes", 12);
}

static void look(void)
{
	const char *path = getenv("FAKE_NVML");
	FILE *f = path ? fopen(path, "r") : NULL;
	char line[256];

	memset(&world, 0, sizeof world);
	world.stride = 24;
	while (f && fgets(line, sizeof line, f))
		read_line(line);
	if (f)
		fclose(f);
}

static void count_look(void)
{
	const char *path = getenv("FAKE_NVML");
	char name[512];
	FILE *f;

	snprintf(name, sizeof name, "%s.looks", path ? path : "");
	f = fopen(name, "r+");
	if (!f)
		return;
	fseek(f, 0, SEEK_END);
	fputc('.', f);
	fclose(f);
}

#define DEVICE(d) ((struct gpu *)(d))

int nvmlInit_v2(void)
{
	look();
	return world.fail_init ? LOST : OK;
}
int nvmlShutdown(void)
{
	return OK;
}
const char *nvmlErrorString(int rc)
{
	return rc == LOST ? "GPU is lost" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char *s, unsigned n)
{
	snprintf(s, n, "%s", world.driver);
	return OK;
}
int nvmlDeviceGetCount_v2(unsigned *n)
{
	count_look();
	look();
	*n = world.gpus;
	return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d)
{
	if (i >= world.gpus)
		return INVALID;
	*d = &world.gpu[i];
	return world.gpu[i].lost ? LOST : OK;
}
int nvmlDeviceGetName(void *d, char *s, unsigned n)
{
	snprintf(s, n, "%s", DEVICE(d)->name);
	return OK;
}
int nvmlDeviceGetUUID(void *d, char *s, unsigned n)
{
	snprintf(s, n, "%s", DEVICE(d)->uuid);
	return OK;
}
struct memory2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};
int nvmlDeviceGetMemoryInfo_v2(void *d, struct memory2 *m)
{
	struct gpu *g = DEVICE(d);

	if (m->version != (unsigned)(sizeof *m | 2u << 24))
		return INVALID;
	m->total = g->total;
	m->reserved = g->reserved;
	m->used = g->used;
	m->free = g->total - g->reserved - g->used;
	return OK;
}
int nvmlDeviceGetUtilizationRates(void *d, unsigned u[2])
{
	u[0] = DEVICE(d)->busy;
	u[1] = DEVICE(d)->busy_memory;
	return u[0] > 100 ? NOT_SUPPORTED : OK;
}

static int list(void *d, unsigned *count, char *entries, unsigned graphics, unsigned stride)
{
	unsigned i, n = 0, cap = *count, gpu = (unsigned)(DEVICE(d) - world.gpu);
	const struct process *p;
	char entry[64];

	if (world.no_processes)
		return NO_PERMISSION;
	for (i = 0; i < world.processes; i++) {
		p = &world.process[i];
		if (p->gpu != gpu || p->graphics != graphics)
			continue;
		if (n < cap) {
			memset(entry, 0xff, sizeof entry); /* no MIG instance */
			memset(entry + 24, 0, 8);
			memcpy(entry, &p->pid, 4);
			memcpy(entry + 8, &p->used, 8);
			memcpy(entries + (size_t)n * stride, entry, stride);
		}
		n++;
	}
	*count = n;
	return n > cap ? TOO_SHORT : OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, void *entries)
{
	return list(d, count, entries, 0, world.stride);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, unsigned *count, void *entries)
{
	return list(d, count, entries, 1, world.stride);
}
