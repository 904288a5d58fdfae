/* pprof.c: read a pprof profile of memory, such as JAX's device memory profile, as a state without
 * history: jax.profiler.save_device_memory_profile writes live buffers by call site and device.
 *
 * The file is a protocol buffer (perftools.profiles.Profile), gzipped or not. Every length is
 * checked against the bytes that are there; what a sample may blow up to is bounded by the size
 * of the file. A sample of n buffers becomes n initial blocks at made-up addresses.
 */
#include "base/mem.h"
#include "base/text.h"
#include "format/format.h"
#include <stdlib.h>
#include <string.h>

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME = 9,
	PROFILE_LAST = 15
};
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_FILE = 5 };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4 };

#define DEPTH_MAX  4096u      /* frames of a stack */
#define BLOCKS_MAX 4096u      /* rows of one sample; more buffers become one row */
#define TOTAL_MAX  (1u << 20) /* rows of all samples */
#define VALUES_MAX 8u         /* sample types looked at */
#define FIRST_ADDR 0x10000u

struct span { /* a run of bytes being read */
	const unsigned char *p, *end;
	bool bad;
};
enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
struct field {
	uint32_t number, wire;
	uint64_t value;
	struct span bytes;
};

static uint64_t varint(struct span *s)
{
	uint64_t v = 0;
	unsigned shift;

	for (shift = 0; shift < 64 && s->p < s->end; shift += 7) {
		v |= (uint64_t)(*s->p & 0x7f) << shift;
		if (!(*s->p++ & 0x80))
			return v;
	}
	s->bad = true;
	return 0;
}

static bool take(struct span *s, uint64_t n, struct span *out)
{
	if (s->bad || n > (uint64_t)(s->end - s->p)) {
		s->bad = true;
		return false;
	}
	*out = (struct span){s->p, s->p + n, false};
	s->p += n;
	return true;
}

