/* json_write.c: a model as a snapshot: header and tables first, then one event per line.
 *
 * Everything goes through a buffer that is emptied as it fills, so memory does not grow with the
 * recording. Numbers that are not known are null.
 */
#include "base/text.h"
#include "format/json.h"
#include "format/json_tables.h"
#include <string.h>

#define BUFFER (1u << 16)

struct writer {
	const struct model *m;
	struct output *o;
	struct err *e;
	struct text t;
	bool failed;
};

static void put_bytes(struct writer *w, const char *s, size_t n)
{
	if (!w->failed && n && output_write(w->o, s, n, w->e))
		w->failed = true;
}

static void flush(struct writer *w)
{
	put_bytes(w, w->t.s, w->t.n);
	w->t.n = 0;
}

static void flush_if_full(struct writer *w)
{
	if (w->t.n >= BUFFER)
		flush(w);
}

/* --- the pieces of the header --- */

static void put_string(struct writer *w, const char *s)
{
	if (s)
		text_json(&w->t, s);
	else
		text_puts(&w->t, "null");
}

static void put_u64(struct writer *w, uint64_t v, uint64_t unknown)
{
	if (v == unknown)
		text_puts(&w->t, "null");
	else
		text_u64(&w->t, v);
}

static void put_i64(struct writer *w, int64_t v, int64_t unknown)
{
	if (v == unknown)
		text_puts(&w->t, "null");
	else
		text_i64(&w->t, v);
}

/* A key of an object that is begun; the comma before it if it is not the first. */
static void key(struct writer *w, const char *name)
{
	char last = w->t.n ? w->t.s[w->t.n - 1] : '{';

	if (last != '{' && last != '[')
		text_puts(&w->t, ",");
	text_printf(&w->t, "\"%s\":", name);
}

static void key_string(struct writer *w, const char *name, const char *s)
{
	key(w, name);
	put_string(w, s);
}

static void key_u64(struct writer *w, const char *name, uint64_t v, uint64_t unknown)
{
	key(w, name);
	put_u64(w, v, unknown);
}

static void key_i64(struct writer *w, const char *name, int64_t v, int64_t unknown)
{
	key(w, name);
	put_i64(w, v, unknown);
}

static void key_bool(struct writer *w, const char *name, bool v)
{
	key(w, name);
	text_puts(&w->t, v ? "true" : "false");
}

static void put_names(struct writer *w, const char *const *names, size_t n)
{
	size_t i;

	text_puts(&w->t, "[");
	for (i = 0; i < n && names[i]; i++) {
		text_puts(&w->t, i ? "," : "");
		text_json(&w->t, names[i]);
	}
	text_puts(&w->t, "]");
}

static void put_devices(struct writer *w)
{
	size_t d, n = 0;

	key(w, "devices");
	text_puts(&w->t, "[");
	for (d = 0; d < 256; d++) {
		const struct device_info *info = &w->m->device[d];

		if (!info->name && info->total == MODEL_UNKNOWN)
			continue;
		text_puts(&w->t, n++ ? ",{" : "{");
		key_u64(w, "device", d, MODEL_UNKNOWN);
		key_string(w, "name", info->name ? model_text(w->m, info->name) : NULL);
		key_u64(w, "total", info->total, MODEL_UNKNOWN);
		text_puts(&w->t, "}");
	}
	text_puts(&w->t, "]");
}

static void put_meta(struct writer *w)
{
	const struct model *m = w->m;

	text_puts(&w->t, ",\n\"meta\":{");
	key_string(w, "source", json_sources[m->source]);
	key_string(w, "command", m->command);
	key_string(w, "host", m->host);
	key_u64(w, "pid", m->pid, 0);
	key_i64(w, "rank", m->rank, -1);
	key_string(w, "driver", m->driver);
	key_string(w, "version", m->version);
	key_i64(w, "start_wall_ns", m->start_wall_ns, 0);
	key_i64(w, "duration_ns", m->duration_ns, INT64_MIN);
	key_bool(w, "has_time", m->has_time);
	key_bool(w, "complete", m->complete);
	key_string(w, "why_incomplete", m->why_incomplete);
	key_string(w, "history", json_histories[m->history]);
	key_bool(w, "frees_left_out", m->frees_left_out);
	key_u64(w, "dropped_events", m->dropped_events, MODEL_UNKNOWN);
	key_u64(w, "unknown_entries", m->unknown_entries, MODEL_UNKNOWN);
	put_devices(w);
	text_puts(&w->t, "}");
}

