/* json_read.c: a snapshot's header into the model, and the order in which its parts are read.
 *
 * Files that we wrote have their events last, so they are read in one go. A file with its keys in
 * another order (sorted, say) is looked over first; then its parts are read as they need each other.
 * Where only a table is missing before the events it is taken that the file has none: if it has, the
 * file is read once more.
 */
#include "base/mem.h"
#include "format/json_reader.h"
#include <stdlib.h>
#include <string.h>

static bool read_count(struct json_reader *r, uint64_t *out, uint64_t unknown)
{
	const unsigned char *at = r->s.p;
	struct json_cell c;

	if (!json_cell(&r->s, &c))
		return json_settle(r);
	if (c.kind == JSON_NEGATIVE)
		return json_bad(r, at, "a negative number");
	*out = c.kind == JSON_NULL ? unknown : c.v;
	return true;
}

static bool read_signed(struct json_reader *r, int64_t *out, int64_t unknown)
{
	const unsigned char *at = r->s.p;
	struct json_cell c;

	if (!json_cell(&r->s, &c))
		return json_settle(r);
	if (c.kind == JSON_POSITIVE && c.v > INT64_MAX)
		return json_bad(r, at, "a number that is too large");
	*out = c.kind == JSON_NULL ? unknown : (int64_t)c.v;
	return true;
}

static bool read_bool(struct json_reader *r, bool *out)
{
	return json_bool(&r->s, out) || json_settle(r);
}

static bool read_text(struct json_reader *r, char **out)
{
	struct json_str str;

	if (json_at(&r->s, 'n'))
		return json_skip(&r->s) || json_settle(r);
	if (!json_string(&r->s, &str))
		return json_settle(r);
	free(*out);
	*out = mem_strndup(str.s, str.n);
	return true;
}

/* One word of a list of our own. */
static bool read_word(struct json_reader *r, const char *const *list, int *out)
{
	const unsigned char *at = r->s.p;
	struct json_str str;
	int i;

	if (!json_string(&r->s, &str))
		return json_settle(r);
	i = json_word(&str, list);
	if (i < 0)
		return json_bad(r, at, "\"%.*s\" is none of its words", str.n > 40 ? 40 : (int)str.n, str.s);
	*out = i;
	return true;
}

/* --- meta --- */

static bool read_device(struct json_reader *r)
{
	uint64_t device = MODEL_NO_DEVICE, total = MODEL_UNKNOWN;
	const unsigned char *at = r->s.p;
	struct json_str key;
	bool first = true, good = true;
	char *name = NULL;

	if (json_open(&r->s, '{'))
		while (good && json_next(&r->s, '}', &first) && json_key(&r->s, &key)) {
			if (json_is(&key, "device"))
				good = read_count(r, &device, MODEL_NO_DEVICE);
			else if (json_is(&key, "name"))
				good = read_text(r, &name);
			else if (json_is(&key, "total"))
				good = read_count(r, &total, MODEL_UNKNOWN);
			else
				json_skip(&r->s);
		}
	good = good && json_settle(r);
	if (good && device >= 256)
		good = json_bad(r, at, "a device number above 255");
	if (good) {
		r->m->device[device].name = name ? model_cstring(r->m, name) : 0;
		r->m->device[device].total = total;
	}
	free(name);
	return good;
}

static bool read_devices(struct json_reader *r)
{
	bool first = true;

	if (json_open(&r->s, '['))
		while (json_next(&r->s, ']', &first))
			if (!read_device(r))
				return false;
	return json_settle(r);
}

static bool read_meta_key(struct json_reader *r, const struct json_str *key)
{
	static const struct {
		const char *key;
		size_t at;
		enum { TEXT, BOOL, SIGNED, COUNT } type;
		int64_t unknown;
	} rows[] = {
		{"command", offsetof(struct model, command), TEXT, 0},
		{"host", offsetof(struct model, host), TEXT, 0},
		{"driver", offsetof(struct model, driver), TEXT, 0},
		{"version", offsetof(struct model, version), TEXT, 0},
		{"why_incomplete", offsetof(struct model, why_incomplete), TEXT, 0},
		{"has_time", offsetof(struct model, has_time), BOOL, 0},
		{"complete", offsetof(struct model, complete), BOOL, 0},
		{"frees_left_out", offsetof(struct model, frees_left_out), BOOL, 0},
		{"start_wall_ns", offsetof(struct model, start_wall_ns), SIGNED, 0},
		{"duration_ns", offsetof(struct model, duration_ns), SIGNED, 0},
		{"dropped_events", offsetof(struct model, dropped_events), COUNT, 0},
		{"unknown_entries", offsetof(struct model, unknown_entries), COUNT, 0},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		void *at = (char *)r->m + rows[i].at;

		if (!json_is(key, rows[i].key))
			continue;
		switch (rows[i].type) {
		case TEXT:
			return read_text(r, at);
		case BOOL:
			return read_bool(r, at);
		case SIGNED:
			return read_signed(r, at, rows[i].unknown);
		case COUNT:
			return read_count(r, at, (uint64_t)rows[i].unknown);
		}
	}
	return json_skip(&r->s) || json_settle(r);
}

