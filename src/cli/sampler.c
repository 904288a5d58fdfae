/* sampler.c: see sampler.h. */
#include "cli/sampler.h"
#include "base/mem.h"
#include "model/merge.h"
#include "nvml/nvml.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAST_NS 100000000 /* between two samples, at first */
#define MANY	 5000	   /* kept samples, after which it is twice that, and so on: long recordings stay small */
#define COST	 50	   /* so much longer than a sample takes we wait for the next */

struct sample {
	int64_t t_ns; /* monotonic */
	uint32_t gpu, pid; /* pid 0: all of them together */
	uint64_t used;
	uint32_t name; /* index + 1 in names, 0: none */
};
struct sampler {
	struct nvml *nvml;
	bool asked; /* for NVML */
	int64_t anchor_ns, anchor_wall_ns; /* one moment on both clocks */
	int64_t next_ns;
	struct sample *v, *last; /* all; and the last of each process and device */
	size_t n, cap, n_last, cap_last;
	char (*uuid)[64];	 /* of each device */
	size_t n_gpus;
	char **names;
	size_t n_names, cap_names;
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct sampler *sampler_new(void)
{
	struct sampler *s = mem_zalloc(1, sizeof *s);

	s->anchor_ns = clock_ns(CLOCK_MONOTONIC);
	s->anchor_wall_ns = clock_ns(CLOCK_REALTIME);
	return s;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	nvml_close(s->nvml);
	while (s->n_names)
		free(s->names[--s->n_names]);
	free(s->names);
	free(s->v);
	free(s->last);
	free(s->uuid);
	free(s);
}

/* --- taking --------------------------------------------------------------------------------------- */

/* The program's name as the kernel has it: not its arguments, which are nobody's business here. */
static uint32_t name_of(struct sampler *s, uint32_t pid)
{
	char path[32], name[64];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%u/comm", pid);
	f = pid ? fopen(path, "re") : NULL;
	if (!f)
		return 0;
	if (!fgets(name, sizeof name, f))
		name[0] = 0;
	fclose(f);
	name[strcspn(name, "\n")] = 0;
	*VEC_PUSH(s->names, s->n_names, s->cap_names) = mem_strdup(name);
	return (uint32_t)s->n_names;
}

static void put(struct sampler *s, int64_t t, uint32_t gpu, uint32_t pid, uint64_t used)
{
	struct sample *last = NULL;
	size_t i;

	for (i = 0; i < s->n_last && !last; i++)
		if (s->last[i].gpu == gpu && s->last[i].pid == pid)
			last = &s->last[i];
	if (!last) {
		last = VEC_PUSH(s->last, s->n_last, s->cap_last);
		*last = (struct sample){.gpu = gpu, .pid = pid, .used = NVML_UNKNOWN, .name = name_of(s, pid)};
	}
	last->t_ns = t; /* seen */
	if (last->used == used)
		return;
	last->used = used;
	*VEC_PUSH(s->v, s->n, s->cap) = *last;
}

/* Processes that were not seen this time hold nothing any more. */
static void put_gone(struct sampler *s, int64_t t)
{
	size_t i;

	for (i = 0; i < s->n_last; i++)
		if (s->last[i].t_ns != t && s->last[i].pid && s->last[i].used)
			put(s, t, s->last[i].gpu, s->last[i].pid, 0);
}

static void remember_devices(struct sampler *s, const struct nvml_gpu *gpus, size_t n)
{
	size_t i;

	s->uuid = mem_zalloc(n, sizeof *s->uuid);
	s->n_gpus = n;
	for (i = 0; i < n; i++)
		snprintf(s->uuid[i], sizeof *s->uuid, "%.*s", (int)sizeof *s->uuid - 1, gpus[i].uuid);
}

static void take(struct sampler *s, int64_t t)
{
	const struct nvml_gpu *gpus;
	size_t i, k, n = nvml_look(s->nvml, &gpus);

	if (!s->uuid)
		remember_devices(s, gpus, n);
	for (i = 0; i < n && i < s->n_gpus; i++) {
		if (gpus[i].used != NVML_UNKNOWN)
			put(s, t, (uint32_t)i, 0, gpus[i].used);
		for (k = 0; k < gpus[i].n_processes; k++)
			if (gpus[i].processes[k].used != NVML_UNKNOWN)
				put(s, t, (uint32_t)i, gpus[i].processes[k].pid, gpus[i].processes[k].used);
	}
	put_gone(s, t);
}

void sampler_look(struct sampler *s, bool now)
{
	int64_t t = clock_ns(CLOCK_MONOTONIC), cost, least;
	char why[128];

	if (!now && t < s->next_ns)
		return;
	if (!s->asked) {
		s->nvml = nvml_open(why, sizeof why);
		s->asked = true;
		t = clock_ns(CLOCK_MONOTONIC);
	}
	if (!s->nvml)
		return;
	take(s, t);
	cost = clock_ns(CLOCK_MONOTONIC) - t;
	least = LEAST_NS * (int64_t)(1 + s->n / MANY);
	s->next_ns = t + (cost * COST > least ? cost * COST : least);
}

/* --- giving ----------------------------------------------------------------------------------------- */

/* "GPU-01234567-89ab-…" → its 16 bytes. */
static bool uuid_bytes(const char *text, uint8_t out[16])
{
	unsigned byte, n = 0;
	int used;

	for (text += strcspn(text, "-"); *text && n < 16; text += used) {
		text += *text == '-';
		if (sscanf(text, "%2x%n", &byte, &used) != 1 || used != 2)
			return false;
		out[n++] = (uint8_t)byte;
	}
	return n == 16;
}

static int device_of(const struct model *m, const char *uuid)
{
	uint8_t bytes[16];
	int d;

	if (!uuid_bytes(uuid, bytes))
		return -1;
	for (d = 0; d < MODEL_NO_DEVICE; d++)
		if (!memcmp(m->device[d].uuid, bytes, 16))
			return d;
	return -1;
}

static void add_sample(struct model *m, const struct sampler *s, const struct sample *of, int device, int64_t t,
		       struct event *row)
{
	const char *name = of->name ? s->names[of->name - 1] : "";
	bool own = of->pid == m->pid; /* its threads have their names already */

