/* pprof_write.c: a profile.proto (google/pprof) of one instant: blocks and bytes in use, by stack.
 *
 * Frames become locations of one line; a frame's number in the model is its location's id. Mappings are the modules
 * and, the first of them, the program; they say that their names are known, or go tool pprof would look for binaries.
 */
#include "base/mem.h"
#include "format/export.h"
#include <stdlib.h>
#include <string.h>

int export_pprof(const struct export_view *v, struct output *o, struct err *e);

/* field numbers of profile.proto */
enum {
	SAMPLE_TYPE = 1,
	SAMPLE = 2,
	MAPPING = 3,
	LOCATION = 4,
	FUNCTION = 5,
	STRING_TABLE = 6,
	TIME_NANOS = 9,
	DEFAULT_SAMPLE_TYPE = 14
};

/* The strings that the profile needs besides the model's: they come first, and the program's name behind them. */
static const char *const own[] = {"", "inuse_objects", "count", "inuse_space", "bytes", EXPORT_NO_STACK, "[unknown]"};
enum { NO_STACK = 5, UNKNOWN, PROGRAM, N_OWN };
_Static_assert(PROGRAM == sizeof own / sizeof *own, "the program's name is behind the own strings");

static void varint(struct text *t, uint64_t v)
{
	unsigned char c;

	do {
		c = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		text_add(t, (const char *)&c, 1);
		v >>= 7;
	} while (v);
}

static void number(struct text *t, unsigned field, uint64_t v)
{
	varint(t, field << 3);
	varint(t, v);
}

static void bytes(struct text *t, unsigned field, const char *s, size_t n)
{
	varint(t, field << 3 | 2);
	varint(t, n);
	text_add(t, s, n);
}

/* A message that was put together in `part`, which is empty afterwards. */
static void message(struct export_text *x, unsigned field, struct text *part)
{
	bytes(&x->t, field, part->n ? part->s : "", part->n);
	part->n = 0;
	export_flush(x);
}

static void put_types(struct export_text *x, struct text *part)
{
	number(part, 1, 1); /* inuse_objects */
	number(part, 2, 2); /* count */
	message(x, SAMPLE_TYPE, part);
	number(part, 1, 3);
	number(part, 2, 4);
	message(x, SAMPLE_TYPE, part);
	number(&x->t, DEFAULT_SAMPLE_TYPE, 3);
}

static void put_samples(struct export_text *x, const struct export_view *v, struct text *part, bool *used)
{
	const struct export_moment *at = v->moments;
	struct text packed = {0};
	size_t i, k, n;

	for (i = 0; i < at->n; i++) {
		const uint32_t *frame = model_stack_frames(v->m, at->rows[i].stack, &n);

		packed.n = 0;
		for (k = 0; k < n; k++) { /* the leaf first, as in the model */
			varint(&packed, frame[k] + 1);
			used[frame[k]] = true;
		}
		if (!n)
			varint(&packed, v->m->frames.n + 1);
		bytes(part, 1, packed.s, packed.n);
		packed.n = 0;
		varint(&packed, at->rows[i].count);
		varint(&packed, at->rows[i].bytes);
		bytes(part, 2, packed.s, packed.n);
		message(x, SAMPLE, part);
	}
	text_free(&packed);
}

/* file: place in the string table */
static void put_mapping(struct export_text *x, struct text *part, uint64_t id, uint64_t file)
{
	unsigned field;

	number(part, 1, id);
	number(part, 5, file);
	for (field = 7; field <= 9; field++) /* it has functions, filenames, line_numbers */
		number(part, field, 1);
	message(x, MAPPING, part);
}

/* A module's string + 1 is its mapping's id. */
static void put_mappings(struct export_text *x, const struct model *m, struct text *part, const bool *used)
{
	bool *put = mem_zalloc(m->strings.n, sizeof *put);
	uint32_t id, module;

	put_mapping(x, part, 1, PROGRAM);
	for (id = 0; id < m->frames.n; id++) {
		module = m->frames.v[id].module;
		if (!used[id] || !module || put[module])
			continue;
		put_mapping(x, part, module + 1, N_OWN + module);
		put[module] = true;
	}
	free(put);
}

static void put_location(struct export_text *x, struct text *part, uint64_t id, uint32_t module, uint32_t line_number)
{
	struct text line = {0};

	number(&line, 1, id);
	number(&line, 2, line_number);
	number(part, 1, id);
	if (module)
		number(part, 2, module + 1);
	bytes(part, 4, line.s, line.n);
	message(x, LOCATION, part);
	text_free(&line);
}

/* name and file: places in the string table */
static void put_function(struct export_text *x, struct text *part, uint64_t id, uint64_t name, uint64_t file)
{
	number(part, 1, id);
	number(part, 2, name);
	number(part, 3, name);
	number(part, 4, file);
	message(x, FUNCTION, part);
}

static void put_code(struct export_text *x, const struct model *m, struct text *part, const bool *used)
{
	uint32_t id;

	for (id = 0; id < m->frames.n; id++) {
		const struct frame *f = &m->frames.v[id];
		uint32_t name = f->function ? f->function : f->module;

		if (!used[id])
			continue;
		put_location(x, part, id + 1, f->module, f->line);
		put_function(x, part, id + 1, name ? N_OWN + name : UNKNOWN, f->file ? N_OWN + f->file : 0);
	}
	put_location(x, part, m->frames.n + 1, 0, 0);
	put_function(x, part, m->frames.n + 1, NO_STACK, 0);
}

/* profile.proto's strings are UTF-8. */
static void put_text(struct export_text *x, struct text *part, const char *s, size_t n)
{
	size_t i, len;

	for (i = 0; i < n; i += len ? len : 1) {
		len = text_utf8_len(s + i, n - i);
		text_add(part, len ? s + i : "\xef\xbf\xbd", len ? len : 3);
	}
	message(x, STRING_TABLE, part);
}

int export_pprof(const struct export_view *v, struct output *o, struct err *e)
{
	struct export_text x = {.o = o, .e = e};
	struct text part = {0};
	const char *program = v->m->command ? v->m->command : v->m->file;
	bool *used = mem_zalloc(v->m->frames.n, sizeof *used);
	uint32_t i;

	put_types(&x, &part);
	put_samples(&x, v, &part, used);
	put_mappings(&x, v->m, &part, used);
	put_code(&x, v->m, &part, used);
	for (i = 0; i < PROGRAM; i++)
		put_text(&x, &part, own[i], strlen(own[i]));
	put_text(&x, &part, program, v->m->command ? strcspn(program, " ") : strlen(program));
	for (i = 0; i < v->m->strings.n; i++)
		put_text(&x, &part, model_text(v->m, i), strlen(model_text(v->m, i)));
	if (v->m->start_wall_ns)
		number(&x.t, TIME_NANOS, (uint64_t)(v->m->start_wall_ns + v->moments->t_ns));
	text_free(&part);
	free(used);
	return export_done(&x);
}
