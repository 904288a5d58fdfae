/* top_gather.c: see top_gather.h.
 *
 * The recorded programs pay nothing: their spools are files of shared memory that we read, each look
 * only what is new. A flight recorder's, whose chunks are used again, is read whole, but again only after
 * 10 times as long as the last reading took (the first, which looks names up, apart): top uses at most a
 * tenth of a processor for each.
 */
#include "cli/top_gather.h"
#include "analyze/code.h"
#include "analyze/pulse.h"
#include "base/mem.h"
#include "cli/recording.h"
#include "cli/top_follow.h"
#include "cli/top_find.h"
#include "nvml/nvml.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COST	   10
#define SITES_MAX  200
#define FAILED_MAX 8

struct watched { /* a recorded process, as last read */
	int pid;
	char *spool;
	bool seen; /* in this look */
	bool whole; /* it cannot be followed */
	struct follow *follow;
	int64_t read_ns, cost_ns;
	struct top_process *rows; /* gpu: CUDA's ordinal */
	struct top_gpu *gpus;     /* of each row */
	size_t n;
};
struct gather {
	struct nvml *nvml;
	char no_nvml[160];
	struct recording_names *names;
	struct watched *watched;
	size_t n, cap;
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct gather *gather_new(void)
{
	struct gather *g = mem_zalloc(1, sizeof *g);

	g->nvml = nvml_open(g->no_nvml, sizeof g->no_nvml);
	g->names = recording_names_new();
	return g;
}

static void forget_rows(struct watched *w)
{
	struct top owner = {.processes = w->rows, .n_processes = w->n};

	top_free(&owner);
	free(w->gpus);
	w->rows = NULL;
	w->gpus = NULL;
	w->n = 0;
}

static void watched_free(struct watched *w)
{
	forget_rows(w);
	if (w->follow)
		follow_close(w->follow);
	free(w->spool);
}

void gather_free(struct gather *g)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		watched_free(&g->watched[i]);
	free(g->watched);
	recording_names_free(g->names);
	nvml_close(g->nvml);
	free(g);
}

/* --- what a spool says ------------------------------------------------------------------------ */

/* A recording, how it stands, and what was told about its frames. */
struct told {
	const struct model *m;
	const struct pulse *p;
	struct code_memo codes;
	bool behind; /* not all of it has been read yet */
};

static char *site_name(struct told *of, uint32_t stack)
{
	struct text t = {0};

	code_stack_name(&of->codes, of->m, stack, &t);
	return t.s ? t.s : mem_strdup("");
}

static int64_t rate(const struct pulse *p, int64_t change)
{
	int64_t r = pulse_per_minute(p, change);

	return r == PULSE_UNKNOWN ? TOP_UNKNOWN : r;
}

static void add_sites(struct top_process *row, struct told *of, const struct pulse_device *d)
{
	size_t i;

	row->n_sites = d->n_sites < SITES_MAX ? d->n_sites : SITES_MAX;
	row->sites = mem_zalloc(row->n_sites, sizeof *row->sites);
	for (i = 0; i < row->n_sites; i++)
		row->sites[i] = (struct top_site){site_name(of, d->sites[i].stack), d->sites[i].bytes,
						  d->sites[i].count, rate(of->p, d->sites[i].change)};
}

static void add_failures(struct top_process *row, struct told *of, uint8_t device)
{
	const struct model *m = of->m;
	size_t i;

	row->failures = mem_zalloc(FAILED_MAX, sizeof *row->failures);
	for (i = m->n_failures; i-- && row->n_failures < FAILED_MAX;) {
		const struct failure *f = &m->failures[i];

		if (m->ev.device[f->event] == device)
			row->failures[row->n_failures++] =
				(struct top_failure){of->p->now_ns - m->ev.t_ns[f->event], m->ev.size[f->event], f->free,
						     site_name(of, m->ev.stack[f->event])};
	}
}

