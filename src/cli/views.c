/* views.c: see views.h. */
#include "cli/views.h"
#include "analyze/group.h"
#include "analyze/series.h"
#include "base/mem.h"
#include "cli/moment.h"
#include <stdlib.h>

#define INSTANTS    100	  /* of a series */
#define IN_DETAIL   10	  /* every so many */
#define STRETCHES   20000 /* of a counter, each with at most four points */
#define POOLS	    16	  /* with a counter of their own */

/* Before the first row it is time 0. */
static int64_t time_of(const struct model *m, size_t row)
{
	if (row >= m->ev.n)
		return 0;
	return m->has_time ? m->ev.t_ns[row] : (int64_t)row;
}

static struct export_moment moment_of(const struct live *l, size_t row, int64_t t_ns)
{
	struct export_moment at = {.t_ns = t_ns, .row = row, .bytes = l->bytes, .count = l->count, .n = l->n};
	size_t i;

	at.rows = mem_alloc(l->n * sizeof *at.rows);
	for (i = 0; i < l->n; i++)
		at.rows[i] = (struct export_row){l->rows[i].stack, l->rows[i].bytes, l->rows[i].count};
	return at;
}

int views_moment(struct export_view *v, const char *word, struct err *e)
{
	struct moment at;

	if (moment_find(&at, v->m, v->device, word, e))
		return -1;
	v->moments = mem_zalloc(1, sizeof *v->moments);
	v->moments[v->n_moments++] = moment_of(&at.live, at.row, time_of(v->m, at.row));
	live_free(&at.live);
	return 0;
}

static void add_in_detail(struct export_view *v, size_t row, bool peak)
{
	struct live l;

	live_at(v->m, v->device, row, &l);
	v->moments[v->n_moments] = moment_of(&l, row, time_of(v->m, row));
	v->moments[v->n_moments++].peak = peak;
	live_free(&l);
}

void views_series(struct export_view *v)
{
	const struct model *m = v->m;
	size_t peak = live_peak_row(m, v->device), steps = m->ev.n < INSTANTS ? m->ev.n : INSTANTS, i, row, last = SIZE_MAX;
	struct series s;

	series_make(&s, m, v->device, 1u << TOTAL_REQUESTED);
	v->moments = mem_zalloc(steps + 2, sizeof *v->moments);
	for (i = 0; i < steps; i++, last = row) {
		row = (i + 1) * m->ev.n / steps - 1;
		if (peak < m->ev.n && peak <= row && (last == SIZE_MAX || peak > last))
			add_in_detail(v, peak, true);
		if (row == peak)
			continue;
		if (i % IN_DETAIL == IN_DETAIL - 1)
			add_in_detail(v, row, false);
		else
			v->moments[v->n_moments++] = (struct export_moment){
				.t_ns = time_of(m, row), .row = row, .bytes = s.value[TOTAL_REQUESTED][row]};
	}
	if (!v->n_moments) /* nothing happened: ms_print wants to see that once */
		v->moments[v->n_moments++] = (struct export_moment){0};
	series_free(&s);
}

/* --- counters --- */

static void add_point(struct export_counter *c, size_t *cap, const struct model *m, size_t row, uint64_t value)
{
	if (c->n && c->points[c->n - 1].value == value)
		return;
	*VEC_PUSH(c->points, c->n, *cap) = (struct export_point){time_of(m, row), value};
}

/* Of the rows of one stretch: the first, the lowest and the highest in their order, the last. */
static void add_stretch(struct export_counter *c, size_t *cap, const struct model *m, const uint64_t *value, size_t from,
			size_t to)
{
	size_t row, low = from, high = from;

	for (row = from; row < to; row++) {
		low = value[row] < value[low] ? row : low;
		high = value[row] > value[high] ? row : high;
	}
	add_point(c, cap, m, from, value[from]);
	add_point(c, cap, m, low < high ? low : high, value[low < high ? low : high]);
	add_point(c, cap, m, low < high ? high : low, value[low < high ? high : low]);
	add_point(c, cap, m, to - 1, value[to - 1]);
}

