/* report.c: runs the analyses a report needs, device by device. */
#include "analyze/report.h"
#include "base/mem.h"
#include <stdlib.h>

static void groups(struct report_device *d, const struct model *m, unsigned wanted)
{
	unsigned by;

	for (by = BY_STACK + 1; by < GROUP_BYS; by++)
		if (wanted >> by & 1 && (by != BY_PHASE || m->n_phases))
			group_make(m, d->device, by, d->peak_row, &d->groups[by]);
}

static void examine(struct report_device *d, const struct model *m, unsigned wanted)
{
	d->peak_row = d->t->amount[TOTAL_REQUESTED].peak_row;
	d->peak_event = totals_event(m, d->device, d->peak_row);
	d->peak_t_ns = d->peak_row == SIZE_MAX || !m->ev.n ? 0 : m->ev.t_ns[d->peak_row];
	live_at(m, d->device, d->peak_row, &d->peak);
	live_at(m, d->device, m->ev.n ? m->ev.n - 1 : SIZE_MAX, &d->end);
	growth_find(m, d->device, d->t->amount[TOTAL_REQUESTED].peak, &d->growth);
	leak_find(m, d->device, &d->end, &d->growth, &d->leaks);
	leak_survivors(m, d->device, &d->survivors);
	if (d->t->segments) {
		space_at(m, d->device, d->peak_row, &d->peak_space);
		space_at(m, d->device, m->ev.n ? m->ev.n - 1 : SIZE_MAX, &d->end_space);
		space_pinned(&d->end_space, &d->pinned);
		if (wanted & REPORT_FRAG)
			frag_find(m, d->device, &d->frag);
	}
	oom_find(m, d->device, &d->ooms);
	anomaly_find(m, d->device, &d->anomalies);
	if (d->t->level == GMS_FRAMEWORK)
		churn_segments(m, d->device, &d->churn);
	if (wanted & REPORT_CHURN)
		churn_blocks(m, d->device, &d->churn);
	coverage_find(m, d->device, &d->coverage);
	groups(d, m, wanted);
}

void report_make(struct report *r, const struct model *m, unsigned wanted)
{
	unsigned dev;
	size_t cap = 0;

	*r = (struct report){.m = m};
	totals_with_profiles(&r->totals, m);
	for (dev = 0; dev < 256; dev++) {
		struct report_device *d;

		if (!r->totals.device[dev])
			continue;
		d = VEC_PUSH(r->devices, r->n, cap);
		*d = (struct report_device){.device = (uint8_t)dev, .t = r->totals.device[dev]};
		examine(d, m, wanted);
		if (wanted & REPORT_ACCOUNTING && dev != MODEL_NO_DEVICE)
			accounting_make(d->accounting = mem_alloc(sizeof *d->accounting), m, d->device);
	}
}

static void device_free(struct report_device *d)
{
	unsigned by;

	live_free(&d->peak);
	live_free(&d->end);
	growth_free(&d->growth);
	leak_free(&d->leaks);
	leak_survivors_free(&d->survivors);
	space_pinned_free(&d->pinned);
	space_free(&d->peak_space);
	space_free(&d->end_space);
	oom_free(&d->ooms);
	anomaly_free(&d->anomalies);
	for (by = 0; by < GROUP_BYS; by++)
		group_free(&d->groups[by]);
	if (d->accounting)
		accounting_free(d->accounting);
	free(d->accounting);
}

void report_free(struct report *r)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		device_free(&r->devices[i]);
	free(r->devices);
	totals_free(&r->totals);
	*r = (struct report){0};
}
