/* whatif_json.c: struct whatif → JSON. Numbers are bytes; what is not known is null. */
#include "render/json_out.h"
#include "render/whatif_out.h"

static void fidelity(cJSON *root, const struct whatif_fidelity *f)
{
	cJSON *o, *first;

	if (!f->known) {
		cJSON_AddNullToObject(root, "fidelity");
		return;
	}
	o = json_object(root, "fidelity");
	json_u64(o, "events", f->events);
	json_u64(o, "matched", f->matched);
	if (f->matched == f->events) {
		cJSON_AddNullToObject(o, "first_mismatch");
		return;
	}
	first = json_object(o, "first_mismatch");
	json_u64(first, "device", f->first.device);
	json_u64(first, "event", f->first.event);
	json_text(first, "recorded", f->first.recorded);
	json_text(first, "predicted", f->first.predicted);
}

static void first_oom(cJSON *o, const struct whatif_run *r, const struct model *m)
{
	if (r->first_oom_event < 0)
		cJSON_AddNullToObject(o, "first_oom_event");
	else
		json_i64(o, "first_oom_event", r->first_oom_event);
	json_u64(o, "first_oom_size", r->ooms ? r->first_oom_size : MODEL_UNKNOWN);
	if (r->first_oom_event >= 0)
		json_stack(o, "first_oom_stack", m, r->first_oom_stack);
	else
		cJSON_AddNullToObject(o, "first_oom_stack");
	json_text(o, "oom_reason", r->oom_text);
	if (r->idle)
		cJSON_AddStringToObject(o, "without_effect", r->idle);
	else
		cJSON_AddNullToObject(o, "without_effect");
}

static void run(cJSON *list, const struct whatif_run *r, const struct model *m)
{
	static const char *const kind[] = {"caching", "plain", "stream_ordered", "offline"};
	cJSON *o = json_item(list);

	cJSON_AddStringToObject(o, "conf", r->conf);
	cJSON_AddStringToObject(o, "kind", kind[r->kind]);
	json_u64(o, "device", r->device);
	json_u64(o, "device_mem", r->device_mem);
	json_u64(o, "reserved_peak", r->reserved_peak);
	json_u64(o, "allocated_peak", r->allocated_peak);
	json_u64(o, "requested_peak", r->requested_peak);
	json_u64(o, "device_allocs", r->device_allocs);
	json_u64(o, "device_frees", r->device_frees);
	json_u64(o, "retries", r->retries);
	json_u64(o, "ooms", r->ooms);
	first_oom(o, r, m);
	json_real(o, "fragmentation_at_peak", r->fragmentation_at_peak);
	json_u64(o, "lower_bound", r->lower_bound);
}

/* The first failure in the recording itself. */
static void recorded_oom(cJSON *root, const struct whatif *w)
{
	size_t i;
	cJSON *o;

	for (i = 0; i < w->n_traces && w->traces[i].recorded_oom < 0; i++)
		;
	if (i == w->n_traces) {
		cJSON_AddNullToObject(root, "recorded_oom");
		return;
	}
	o = json_object(root, "recorded_oom");
	json_u64(o, "device", w->traces[i].device);
	json_i64(o, "event", w->traces[i].recorded_oom);
	json_u64(o, "available", w->traces[i].available);
}

void whatif_json(FILE *f, const struct whatif *w, const struct model *m)
{
	cJSON *root = cJSON_CreateObject(), *runs, *o;
	size_t i;

	cJSON_AddStringToObject(root, "format", "gpumemsnap-whatif");
	json_u64(root, "version", 1);
	json_text(root, "file", m->file);
	fidelity(root, &w->fidelity);
	runs = json_array(root, "runs");
	for (i = 0; i < w->n_runs; i++)
		run(runs, &w->runs[i], m);
	o = json_object(root, "recommended");
	if (w->recommended)
		cJSON_AddStringToObject(o, "conf", w->recommended);
	else
		cJSON_AddNullToObject(o, "conf");
	json_u64(o, "saves_bytes", w->saves_bytes);
	cJSON_AddBoolToObject(o, "avoids_oom", w->avoids_oom);
	recorded_oom(root, w);
	json_print(f, root);
}
