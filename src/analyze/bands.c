/* bands.c: three passes over the changes of the live set: where the peak is, which origins matter,
 * and the columns themselves. */
#include "analyze/bands.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

struct making {
	const struct model *m;
	const struct bands_axis *x;
	struct group_keys keys;
	uint8_t device;
	struct bands *b;
	uint32_t *band_of; /* key → band */
};

int bands_column(const struct bands_axis *x, int64_t t)
{
	if (t <= x->from)
		return 0;
	if (t >= x->to)
		return x->columns - 1;
	uint64_t into = (uint64_t)(t - x->from), columns = (unsigned)x->columns, product;
	if (!__builtin_mul_overflow(into, columns, &product)) /* nearly always, and much faster */
		return (int)(product / (uint64_t)(x->to - x->from));
	return (int)((unsigned __int128)into * columns / (uint64_t)(x->to - x->from));
}

/* The first instant of a column. */
static int64_t begin_of(const struct bands_axis *x, int column)
{
	unsigned __int128 range = (uint64_t)(x->to - x->from), columns = (unsigned)x->columns;

	return x->from + (int64_t)(((unsigned)column * range + columns - 1) / columns);
}

int bands_seek(struct bands_cursor *k, int64_t t)
{
	k->column = bands_column(k->axis, t);
	k->from = k->column ? begin_of(k->axis, k->column) : INT64_MIN;
	k->to = k->column < k->axis->columns - 1 ? begin_of(k->axis, k->column + 1) : INT64_MAX;
	return k->column;
}

static void find_peak(struct making *k)
{
	const struct columns *c = &k->m->ev;
	struct bands *b = k->b;
	struct live_walk w;
	uint64_t now = 0;
	bool began = false;

	b->peak_row = SIZE_MAX;
	for (live_begin(&w, k->m, k->device); live_next(&w);) {
		int64_t t = c->t_ns[w.row];
		bool inside = w.row >= k->m->n_initial && t >= k->x->from;
		if (inside && t > k->x->to)
			break;
		if (inside && !began)
			b->peak = now;
		began |= inside;
		now -= w.ends != MODEL_NO_PEER ? c->size[w.ends] : 0;
		now += w.begins != MODEL_NO_PEER ? c->size[w.begins] : 0;
		if (inside && now > b->peak) {
			b->peak = now;
			b->peak_row = w.row;
			b->peak_column = bands_column(k->x, t);
		}
	}
	live_end(&w);
	if (!began)
		b->peak = now;
}

/* An origin's weight: its share of the peak, and its share of all bytes × time of the window. */
struct weight {
	double area, sum;
	uint64_t at_peak;
	uint32_t key;
	bool used;
};

