/* html.c: the page: its own files, the report as JSON, and every recording's columns.
 *
 * The columns come last, behind the script: a browser runs it and draws what it has (html_sketch.h) before it
 * has read them. What the page shows of totals comes from the same report that `gpumemsnap report --format
 * json` prints; the columns let its script find the same numbers for any part of the recording.
 */
#include "render/html.h"
#include "analyze/code.h"
#include "analyze/frames.h"
#include "analyze/rank.h"
#include "analyze/series.h"
#include "base/hash.h"
#include "base/mem.h"
#include "render/html_blob.h"
#include "render/html_files.h"
#include "render/html_sketch.h"
#include "render/palette.h"
#include "render/report_json.h"
#include "render/segmap.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_ROWS 200 /* of the report's lists */

/* Everything of one file on its way into the page. */
struct pack {
	const struct model *m;
	struct text json; /* of the file, without its strings' dangerous characters */
	struct blob blob, sketches;
	int64_t from, to;
	struct code_memo codes;
	uint32_t *string; /* string → its number in the page + 1, 0: not used yet */
	uint32_t *used;
	size_t n_used, cap_used;
};

/* Differences of times must fit, whatever a file says. */
static int64_t sane(int64_t t)
{
	return t > INT64_MAX / 4 ? INT64_MAX / 4 : t < INT64_MIN / 4 ? INT64_MIN / 4 : t;
}

static uint32_t string_of(struct pack *p, uint32_t id)
{
	if (!p->string[id]) {
		*VEC_PUSH(p->used, p->n_used, p->cap_used) = id;
		p->string[id] = (uint32_t)p->n_used;
	}
	return p->string[id] - 1;
}

/* --- frames and stacks ---------------------------------------------------------------------- */

static void pack_frames(struct pack *p)
{
	struct blob_column function = {0}, file = {0}, line = {0}, module = {0}, code = {0};
	struct text label = {0};

	text_puts(&p->json, ",\"labels\":[");
	for (uint32_t i = 0; i < p->m->frames.n; i++) {
		const struct frame *f = &p->m->frames.v[i];
		unsigned worth;
		enum code c = code_of(&p->codes, p->m, i, &worth);
		blob_put(&function, string_of(p, f->function));
		blob_put(&file, string_of(p, f->file));
		blob_put(&line, f->line);
		blob_put(&module, string_of(p, f->module));
		blob_put(&code, (uint64_t)c << 5 | palette_shade(model_text(p->m, f->function)) << 3 | worth);
		label.n = 0;
		frames_label(&label, p->m, i);
		text_puts(&p->json, i ? "," : "");
		text_json(&p->json, label.s ? label.s : "");
	}
	text_puts(&p->json, "]");
	text_free(&label);
	blob_add(&p->blob, "frame_function", &function);
	blob_add(&p->blob, "frame_file", &file);
	blob_add(&p->blob, "frame_line", &line);
	blob_add(&p->blob, "frame_module", &module);
	blob_add(&p->blob, "frame_code", &code);
}

static void pack_stacks(struct pack *p)
{
	struct blob_column length = {0}, frames = {0};
	int64_t last = 0;

	for (uint32_t s = 0; s < p->m->stacks.n; s++) {
		size_t n;
		const uint32_t *f = model_stack_frames(p->m, s, &n);
		blob_put(&length, n);
		for (size_t i = n; i-- > 0;
		     last = f[i]) /* outermost first: neighbours share their beginnings */
			blob_put_signed(&frames, (int64_t)f[i] - last);
	}
	blob_add(&p->blob, "stack_length", &length);
	blob_add(&p->blob, "stack_frames", &frames);
}

static void pack_phases(struct pack *p)
{
	struct blob_column name = {0}, begin = {0}, length = {0}, device = {0};
	int64_t last = 0;

	for (size_t i = 0; i < p->m->n_phases; i++) {
		const struct phase *ph = &p->m->phases[i];
		blob_put(&name, string_of(p, ph->name));
		int64_t t0 = sane(ph->begin_ns), t1 = sane(ph->end_ns);
		blob_put_signed(&begin, t0 - last);
		last = t0;
		blob_put(&length, ph->end_ns == INT64_MAX ? 0 : t1 > t0 ? (uint64_t)(t1 - t0) + 1 : 1);
		blob_put(&device, ph->device);
	}
	blob_add(&p->blob, "phase_name", &name);
	blob_add(&p->blob, "phase_begin", &begin);
	blob_add(&p->blob, "phase_length", &length);
	blob_add(&p->blob, "phase_device", &device);
}

