/* json_rows.c: the rows of a snapshot's tables into the model; json_read.c calls it.
 *
 * Every number that refers to another table's row is checked before it is used.
 */
#include "base/mem.h"
#include "format/json_reader.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool json_bad(struct json_reader *r, const unsigned char *p, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	err_set(r->e, ERR_INPUT, r->in->name, p - r->s.begin, "damaged snapshot: %s", why);
	return false;
}

bool json_settle(struct json_reader *r)
{
	if (r->s.state == JSON_CUT)
		r->cut = true;
	if (r->s.state == JSON_BAD)
		return json_bad(r, r->s.p, "expected %s", r->s.wanted ? r->s.wanted : "something else");
	return true;
}

static void map(struct ids *ids, uint32_t id)
{
	*VEC_PUSH(ids->v, ids->n, ids->cap) = id;
}

bool json_read_shape(struct json_reader *r, const char *const *known, size_t n_known, struct row_shape *out)
{
	bool first = true;
	struct json_str name;
	size_t i;

	out->n = 0;
	if (!json_open(&r->s, '['))
		return json_settle(r);
	while (json_next(&r->s, ']', &first)) {
		const unsigned char *at = r->s.p;

		if (!json_string(&r->s, &name))
			break;
		if (out->n == FIELDS_MAX)
			return json_bad(r, at, "more than %d fields in a row", FIELDS_MAX);
		out->field[out->n] = FIELD_UNKNOWN;
		for (i = 0; i < n_known; i++)
			if (json_is(&name, known[i]))
				out->field[out->n] = (int)i;
		out->n++;
	}
	return json_settle(r);
}

bool json_read_row(struct json_reader *r, const struct row_shape *shape, struct json_cell *cells, size_t n)
{
	struct json_cell cell;
	bool first = true;
	size_t i;

	for (i = 0; i < n; i++)
		cells[i] = (struct json_cell){MODEL_UNKNOWN, JSON_NULL};
	if (!json_open(&r->s, '['))
		return false;
	for (i = 0; json_next(&r->s, ']', &first); i++) {
		bool ours = i < shape->n && shape->field[i] != FIELD_UNKNOWN;

		if (!(ours ? json_cell(&r->s, &cell) : json_skip(&r->s)))
			return false;
		if (ours)
			cells[shape->field[i]] = cell;
	}
	return r->s.state == JSON_OK;
}

/* --- tables --- */

/* A row being read: the first number that makes no sense ends it. */
struct row {
	struct json_reader *r;
	const struct json_table_names *names;
	const unsigned char *at;
	struct json_cell cell[JSON_MAX_FIELDS];
	bool good;
};

static uint64_t spoil(struct row *row, size_t field, const char *what)
{
	if (row->good)
		json_bad(row->r, row->at, "%s: %s %s", row->names->name, row->names->field[field], what);
	row->good = false;
	return 0;
}

/* A number up to `most`; null gives `unknown`. */
static uint64_t number(struct row *row, size_t field, uint64_t most, uint64_t unknown)
{
	const struct json_cell *c = &row->cell[field];

	if (c->kind == JSON_NULL)
		return unknown;
	if (c->kind == JSON_NEGATIVE)
		return spoil(row, field, "is negative");
	return c->v <= most ? c->v : spoil(row, field, "is too large");
}

static int64_t signed_number(struct row *row, size_t field)
{
	const struct json_cell *c = &row->cell[field];

	if (c->kind == JSON_NULL)
		return JSON_SIGNED_UNKNOWN;
	if (c->kind == JSON_POSITIVE && c->v > INT64_MAX)
		return (int64_t)spoil(row, field, "is too large");
	return (int64_t)c->v;
}

/* The number of a row of another table. */
static uint32_t ref(struct row *row, size_t field, const struct ids *ids)
{
	uint64_t v = number(row, field, UINT64_MAX, 0);

	if (v < ids->n)
		return ids->v[v];
	return v ? (uint32_t)spoil(row, field, "names a row that does not exist") : 0;
}