static void tell_uuid(char *out, size_t n, const uint8_t *u)
{
	static const uint8_t none[16];

	*out = 0;
	if (memcmp(u, none, 16))
		snprintf(out, n, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
			 u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static struct top_gpu gpu_of(const struct model *m, const struct pulse_device *d)
{
	struct top_gpu g = {.number = d->device, .total = d->total, .used = d->used, .busy = -1};

	g.free = d->used == MODEL_UNKNOWN || d->total == MODEL_UNKNOWN ? MODEL_UNKNOWN : d->total - d->used;
	snprintf(g.name, sizeof g.name, "%s", model_text(m, m->device[d->device].name));
	tell_uuid(g.uuid, sizeof g.uuid, m->device[d->device].uuid);
	return g;
}

static struct top_process row_of(struct told *of, const struct pulse_device *d)
{
	const struct pulse *p = of->p;
	double seconds = (double)p->window_ns / 1e9;
	struct top_process row = {.recorded = true,
				  .gpu = d->device,
				  .used = MODEL_UNKNOWN,
				  .live = d->live,
				  .blocks = d->blocks,
				  .peak = d->peak,
				  .active = d->active,
				  .reserved = d->reserved,
				  .failed = d->failures,
				  .external = d->external,
				  .events = p->events,
				  .per_minute = rate(p, d->change),
				  .running_ns = p->now_ns};

	row.events_per_second = seconds > 0 ? (uint64_t)((double)p->recent / seconds) : 0;
	if (of->behind)
		row.trouble = mem_strdup("its past is still being read: these figures are of an earlier moment");
	else if (of->m->dropped_events)
		row.trouble = mem_printf("%llu event%s dropped", (unsigned long long)of->m->dropped_events,
					 of->m->dropped_events == 1 ? " was" : "s were");
	add_sites(&row, of, d);
	add_failures(&row, of, d->device);
	return row;
}

static void take(struct watched *w, struct told *of)
{
	size_t i;

	forget_rows(w);
	w->n = of->p->n;
	w->rows = mem_zalloc(w->n, sizeof *w->rows);
	w->gpus = mem_zalloc(w->n, sizeof *w->gpus);
	for (i = 0; i < w->n; i++) {
		w->rows[i] = row_of(of, &of->p->devices[i]);
		w->gpus[i] = gpu_of(of->m, &of->p->devices[i]);
	}
	code_memo_free(&of->codes);
}

static bool read_on(struct gather *g, struct watched *w, bool hurry)
{
	struct told of = {0};

	if (!w->follow && !(w->follow = follow_open(g->names, w->spool)))
		return false;
	if (!follow_look(w->follow, hurry, &of.p, &of.m, &of.behind)) {
		follow_close(w->follow);
		w->follow = NULL;
		return false;
	}
	take(w, &of);
	w->read_ns = clock_ns(CLOCK_MONOTONIC);
	return true;
}

static void read_whole(struct gather *g, struct watched *w)
{
	int64_t begin = clock_ns(CLOCK_MONOTONIC), now;
	struct pulse p;
	struct err e = {0};
	struct model m;

	if (w->read_ns && begin - w->read_ns < COST * w->cost_ns)
		return;
	if (recording_read_with(g->names, &m, w->spool, 0, NULL, &e))
		return;
	now = clock_ns(CLOCK_REALTIME) - m.start_wall_ns;
	now = now < m.duration_ns ? m.duration_ns : now;
	model_link(&m);
	pulse_take(&p, &m, now, now / 2 < FOLLOW_WINDOW_NS ? now / 2 : FOLLOW_WINDOW_NS);
	take(w, &(struct told){.m = &m, .p = &p});
	pulse_free(&p);
	model_free(&m);
	w->cost_ns = w->read_ns ? clock_ns(CLOCK_MONOTONIC) - begin : 0;
	w->read_ns = clock_ns(CLOCK_MONOTONIC);
}

static void read_spool(struct gather *g, struct watched *w, bool hurry)
{
	struct spool_info info;
	struct err e = {0};

	if (spool_peek(w->spool, &info, &e) || (!info.gpu_calls && !info.has_chunks)) {
		forget_rows(w); /* it has not come to the GPU yet, or is just going */
		return;
	}
	if (w->whole || !read_on(g, w, hurry)) {
		w->whole = true;
		read_whole(g, w);
	}
}

/* --- one look ------------------------------------------------------------------------------------ */

static struct watched *watch(struct gather *g, const struct top_found *found)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		if (g->watched[i].pid == found->pid && !strcmp(g->watched[i].spool, found->spool))
			return &g->watched[i];
	*VEC_PUSH(g->watched, g->n, g->cap) = (struct watched){.pid = found->pid, .spool = mem_strdup(found->spool)};
	return &g->watched[g->n - 1];
}

static void forget_gone(struct gather *g)
{
	size_t i, kept = 0;

	for (i = 0; i < g->n; i++)
		if (g->watched[i].seen) {
			g->watched[kept++] = g->watched[i];
		} else {
			watched_free(&g->watched[i]);
		}
	g->n = kept;
}

/* A device is told by its uuid; where that is not known, by its number and name. */
static int find_gpu(struct top *t, const struct top_gpu *like)
{
	size_t i;

	for (i = 0; i < t->n_gpus; i++) {
		const struct top_gpu *g = &t->gpus[i];

		if (*like->uuid && *g->uuid ? !strcmp(like->uuid, g->uuid)
					    : like->number == g->number && !strcmp(like->name, g->name))
			return (int)i;
	}
	*VEC_PUSH(t->gpus, t->n_gpus, t->cap_gpus) = *like;
	return (int)t->n_gpus - 1;
}

static struct top_process *find_process(struct top *t, int pid, int gpu)
{
	size_t i;

	for (i = 0; i < t->n_processes; i++)
		if (t->processes[i].pid == pid && t->processes[i].gpu == gpu)
			return &t->processes[i];
	*VEC_PUSH(t->processes, t->n_processes, t->cap_processes) =
		(struct top_process){.pid = pid,
				     .gpu = gpu,
				     .command = top_command(pid),
				     .used = MODEL_UNKNOWN,
				     .live = MODEL_UNKNOWN,
				     .peak = MODEL_UNKNOWN,
				     .reserved = MODEL_UNKNOWN,
				     .per_minute = TOP_UNKNOWN};
	return &t->processes[t->n_processes - 1];
}

static bool is_wanted(int pid, const uint64_t *pids, size_t n_pids)
{
	size_t i;

	for (i = 0; i < n_pids; i++)
		if (pids[i] == (uint64_t)pid)
			return true;
	return !n_pids;
}

static void look_at_nvml(struct gather *g, struct top *t, const uint64_t *pids, size_t n_pids)
{
	const struct nvml_gpu *gpus;
	size_t i, k, n = g->nvml ? nvml_look(g->nvml, &gpus) : 0;

	if (!g->nvml)
		t->no_nvml = mem_strdup(g->no_nvml);
	else if (*nvml_driver(g->nvml))
		t->driver = mem_strdup(nvml_driver(g->nvml));
	for (i = 0; i < n; i++) {
		struct top_gpu *gpu = VEC_PUSH(t->gpus, t->n_gpus, t->cap_gpus);

		*gpu = (struct top_gpu){.number = (int)i,
					.total = gpus[i].total,
					.used = gpus[i].used,
					.free = gpus[i].free,
					.busy = gpus[i].busy};
		snprintf(gpu->name, sizeof gpu->name, "%s", gpus[i].name);
		snprintf(gpu->uuid, sizeof gpu->uuid, "%.*s", (int)sizeof gpu->uuid - 1, gpus[i].uuid);
		t->unlisted |= !gpus[i].processes_known;
		for (k = 0; k < gpus[i].n_processes; k++)
			if (is_wanted((int)gpus[i].processes[k].pid, pids, n_pids))
				find_process(t, (int)gpus[i].processes[k].pid, (int)i)->used = gpus[i].processes[k].used;
	}
}

static struct top_process copy_of(const struct top_process *row)
{
	struct top_process copy = *row;
	size_t i;

	copy.sites = mem_zalloc(row->n_sites, sizeof *copy.sites);
	for (i = 0; i < row->n_sites; i++) {
		copy.sites[i] = row->sites[i];
		copy.sites[i].name = mem_strdup(row->sites[i].name);
	}
	copy.failures = mem_zalloc(row->n_failures, sizeof *copy.failures);
	for (i = 0; i < row->n_failures; i++) {
		copy.failures[i] = row->failures[i];
		copy.failures[i].site = mem_strdup(row->failures[i].site);
	}
	copy.trouble = row->trouble ? mem_strdup(row->trouble) : NULL;
	return copy;
}

/* The rows of a recorded process join what NVML knows of it. */
static void add_watched(struct top *t, const struct watched *w)
{
	int64_t age = clock_ns(CLOCK_MONOTONIC) - w->read_ns;
	size_t i;

	for (i = 0; i < w->n; i++) {
		int gpu = find_gpu(t, &w->gpus[i]);
		struct top_process *row = find_process(t, w->pid, gpu), copy = copy_of(&w->rows[i]);

		copy.pid = w->pid;
		copy.gpu = gpu;
		copy.used = row->used;
		copy.command = row->command;
		copy.age_ns = age;
		*row = copy;
	}
	t->n_recorded += w->n > 0;
}

void gather_look(struct gather *g, struct top *t, const uint64_t *pids, size_t n_pids, bool hurry)
{
	struct top_found *found;
	size_t i, n = top_find(&found);
	struct watched *w;

	*t = (struct top){.wall_ns = clock_ns(CLOCK_REALTIME)};
	look_at_nvml(g, t, pids, n_pids);
	for (i = 0; i < g->n; i++)
		g->watched[i].seen = false;
	for (i = 0; i < n; i++) {
		if (!is_wanted(found[i].pid, pids, n_pids))
			continue;
		w = watch(g, &found[i]);
		w->seen = true;
		read_spool(g, w, hurry);
		add_watched(t, w);
	}
	forget_gone(g);
	top_found_free(found, n);
}
