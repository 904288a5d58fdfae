/* pulse.c: the present of a recording, from the analyses of its past. See pulse.h. */
#include "analyze/pulse.h"
#include "analyze/space.h"
#include "analyze/totals.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>

#define WINDOW_MIN 1000000000 /* of less than a second no rate is told */

/* The last row at or before t; n_initial - 1 if there is none. */
static size_t row_at(const struct model *m, int64_t t)
{
	size_t lo = m->n_initial, hi = m->ev.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->ev.t_ns[mid] <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

static int by_stack(const void *a, const void *b)
{
	const struct live_row *x = a, *y = b;

	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static uint64_t bytes_of(const struct live *sorted, uint32_t stack)
{
	struct live_row key = {.stack = stack};
	const struct live_row *at =
	    sorted->n ? bsearch(&key, sorted->rows, sorted->n, sizeof *sorted->rows, by_stack) : NULL;

	return at ? at->bytes : 0;
}

static void take_sites(struct pulse_device *d, const struct model *m, size_t then, size_t now)
{
	struct live before, after;
	size_t i;

	live_at(m, d->device, then, &before);
	live_at(m, d->device, now, &after);
	if (before.n)
		qsort(before.rows, before.n, sizeof *before.rows, by_stack);
	d->sites = mem_alloc(after.n * sizeof *d->sites);
	d->n_sites = after.n;
	for (i = 0; i < after.n; i++) {
		const struct live_row *r = &after.rows[i];

		d->sites[i] = (struct pulse_site){r->stack, r->bytes, r->count,
		                                  (int64_t)(r->bytes - bytes_of(&before, r->stack))};
	}
	d->live = after.bytes;
	d->blocks = after.count;
	d->change = (int64_t)(after.bytes - before.bytes);
	live_free(&before);
	live_free(&after);
}

static uint64_t failures_on(const struct model *m, uint8_t device)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < m->n_failures; i++)
		n += m->ev.device[m->failures[i].event] == device;
	return n;
}

static void take_device(struct pulse_device *d, const struct model *m, const struct device_totals *t, size_t then)
{
	struct space s;

	d->peak = t->amount[TOTAL_REQUESTED].peak;
	d->active = t->amount[TOTAL_ACTIVE].end;
	d->reserved = t->amount[TOTAL_RESERVED].end;
	d->used = t->used_end;
	d->total = t->total != MODEL_UNKNOWN ? t->total : m->device[d->device].total;
	d->failures = failures_on(m, d->device);
	take_sites(d, m, then, m->ev.n - 1);
	space_at(m, d->device, m->ev.n - 1, &s);
	d->external = s.known ? space_external(&s) : NAN;
	space_free(&s);
}

void pulse_take(struct pulse *p, const struct model *m, int64_t now_ns, int64_t window_ns)
{
	size_t then = row_at(m, now_ns - window_ns);
	struct totals t;
	int d;

	*p = (struct pulse){.now_ns = now_ns, .window_ns = window_ns < now_ns ? window_ns : now_ns};
	p->events = m->ev.n - m->n_initial;
	p->recent = m->ev.n - 1 - then;
	if (!m->ev.n)
		return;
	totals_all(&t, m);
	p->devices = mem_zalloc(256, sizeof *p->devices);
	for (d = 0; d < 256; d++)
		if (t.device[d] && d != MODEL_NO_DEVICE) {
			p->devices[p->n].device = (uint8_t)d;
			take_device(&p->devices[p->n++], m, t.device[d], then);
		}
	totals_free(&t);
}

void pulse_free(struct pulse *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		free(p->devices[i].sites);
	free(p->devices);
	*p = (struct pulse){0};
}

int64_t pulse_per_minute(const struct pulse *p, int64_t change)
{
	if (p->window_ns < WINDOW_MIN)
		return PULSE_UNKNOWN;
	return (int64_t)((double)change * 60e9 / (double)p->window_ns);
}