static bool read_meta(struct json_reader *r)
{
	struct model *m = r->m;
	uint64_t pid = 0;
	int64_t rank = -1;
	int source = (int)m->source, history = (int)m->history;
	struct json_str key;
	bool first = true, good = true;

	if (json_open(&r->s, '{'))
		while (good && json_next(&r->s, '}', &first) && json_key(&r->s, &key)) {
			if (json_is(&key, "source"))
				good = read_word(r, json_sources, &source);
			else if (json_is(&key, "history"))
				good = read_word(r, json_histories, &history);
			else if (json_is(&key, "pid"))
				good = read_count(r, &pid, 0);
			else if (json_is(&key, "rank"))
				good = read_signed(r, &rank, -1);
			else if (json_is(&key, "devices"))
				good = read_devices(r);
			else
				good = read_meta_key(r, &key);
		}
	m->source = (enum source)source;
	m->history = (enum history)history;
	m->pid = pid <= UINT32_MAX ? (uint32_t)pid : 0;
	m->rank = rank >= INT32_MIN && rank <= INT32_MAX ? (int32_t)rank : -1;
	return good && json_settle(r);
}

/* --- the small lists --- */

static uint8_t op_of(const struct json_str *name, bool *known)
{
	size_t kind, action;

	*known = true;
	for (kind = 0; kind < GMS_KINDS; kind++)
		for (action = 0; gms_kind_info[kind].name && action < GMS_ACTIONS; action++) {
			size_t n = strlen(gms_kind_info[kind].name);

			if (name->n == n + 1 + strlen(gms_action_name[action]) &&
			    !memcmp(name->s, gms_kind_info[kind].name, n) && name->s[n] == '.' &&
			    !memcmp(name->s + n + 1, gms_action_name[action], name->n - n - 1))
				return GMS_OP(kind, action);
		}
	*known = false;
	return GMS_OP(GMS_K_TRACE, GMS_A_OTHER);
}

static bool read_ops(struct json_reader *r)
{
	struct json_str name;
	bool first = true;

	if (json_open(&r->s, '['))
		while (json_next(&r->s, ']', &first)) {
			const unsigned char *at = r->s.p;

			if (!json_string(&r->s, &name))
				break;
			if (r->n_ops == 256)
				return json_bad(r, at, "more than 256 ops");
			r->op[r->n_ops] = op_of(&name, &r->op_known[r->n_ops]);
			if (!r->op_known[r->n_ops])
				model_note(r->m, NOTE_WARNING, "events of an unknown kind: %.*s",
					   name.n > 80 ? 80 : (int)name.n, name.s);
			r->n_ops++;
		}
	return json_settle(r);
}

static bool read_event_fields(struct json_reader *r)
{
	static const char *const known[] = {JSON_EVENT_FIELDS};

	return json_read_shape(r, known, JSON_N_EVENT_FIELDS, &r->events);
}

/* [["a","b"],…]: two strings each, for settings and notes. */
static bool read_pairs(struct json_reader *r, bool (*store)(struct json_reader *, const char *, const char *))
{
	bool first = true, inner, good = true;
	char *a = NULL, *b = NULL;

	if (json_open(&r->s, '['))
		while (good && json_next(&r->s, ']', &first) && json_open(&r->s, '[')) {
			const unsigned char *at = r->s.p;

			inner = true;
			good = (!json_next(&r->s, ']', &inner) || read_text(r, &a)) &&
			       (!json_next(&r->s, ']', &inner) || read_text(r, &b));
			while (good && json_next(&r->s, ']', &inner))
				json_skip(&r->s);
			if (good && r->s.state == JSON_OK)
				good = (a && b && store(r, a, b)) || json_bad(r, at, "not a pair of texts");
			free(a);
			free(b);
			a = b = NULL;
		}
	return good && json_settle(r);
}

static bool store_setting(struct json_reader *r, const char *key, const char *value)
{
	model_setting(r->m, key, value);
	return true;
}