/* --- what happened on a device --------------------------------------------------------------- */

struct device_columns {
	struct blob_column dt, what, size, slack, place, places, stack, stream, thread, pool;
	struct map64 number_of_place;
	uint64_t *number; /* alloc row → number of its block */
	uint64_t blocks;
	int64_t last_t;
	uint64_t last_place;
};

/* The place of an address when all ranges lie side by side, plus one; 0: in none of them. */
static uint64_t place_of(const struct ranges *r, const uint64_t *before, uint64_t addr)
{
	size_t i = lives_range_of(r, addr);

	return i == SIZE_MAX ? 0 : before[i] + (addr - r->v[i].addr) + 1;
}

/* Places come back again and again: each is listed once. */
static void put_place(struct device_columns *d, uint64_t place)
{
	bool fresh;
	uint32_t *number = map64_put(&d->number_of_place, place, &fresh);

	if (fresh) {
		*number = (uint32_t)d->number_of_place.n - 1;
		blob_put_signed(&d->places, (int64_t)(place - d->last_place));
		d->last_place = place;
	}
	blob_put(&d->place, *number);
}

static void put_alloc(struct device_columns *d, const struct model *m, size_t row, uint64_t place)
{
	const struct columns *c = &m->ev;
	uint64_t block = model_block_size(m, row);

	d->number[row] = d->blocks++;
	blob_put(&d->size, c->size[row]);
	blob_put(&d->slack, block == MODEL_UNKNOWN ? 0 : block - c->size[row] + 1);
	put_place(d, place);
	blob_put(&d->stack, c->stack[row]);
	blob_put(&d->stream, c->stream[row]);
	blob_put(&d->thread, c->thread[row]);
	blob_put(&d->pool, c->pool[row]);
}

/* An event is a time step and: 0, the next block begins; n, the block n before the next one ends. */
static void put_event(struct device_columns *d, int64_t t, uint64_t what)
{
	blob_put_signed(&d->dt, t - d->last_t);
	d->last_t = t;
	blob_put(&d->what, what);
}

static void name_section(struct pack *p, uint8_t device, const char *name, struct blob_column *c)
{
	char full[64];

	snprintf(full, sizeof full, "d%u_%s", device, name);
	blob_add(&p->blob, full, c);
}

/* Returns how many of the events lie before the window. */
static uint64_t pack_events(struct pack *p, uint8_t device, const struct ranges *r, const uint64_t *before)
{
	const struct model *m = p->m;
	struct device_columns d = {.number = mem_alloc((m->ev.n + 1) * sizeof *d.number)};
	uint64_t initial = 0, events = 0;
	struct live_walk w;

	for (live_begin(&w, m, device); live_next(&w);) {
		int64_t t = w.row < m->n_initial ? 0 : sane(m->ev.t_ns[w.row]);
		if (w.ends != MODEL_NO_PEER) {
			put_event(&d, t, d.blocks - d.number[w.ends]);
			events++;
		}
		if (w.begins != MODEL_NO_PEER) {
			put_alloc(&d, m, w.row, place_of(r, before, m->ev.addr[w.row]));
			put_event(&d, t, 0);
			events++;
		}
		initial = w.row < m->n_initial ? events : initial;
	}
	live_end(&w);
	free(d.number);
	map64_free(&d.number_of_place);
	name_section(p, device, "dt", &d.dt);
	name_section(p, device, "what", &d.what);
	name_section(p, device, "size", &d.size);
	name_section(p, device, "slack", &d.slack);
	name_section(p, device, "place", &d.place);
	name_section(p, device, "places", &d.places);
	name_section(p, device, "stack", &d.stack);
	name_section(p, device, "stream", &d.stream);
	name_section(p, device, "thread", &d.thread);
	name_section(p, device, "pool", &d.pool);
	return initial;
}

static uint64_t block_size(const struct model *m, size_t row)
{
	uint64_t block = model_block_size(m, row);

	return block == MODEL_UNKNOWN ? m->ev.size[row] : block;
}

/* What the page knows already: whether reserved bytes are at all times the sum of the live blocks' sizes, and
 * those are what was asked for. */
