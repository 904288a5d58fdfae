/* accounting_out.c: what a device's memory is used for, as a table that adds up and as JSON. */
#include "render/accounting_out.h"
#include "analyze/frames.h"
#include "render/json_out.h"
#include "render/report_text.h"
#include "render/table.h"
#include <stdlib.h>

static void signed_bytes(struct table *t, int64_t bytes)
{
	char buf[TEXT_SIZE_MAX];

	table_cell(t, "%s%s", bytes < 0 ? "-" : "", text_bytes(buf, (uint64_t)llabs(bytes)));
}

static void row(struct table *t, const struct accounting *a, int64_t bytes, uint64_t count)
{
	signed_bytes(t, bytes);
	if (a->used == MODEL_UNKNOWN || !a->used)
		table_cell(t, "-");
	else
		table_cell(t, "%.1f %%", (double)bytes * 100 / (double)a->used);
	if (count)
		table_count(t, count);
	else
		table_cell(t, "%s", "");
}

static void part_name(struct table *t, const struct account *part, const struct model *m)
{
	const char *name = model_text(m, part->name);

	if (part->part == ACCOUNT_LIBRARY)
		table_cell(t, "%s %s", accounting_part_name(part->part),
		           part->name ? frames_base(name) : "an unknown caller (no stack)");
	else if (part->part == ACCOUNT_OTHERS)
		table_cell(t, "%s %s (%u)", accounting_part_name(part->part), *name ? name : "?", part->pid);
	else
		table_cell(t, "%s", accounting_part_name(part->part));
}

static void heading(const struct section *s, const struct accounting *a)
{
	char used[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX], when[TEXT_SIZE_MAX];

	if (a->used == MODEL_UNKNOWN)
		page_heading(s->p, "ACCOUNT: how much of the device was used is not recorded");
	else
		page_heading(s->p, "ACCOUNT: %s used of %s, at the fullest sample (%s)", text_bytes(used, a->used),
		             a->total == MODEL_UNKNOWN ? "?" : text_bytes(total, a->total),
		             s->r->m->has_time ? text_ns(when, a->t_ns) : "time unknown");
}

static void apart(const struct section *s, const char *what, uint64_t bytes)
{
	char buf[TEXT_SIZE_MAX];

	if (bytes)
		page_line(s->p, "  apart: %s of %s", text_bytes(buf, bytes), what);
}

void section_accounting(const struct section *s)
{
	const struct accounting *a = s->d->accounting;
	struct table t;
	size_t i;

	if (!a)
		return;
	heading(s, a);
	table_begin(&t, "rrrl", "BYTES", "SHARE", "BLOCKS", "WHAT");
	for (i = 0; i < a->n; i++) {
		row(&t, a, a->v[i].bytes, a->v[i].count);
		part_name(&t, &a->v[i], s->r->m);
	}
	if (a->used != MODEL_UNKNOWN) {
		row(&t, a, a->remainder, 0);
		table_cell(&t, "not explained");
	}
	row(&t, a, a->used != MODEL_UNKNOWN ? (int64_t)a->used : a->sum, 0);
	table_cell(&t, "%s", a->used != MODEL_UNKNOWN ? "used, the sum of these" : "sum of these");
	table_end(&t, s->p);
	apart(s, "managed memory, which is where it was last used", a->managed);
	apart(s, "pinned host memory", a->pinned);
	apart(s, "host memory registered with the driver", a->registered);
	apart(s, "other processes' memory opened here", a->imported);
	if (a->foreign_ids)
		page_line(s->p, "  NVML names processes by ids that are not known here (as in a container without its host's PID "
		                "namespace): this process's context and other processes are not told apart.");
	else if (!a->by_nvml)
		page_line(s->p, "  NVML did not tell what this process uses: its context and other processes are not told apart.");
}

void accounting_json(cJSON *o, const struct accounting *a, const struct model *m)
{
	cJSON *parts, *part;
	size_t i;

	json_i64(o, "t_ns", a->t_ns);
	json_u64(o, "used", a->used);
	json_u64(o, "total", a->total);
	parts = json_array(o, "parts");
	for (i = 0; i < a->n; i++) {
		part = json_item(parts);
		json_text(part, "part", accounting_part_word(a->v[i].part));
		json_text(part, "name", model_text(m, a->v[i].name));
		json_u64(part, "pid", a->v[i].pid ? a->v[i].pid : MODEL_UNKNOWN);
		json_i64(part, "bytes", a->v[i].bytes);
		json_u64(part, "count", a->v[i].count ? a->v[i].count : MODEL_UNKNOWN);
	}
	json_i64(o, "sum", a->sum);
	if (a->used == MODEL_UNKNOWN)
		cJSON_AddNullToObject(o, "remainder");
	else
		json_i64(o, "remainder", a->remainder);
	cJSON_AddBoolToObject(o, "nvml", a->by_nvml);
	json_u64(o, "managed", a->managed);
	json_u64(o, "pinned", a->pinned);
	json_u64(o, "registered", a->registered);
	json_u64(o, "imported", a->imported);
}