static bool store_note(struct json_reader *r, const char *kind, const char *text)
{
	int i = json_word(&(struct json_str){kind, strlen(kind)}, json_note_kinds);

	if (i >= 0)
		model_note(r->m, (enum note_kind)i, "%s", text);
	return i >= 0;
}

static bool read_settings(struct json_reader *r)
{
	return read_pairs(r, store_setting);
}

static bool read_notes(struct json_reader *r)
{
	return read_pairs(r, store_note);
}

static bool read_initial(struct json_reader *r)
{
	uint64_t n = 0;

	if (!read_count(r, &n, 0))
		return false;
	r->m->n_initial = n;
	return true;
}

static bool read_format(struct json_reader *r)
{
	const unsigned char *at = r->s.p;
	struct json_str name;

	if (!json_string(&r->s, &name))
		return json_settle(r);
	if (json_is(&name, "gpumemsnap"))
		return true;
	err_set(r->e, ERR_INPUT, r->in->name, at - r->s.begin, "is a \"%.*s\", not a snapshot",
		name.n > 40 ? 40 : (int)name.n, name.s);
	return false;
}

static bool read_version(struct json_reader *r)
{
	const unsigned char *at = r->s.p;
	uint64_t version = 0;

	if (!read_count(r, &version, 0))
		return false;
	if (version <= JSON_VERSION)
		return true;
	err_set(r->e, ERR_INPUT, r->in->name, at - r->s.begin,
		"snapshot of version %llu; this gpumemsnap reads up to version %d", (unsigned long long)version,
		JSON_VERSION);
	return false;
}

static bool read_table_fields(struct json_reader *r)
{
	r->shapes = r->s.p;
	return true;
}

/* --- the whole --- */

