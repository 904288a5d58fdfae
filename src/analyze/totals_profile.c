/* totals_profile.c: the running sums, with their highest values in equal parts of the window. */
#include "analyze/totals.h"
#include "base/mem.h"

/* Until the next column ends, each device's column holds the highest value seen in it. */
static void profile_column(struct totals *t, size_t column, size_t from, size_t to)
{
	unsigned dev;
	size_t row;

	for (dev = 0; dev < 256; dev++)
		if (t->device[dev]) {
			t->device[dev]->profile->requested[column] =
			    t->device[dev]->amount[TOTAL_REQUESTED].now;
			t->device[dev]->profile->reserved[column] =
			    t->device[dev]->amount[TOTAL_RESERVED].now;
		}
	for (row = from; row < to; row++) {
		struct device_totals *d = t->device[t->m->ev.device[row]];
		uint64_t requested, reserved;

		totals_step(t, row);
		requested = d->amount[TOTAL_REQUESTED].now;
		reserved = d->plain ? requested : d->amount[TOTAL_RESERVED].now;
		if (requested > d->profile->requested[column])
			d->profile->requested[column] = requested;
		if (reserved > d->profile->reserved[column])
			d->profile->reserved[column] = reserved;
	}
}

/* Do events occur in at least half of the columns of time? A sample of the rows tells. */
static bool spread_over_time(const struct model *m)
{
	size_t n = m->ev.n - m->n_initial, step = n / 8192 + 1, row, used = 0, last = SIZE_MAX;
	double begin, span;

	if (!m->has_time || !n)
		return false;
	begin = (double)m->ev.t_ns[m->n_initial];
	span = (double)m->ev.t_ns[m->ev.n - 1] - begin;
	for (row = m->n_initial; row < m->ev.n && span > 0; row += step) {
		size_t column = (size_t)(((double)m->ev.t_ns[row] - begin) / span * (PROFILE_COLUMNS - 1));

		used += column != last;
		last = column;
	}
	return used * 2 >= PROFILE_COLUMNS;
}

/* The first row at or after `from` that belongs to a later column. */
static size_t column_end(const struct model *m, bool by_time, size_t column, size_t from)
{
	size_t n = m->ev.n - m->n_initial, row = from;
	double begin, end;
	int64_t border;

	if (column + 1 == PROFILE_COLUMNS)
		return m->ev.n;
	if (!by_time)
		return m->n_initial + n * (column + 1) / PROFILE_COLUMNS;
	begin = (double)m->ev.t_ns[m->n_initial];
	end = (double)m->ev.t_ns[m->ev.n - 1];
	border = (int64_t)(begin + (end - begin) * (double)(column + 1) / PROFILE_COLUMNS);
	while (row < m->ev.n && m->ev.t_ns[row] < border)
		row++;
	return row;
}

void totals_with_profiles(struct totals *t, const struct model *m)
{
	size_t column, from = m->n_initial, row;
	bool by_time = spread_over_time(m);
	unsigned dev;

	totals_begin(t, m);
	for (dev = 0; dev < 256; dev++)
		if (t->device[dev]) {
			t->device[dev]->profile = mem_zalloc(1, sizeof(struct profile));
			t->device[dev]->profile->by_time = by_time;
		}
	for (row = 0; row < m->n_initial; row++)
		totals_step(t, row);
	totals_window_begins(t);
	for (column = 0; column < PROFILE_COLUMNS; column++) {
		size_t to = m->ev.n > m->n_initial ? column_end(m, by_time, column, from) : from;

		profile_column(t, column, from, to);
		from = to;
	}
	totals_end(t);
}
