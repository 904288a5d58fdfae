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

/* Whose row is next: initial rows before all others, dst's before the new ones of the same time. */
static bool old_is_next(const struct model *m, size_t i, size_t n_old, const struct at *added, size_t k,
                        size_t n, size_t n_initial)
{
	if (k == n || i == n_old)
		return k == n;
	if (i < m->n_initial || k < n_initial)
		return i < m->n_initial;
	return m->ev.t_ns[i] <= added[k].t_ns;
}

static int by_event(const void *a, const void *b)
{
	const struct failure *x = a, *y = b;

	return x->event < y->event ? -1 : x->event > y->event;
}

static void failures_follow(struct model *m, const uint32_t *order, size_t n)
{
	uint32_t *now = mem_alloc(n * sizeof *now);
	size_t i;

	for (i = 0; i < n; i++)
		now[order[i]] = (uint32_t)i;
	for (i = 0; i < m->n_failures; i++)
		m->failures[i].event = now[m->failures[i].event];
	if (m->n_failures)
		qsort(m->failures, m->n_failures, sizeof *m->failures, by_event);
	free(now);
}

/* The rows from n_old on were added in any order, but the first n_initial of them are initial rows: put
 * each where it belongs. */
static void weave(struct model *m, size_t n_old, size_t n_initial)
{
	size_t n = m->ev.n - n_old, i = 0, k = 0, out = 0;
	uint32_t *order = mem_alloc(m->ev.n * sizeof *order);
	struct at *added = mem_alloc(n * sizeof *added);

	for (k = 0; k < n; k++)
		added[k] = (struct at){m->ev.t_ns[n_old + k], (uint32_t)(n_old + k)};
	if (n > n_initial)
		qsort(added + n_initial, n - n_initial, sizeof *added, by_time);
	for (k = 0; i < n_old || k < n;)
		if (old_is_next(m, i, n_old, added, k, n, n_initial))
			order[out++] = (uint32_t)i++;
		else
			order[out++] = added[k++].row;
	model_reorder(m, order, out);
	failures_follow(m, order, out);
	m->n_initial += n_initial;
	m->linked = false;
	free(order);
	free(added);
}

static void merge_rows(struct model *dst, const struct model *src, const struct names *map, int64_t shift_ns)
{
	size_t i, n_old = dst->ev.n;

	model_reserve(dst, n_old + src->ev.n);
	for (i = 0; i < src->ev.n; i++) {
		struct event ev = model_event(src, i);

		ev.t_ns += shift_ns;
		ev.stack = map->stack[ev.stack];
		ev.stream = map->stream[ev.stream];
		ev.thread = map->thread[ev.thread];
		ev.pool = map->pool[ev.pool];
		model_add(dst, &ev);
	}
	for (i = 0; i < src->n_failures; i++) {
		struct failure f = src->failures[i];

		f.event += (uint32_t)n_old;
		*VEC_PUSH(dst->failures, dst->n_failures, dst->cap_failures) = f;
	}
	weave(dst, n_old, src->n_initial);
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
	size_t i, n_old = dst->ev.n;

	for (i = 0; i < n; i++)
		model_add(dst, &rows[i]);
	weave(dst, n_old, 0);
}