static uint8_t device_of(struct row *row, size_t field)
{
	return (uint8_t)number(row, field, MODEL_NO_DEVICE - 1, MODEL_NO_DEVICE);
}

static void frame_row(struct row *row)
{
	struct json_reader *r = row->r;
	struct frame f = {.function = ref(row, 0, &r->strings),
			  .file = ref(row, 1, &r->strings),
			  .line = (uint32_t)number(row, 2, UINT32_MAX, 0),
			  .module = ref(row, 3, &r->strings)};

	if (row->good)
		map(&r->frames, model_frame(r->m, &f));
}

static void thread_row(struct row *row)
{
	struct json_reader *r = row->r;
	uint64_t tid = number(row, 0, UINT64_MAX, 0);
	uint32_t name = ref(row, 1, &r->strings);

	if (row->good)
		map(&r->threads, model_thread(r->m, tid, name));
}

static void stream_row(struct row *row)
{
	struct json_reader *r = row->r;
	uint64_t handle = number(row, 0, UINT64_MAX, 0);
	uint8_t device = device_of(row, 1);

	if (row->good)
		map(&r->streams, model_stream(r->m, handle, device));
}

static void pool_row(struct row *row)
{
	struct json_reader *r = row->r;
	struct pool_info p = {.handle = number(row, 0, UINT64_MAX, 0),
			      .id = {number(row, 1, UINT64_MAX, 0), number(row, 2, UINT64_MAX, 0)},
			      .device = device_of(row, 3),
			      .small = (uint8_t)number(row, 4, 2, 0)};

	if (row->good)
		map(&r->pools, model_pool(r->m, &p));
}

static void phase_row(struct row *row)
{
	struct json_reader *r = row->r;
	struct model *m = r->m;
	struct phase p = {.name = ref(row, 0, &r->strings),
			  .domain = ref(row, 1, &r->strings),
			  .thread = (uint16_t)ref(row, 2, &r->threads),
			  .device = device_of(row, 3),
			  .begin_ns = signed_number(row, 4),
			  .end_ns = signed_number(row, 5)};

	if (row->good)
		*VEC_PUSH(m->phases, m->n_phases, m->cap_phases) = p;
}

static void block_row(struct row *row)
{
	struct json_reader *r = row->r;
	struct model *m = r->m;
	struct final_block b = {.addr = number(row, 0, UINT64_MAX, MODEL_UNKNOWN),
				.size = number(row, 1, UINT64_MAX, MODEL_UNKNOWN),
				.requested = number(row, 2, UINT64_MAX, MODEL_UNKNOWN),
				.stack = ref(row, 3, &r->stacks),
				.state = (uint8_t)number(row, 4, BLOCK_PENDING, BLOCK_INACTIVE)};

	if (row->good)
		*VEC_PUSH(m->blocks, m->n_blocks, m->cap_blocks) = b;
}

static void segment_row(struct row *row)
{
	struct json_reader *r = row->r;
	struct model *m = r->m;
	struct final_segment s = {.addr = number(row, 0, UINT64_MAX, MODEL_UNKNOWN),
				  .size = number(row, 1, UINT64_MAX, MODEL_UNKNOWN),
				  .requested = number(row, 2, UINT64_MAX, MODEL_UNKNOWN),
				  .stack = ref(row, 3, &r->stacks),
				  .stream = (uint16_t)ref(row, 4, &r->streams),
				  .pool = (uint16_t)ref(row, 5, &r->pools),
				  .device = device_of(row, 6),
				  .small = (uint8_t)number(row, 7, 2, 0),
				  .expandable = (uint8_t)number(row, 8, 1, 0),
				  .first_block = (uint32_t)number(row, 9, m->n_blocks, 0),
				  .n_blocks = (uint32_t)number(row, 10, m->n_blocks, 0)};

	if (s.n_blocks > m->n_blocks - s.first_block)
		spoil(row, 10, "is too large");
	if (row->good)
		*VEC_PUSH(m->segments, m->n_segments, m->cap_segments) = s;
}

