/* diff_json.c: what changed between two recordings, for programs. */
#include "render/diff_out.h"
#include "render/json_out.h"

static void pair(cJSON *parent, const char *key, uint64_t a, uint64_t b)
{
	cJSON *o = json_object(parent, key);

	json_u64(o, "a", a);
	json_u64(o, "b", b);
	if (a == MODEL_UNKNOWN || b == MODEL_UNKNOWN)
		cJSON_AddNullToObject(o, "delta");
	else
		json_i64(o, "delta", (int64_t)(b - a));
}

static void amount(cJSON *device, const char *key, const struct diff *d, enum total which)
{
	const struct amount *a = &d->totals[0].amount[which], *b = &d->totals[1].amount[which];
	cJSON *o = json_object(device, key);

	pair(o, "peak", d->present[0] ? a->peak : MODEL_UNKNOWN, d->present[1] ? b->peak : MODEL_UNKNOWN);
	pair(o, "end", d->present[0] ? a->end : MODEL_UNKNOWN, d->present[1] ? b->end : MODEL_UNKNOWN);
}

static void one_stack(cJSON *list, const struct diff_set *s, const struct diff_row *r)
{
	unsigned side = r->has[DIFF_B] ? DIFF_B : DIFF_A;
	cJSON *o = json_item(list);

	json_text(o, "status", diff_status_name(diff_status(r)));
	pair(o, "peak_bytes", r->peak[0], r->peak[1]);
	pair(o, "peak_count", r->peak_count[0], r->peak_count[1]);
	pair(o, "end_bytes", r->end[0], r->end[1]);
	pair(o, "end_count", r->end_count[0], r->end_count[1]);
	json_stack(o, "stack", s->m[side], r->stack[side]);
}

void diff_json(FILE *f, const struct diff_set *s, size_t top)
{
	cJSON *root = cJSON_CreateObject(), *devices;
	size_t i, k;

	cJSON_AddStringToObject(root, "format", "gpumemsnap-diff");
	cJSON_AddNumberToObject(root, "version", 1);
	json_text(root, "a", s->m[0]->file);
	json_text(root, "b", s->m[1]->file);
	devices = json_array(root, "devices");
	for (i = 0; i < s->n; i++) {
		const struct diff *d = &s->devices[i];
		cJSON *o = json_item(devices), *list;

		json_u64(o, "device", d->device);
		amount(o, "requested", d, TOTAL_REQUESTED);
		amount(o, "allocated", d, TOTAL_ALLOCATED);
		amount(o, "reserved", d, TOTAL_RESERVED);
		list = json_array(o, "stacks");
		for (k = 0; k < d->n && (!top || k < top); k++)
			one_stack(list, s, &d->rows[k]);
	}
	json_print(f, root);
}