	*row = (struct event){.op = GMS_OP(GMS_K_PROCESS, GMS_A_INFO),
			      .device = (uint8_t)device,
			      .t_ns = t,
			      .addr = of->pid,
			      .size = of->used,
			      .block = MODEL_UNKNOWN};
	if (of->pid)
		row->thread = model_thread(m, of->pid, own ? 0 : model_cstring(m, name));
}

/* The samples up to `before`, newest first: what stood when the recording began. */
static size_t add_standing(struct model *m, const struct sampler *s, size_t before, struct event *rows)
{
	size_t i, k, n = 0;
	int device;

	for (i = before; i--;) {
		device = device_of(m, s->uuid[s->v[i].gpu]);
		for (k = 0; k < n; k++)
			if (rows[k].device == device && rows[k].addr == s->v[i].pid)
				break;
		if (device >= 0 && k == n)
			add_sample(m, s, &s->v[i], device, 0, &rows[n++]);
	}
	return n;
}

void sampler_add(const struct sampler *s, struct model *m)
{
	int64_t begin = s->anchor_ns + m->start_wall_ns - s->anchor_wall_ns, end = begin + m->duration_ns;
	struct event *rows = mem_alloc(s->n * sizeof *rows);
	size_t i, n;
	int device;

	for (i = 0; i < s->n && s->v[i].t_ns < begin; i++)
		;
	n = add_standing(m, s, i, rows);
	for (; i < s->n && s->v[i].t_ns <= end; i++) {
		device = device_of(m, s->uuid[s->v[i].gpu]);
		if (device >= 0)
			add_sample(m, s, &s->v[i], device, s->v[i].t_ns - begin, &rows[n++]);
	}
	if (n)
		model_insert(m, rows, n);
	free(rows);
}