static void add_counter(struct export_view *v, size_t *cap_counters, uint8_t device, const char *name,
			const uint64_t *value)
{
	const struct model *m = v->m;
	struct export_counter c = {.name = mem_strdup(name), .device = device};
	size_t n = m->ev.n - m->n_initial, stretches = n < STRETCHES ? n : STRETCHES, i, cap = 0;

	for (i = 0; i < stretches; i++)
		add_stretch(&c, &cap, m, value, m->n_initial + i * n / stretches, m->n_initial + (i + 1) * n / stretches);
	*VEC_PUSH(v->counters, v->n_counters, *cap_counters) = c;
}

/* The pools of which the most was live at once, at most POOLS. */
static size_t choose_pools(const struct model *m, uint8_t device, uint16_t pool[POOLS])
{
	uint64_t *bytes = mem_zalloc(m->n_pools, sizeof *bytes), *most = mem_zalloc(m->n_pools, sizeof *most);
	struct live_walk w;
	size_t i, best, n;

	for (live_begin(&w, m, device); live_next(&w);) {
		if (w.ends != MODEL_NO_PEER)
			bytes[m->ev.pool[w.ends]] -= m->ev.size[w.ends];
		if (w.begins == MODEL_NO_PEER)
			continue;
		i = m->ev.pool[w.begins];
		bytes[i] += m->ev.size[w.begins];
		most[i] = bytes[i] > most[i] ? bytes[i] : most[i];
	}
	live_end(&w);
	for (n = 0; n < POOLS; most[best] = 0) {
		for (best = i = 0; i < m->n_pools; i++)
			best = most[i] > most[best] ? i : best;
		if (!most[best])
			break;
		pool[n++] = (uint16_t)best;
	}
	free(bytes);
	free(most);
	return n;
}

/* Bytes live in a pool after each row. */
static void fill_pool(const struct model *m, uint8_t device, uint16_t pool, uint64_t *value)
{
	struct live_walk w;
	uint64_t bytes = 0;
	size_t row = 0;

	for (live_begin(&w, m, device); live_next(&w);) {
		for (; row < w.row; row++)
			value[row] = bytes;
		if (w.ends != MODEL_NO_PEER && m->ev.pool[w.ends] == pool)
			bytes -= m->ev.size[w.ends];
		if (w.begins != MODEL_NO_PEER && m->ev.pool[w.begins] == pool)
			bytes += m->ev.size[w.begins];
	}
	live_end(&w);
	for (; row < m->ev.n; row++)
		value[row] = bytes;
}

/* What was requested, pool by pool, where there are several. */
static void add_pools(struct export_view *v, size_t *cap, uint8_t device)
{
	const struct model *m = v->m;
	uint64_t *value = mem_alloc((m->ev.n + 1) * sizeof *value);
	uint16_t pool[POOLS];
	size_t i, n = choose_pools(m, device, pool);

	for (i = 0; i < n && n > 1; i++) {
		struct text name = {0};

		text_puts(&name, "requested, ");
		group_label(&name, m, BY_POOL, pool[i]);
		fill_pool(m, device, pool[i], value);
		add_counter(v, cap, device, name.s, value);
		text_free(&name);
	}
	free(value);
}

void views_counters(struct export_view *v)
{
	static const char *const name[TOTALS] = {[TOTAL_REQUESTED] = "requested", [TOTAL_RESERVED] = "reserved"};
	size_t cap = 0;
	int d, which;

	for (d = 0; d < MODEL_NO_DEVICE; d++) {
		struct series s;

		if (!v->m->device[d].present)
			continue;
		series_make(&s, v->m, (uint8_t)d, 1u << TOTAL_REQUESTED | 1u << TOTAL_RESERVED);
		for (which = 0; which < TOTALS; which++)
			if (s.value[which] && name[which])
				add_counter(v, &cap, (uint8_t)d, name[which], s.value[which]);
		series_free(&s);
		add_pools(v, &cap, (uint8_t)d);
	}
}

void views_free(struct export_view *v)
{
	while (v->n_moments)
		free(v->moments[--v->n_moments].rows);
	free(v->moments);
	while (v->n_counters) {
		free(v->counters[--v->n_counters].points);
		free(v->counters[v->n_counters].name);
	}
	free(v->counters);
}
