/* merge.c: two recordings of one process become one. See merge.h. */
#include "model/merge.h"
#include "base/mem.h"
#include <stdlib.h>

/* What each number of src is in dst. Entry 0 is 0 everywhere. */
struct names {
	uint32_t *string, *frame, *stack;
	uint16_t *stream, *thread, *pool;
};

static void map_stacks(struct names *map, struct model *dst, const struct model *src)
{
	uint32_t *frames = NULL;
	size_t i, k, n, cap = 0;

	for (i = 0; i < src->stacks.n; i++) {
		const uint32_t *of = model_stack_frames(src, (uint32_t)i, &n);

		if (n > cap)
			frames = mem_resize(frames, cap = n, sizeof *frames);
		for (k = 0; k < n; k++)
			frames[k] = map->frame[of[k]];
		map->stack[i] = model_stack(dst, frames, n);
	}
	free(frames);
}

static void map_names(struct names *map, struct model *dst, const struct model *src)
{
	size_t i;

	map->string = mem_zalloc(src->strings.n, sizeof *map->string);
	map->frame = mem_zalloc(src->frames.n, sizeof *map->frame);
	map->stack = mem_zalloc(src->stacks.n, sizeof *map->stack);
	map->stream = mem_zalloc(src->n_streams, sizeof *map->stream);
	map->thread = mem_zalloc(src->n_threads, sizeof *map->thread);
	map->pool = mem_zalloc(src->n_pools, sizeof *map->pool);
	for (i = 0; i < src->strings.n; i++)
		map->string[i] = model_cstring(dst, model_text(src, (uint32_t)i));
	for (i = 0; i < src->frames.n; i++) {
		const struct frame *f = &src->frames.v[i];
		struct frame in_dst = {map->string[f->function], map->string[f->file], map->string[f->module],
		                       f->line};

		map->frame[i] = model_frame(dst, &in_dst);
	}
	map_stacks(map, dst, src);
	for (i = 0; i < src->n_streams; i++)
		map->stream[i] = model_stream(dst, src->streams[i].handle, src->streams[i].device);
	for (i = 0; i < src->n_threads; i++)
		map->thread[i] = model_thread(dst, src->threads[i].tid, map->string[src->threads[i].name]);
	for (i = 0; i < src->n_pools; i++)
		map->pool[i] = model_pool(dst, &src->pools[i]);
}

static void names_free(struct names *map)
{
	free(map->string);
	free(map->frame);
	free(map->stack);
	free(map->stream);
	free(map->thread);
	free(map->pool);
}

struct at {
	int64_t t_ns;
	uint32_t row;
};

