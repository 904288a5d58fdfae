/* steps.c: finds the repeated phase. See steps.h. */
#include "analyze/steps.h"
#include "base/mem.h"
#include <stdlib.h>

static bool on_device(const struct phase *p, uint8_t device)
{
	return p->device == device || p->device == MODEL_NO_DEVICE;
}

static uint32_t most_frequent(const struct model *m, uint8_t device, size_t *times)
{
	size_t *count = mem_zalloc(m->strings.n, sizeof *count), i;
	uint32_t best = 0;

	*times = 0;
	for (i = 0; i < m->n_phases; i++) {
		const struct phase *p = &m->phases[i];

		if (!p->name || !on_device(p, device))
			continue;
		/* Of names that occur equally often the first is the outermost or earliest: keep it. */
		if (++count[p->name] > *times) {
			*times = count[p->name];
			best = p->name;
		}
	}
	for (i = 0; i < m->n_phases; i++)
		if (m->phases[i].name && on_device(&m->phases[i], device) &&
		    count[m->phases[i].name] == *times) {
			best = m->phases[i].name;
			break;
		}
	free(count);
	return best;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Rows are in the order of time up to small races between threads; one sweep places all steps. */
static void place(const struct model *m, struct steps *s)
{
	size_t row = m->n_initial, i;

	s->row = mem_alloc(s->n * sizeof *s->row);
	for (i = 0; i < s->n; i++) {
		while (row < m->ev.n && m->ev.t_ns[row] < s->begin_ns[i])
			row++;
		s->row[i] = row - 1;
	}
}

void steps_find(const struct model *m, uint8_t device, struct steps *out)
{
	size_t times, i;

	*out = (struct steps){0};
	if (!m->n_phases || !m->has_time)
		return;
	out->name = most_frequent(m, device, &times);
	if (times < STEPS_MIN) {
		out->name = 0;
		return;
	}
	out->begin_ns = mem_alloc(times * sizeof *out->begin_ns);
	for (i = 0; i < m->n_phases; i++)
		if (m->phases[i].name == out->name && on_device(&m->phases[i], device))
			out->begin_ns[out->n++] = m->phases[i].begin_ns;
	qsort(out->begin_ns, out->n, sizeof *out->begin_ns, ascending);
	place(m, out);
}

void steps_free(struct steps *s)
{
	free(s->begin_ns);
	free(s->row);
	*s = (struct steps){0};
}