/* The next field of a message; false at its end, or where it is damaged (then s->bad). */
static bool next_field(struct span *s, struct field *f)
{
	uint64_t tag;

	if (s->p == s->end || s->bad)
		return false;
	tag = varint(s);
	*f = (struct field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
	if (s->bad || !f->number || tag >> 32) {
		s->bad = true;
		return false;
	}
	switch (f->wire) {
	case VARINT:
		f->value = varint(s);
		return !s->bad;
	case BYTES:
		return take(s, varint(s), &f->bytes);
	case FIXED64:
		return take(s, 8, &f->bytes);
	case FIXED32:
		return take(s, 4, &f->bytes);
	default:
		s->bad = true;
		return false;
	}
}

/* A repeated number, whether packed or one by one: true while *v is the next one. */
static bool next_number(struct field *f, uint64_t *v)
{
	if (f->wire == VARINT) {
		*v = f->value;
		f->wire = FIXED32; /* once */
		return true;
	}
	if (f->wire != BYTES || f->bytes.p == f->bytes.end)
		return false;
	*v = varint(&f->bytes);
	return !f->bytes.bad;
}

struct reader {
	const struct input *in;
	struct model *m;
	struct err *e;
	uint32_t *strings; /* pprof's string index → model string */
	size_t n_strings, cap_strings;
	struct map64 functions, mappings, locations; /* id → index of the arrays below */
	struct function {
		uint32_t name, file;
	} * function;
	size_t n_functions, cap_functions;
	struct mapping {
		uint32_t file;
		uint64_t start;
	} * mapping;
	size_t n_mappings, cap_mappings;
	struct location {
		size_t first, n; /* in frames */
	} * location;
	size_t n_locations, cap_locations;
	uint32_t *frames; /* of all locations, innermost first */
	size_t n_frames, cap_frames;
	unsigned count_at, bytes_at; /* which of a sample's values; VALUES_MAX: none */
	uint64_t frames_left;        /* what stacks may still add up to */
	uint64_t next_addr, rows, folded, code_bytes, code_count;
	struct span whole;
};

static int damaged(struct reader *r, const struct span *at, const char *what)
{
	return err_set(r->e, ERR_INPUT, r->in->name, at->p - r->in->data, "not a sound profile: %s", what);
}

static uint32_t string_of(const struct reader *r, uint64_t index)
{
	return index < r->n_strings ? r->strings[index] : 0;
}

static const char *text_of(const struct reader *r, uint64_t index)
{
	return model_text(r->m, string_of(r, index));
}

static int read_strings(struct reader *r)
{
	struct span s = r->whole;
	struct field f;

	while (next_field(&s, &f))
		if (f.number == PROFILE_STRING && f.wire == BYTES)
			*VEC_PUSH(r->strings, r->n_strings, r->cap_strings) =
			    model_string(r->m, (const char *)f.bytes.p, (size_t)(f.bytes.end - f.bytes.p));
	return s.bad ? damaged(r, &s, "a field is cut or of an unknown kind") : 0;
}

static void read_function(struct reader *r, struct span s)
{
	struct function fn = {0};
	struct field f;
	uint64_t id = 0;
	bool fresh;

	while (next_field(&s, &f)) {
		if (f.number == FUNCTION_ID)
			id = f.value;
		else if (f.number == FUNCTION_NAME)
			fn.name = string_of(r, f.value);
		else if (f.number == FUNCTION_FILE)
			fn.file = string_of(r, f.value);
	}
	*map64_put(&r->functions, id, &fresh) = (uint32_t)r->n_functions;
	*VEC_PUSH(r->function, r->n_functions, r->cap_functions) = fn;
}

static void read_mapping(struct reader *r, struct span s)
{
	struct mapping map = {0};
	struct field f;
	uint64_t id = 0;
	bool fresh;

	while (next_field(&s, &f)) {
		if (f.number == MAPPING_ID)
			id = f.value;
		else if (f.number == MAPPING_START)
			map.start = f.value;
		else if (f.number == MAPPING_FILE)
			map.file = string_of(r, f.value);
	}
	*map64_put(&r->mappings, id, &fresh) = (uint32_t)r->n_mappings;
	*VEC_PUSH(r->mapping, r->n_mappings, r->cap_mappings) = map;
}

static void add_line(struct reader *r, struct span s, uint32_t module)
{
	struct frame frame = {.module = module};
	const uint32_t *at;
	struct field f;

	while (next_field(&s, &f)) {
		if (f.number == LINE_FUNCTION && (at = map64_find(&r->functions, f.value))) {
			frame.function = r->function[*at].name;
			frame.file = r->function[*at].file;
		} else if (f.number == LINE_NUMBER && f.value <= INT32_MAX) {
			frame.line = (uint32_t)f.value;
		}
	}
	*VEC_PUSH(r->frames, r->n_frames, r->cap_frames) = model_frame(r->m, &frame);
}

/* Code nobody named: "file+0xOFFSET". */
static void add_address(struct reader *r, const struct mapping *map, uint64_t address)
{
	const char *path = map ? model_text(r->m, map->file) : "", *base = strrchr(path, '/');
	char *name = mem_printf("%s+0x%llx", base ? base + 1 : path,
	                        (unsigned long long)(map ? address - map->start : address));
	struct frame frame = {.function = model_cstring(r->m, name), .module = map ? map->file : 0};

	*VEC_PUSH(r->frames, r->n_frames, r->cap_frames) = model_frame(r->m, &frame);
	free(name);
}

static void read_location(struct reader *r, struct span whole)
{
	struct location loc = {.first = r->n_frames};
	const struct mapping *map = NULL;
	uint64_t id = 0, address = 0;
	const uint32_t *at;
	struct field f;
	struct span s;
	bool fresh;

	for (s = whole; next_field(&s, &f);) {
		if (f.number == LOCATION_ID)
			id = f.value;
		else if (f.number == LOCATION_ADDRESS)
			address = f.value;
		else if (f.number == LOCATION_MAPPING && (at = map64_find(&r->mappings, f.value)))
			map = &r->mapping[*at];
	}
	for (s = whole; next_field(&s, &f);)
		if (f.number == LOCATION_LINE && f.wire == BYTES)
			add_line(r, f.bytes, map ? map->file : 0);
	if (r->n_frames == loc.first)
		add_address(r, map, address);
	loc.n = r->n_frames - loc.first;
	*map64_put(&r->locations, id, &fresh) = (uint32_t)r->n_locations;
	*VEC_PUSH(r->location, r->n_locations, r->cap_locations) = loc;
}

/* Tables refer to earlier ones only in this order, whatever their order in the file. */
static void read_tables(struct reader *r)
{
	static const struct {
		uint32_t number;
		void (*read)(struct reader *, struct span);
	} tables[] = {{PROFILE_FUNCTION, read_function},
	              {PROFILE_MAPPING, read_mapping},
	              {PROFILE_LOCATION, read_location}};
	struct field f;
	struct span s;
	size_t i;

	for (i = 0; i < sizeof tables / sizeof *tables; i++)
		for (s = r->whole; next_field(&s, &f);)
			if (f.number == tables[i].number && f.wire == BYTES)
				tables[i].read(r, f.bytes);
}

/* Which value counts blocks and which bytes: the last of each, as Go's heap profiles want it
 * (allocated, then in use); JAX has one of each. */
static int read_sample_types(struct reader *r)
{
	struct span s = r->whole, type;
	struct field f, t;
	unsigned at = 0;

	r->count_at = r->bytes_at = VALUES_MAX;
	while (next_field(&s, &f)) {
		if (f.number != PROFILE_SAMPLE_TYPE || f.wire != BYTES)
			continue;
		for (type = f.bytes; at < VALUES_MAX && next_field(&type, &t);) {
			if (t.number == TYPE_UNIT && !strcmp(text_of(r, t.value), "bytes"))
				r->bytes_at = at;
			if (t.number == TYPE_UNIT && !strcmp(text_of(r, t.value), "count"))
				r->count_at = at;
		}
		at++;
	}
	if (r->bytes_at == VALUES_MAX)
		return err_set(r->e, ERR_INPUT, r->in->name, -1,
		               "a pprof profile, but none of its values are bytes: not of memory");
	return 0;
}

struct sample {
	uint64_t value[VALUES_MAX];
	unsigned n_values;
	uint32_t frames[DEPTH_MAX];
	size_t n_frames;
	bool executable;
	uint32_t device; /* JAX's name for it (a string), 0 if none */
};

static bool add_frames(struct reader *r, struct sample *s, uint64_t id)
{
	const uint32_t *at = map64_find(&r->locations, id);
	const struct location *loc;
	size_t n;

	if (!at)
		return true;
	loc = &r->location[*at];
	n = loc->n < DEPTH_MAX - s->n_frames ? loc->n : DEPTH_MAX - s->n_frames;
	if (n > r->frames_left)
		return false;
	r->frames_left -= n;
	memcpy(s->frames + s->n_frames, r->frames + loc->first, n * sizeof *s->frames);
	s->n_frames += n;
	return true;
}

static void add_label(struct reader *r, struct sample *s, struct span label)
{
	uint64_t key = 0, text = 0;
	struct field f;

	while (next_field(&label, &f)) {
		if (f.number == LABEL_KEY)
			key = f.value;
		else if (f.number == LABEL_TEXT)
			text = f.value;
	}
	if (!strcmp(text_of(r, key), "device"))
		s->device = string_of(r, text);
	else if (!strcmp(text_of(r, key), "kind"))
		s->executable = !strcmp(text_of(r, text), "executable");
}

/* "TFRT_CPU_0", "cuda:1", "CudaDevice(id=2)": the last number of the name; 0 if nothing is named. */
static uint8_t device_of(const char *name)
{
	const char *end, *p;
	unsigned long n;

	if (!*name)
		return 0;
	for (end = name + strlen(name); end > name && (end[-1] < '0' || end[-1] > '9'); end--)
		;
	for (p = end; p > name && p[-1] >= '0' && p[-1] <= '9'; p--)
		;
	n = p < end ? strtoul(p, NULL, 10) : MODEL_NO_DEVICE;
	return n < MODEL_NO_DEVICE ? (uint8_t)n : MODEL_NO_DEVICE;
}

static void add_blocks(struct reader *r, const struct sample *s, uint64_t bytes, uint64_t count)
{
	struct event ev = {.op = GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC),
	                   .device = device_of(model_text(r->m, s->device))};
	uint64_t i;

	if (count > BLOCKS_MAX || r->rows + count > TOTAL_MAX) {
		r->folded += count;
		count = 1;
	}
	ev.stack = model_stack(r->m, s->frames, s->n_frames);
	for (i = 0; i < count; i++) {
		ev.size = ev.block = bytes / count + (i < bytes % count);
		ev.addr = r->next_addr;
		r->next_addr += ev.size ? ev.size : 1;
		model_add(r->m, &ev);
	}
	r->rows += count;
	if (s->device && ev.device != MODEL_NO_DEVICE)
		r->m->device[ev.device].name = s->device;
}