static int by_time(const void *a, const void *b)
{
	const struct at *x = a, *y = b;

	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Whose row is next: initial rows before all others, dst's before src's of the same time. */
static bool own_is_next(const struct columns *own, size_t i, size_t own_initial, const struct event *rows,
                        size_t k, size_t n, size_t n_initial)
{
	if (k == n || i == own->n)
		return k == n;
	if (i < own_initial || k < n_initial)
		return i < own_initial;
	return own->t_ns[i] <= rows[k].t_ns;
}

/* Rebuild dst's columns from its own rows and `rows` (of which the first n_initial are initial rows
 * and the others sorted by time). *own: where each old row went; *theirs: where each new one did. */
static void weave(struct model *dst, const struct event *rows, size_t n, size_t n_initial, uint32_t *own,
                  uint32_t *theirs)
{
	struct columns old = dst->ev;
	struct model view = {.ev = old};
	size_t i = 0, k = 0;
	struct event ev;

	dst->ev = (struct columns){0};
	model_reserve(dst, old.n + n);
	while (i < old.n || k < n) {
		if (own_is_next(&old, i, dst->n_initial, rows, k, n, n_initial)) {
			ev = model_event(&view, i);
			own[i++] = (uint32_t)model_add(dst, &ev);
		} else {
			theirs[k] = (uint32_t)model_add(dst, &rows[k]);
			k++;
		}
	}
	dst->n_initial += n_initial;
	dst->linked = false;
	columns_free(&old);
}

static int by_event(const void *a, const void *b)
{
	const struct failure *x = a, *y = b;

	return x->event < y->event ? -1 : x->event > y->event;
}

static void weave_failures(struct model *dst, const struct model *src, const uint32_t *own,
                           const uint32_t *theirs)
{
	size_t i;

	for (i = 0; i < dst->n_failures; i++)
		dst->failures[i].event = own[dst->failures[i].event];
	for (i = 0; src && i < src->n_failures; i++) {
		struct failure f = src->failures[i];

		f.event = theirs[f.event];
		*VEC_PUSH(dst->failures, dst->n_failures, dst->cap_failures) = f;
	}
	if (dst->n_failures)
		qsort(dst->failures, dst->n_failures, sizeof *dst->failures, by_event);
}

/* src's rows in dst's words, initial rows first, the others by time; order[k]: which row rows[k] was. */
static struct event *translate(const struct model *src, const struct names *map, int64_t shift_ns,
                               uint32_t *order)
{
	struct event *rows = mem_alloc(src->ev.n * sizeof *rows);
	struct at *at = mem_alloc(src->ev.n * sizeof *at);
	size_t i;

	for (i = 0; i < src->ev.n; i++)
		at[i] = (struct at){src->ev.t_ns[i], (uint32_t)i};
	if (src->ev.n > src->n_initial)
		qsort(at + src->n_initial, src->ev.n - src->n_initial, sizeof *at, by_time);
	for (i = 0; i < src->ev.n; i++) {
		struct event ev = model_event(src, at[i].row);

		ev.t_ns += shift_ns;
		ev.stack = map->stack[ev.stack];
		ev.stream = map->stream[ev.stream];
		ev.thread = map->thread[ev.thread];
		ev.pool = map->pool[ev.pool];
		order[i] = at[i].row;
		rows[i] = ev;
	}
	free(at);
	return rows;
}

static void merge_rows(struct model *dst, const struct model *src, const struct names *map, int64_t shift_ns)
{
	uint32_t *order = mem_alloc(src->ev.n * sizeof *order), *own = mem_alloc(dst->ev.n * sizeof *own);
	uint32_t *woven = mem_alloc(src->ev.n * sizeof *woven),
	         *theirs = mem_alloc(src->ev.n * sizeof *theirs);
	struct event *rows = translate(src, map, shift_ns, order);
	size_t i;

	weave(dst, rows, src->ev.n, src->n_initial, own, woven);
	for (i = 0; i < src->ev.n; i++)
		theirs[order[i]] = woven[i];
	weave_failures(dst, src, own, theirs);
	free(order);
	free(own);
	free(woven);
	free(theirs);
	free(rows);
}

static void merge_final_state(struct model *dst, const struct model *src, const struct names *map)
{
	uint32_t base = (uint32_t)dst->n_blocks;
	size_t i;

	for (i = 0; i < src->n_blocks; i++) {
		struct final_block b = src->blocks[i];

		b.stack = map->stack[b.stack];
		*VEC_PUSH(dst->blocks, dst->n_blocks, dst->cap_blocks) = b;
	}
	for (i = 0; i < src->n_segments; i++) {
		struct final_segment s = src->segments[i];

		s.stack = map->stack[s.stack];
		s.stream = map->stream[s.stream];
		s.pool = map->pool[s.pool];
		s.first_block += base;
		*VEC_PUSH(dst->segments, dst->n_segments, dst->cap_segments) = s;
	}
}

static void merge_tables(struct model *dst, const struct model *src, const struct names *map,
                         int64_t shift_ns)
{
	size_t i;

	for (i = 0; i < src->n_phases; i++) {
		struct phase p = src->phases[i];

		p.name = map->string[p.name];
		p.domain = map->string[p.domain];
		p.thread = map->thread[p.thread];
		p.begin_ns += shift_ns;
		if (p.end_ns != INT64_MAX)
			p.end_ns += shift_ns;
		*VEC_PUSH(dst->phases, dst->n_phases, dst->cap_phases) = p;
	}
	for (i = 0; i < src->n_settings; i++)
		model_setting(dst, model_text(src, src->settings[i].key),
		              model_text(src, src->settings[i].value));
	for (i = 0; i < src->n_notes; i++)
		model_note(dst, src->notes[i].kind, "%s", src->notes[i].text);
	for (i = 0; i < 256; i++) {
		if (!dst->device[i].name)
			dst->device[i].name = map->string[src->device[i].name];
		if (dst->device[i].total == MODEL_UNKNOWN)
			dst->device[i].total = src->device[i].total;
		dst->device[i].present |= src->device[i].present;
	}
	dst->frees_left_out |= src->frees_left_out;
	dst->unknown_entries += src->unknown_entries;
	if (!dst->version && src->version)
		dst->version = mem_strdup(src->version);
}

void model_merge(struct model *dst, const struct model *src, int64_t shift_ns)
{
	struct names map;

	map_names(&map, dst, src);
	merge_rows(dst, src, &map, shift_ns);
	merge_final_state(dst, src, &map);
	merge_tables(dst, src, &map, shift_ns);
	names_free(&map);
}

void model_insert(struct model *dst, const struct event *rows, size_t n)
{
	uint32_t *own = mem_alloc(dst->ev.n * sizeof *own), *theirs = mem_alloc(n * sizeof *theirs);

	weave(dst, rows, n, 0, own, theirs);
	weave_failures(dst, NULL, own, theirs);
	free(own);
	free(theirs);
}
