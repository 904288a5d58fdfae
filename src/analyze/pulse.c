/* pulse.c: the present of a recording, from the analyses of its past. See pulse.h. */
#include "analyze/pulse.h"
#include "analyze/space.h"
#include "analyze/totals.h"
#include "base/mem.h"
#include "model/fold.h"
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
	    sorted && sorted->n ? bsearch(&key, sorted->rows, sorted->n, sizeof *sorted->rows, by_stack) : NULL;

	return at ? at->bytes : 0;
}

void pulse_base_take(struct pulse_base *b, const struct model *m, size_t row, int64_t t_ns)
{
	struct live l;
	int d;

	*b = (struct pulse_base){.t_ns = t_ns, .events = row + 1 - m->n_initial};
	for (d = 0; d < MODEL_NO_DEVICE; d++) {
		if (!m->device[d].present)
			continue;
		live_at(m, (uint8_t)d, row, &l);
		if (l.n)
			qsort(l.rows, l.n, sizeof *l.rows, by_stack);
		b->device[d] = mem_alloc(sizeof l);
		*b->device[d] = l;
	}
}

void pulse_base_free(struct pulse_base *b)
{
	int d;

	for (d = 0; d < 256; d++) {
		if (b->device[d])
			live_free(b->device[d]);
		free(b->device[d]);
	}
	*b = (struct pulse_base){0};
}

static void take_sites(struct pulse_device *d, const struct model *m, const struct live *before)
{
	struct live after;
	size_t i;

	live_at(m, d->device, m->ev.n - 1, &after);
	d->sites = mem_alloc(after.n * sizeof *d->sites);
	d->n_sites = after.n;
	for (i = 0; i < after.n; i++) {
		const struct live_row *r = &after.rows[i];

		d->sites[i] = (struct pulse_site){r->stack, r->bytes, r->count,
		                                  (int64_t)(r->bytes - bytes_of(before, r->stack))};
	}
	d->live = after.bytes;
	d->blocks = after.count;
	d->change = (int64_t)(after.bytes - (before ? before->bytes : 0));
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

static void take_device(struct pulse_device *d, const struct model *m, const struct device_totals *t,
                        const struct live *before)
{
	struct space s;

	d->peak = t->amount[TOTAL_REQUESTED].peak;
	d->active = t->amount[TOTAL_ACTIVE].end;
	d->reserved = t->amount[TOTAL_RESERVED].end;
	d->used = t->used_end;
	d->total = t->total != MODEL_UNKNOWN ? t->total : m->device[d->device].total;
	d->failures = failures_on(m, d->device);
	take_sites(d, m, before);
	space_at(m, d->device, m->ev.n - 1, &s);
	d->external = s.known ? space_external(&s) : NAN;
	space_free(&s);
}

static void add_past(struct pulse *p, const struct pulse_past *past)
{
	size_t i;

	p->events += past->events;
	for (i = 0; i < p->n; i++) {
		struct pulse_device *d = &p->devices[i];

		d->failures += past->failed[d->device];
		if (past->peak[d->device] > d->peak)
			d->peak = past->peak[d->device];
	}
}

void pulse_since(struct pulse *p, const struct model *m, const struct pulse_past *past,
                 const struct pulse_base *base, int64_t now_ns)
{
	struct totals t;
	int d;

	*p = (struct pulse){.now_ns = now_ns, .window_ns = now_ns - base->t_ns};
	p->events = m->ev.n - m->n_initial;
	if (m->ev.n) {
		totals_all(&t, m);
		p->devices = mem_zalloc(256, sizeof *p->devices);
		for (d = 0; d < MODEL_NO_DEVICE; d++)
			if (t.device[d]) {
				p->devices[p->n].device = (uint8_t)d;
				take_device(&p->devices[p->n++], m, t.device[d], base->device[d]);
			}
		totals_free(&t);
	}
	if (past)
		add_past(p, past);
	p->recent = p->events - base->events;
}

void pulse_take(struct pulse *p, const struct model *m, int64_t now_ns, int64_t window_ns)
{
	int64_t begin = window_ns < now_ns ? now_ns - window_ns : 0;
	struct pulse_base base;

	pulse_base_take(&base, m, row_at(m, now_ns - window_ns), begin);
	pulse_since(p, m, NULL, &base, now_ns);
	pulse_base_free(&base);
}

void pulse_fold(struct pulse_past *past, struct model *m)
{
	size_t i, gone = m->n_failures;
	struct totals t;
	int d;

	totals_all(&t, m);
	for (d = 0; d < MODEL_NO_DEVICE; d++)
		if (t.device[d] && t.device[d]->amount[TOTAL_REQUESTED].peak != MODEL_UNKNOWN &&
		    t.device[d]->amount[TOTAL_REQUESTED].peak > past->peak[d])
			past->peak[d] = t.device[d]->amount[TOTAL_REQUESTED].peak;
	totals_free(&t);
	past->events += m->ev.n - m->n_initial;
	gone = gone > FOLD_FAILURES ? gone - FOLD_FAILURES : 0;
	for (i = 0; i < gone; i++)
		past->failed[m->ev.device[m->failures[i].event]]++;
	model_fold(m);
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
