/* ranks.c: sums, medians and the odd one out. */
#include "analyze/ranks.h"
#include "base/mem.h"
#include "base/text.h"
#include <stdlib.h>

#define LEAST (64ull << 20)

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a == MODEL_UNKNOWN || b == MODEL_UNKNOWN ? MODEL_UNKNOWN : a + b;
}

static struct rank_row row_of(const struct report *r)
{
	struct rank_row row = {.report = r};
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct report_device *d = &r->devices[i];

		if (d->device == MODEL_NO_DEVICE)
			continue;
		row.peak = plus(row.peak, d->t->amount[TOTAL_REQUESTED].peak);
		row.reserved = plus(row.reserved, d->t->amount[TOTAL_RESERVED].peak);
		row.end = plus(row.end, d->t->amount[TOTAL_REQUESTED].end);
		row.leaked = plus(row.leaked, leak_doubt(r->m, d->device) ? MODEL_UNKNOWN : d->leaks.bytes);
		row.failures += d->ooms.n;
	}
	return row;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

typedef uint64_t (*figure)(const struct rank_row *);

static uint64_t get_peak(const struct rank_row *r)
{
	return r->peak;
}
static uint64_t get_reserved(const struct rank_row *r)
{
	return r->reserved;
}
static uint64_t get_end(const struct rank_row *r)
{
	return r->end;
}
static uint64_t get_leaked(const struct rank_row *r)
{
	return r->leaked;
}
static uint64_t get_failures(const struct rank_row *r)
{
	return r->failures;
}

/* The lower median, so that of two recordings neither is the odd one by itself. */
static uint64_t median(const struct ranks *r, figure get)
{
	uint64_t *v = mem_alloc(r->n * sizeof *v), m;
	size_t i, n = 0;

	for (i = 0; i < r->n; i++)
		if (get(&r->rows[i]) != MODEL_UNKNOWN)
			v[n++] = get(&r->rows[i]);
	if (n)
		qsort(v, n, sizeof *v, ascending);
	m = n ? v[(n - 1) / 2] : MODEL_UNKNOWN;
	free(v);
	return m;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The recording whose figure is farthest from the median, and how far (0: nobody stands out). */
static size_t farthest(const struct ranks *r, figure get, uint64_t least, bool only_more, double *how_far)
{
	uint64_t m = median(r, get), most = 0;
	size_t i, at = r->n;

	*how_far = 0;
	for (i = 0; m != MODEL_UNKNOWN && i < r->n; i++) {
		uint64_t v = get(&r->rows[i]);

		if (v != MODEL_UNKNOWN && (v > m || !only_more) && distance(v, m) > most) {
			most = distance(v, m);
			at = i;
		}
	}
	if (at == r->n || most < least || most * 10 < m)
		return r->n;
	*how_far = (double)most / ((double)m + (double)least);
	return at;
}

static void find_odd(struct ranks *r)
{
	static const struct {
		const char *what;
		figure get;
		uint64_t least; /* less than this is not worth telling */
	} figures[] = {{"its failed allocations", get_failures, 1},
	               {"its leaks", get_leaked, 1},
	               {"its peak", get_peak, LEAST},
	               {"what it holds at the end", get_end, LEAST},
	               {"what it reserves", get_reserved, LEAST}};
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];
	double best = 0, far;
	size_t i, at;

	r->odd = r->n;
	for (i = 0; i < sizeof figures / sizeof *figures; i++) {
		at = farthest(r, figures[i].get, figures[i].least, figures[i].least == 1, &far);
		if (at == r->n || far <= best)
			continue;
		best = far;
		r->odd = at;
		free(r->odd_text);
		if (figures[i].get == get_failures)
			r->odd_text = mem_printf("%llu failed allocations, %llu elsewhere (the median)",
			                         (unsigned long long)r->rows[at].failures,
			                         (unsigned long long)median(r, get_failures));
		else
			r->odd_text = mem_printf("%s: %s, where the median is %s", figures[i].what,
			                         text_bytes(a, figures[i].get(&r->rows[at])),
			                         text_bytes(b, median(r, figures[i].get)));
	}
}

void ranks_make(struct ranks *r, const struct report *reports, size_t n)
{
	size_t i;

	*r = (struct ranks){.n = n};
	r->rows = mem_alloc(n * sizeof *r->rows);
	for (i = 0; i < n; i++) {
		struct rank_row *row = &r->rows[i];

		*row = row_of(&reports[i]);
		r->sum_peak = plus(r->sum_peak, row->peak);
		r->sum_reserved = plus(r->sum_reserved, row->reserved);
		r->sum_end = plus(r->sum_end, row->end);
		r->sum_leaked = plus(r->sum_leaked, row->leaked);
		r->sum_failures += row->failures;
	}
	r->median_peak = median(r, get_peak);
	r->odd = n;
	if (n > 2)
		find_odd(r);
}

void ranks_free(struct ranks *r)
{
	free(r->rows);
	free(r->odd_text);
	*r = (struct ranks){0};
}