static bool is_sum_of_blocks(const struct series *s, const struct model *m, uint8_t device, bool *as_asked)
{
	const uint64_t *v = s->value[TOTAL_RESERVED];
	struct live_walk w;
	uint64_t sum = 0;
	size_t row = 0;
	bool same = true;

	*as_asked = true;
	for (live_begin(&w, m, device); live_next(&w);) {
		for (; row < w.row && same; row++)
			same = m->ev.device[row] != device || v[row] == sum;
		sum -= w.ends != MODEL_NO_PEER ? block_size(m, w.ends) : 0;
		sum += w.begins != MODEL_NO_PEER ? block_size(m, w.row) : 0;
		*as_asked =
		    *as_asked && (w.begins == MODEL_NO_PEER || block_size(m, w.row) == m->ev.size[w.row]);
	}
	live_end(&w);
	for (; row < s->n && same; row++)
		same = m->ev.device[row] != device || v[row] == sum;
	return same;
}

/* Reserved bytes over time, where they change. */
static void pack_reserved(struct pack *p, uint8_t device)
{
	struct blob_column time = {0}, value = {0};
	struct series s;
	uint64_t last = MODEL_UNKNOWN;
	int64_t last_t = 0;
	bool as_asked;

	series_make(&s, p->m, device, 1u << TOTAL_RESERVED);
	bool known = is_sum_of_blocks(&s, p->m, device, &as_asked);
	for (size_t row = 0; row < s.n && !known; row++) {
		uint64_t v = s.value[TOTAL_RESERVED][row];
		int64_t t = row < p->m->n_initial ? 0 : sane(p->m->ev.t_ns[row]);
		if (v == last || p->m->ev.device[row] != device)
			continue;
		blob_put_signed(&time, t - last_t);
		blob_put(&value, v == MODEL_UNKNOWN ? 0 : v + 1);
		last = v;
		last_t = t;
	}
	series_free(&s);
	text_printf(&p->json, ",\"reservedIsBlocks\":%s", known && !as_asked ? "true" : "false");
	name_section(p, device, "reserved_t", &time);
	name_section(p, device, "reserved", &value);
}

static void pack_held(struct pack *p, uint8_t device, const struct segmap *map, const uint64_t *before)
{
	struct blob_column begin = {0}, end = {0}, place = {0}, size = {0};
	const struct columns *c = &p->m->ev;

	for (size_t i = 0; i < map->held.n; i++) {
		const struct life *l = &map->held.v[i];
		blob_put_signed(&begin, l->begin < p->m->n_initial ? -1 : c->t_ns[l->begin]);
		blob_put_signed(&end, l->end == MODEL_NO_PEER ? -1 : c->t_ns[l->end]);
		blob_put(&place, place_of(&map->ranges, before, l->addr));
		blob_put(&size, l->size);
	}
	name_section(p, device, "held_begin", &begin);
	name_section(p, device, "held_end", &end);
	name_section(p, device, "held_place", &place);
	name_section(p, device, "held_size", &size);
}

static void pack_device(struct pack *p, const struct report_device *d, bool first)
{
	const struct model *m = p->m;
	struct segmap map;

	segmap_make(&map, m, d->device);
	uint64_t *before = mem_alloc((map.ranges.n + 1) * sizeof *before), sum = 0;
	text_printf(&p->json, "%s{\"device\":%u,\"name\":", first ? "" : ",", d->device);
	text_json(&p->json, model_text(m, m->device[d->device].name));
	text_puts(&p->json, ",\"ranges\":[");
	for (size_t i = 0; i < map.ranges.n; i++) {
		before[i] = sum;
		sum += map.ranges.v[i].size;
		text_printf(&p->json, "%s[\"0x%" PRIx64 "\",%" PRIu64 "]", i ? "," : "", map.ranges.v[i].addr,
		            map.ranges.v[i].size);
	}
	uint64_t initial = pack_events(p, d->device, &map.ranges, before);
	text_printf(&p->json, "],\"initial\":%" PRIu64, initial);
	if (d->t->events >= SKETCH_LEAST)
		html_sketch(&p->json, &p->sketches, m, d->device, p->from, p->to, &p->codes);
	pack_reserved(p, d->device);
	text_puts(&p->json, "}");
	pack_held(p, d->device, &map, before);
	segmap_free(&map);
	free(before);
}

/* --- names ----------------------------------------------------------------------------------- */

