/* top_json.c: top for programs: one document a look. */
#include "render/json_out.h"
#include "render/top.h"

static void number(cJSON *object, const char *key, int64_t v)
{
	if (v == TOP_UNKNOWN)
		cJSON_AddNullToObject(object, key);
	else
		json_i64(object, key, v);
}

static void gpu(cJSON *o, const struct top_gpu *g)
{
	json_i64(o, "gpu", g->number);
	json_text(o, "name", g->name);
	json_text(o, "uuid", g->uuid);
	json_u64(o, "total", g->total);
	json_u64(o, "used", g->used);
	json_u64(o, "free", g->free);
	number(o, "busy_percent", g->busy < 0 ? TOP_UNKNOWN : g->busy);
}

static void recording(cJSON *o, const struct top_process *p)
{
	cJSON *list, *item;
	size_t i;

	json_u64(o, "live", p->live);
	json_u64(o, "blocks", p->blocks);
	json_u64(o, "peak", p->peak);
	json_u64(o, "active", p->active);
	json_u64(o, "reserved", p->reserved);
	json_real(o, "external_fragmentation", p->external);
	number(o, "growth_per_minute", p->per_minute);
	json_u64(o, "failed", p->failed);
	json_u64(o, "events", p->events);
	json_u64(o, "events_per_second", p->events_per_second);
	number(o, "running_ns", p->running_ns);
	number(o, "age_ns", p->age_ns);
	json_text(o, "trouble", p->trouble);
	list = json_array(o, "stacks");
	for (i = 0; i < p->n_sites; i++) {
		item = json_item(list);
		json_text(item, "name", p->sites[i].name);
		json_u64(item, "bytes", p->sites[i].bytes);
		json_u64(item, "count", p->sites[i].count);
		number(item, "growth_per_minute", p->sites[i].per_minute);
	}
	list = json_array(o, "failures");
	for (i = 0; i < p->n_failures; i++) {
		item = json_item(list);
		json_i64(item, "ago_ns", p->failures[i].ago_ns);
		json_u64(item, "size", p->failures[i].size);
		json_u64(item, "free", p->failures[i].free);
		json_text(item, "name", p->failures[i].site);
	}
}

static void process(cJSON *o, const struct top *t, const struct top_process *p)
{
	json_i64(o, "pid", p->pid);
	number(o, "gpu", p->gpu < 0 ? TOP_UNKNOWN : t->gpus[p->gpu].number);
	json_text(o, "command", p->command);
	json_u64(o, "used", p->used);
	if (p->recorded)
		recording(json_object(o, "recording"), p);
	else
		cJSON_AddNullToObject(o, "recording");
}

void top_json(FILE *f, const struct top *t)
{
	cJSON *root = cJSON_CreateObject(), *list;
	size_t i;

	json_text(root, "format", "gpumemsnap-top");
	json_i64(root, "version", 1);
	json_i64(root, "time_wall_ns", t->wall_ns);
	json_text(root, "driver", t->driver);
	json_text(root, "no_nvml", t->no_nvml);
	cJSON_AddBoolToObject(root, "processes_listed", !t->no_nvml && !t->unlisted);
	list = json_array(root, "gpus");
	for (i = 0; i < t->n_gpus; i++)
		gpu(json_item(list), &t->gpus[i]);
	list = json_array(root, "processes");
	for (i = 0; i < t->n_processes; i++)
		process(json_item(list), t, &t->processes[i]);
	json_print(f, root);
}
