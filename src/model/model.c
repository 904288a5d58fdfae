/* model.c: building a model and letting it go. See model.h for what always holds. */
#include "model/model.h"
#include "base/mem.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void model_init(struct model *m, const char *file)
{
	size_t d;

	*m = (struct model){.file = file, .rank = -1, .has_time = true, .complete = true};
	model_string(m, "", 0);
	model_frame(m, &(struct frame){0});
	model_stack(m, NULL, 0);
	for (d = 0; d < 256; d++)
		m->device[d].total = m->device[d].slack_most = MODEL_UNKNOWN;
	model_stream(m, 0, MODEL_NO_DEVICE);
	model_thread(m, 0, 0);
	model_pool(m, &(struct pool_info){.device = MODEL_NO_DEVICE});
}

static void columns_free(struct columns *c)
{
	free(c->t_ns);
	free(c->slack);
	free(c->peer);
	*c = (struct columns){0};
}

void model_free(struct model *m)
{
	void *owned[] = {m->why_incomplete, m->why_nothing, m->command, m->host, m->driver, m->version,
			 m->strings.bytes, m->strings.at, m->strings.slot, m->frames.v, m->frames.slot,
			 m->stacks.flat, m->stacks.at, m->stacks.slot, m->streams, m->threads, m->pools,
			 m->phases, m->failures, m->segments, m->blocks, m->settings};
	size_t i;

	for (i = 0; i < sizeof owned / sizeof *owned; i++)
		free(owned[i]);
	for (i = 0; i < m->n_notes; i++)
		free(m->notes[i].text);
	free(m->notes);
	columns_free(&m->ev);
	*m = (struct model){0};
}

/* The columns but slack and peer are one block, which t_ns begins: few large pages hold it. */
#define EACH_COLUMN(DO) \
	DO(t_ns) DO(addr) DO(size) DO(stack) DO(stream) DO(thread) DO(pool) DO(op) DO(device)
#define ALIGNED(bytes) (((bytes) + 63) & ~(size_t)63)

static void columns_resize(struct columns *c, size_t cap)
{
	char *at, *old = (char *)c->t_ns;
	size_t bytes = 0;

#define ADD(column) bytes += ALIGNED(cap * sizeof *c->column);
	EACH_COLUMN(ADD)
	at = mem_alloc(bytes);
#define MOVE(column)                                                    \
	if (c->n)                                                       \
		memcpy(at, c->column, c->n * sizeof *c->column);        \
	c->column = (void *)at;                                         \
	at += ALIGNED(cap * sizeof *c->column);
	EACH_COLUMN(MOVE)
	free(old);
	if (c->slack)
		c->slack = mem_resize(c->slack, cap, sizeof *c->slack);
	c->cap = cap;
}

void model_reserve(struct model *m, size_t events)
{
	if (events > m->ev.cap)
		columns_resize(&m->ev, events);
}

/* Differences of two times fit, whatever a file says (a quarter of the range is 73 years). */
static int64_t time_within(int64_t t)
{
	return t > INT64_MAX / 4 ? INT64_MAX / 4 : t < INT64_MIN / 4 ? INT64_MIN / 4 : t;
}

static void put(struct columns *c, size_t row, const struct event *ev)
{
	c->t_ns[row] = time_within(ev->t_ns);
	c->addr[row] = ev->addr;
	c->size[row] = ev->size;
	c->stack[row] = ev->stack;
	c->stream[row] = ev->stream;
	c->thread[row] = ev->thread;
	c->pool[row] = ev->pool;
	c->op[row] = ev->op;
	c->device[row] = ev->device;
	if (ev->block != MODEL_UNKNOWN && !c->slack) {
		c->slack = mem_alloc(c->cap * sizeof *c->slack);
		memset(c->slack, 0xff, c->n * sizeof *c->slack);
	}
	if (c->slack) {
		uint64_t slack = ev->block - ev->size;

		c->slack[row] = ev->block == MODEL_UNKNOWN || slack >= UINT32_MAX ? UINT32_MAX : (uint32_t)slack;
	}
}

size_t model_add(struct model *m, const struct event *ev)
{
	struct columns *c = &m->ev;

	if (c->n == c->cap)
		columns_resize(c, c->cap + c->cap / 2 + 1024);
	put(c, c->n, ev);
	m->linked = false;
	return c->n++;
}

static void gather(void *to, const void *from, size_t each, const uint32_t *order, size_t n)
{
	size_t i;

	switch (each) {
	case 8:
		for (i = 0; i < n; i++)
			((uint64_t *)to)[i] = ((const uint64_t *)from)[order[i]];
		break;
	case 4:
		for (i = 0; i < n; i++)
			((uint32_t *)to)[i] = ((const uint32_t *)from)[order[i]];
		break;
	case 2:
		for (i = 0; i < n; i++)
			((uint16_t *)to)[i] = ((const uint16_t *)from)[order[i]];
		break;
	default:
		for (i = 0; i < n; i++)
			((uint8_t *)to)[i] = ((const uint8_t *)from)[order[i]];
	}
}