static void pack_names(struct pack *p)
{
	static const enum group_by by[] = {BY_STREAM, BY_THREAD, BY_POOL};
	static const char *const name[] = {"streams", "threads", "pools"};
	const size_t n[] = {p->m->n_streams, p->m->n_threads, p->m->n_pools};

	for (int k = 0; k < 3; k++) {
		text_printf(&p->json, ",\"%s\":[", name[k]);
		for (size_t i = 0; i < n[k]; i++) {
			struct text t = {0};
			group_label(&t, p->m, by[k], (uint32_t)i);
			text_puts(&p->json, i ? "," : "");
			text_json(&p->json, t.s ? t.s : "");
			text_free(&t);
		}
		text_puts(&p->json, "]");
	}
	text_puts(&p->json, ",\"strings\":[");
	for (size_t i = 0; i < p->n_used; i++) {
		text_puts(&p->json, i ? "," : "");
		text_json(&p->json, model_text(p->m, p->used[i]));
	}
	text_puts(&p->json, "]");
}

static void pack_rank(struct pack *p)
{
	struct rank r;

	rank_make(&r, p->m);
	text_puts(&p->json, ",\"rank\":[");
	for (size_t i = 0; i < r.n; i++)
		text_printf(&p->json, "%s%u", i ? "," : "", r.stack[i]);
	text_puts(&p->json, "]");
}

static void pack_window(struct pack *p)
{
	const struct columns *c = &p->m->ev;
	int64_t from = 0, to = p->m->has_time && p->m->duration_ns > 0 ? sane(p->m->duration_ns) : 0;

	for (size_t row = p->m->n_initial; row < c->n; row++) {
		from = c->t_ns[row] < from ? sane(c->t_ns[row]) : from;
		to = c->t_ns[row] > to ? sane(c->t_ns[row]) : to;
	}
	p->from = from;
	p->to = to > from ? to : from + 1;
	text_printf(&p->json, ",\"from\":%" PRId64 ",\"to\":%" PRId64 ",\"hasTime\":%s,\"events\":%zu", from,
	            to, p->m->has_time ? "true" : "false", c->n - p->m->n_initial);
	if (p->m->rank >= 0)
		text_printf(&p->json, ",\"jobRank\":%d", p->m->rank);
}

/* The whole file: JSON into the text, its columns into the other. */
static void pack_file(struct text *json, struct text *blob, struct text *sketches, const struct report *r)
{
	struct pack p = {.m = r->m};

	p.string = mem_zalloc(r->m->strings.n + 1, sizeof *p.string);
	text_puts(&p.json, "{\"name\":");
	text_json(&p.json, r->m->file);
	text_puts(&p.json, ",\"command\":");
	text_json(&p.json, r->m->command ? r->m->command : "");
	pack_window(&p);
	pack_rank(&p);
	pack_frames(&p);
	pack_stacks(&p);
	pack_phases(&p);
	text_puts(&p.json, ",\"devices\":[");
	bool first = true;
	for (size_t i = 0; i < r->n; i++)
		if (r->devices[i].device != MODEL_NO_DEVICE) {
			pack_device(&p, &r->devices[i], first);
			first = false;
		}
	text_puts(&p.json, "]");
	pack_names(&p);
	text_printf(&p.json, ",\"sections\":{%s}", p.blob.index.s);
	blob_finish(&p.blob, blob);
	if (p.sketches.n) {
		text_printf(&p.json, ",\"sketches\":{%s}", p.sketches.index.s);
		blob_finish(&p.sketches, sketches);
	}
	text_puts(&p.json, "}");
	text_add(json, p.json.s, p.json.n);
	text_free(&p.json);
	text_free(&p.blob.index);
	text_free(&p.sketches.index);
	code_memo_free(&p.codes);
	free(p.string);
	free(p.used);
}

/* --- the page -------------------------------------------------------------------------------- */

static void colours(struct text *t)
{
	text_puts(t, ",\"categories\":[");
	for (uint32_t i = 0; i < 3 * PALETTE_CATEGORIES; i++)
		text_printf(t, "%s\"#%06x\"", i ? "," : "", palette_category(i));
	text_puts(t, "]");
	for (int dark = 0; dark < 2; dark++) {
		struct palette pal;
		palette_make(&pal, dark);
		text_printf(t,
		            ",\"%s\":{\"rest\":\"#%06x\",\"unknown\":\"#%06x\",\"empty\":\"#%06x\","
		            "\"merged\":\"#%06x\",\"code\":[",
		            dark ? "dark" : "light", pal.rest, pal.unknown, pal.empty, pal.merged);
		for (int c = 0; c < CODES * PALETTE_SHADES; c++)
			text_printf(t, "%s\"#%06x\"", c ? "," : "",
			            pal.code[c / PALETTE_SHADES][c % PALETTE_SHADES]);
		text_puts(t, "]}");
	}
}