static void put_settings(struct writer *w)
{
	size_t i;

	text_puts(&w->t, ",\n\"settings\":[");
	for (i = 0; i < w->m->n_settings; i++) {
		text_puts(&w->t, i ? ",[" : "[");
		put_string(w, model_text(w->m, w->m->settings[i].key));
		text_puts(&w->t, ",");
		put_string(w, model_text(w->m, w->m->settings[i].value));
		text_puts(&w->t, "]");
	}
	text_puts(&w->t, "]");
}

static void put_notes(struct writer *w)
{
	size_t i;

	text_puts(&w->t, ",\n\"notes\":[");
	for (i = 0; i < w->m->n_notes; i++) {
		text_puts(&w->t, i ? ",[" : "[");
		put_string(w, json_note_kinds[w->m->notes[i].kind]);
		text_puts(&w->t, ",");
		put_string(w, w->m->notes[i].text);
		text_puts(&w->t, "]");
	}
	text_puts(&w->t, "]");
}

static void put_strings(struct writer *w)
{
	uint32_t i;

	text_puts(&w->t, ",\n\"strings\":[");
	for (i = 0; i < w->m->strings.n; i++) {
		text_puts(&w->t, i ? ",\n" : "\n");
		text_json(&w->t, model_text(w->m, i));
		flush_if_full(w);
	}
	text_puts(&w->t, "]");
}

static void put_stacks(struct writer *w)
{
	uint32_t i;

	text_puts(&w->t, ",\n\"stacks\":[");
	for (i = 0; i < w->m->stacks.n; i++) {
		size_t n, k;
		const uint32_t *frames = model_stack_frames(w->m, i, &n);

		text_puts(&w->t, i ? ",\n[" : "\n[");
		for (k = 0; k < n; k++) {
			text_puts(&w->t, k ? "," : "");
			text_u64(&w->t, frames[k]);
		}
		text_puts(&w->t, "]");
		flush_if_full(w);
	}
	text_puts(&w->t, "]");
}

/* --- the tables of json_tables.h --- */

struct row {
	uint64_t v[JSON_MAX_FIELDS]; /* MODEL_UNKNOWN is written as null */
};

static uint64_t device(uint8_t d)
{
	return d == MODEL_NO_DEVICE ? MODEL_UNKNOWN : d;
}

static struct row frame_row(const struct model *m, size_t i)
{
	const struct frame *f = &m->frames.v[i];

	return (struct row){{f->function, f->file, f->line, f->module}};
}

static struct row thread_row(const struct model *m, size_t i)
{
	return (struct row){{m->threads[i].tid, m->threads[i].name}};
}

static struct row stream_row(const struct model *m, size_t i)
{
	return (struct row){{m->streams[i].handle, device(m->streams[i].device)}};
}

static struct row pool_row(const struct model *m, size_t i)
{
	const struct pool_info *p = &m->pools[i];

	return (struct row){{p->handle, p->id[0], p->id[1], device(p->device), p->small}};
}

static struct row phase_row(const struct model *m, size_t i)
{
	const struct phase *p = &m->phases[i];

	return (struct row){{p->name, p->domain, p->thread, device(p->device), (uint64_t)p->begin_ns,
			     (uint64_t)p->end_ns}};
}

static struct row block_row(const struct model *m, size_t i)
{
	const struct final_block *b = &m->blocks[i];

	return (struct row){{b->addr, b->size, b->requested, b->stack, b->state}};
}

static struct row segment_row(const struct model *m, size_t i)
{
	const struct final_segment *s = &m->segments[i];

	return (struct row){{s->addr, s->size, s->requested, s->stack, s->stream, s->pool, device(s->device),
			     s->small, s->expandable, s->first_block, s->n_blocks}};
}

static struct row failure_row(const struct model *m, size_t i)
{
	const struct failure *f = &m->failures[i];

	return (struct row){{f->event, (uint64_t)(int64_t)f->error, f->free, f->total}};
}

static void put_table(struct writer *w, enum json_table_id t, size_t n,
		      struct row (*row_of)(const struct model *, size_t))
{
	const char *const *field = json_tables[t].field;
	size_t i, k;

	text_printf(&w->t, ",\n\"%s\":[", json_tables[t].name);
	for (i = 0; i < n; i++) {
		struct row row = row_of(w->m, i);

		text_puts(&w->t, i ? ",\n[" : "\n[");
		for (k = 0; field[k]; k++) {
			text_puts(&w->t, k ? "," : "");
			if (json_is_signed(t, k))
				put_i64(w, (int64_t)row.v[k], JSON_SIGNED_UNKNOWN);
			else
				put_u64(w, row.v[k], MODEL_UNKNOWN);
		}
		text_puts(&w->t, "]");
		flush_if_full(w);
	}
	text_puts(&w->t, "]");
}