/* Read after the events. A cut file may have lost the events of its last failures. */
static void failure_row(struct row *row)
{
	struct json_reader *r = row->r;
	struct model *m = r->m;
	uint64_t event = number(row, 0, UINT64_MAX, UINT64_MAX);
	int64_t error = signed_number(row, 1);
	uint64_t free = number(row, 2, UINT64_MAX, MODEL_UNKNOWN);
	uint64_t total = number(row, 3, UINT64_MAX, MODEL_UNKNOWN);

	if (error < INT32_MIN || error > INT32_MAX)
		spoil(row, 1, "is too large");
	if (event < m->ev.n && GMS_OP_ACTION(m->ev.op[event]) != GMS_A_FAIL)
		spoil(row, 0, "is not a failed allocation");
	else if (event >= m->ev.n && !r->cut)
		spoil(row, 0, "names a row that does not exist");
	if (row->good && event < m->ev.n)
		model_fail(m, event, (int)error, free, total);
}

/* The order of a table's fields: as the file says, or as we write them. */
static bool table_shape(struct json_reader *r, enum json_table_id t, struct row_shape *shape)
{
	const unsigned char *back = r->s.p;
	struct json_str name;
	bool first = true, good = true;
	size_t n = 0;

	for (shape->n = 0; json_tables[t].field[n]; n++)
		shape->field[shape->n++] = (int)n;
	if (!r->shapes)
		return true;
	r->s.p = r->shapes;
	if (json_open(&r->s, '{'))
		while (json_next(&r->s, '}', &first) && json_key(&r->s, &name)) {
			if (json_is(&name, json_tables[t].name)) {
				good = json_read_shape(r, json_tables[t].field, n, shape);
				break;
			}
			json_skip(&r->s);
		}
	good = good && json_settle(r);
	r->s.p = back;
	return good;
}

bool json_read_table(struct json_reader *r, enum json_table_id t)
{
	static void (*const store[JSON_N_TABLES])(struct row *) = {
		[JSON_T_frames] = frame_row,   [JSON_T_threads] = thread_row,	 [JSON_T_streams] = stream_row,
		[JSON_T_pools] = pool_row,     [JSON_T_phases] = phase_row,	 [JSON_T_blocks] = block_row,
		[JSON_T_segments] = segment_row, [JSON_T_failures] = failure_row,
	};
	struct row row = {.r = r, .names = &json_tables[t], .good = true};
	struct row_shape shape;
	bool first = true;

	if (!table_shape(r, t, &shape))
		return false;
	if (json_open(&r->s, '['))
		while (json_next(&r->s, ']', &first)) {
			row.at = r->s.p;
			if (!json_read_row(r, &shape, row.cell, JSON_MAX_FIELDS))
				break;
			store[t](&row);
			if (!row.good)
				return false;
		}
	return json_settle(r);
}

bool json_read_strings(struct json_reader *r)
{
	struct json_str str;
	bool first = true;

	if (json_open(&r->s, '['))
		while (json_next(&r->s, ']', &first) && json_string(&r->s, &str))
			map(&r->strings, model_string(r->m, str.s, str.n));
	return json_settle(r);
}

bool json_read_stacks(struct json_reader *r)
{
	uint32_t *frame = NULL;
	size_t n, cap = 0;
	struct json_cell c;
	bool first = true, inner, good = true;

	if (json_open(&r->s, '['))
		while (good && json_next(&r->s, ']', &first) && json_open(&r->s, '[')) {
			for (n = 0, inner = true; good && json_next(&r->s, ']', &inner);) {
				const unsigned char *at = r->s.p;

				if (!json_cell(&r->s, &c))
					break;
				if (c.kind != JSON_POSITIVE || c.v >= r->frames.n)
					good = json_bad(r, at, "a stack names a frame that does not exist");
				else
					*VEC_PUSH(frame, n, cap) = r->frames.v[c.v];
			}
			if (good && r->s.state == JSON_OK)
				map(&r->stacks, model_stack(r->m, frame, n));
		}
	free(frame);
	return good && json_settle(r);
}