static int read_sample(struct reader *r, struct sample *s, struct span whole)
{
	struct span at = whole;
	uint64_t v, bytes, count;
	struct field f;

	s->n_values = 0;
	s->n_frames = 0;
	s->executable = false;
	s->device = 0;
	while (next_field(&whole, &f)) {
		if (f.number == SAMPLE_LABEL && f.wire == BYTES)
			add_label(r, s, f.bytes);
		while (f.number == SAMPLE_LOCATION && next_number(&f, &v))
			if (!add_frames(r, s, v))
				return damaged(r, &at, "its stacks unfold to far more than the file holds");
		while (f.number == SAMPLE_VALUE && s->n_values < VALUES_MAX && next_number(&f, &v))
			s->value[s->n_values++] = v;
	}
	if (whole.bad)
		return damaged(r, &whole, "a sample is cut");
	bytes = r->bytes_at < s->n_values ? s->value[r->bytes_at] : 0;
	count = r->count_at < s->n_values ? s->value[r->count_at] : 1;
	if (bytes > INT64_MAX || count > INT64_MAX || r->next_addr > (1ull << 62) - bytes / 2)
		return damaged(r, &at, "a sample's value is negative or beyond reason");
	if (s->executable) {
		r->code_bytes += bytes;
		r->code_count += count;
	} else if (bytes && count) {
		add_blocks(r, s, bytes, count);
	}
	return 0;
}