static int heavier_first(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int more_area_first(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	if (x->area != y->area)
		return x->area > y->area ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* The end of a block's life as a row and as a time, cut to the window. */
static int64_t end_of(const struct making *k, size_t row, size_t *end)
{
	uint32_t peer = k->m->ev.peer[row];

	*end = peer == MODEL_NO_PEER ? SIZE_MAX : peer;
	return peer == MODEL_NO_PEER || k->m->ev.t_ns[peer] > k->x->to ? k->x->to : k->m->ev.t_ns[peer];
}

static void add_block(struct making *k, struct weight *w, size_t row)
{
	const struct columns *c = &k->m->ev;
	/* The row before the window's first row is as good as the window's state. */
	size_t peak = k->b->peak_row, end;
	bool before = row < k->m->n_initial || c->t_ns[row] < k->x->from;
	int64_t t0 = before ? k->x->from : c->t_ns[row], t1 = end_of(k, row, &end);
	uint32_t key = group_key(&k->keys, row);

	if (t1 < t0)
		return;
	w[key].used = true;
	w[key].key = key;
	w[key].area += (double)c->size[row] * (double)(t1 - t0);
	if (peak == SIZE_MAX ? before && end >= k->m->n_initial : row <= peak && end > peak)
		w[key].at_peak += c->size[row];
}

/* Of n weights, the heaviest first. */
static void take_bands(struct making *k, struct weight *w, size_t n, size_t max)
{
	struct bands *b = k->b;

	b->n = n <= max ? n : max;
	qsort(w, b->n, sizeof *w, more_area_first);
	for (size_t i = 0; i < b->n; i++)
		b->band[i] = (struct band){.key = w[i].key, .members = 1, .at_peak = w[i].at_peak};
	if (n > b->n) {
		struct band rest = {.key = BANDS_REST, .members = (uint32_t)(n - max)};
		for (size_t i = max; i < n; i++)
			rest.at_peak += w[i].at_peak;
		b->band[b->n++] = rest;
	}
	k->band_of = mem_alloc((k->keys.n + 1) * sizeof *k->band_of);
	for (size_t i = 0; i < k->keys.n; i++)
		k->band_of[i] = (uint32_t)b->n - 1;
	for (size_t i = 0; i < b->n; i++)
		if (b->band[i].key != BANDS_REST)
			k->band_of[b->band[i].key] = (uint32_t)i;
}

static void choose_bands(struct making *k, size_t max)
{
	struct weight *w = mem_zalloc(k->keys.n + 1, sizeof *w);
	const struct columns *c = &k->m->ev;
	double peaks = 0, areas = 0;
	size_t n = 0;
	uint8_t role[256];

	live_roles(live_level(k->m, k->device), role);
	for (size_t row = 0; row < c->n; row++)
		if (role[c->op[row]] == LIVE_ALLOC && c->device[row] == k->device &&
		    (row < k->m->n_initial || c->t_ns[row] <= k->x->to))
			add_block(k, w, row);
	for (size_t i = 0; i < k->keys.n; i++)
		if (w[i].used) {
			peaks += (double)w[i].at_peak;
			areas += w[i].area;
			w[n++] = w[i];
		}
	for (size_t i = 0; i < n; i++)
		w[i].sum =
		    (peaks > 0 ? (double)w[i].at_peak / peaks : 0) + (areas > 0 ? w[i].area / areas : 0);
	qsort(w, n, sizeof *w, heavier_first);
	take_bands(k, w, n, max);
	free(w);
}

/* The state while the columns are filled. */
struct filling {
	uint64_t now[BANDS_MAX + 1], total;
	int column;
};

static void note_high(struct bands *b, const struct filling *f)
{
	b->high[f->column] = f->total;
	for (size_t i = 0; i < b->n; i++)
		b->band[i].value[f->column] = f->now[i];
}

static void advance(struct bands *b, struct filling *f, int column)
{
	while (f->column < column) {
		f->column++;
		b->low[f->column] = f->total;
		note_high(b, f);
	}
}

static void fill_columns(struct making *k)
{
	const struct columns *c = &k->m->ev;
	struct bands *b = k->b;
	struct filling f = {.column = -1};
	struct bands_cursor cursor = {.axis = k->x};
	struct live_walk w;

	for (live_begin(&w, k->m, k->device); live_next(&w);) {
		int64_t t = c->t_ns[w.row];
		bool inside = w.row >= k->m->n_initial && t >= k->x->from;
		if (inside && t > k->x->to)
			break;
		if (inside)
			advance(b, &f, bands_next(&cursor, t));
		if (w.ends != MODEL_NO_PEER) {
			f.now[k->band_of[group_key(&k->keys, w.ends)]] -= c->size[w.ends];
			f.total -= c->size[w.ends];
		}
		if (w.begins != MODEL_NO_PEER) {
			f.now[k->band_of[group_key(&k->keys, w.begins)]] += c->size[w.begins];
			f.total += c->size[w.begins];
		}
		if (inside && f.total > b->high[f.column])
			note_high(b, &f);
		else if (inside && f.total < b->low[f.column])
			b->low[f.column] = f.total;
	}
	live_end(&w);
	advance(b, &f, b->columns - 1);
}

static void begin(struct making *k, enum group_by by, size_t max)
{
	*k->b = (struct bands){.columns = k->x->columns};
	group_keys_make(&k->keys, k->m, by);
	find_peak(k);
	choose_bands(k, max);
}

void bands_choose(struct bands *b, const struct model *m, uint8_t device, enum group_by by,
                  const struct bands_axis *x, size_t max)
{
	struct making k = {.m = m, .x = x, .device = device, .b = b};

	begin(&k, by, max);
	group_keys_free(&k.keys);
	free(k.band_of);
}

void bands_make(struct bands *b, const struct model *m, uint8_t device, enum group_by by,
                const struct bands_axis *x, size_t max)
{
	struct making k = {.m = m, .x = x, .device = device, .b = b};

	begin(&k, by, max);
	b->high = mem_zalloc((size_t)x->columns, sizeof *b->high);
	b->low = mem_zalloc((size_t)x->columns, sizeof *b->low);
	for (size_t i = 0; i < b->n; i++)
		b->band[i].value = mem_zalloc((size_t)x->columns, sizeof *b->band[i].value);
	if (b->n)
		fill_columns(&k);
	for (size_t i = 0; i < b->n; i++)
		b->band[i].at_peak = b->band[i].value[b->peak_column];
	group_keys_free(&k.keys);
	free(k.band_of);
}

void bands_free(struct bands *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->band[i].value);
	free(b->high);
	free(b->low);
	*b = (struct bands){0};
}

/* One known value of a series falls into a column. */
static void see(int column, uint64_t v, size_t at, uint64_t *high, uint64_t *low, size_t *row)
{
	if (high && (high[column] == MODEL_UNKNOWN || v > high[column])) {
		high[column] = v;
		if (row)
			row[column] = at;
	}
	if (low && (low[column] == MODEL_UNKNOWN || v < low[column]))
		low[column] = v;
}

void bands_of_series(const struct model *m, uint8_t device, const struct bands_axis *x, const uint64_t *value,
                     uint64_t *high, uint64_t *low, size_t *row)
{
	uint64_t last = MODEL_UNKNOWN;
	size_t last_row = SIZE_MAX;
	int column = -1;

	for (int i = 0; i < x->columns; i++) {
		if (high)
			high[i] = MODEL_UNKNOWN;
		if (low)
			low[i] = MODEL_UNKNOWN;
		if (row)
			row[i] = SIZE_MAX;
	}
	for (size_t r = 0; r <= m->ev.n; r++) {
		bool end = r == m->ev.n || (r >= m->n_initial && m->ev.t_ns[r] > x->to);
		if (!end && m->ev.device[r] != device)
			continue;
		bool inside = !end && r >= m->n_initial && m->ev.t_ns[r] >= x->from;
		int upto = end ? x->columns - 1 : inside ? bands_column(x, m->ev.t_ns[r]) : -1;
		while (column < upto)
			see(++column, last, last_row, last == MODEL_UNKNOWN ? NULL : high,
			    last == MODEL_UNKNOWN ? NULL : low, row);
		if (end)
			break;
		last = value[r];
		last_row = r;
		if (inside && last != MODEL_UNKNOWN)
			see(column, last, r, high, low, row);
	}
}