/* JSON inside a script element: no '<' that could end it. */
static int write_json(struct output *out, const char *s, size_t n, struct err *e)
{
	struct text safe = {0};
	int rc;

	for (size_t i = 0, j; i < n; i = j + 1) {
		for (j = i; j < n && s[j] != '<';)
			j++;
		text_add(&safe, s + i, j - i);
		if (j < n)
			text_puts(&safe, "\\u003c");
	}
	rc = output_write(out, safe.s ? safe.s : "", safe.n, e);
	text_free(&safe);
	return rc;
}

static int write_report(const struct report *reports, size_t n, struct output *out, struct err *e)
{
	char *s = NULL;
	size_t len;
	FILE *f = open_memstream(&s, &len);
	int rc;

	if (!f)
		return err_sys(e, NULL, "open_memstream");
	report_json(f, reports, n, &(struct report_json_options){.top = TABLE_ROWS});
	fclose(f);
	rc = write_json(out, s, len, e);
	free(s);
	return rc;
}

static int put(struct output *out, const char *s, struct err *e)
{
	return output_write(out, s, strlen(s), e);
}

static int put_bytes(struct output *out, const char *id, size_t i, const struct text *t, struct err *e)
{
	char open[100];

	snprintf(open, sizeof open, "<script type=\"application/octet-stream\" id=\"%s-%zu\">", id, i);
	return put(out, open, e) || output_write(out, t->s, t->n, e) || put(out, "</script>\n", e);
}

static int write_data(const struct report *reports, size_t n, struct text *columns, struct output *out,
                      struct err *e)
{
	struct text json = {0}, sketches = {0};
	int rc;

	text_puts(&json, "{\"version\":");
	text_json(&json, GPUMEMSNAP_VERSION);
	colours(&json);
	text_puts(&json, ",\"files\":[");
	rc = put(out, "<script type=\"application/json\" id=\"report\">", e) ||
	     write_report(reports, n, out, e) || put(out, "</script>\n", e);
	for (size_t i = 0; i < n && !rc; i++) {
		text_puts(&json, i ? "," : "");
		sketches.n = 0;
		pack_file(&json, &columns[i], &sketches, &reports[i]);
		rc = sketches.n ? put_bytes(out, "sketch", i, &sketches, e) : 0;
	}
	text_puts(&json, "]}");
	rc = rc || put(out, "<script type=\"application/json\" id=\"data\">", e) ||
	     write_json(out, json.s, json.n, e) || put(out, "</script>\n", e);
	text_free(&json);
	text_free(&sketches);
	return rc ? -1 : 0;
}

static int write_columns(const struct text *columns, size_t n, struct output *out, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = put_bytes(out, "columns", i, &columns[i], e);
	return rc ? -1 : 0;
}

static void escaped(struct text *t, const char *s)
{
	for (; *s; s++)
		if (*s == '<' || *s == '&' || *s == '>')
			text_printf(t, "&#%d;", *s);
		else
			text_add(t, s, 1);
}

/* The page's file up to the next <!--#word-->, whose word is returned in place. */
static const char *until_mark(const char *s, const char *end, const char **mark)
{
	const char *at = memmem(s, (size_t)(end - s), "<!--#", 5);

	*mark = at;
	return at ? at : end;
}

int html_write(const struct report *reports, size_t n, const char *title, struct output *out, struct err *e)
{
	const char *s = html_page, *mark, *stop;
	struct text t = {0}, *columns = mem_zalloc(n + 1, sizeof *columns);
	int rc = 0;

	escaped(&t, title);
	while (!rc && s < html_page_end) {
		stop = until_mark(s, html_page_end, &mark);
		rc = output_write(out, s, (size_t)(stop - s), e);
		if (rc || !mark)
			break;
		if (!strncmp(mark, "<!--#title", 10))
			rc = output_write(out, t.s, t.n, e);
		else if (!strncmp(mark, "<!--#style", 10))
			rc = output_write(out, html_style, (size_t)(html_style_end - html_style), e);
		else if (!strncmp(mark, "<!--#data", 9))
			rc = write_data(reports, n, columns, out, e);
		else if (!strncmp(mark, "<!--#columns", 12))
			rc = write_columns(columns, n, out, e);
		else
			rc = output_write(out, html_script, (size_t)(html_script_end - html_script), e);
		s = strstr(mark, "-->") + 3;
	}
	for (size_t i = 0; i < n; i++)
		text_free(&columns[i]);
	free(columns);
	text_free(&t);
	return rc ? -1 : 0;
}