static int read_samples(struct reader *r)
{
	struct sample *s = mem_alloc(sizeof *s);
	struct span top = r->whole;
	struct field f;
	int rc = 0;

	r->next_addr = FIRST_ADDR;
	r->frames_left = 8 * (uint64_t)r->in->n + DEPTH_MAX;
	while (!rc && next_field(&top, &f)) {
		if (f.number == PROFILE_SAMPLE && f.wire == BYTES)
			rc = read_sample(r, s, f.bytes);
		else if (f.number == PROFILE_TIME && f.value <= INT64_MAX)
			r->m->start_wall_ns = (int64_t)f.value;
	}
	free(s);
	return rc;
}

static void add_notes(struct reader *r)
{
	char bytes[TEXT_SIZE_MAX];

	if (r->code_count)
		model_note(r->m, NOTE_INFO,
		           "%llu compiled programs hold %s of code; the profile does not say on which device",
		           (unsigned long long)r->code_count, text_bytes(bytes, r->code_bytes));
	if (r->folded)
		model_note(r->m, NOTE_INFO, "%llu small buffers are shown as one block per call site",
		           (unsigned long long)r->folded);
}

/* Sound up to its end, with samples and what they mean: nothing else looks like that. */
bool pprof_probe(const struct input *in)
{
	struct span s = {in->data, in->data + in->n, false};
	bool types = false, strings = false;
	struct field f;

	while (next_field(&s, &f)) {
		if (f.number > PROFILE_LAST)
			return false;
		types |= f.number == PROFILE_SAMPLE_TYPE && f.wire == BYTES;
		strings |= f.number == PROFILE_STRING && f.wire == BYTES;
		if (types && strings && s.p - in->data > 4096)
			return true;
	}
	return types && strings && !s.bad;
}

int pprof_read(const struct input *in, struct model *m, struct err *e)
{
	struct reader r = {.in = in, .m = m, .e = e, .whole = {in->data, in->data + in->n, false}};
	int rc = read_strings(&r);

	m->source = SOURCE_JAX;
	m->history = HISTORY_NONE;
	m->complete = true;
	if (!rc)
		rc = read_sample_types(&r);
	if (!rc) {
		read_tables(&r);
		rc = read_samples(&r);
	}
	if (!rc) {
		m->n_initial = m->ev.n;
		add_notes(&r);
	}
	map64_free(&r.functions);
	map64_free(&r.mappings);
	map64_free(&r.locations);
	free(r.strings);
	free(r.function);
	free(r.mapping);
	free(r.location);
	free(r.frames);
	return rc;
}