#define TABLE_READER(name)                                    \
	static bool read_##name(struct json_reader *r)        \
	{                                                     \
		return json_read_table(r, JSON_T_##name);     \
	}
#define JSON_TABLE(name, ...) TABLE_READER(name)
JSON_TABLES
#undef JSON_TABLE

/* The parts of a snapshot, each after those it needs. */
static const struct part {
	const char *key;
	bool (*read)(struct json_reader *);
	enum { ANYWHERE, BEFORE_IF_AT_ALL, BEFORE } place; /* where it must be for events to be read in passing */
} parts[] = {
	{"format", read_format, BEFORE},
	{"version", read_version, BEFORE},
	{"strings", json_read_strings, BEFORE_IF_AT_ALL}, /* before anything else makes strings: so they keep their numbers */
	{"meta", read_meta, ANYWHERE},
	{"event_fields", read_event_fields, BEFORE},
	{"table_fields", read_table_fields, BEFORE_IF_AT_ALL},
	{"ops", read_ops, BEFORE},
	{"settings", read_settings, ANYWHERE},
	{"notes", read_notes, ANYWHERE},
	{"frames", read_frames, BEFORE_IF_AT_ALL},
	{"stacks", json_read_stacks, BEFORE_IF_AT_ALL},
	{"threads", read_threads, BEFORE_IF_AT_ALL},
	{"streams", read_streams, BEFORE_IF_AT_ALL},
	{"pools", read_pools, BEFORE_IF_AT_ALL},
	{"phases", read_phases, ANYWHERE},
	{"blocks", read_blocks, ANYWHERE},
	{"segments", read_segments, ANYWHERE},
	{"initial", read_initial, ANYWHERE},
	{"events", json_read_events, ANYWHERE},
	{"failures", read_failures, ANYWHERE},
};
#define N_PARTS (sizeof parts / sizeof *parts)
enum { FORMAT = 0, AFTER_VERSION = 2, EVENTS = 18 }; /* their places in the list */

struct places {
	const unsigned char *at[N_PARTS]; /* where the value of each part begins; NULL: not in the file */
	bool done[N_PARTS];
	bool careful; /* read nothing before everything was seen */
	bool guessed; /* events were read although something they may need was not seen before */
};

static bool read_parts(struct json_reader *r, struct places *p, size_t from, size_t to)
{
	size_t i;

	for (i = from; i < to; i++) {
		if (!p->at[i] || p->done[i])
			continue;
		p->done[i] = true;
		r->s.p = p->at[i];
		r->s.state = JSON_OK;
		if (!parts[i].read(r))
			return false;
	}
	return true;
}

static bool ready_for_events(struct places *p)
{
	size_t i;

	for (i = 0; i < N_PARTS; i++) {
		if (p->careful || (parts[i].place == BEFORE && !p->at[i]))
			return false;
		p->guessed |= parts[i].place == BEFORE_IF_AT_ALL && !p->at[i];
	}
	return true;
}

/* Note where a part begins and step over it; events are read at once if they can be. */
static bool visit(struct json_reader *r, struct places *p, const struct json_str *key)
{
	const unsigned char *value;
	size_t i;

	json_space(&r->s);
	for (i = 0; i < N_PARTS && !json_is(key, parts[i].key); i++)
		;
	if (i == N_PARTS) {
		model_note(r->m, NOTE_INFO, "unknown part of the snapshot: %.*s", key->n > 80 ? 80 : (int)key->n,
			   key->s);
	} else {
		if (p->at[i])
			return json_bad(r, r->s.p, "\"%s\" is there twice", parts[i].key);
		p->at[i] = r->s.p;
		if (p->done[EVENTS] && parts[i].place != ANYWHERE)
			return false; /* guessed wrong */
	}
	if (i == EVENTS && ready_for_events(p)) {
		value = r->s.p;
		if (!read_parts(r, p, 0, EVENTS))
			return false;
		r->s.p = value;
		return read_parts(r, p, EVENTS, EVENTS + 1);
	}
	json_skip(&r->s);
	return json_settle(r);
}

static bool read_all(struct json_reader *r, struct places *p)
{
	struct json_str key;
	bool first = true;

	if (json_open(&r->s, '{'))
		while (json_next(&r->s, '}', &first) && json_key(&r->s, &key))
			if (!visit(r, p, &key))
				return false;
	if (!json_settle(r))
		return false;
	if (r->s.state == JSON_OK && json_space(&r->s))
		return json_bad(r, r->s.p, "text behind its end");
	if (!read_parts(r, p, 0, AFTER_VERSION))
		return false;
	if (!r->cut && !(p->at[FORMAT] && p->at[EVENTS]))
		return json_bad(r, r->s.begin, "it has no \"%s\"", p->at[FORMAT] ? "events" : "format");
	return read_parts(r, p, AFTER_VERSION, N_PARTS);
}

/* What a file that is cut can still be trusted for. */
static void settle_cut(struct json_reader *r)
{
	struct model *m = r->m;
	char *old = m->why_incomplete;

	m->complete = false;
	m->why_incomplete = mem_printf("%s%sthe file is cut at byte %zu", old ? old : "", old ? "; " : "", r->in->n);
	free(old);
	model_note(m, NOTE_WARNING, "the file is cut at byte %zu: read up to there", r->in->n);
	if (m->n_initial > m->ev.n)
		m->n_initial = m->ev.n;
	if (m->ev.n == m->n_initial)
		m->history = HISTORY_NONE;
}

bool json_probe(const struct input *in)
{
	size_t i = 0, n = in->n < 65536 ? in->n : 65536;

	if (n > 3 && !memcmp(in->data, "\xef\xbb\xbf", 3))
		i = 3;
	while (i < n && strchr(" \t\r\n", in->data[i]) && in->data[i])
		i++;
	if (i == n || in->data[i] != '{')
		return false;
	return memmem(in->data, n, "\"gpumemsnap", 11) || memmem(in->data, n, "\"event_fields\"", 14);
}

static void reader_free(struct json_reader *r)
{
	free(r->strings.v);
	free(r->frames.v);
	free(r->stacks.v);
	free(r->threads.v);
	free(r->streams.v);
	free(r->pools.v);
	text_free(&r->s.scratch);
}

static bool read_once(const struct input *in, struct model *m, struct err *e, struct places *p)
{
	struct json_reader r = {.in = in, .m = m, .e = e};
	bool good;

	r.s.begin = r.s.p = in->data;
	r.s.end = in->data + in->n;
	if (in->n > 3 && !memcmp(in->data, "\xef\xbb\xbf", 3))
		r.s.p += 3;
	good = read_all(&r, p);
	if (good && r.cut)
		settle_cut(&r);
	else if (good && m->n_initial > m->ev.n)
		good = json_bad(&r, in->data, "it has fewer events than \"initial\"");
	reader_free(&r);
	return good;
}

int json_read(const struct input *in, struct model *m, struct err *e)
{
	struct places p = {0};
	bool good = read_once(in, m, e, &p);

	if (!good && p.guessed) {
		const char *file = m->file;

		p = (struct places){.careful = true};
		*e = (struct err){0}; /* of the wrong guess */
		model_free(m);
		model_init(m, file);
		good = read_once(in, m, e, &p);
	}
	return good ? 0 : -1;
}