void model_reorder(struct model *m, const uint32_t *order, size_t n)
{
	struct columns *c = &m->ev, old = *c;

	*c = (struct columns){.n = 0};
	columns_resize(c, n);
#define GATHER(column) gather(c->column, old.column, sizeof *c->column, order, n);
	EACH_COLUMN(GATHER)
	if (old.slack) {
		c->slack = mem_alloc(n * sizeof *c->slack);
		GATHER(slack)
	}
	c->n = n;
	free(old.t_ns);
	free(old.slack);
	free(old.peer);
}

#define SHIFT(column, k) memmove(c->column + (k), c->column, c->n * sizeof *c->column)

void model_prepend_initial(struct model *m, const struct event *ev, size_t n)
{
	struct columns *c = &m->ev;
	size_t i;

	model_reserve(m, c->n + n);
	SHIFT(t_ns, n);
	SHIFT(addr, n);
	SHIFT(size, n);
	SHIFT(stack, n);
	SHIFT(stream, n);
	SHIFT(thread, n);
	SHIFT(pool, n);
	SHIFT(op, n);
	SHIFT(device, n);
	if (c->slack)
		SHIFT(slack, n);
	c->n += n;
	for (i = 0; i < n; i++)
		put(c, i, &ev[i]);
	for (i = 0; i < m->n_failures; i++)
		m->failures[i].event += (uint32_t)n;
	m->n_initial += n;
}

struct event model_event(const struct model *m, size_t row)
{
	const struct columns *c = &m->ev;

	return (struct event){.t_ns = c->t_ns[row],
			      .addr = c->addr[row],
			      .size = c->size[row],
			      .block = model_block_size(m, row),
			      .stack = c->stack[row],
			      .stream = c->stream[row],
			      .thread = c->thread[row],
			      .pool = c->pool[row],
			      .op = c->op[row],
			      .device = c->device[row]};
}

/* Small tables are searched from the end: readers ask for the same few rows again and again.
 * Past 65,535 rows everything shares the last one; that is noted once. */
static bool table_full(struct model *m, size_t n, const char *what)
{
	size_t i;

	if (n <= UINT16_MAX)
		return false;
	for (i = 0; i < m->n_notes; i++)
		if (strstr(m->notes[i].text, what) && !strncmp(m->notes[i].text, "more than 65,535", 16))
			return true;
	model_note(m, NOTE_WARNING, "more than 65,535 %s: the rest is counted as one", what);
	return true;
}

uint16_t model_stream(struct model *m, uint64_t handle, uint8_t device)
{
	size_t i;

	for (i = m->n_streams; i-- > 0;)
		if (m->streams[i].handle == handle &&
		    (m->streams[i].device == device || !handle || device == MODEL_NO_DEVICE))
			return (uint16_t)i;
	if (table_full(m, m->n_streams, "streams"))
		return UINT16_MAX;
	*VEC_PUSH(m->streams, m->n_streams, m->cap_streams) = (struct stream_info){handle, device};
	return (uint16_t)(m->n_streams - 1);
}

uint16_t model_thread(struct model *m, uint64_t tid, uint32_t name)
{
	size_t i;

	for (i = m->n_threads; i-- > 0;)
		if (m->threads[i].tid == tid) {
			if (name)
				m->threads[i].name = name;
			return (uint16_t)i;
		}
	if (table_full(m, m->n_threads, "threads"))
		return UINT16_MAX;
	*VEC_PUSH(m->threads, m->n_threads, m->cap_threads) = (struct thread_info){tid, name};
	return (uint16_t)(m->n_threads - 1);
}

uint16_t model_pool(struct model *m, const struct pool_info *p)
{
	size_t i;

	for (i = m->n_pools; i-- > 0;) {
		const struct pool_info *q = &m->pools[i];

		if (q->handle == p->handle && q->id[0] == p->id[0] && q->id[1] == p->id[1] &&
		    q->device == p->device && q->small == p->small)
			return (uint16_t)i;
	}
	if (table_full(m, m->n_pools, "pools"))
		return UINT16_MAX;
	*VEC_PUSH(m->pools, m->n_pools, m->cap_pools) = *p;
	return (uint16_t)(m->n_pools - 1);
}

void model_fail(struct model *m, size_t row, int error, uint64_t free, uint64_t total)
{
	*VEC_PUSH(m->failures, m->n_failures, m->cap_failures) =
		(struct failure){.event = (uint32_t)row, .error = error, .free = free, .total = total};
}

void model_setting(struct model *m, const char *key, const char *value)
{
	struct setting s = {model_cstring(m, key), model_cstring(m, value)};

	*VEC_PUSH(m->settings, m->n_settings, m->cap_settings) = s;
}

const char *model_setting_get(const struct model *m, const char *key)
{
	size_t i;

	for (i = 0; i < m->n_settings; i++)
		if (!strcmp(model_text(m, m->settings[i].key), key))
			return model_text(m, m->settings[i].value);
	return NULL;
}

void model_note(struct model *m, enum note_kind kind, const char *fmt, ...)
{
	struct note *note = VEC_PUSH(m->notes, m->n_notes, m->cap_notes);
	va_list ap;

	note->kind = kind;
	va_start(ap, fmt);
	if (vasprintf(&note->text, fmt, ap) < 0)
		note->text = mem_strdup("");
	va_end(ap);
}
