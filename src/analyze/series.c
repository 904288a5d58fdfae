/* series.c: totals.h, kept row by row. */
#include "analyze/series.h"
#include "base/mem.h"
#include <stdlib.h>

static void keep(struct series *s, const struct device_totals *d, size_t row)
{
	unsigned which;

	for (which = 0; which < TOTALS; which++)
		if (s->value[which])
			s->value[which][row] = d ? totals_now(d, which) : 0;
}

void series_make(struct series *s, const struct model *m, uint8_t device, unsigned want)
{
	struct totals t;
	unsigned which;
	size_t row;

	*s = (struct series){.n = m->ev.n};
	for (which = 0; which < TOTALS; which++)
		if (want >> which & 1)
			s->value[which] = mem_alloc(m->ev.n * sizeof(uint64_t));
	totals_begin(&t, m);
	for (row = 0; row < m->ev.n; row++) {
		if (row == m->n_initial)
			totals_window_begins(&t);
		totals_step(&t, row);
		keep(s, t.device[device], row);
	}
	if (m->n_initial == m->ev.n)
		totals_window_begins(&t);
	totals_end(&t);
	if (t.device[device])
		s->device = *t.device[device];
	totals_free(&t);
}

bool series_all_same(const struct model *m, uint8_t device)
{
	struct totals t;

	totals_begin(&t, m);
	bool same = t.device[device] && t.device[device]->plain;
	totals_end(&t);
	totals_free(&t);
	return same;
}

void series_free(struct series *s)
{
	unsigned which;

	for (which = 0; which < TOTALS; which++)
		free(s->value[which]);
	*s = (struct series){0};
}