static void put_tables(struct writer *w)
{
	const struct model *m = w->m;
	size_t t;

	text_puts(&w->t, ",\n\"table_fields\":{");
	for (t = 0; t < JSON_N_TABLES; t++) {
		key(w, json_tables[t].name);
		put_names(w, json_tables[t].field, JSON_MAX_FIELDS);
	}
	text_puts(&w->t, "}");
	put_settings(w);
	put_notes(w);
	put_strings(w);
	put_table(w, JSON_T_frames, m->frames.n, frame_row);
	put_stacks(w);
	put_table(w, JSON_T_threads, m->n_threads, thread_row);
	put_table(w, JSON_T_streams, m->n_streams, stream_row);
	put_table(w, JSON_T_pools, m->n_pools, pool_row);
	put_table(w, JSON_T_phases, m->n_phases, phase_row);
	put_table(w, JSON_T_blocks, m->n_blocks, block_row);
	put_table(w, JSON_T_segments, m->n_segments, segment_row);
	put_table(w, JSON_T_failures, m->n_failures, failure_row);
}

/* --- events --- */

/* The ops that occur, in the order of their bytes; number[op] is an op's place in that list. */
static void put_ops(struct writer *w, uint8_t number[256])
{
	bool used[256] = {false};
	size_t i, n = 0;

	for (i = 0; i < w->m->ev.n; i++)
		used[w->m->ev.op[i]] = true;
	text_puts(&w->t, ",\n\"ops\":[");
	for (i = 0; i < 256; i++) {
		const char *kind = gms_kind_info[GMS_OP_KIND(i)].name;

		if (!used[i])
			continue;
		text_printf(&w->t, "%s\"%s.%s\"", n ? "," : "", kind ? kind : "unknown",
			    gms_action_name[GMS_OP_ACTION(i)]);
		number[i] = (uint8_t)n++;
	}
	text_puts(&w->t, "]");
}

static inline char *put_field(char *p, uint64_t v, char after)
{
	if (v < 10) {
		*p++ = (char)('0' + v);
	} else if (v == MODEL_UNKNOWN) {
		memcpy(p, "null", 4);
		p += 4;
	} else {
		p = text_put_u64(p, v);
	}
	*p = after;
	return p + 1;
}

#define ROW_MAX (JSON_N_EVENT_FIELDS * 22)

static char *put_event(char *p, const struct model *m, size_t i, const uint8_t number[256])
{
	const struct columns *c = &m->ev;
	int64_t t = c->t_ns[i];

	*p++ = '[';
	if (t < 0)
		*p++ = '-';
	p = text_put_u64(p, t < 0 ? 0 - (uint64_t)t : (uint64_t)t);
	*p++ = ',';
	p = put_field(p, number[c->op[i]], ',');
	p = put_field(p, device(c->device[i]), ',');
	p = put_field(p, c->addr[i], ',');
	p = put_field(p, c->size[i], ',');
	p = put_field(p, c->stream[i], ',');
	p = put_field(p, c->stack[i], ',');
	p = put_field(p, c->thread[i], ',');
	p = put_field(p, c->pool[i], c->slack ? ',' : ']');
	if (c->slack)
		p = put_field(p, model_block_size(m, i), ']');
	return p;
}

static void put_events(struct writer *w, const uint8_t number[256])
{
	char buf[BUFFER], *p = buf;
	size_t i;

	text_printf(&w->t, ",\n\"initial\":%zu,\n\"events\":[\n", w->m->n_initial);
	flush(w);
	for (i = 0; i < w->m->ev.n && !w->failed; i++) {
		p = put_event(p, w->m, i, number);
		if (i + 1 < w->m->ev.n)
			*p++ = ',';
		*p++ = '\n';
		if (p > buf + sizeof buf - ROW_MAX) {
			put_bytes(w, buf, (size_t)(p - buf));
			p = buf;
		}
	}
	memcpy(p, "]}\n", 3);
	put_bytes(w, buf, (size_t)(p + 3 - buf));
}

int json_write(const struct model *m, struct output *o, struct err *e)
{
	static const char *const fields[] = {JSON_EVENT_FIELDS};
	struct writer w = {.m = m, .o = o, .e = e};
	uint8_t number[256] = {0};

	text_printf(&w.t, "{\"format\":\"gpumemsnap\",\"version\":%d", JSON_VERSION);
	put_meta(&w);
	text_puts(&w.t, ",\n\"event_fields\":");
	put_names(&w, fields, JSON_N_EVENT_FIELDS - !m->ev.slack);
	put_ops(&w, number);
	put_tables(&w);
	put_events(&w, number);
	text_free(&w.t);
	return w.failed ? -1 : 0;
}
