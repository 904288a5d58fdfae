/* anomaly.c: one pass over the rows, where linking found something to complain about at all. */
#include "analyze/anomaly.h"
#include "analyze/live.h"
#include "base/mem.h"
#include <stdlib.h>

struct listing {
	const struct model *m;
	struct anomaly_list *out;
	size_t cap;
	uint32_t *place[2]; /* by anomaly and stack: in out->rows, plus one */
};

const char *anomaly_name(enum anomaly what)
{
	return what == ANOMALY_FREE ? "freed, but not live" : "allocated over live memory";
}

static void add(struct listing *l, enum anomaly what, size_t row)
{
	const struct columns *c = &l->m->ev;
	uint32_t *place = &l->place[what][c->stack[row]];

	if (!*place) {
		*VEC_PUSH(l->out->rows, l->out->n, l->cap) = (struct anomaly_row){
		    .what = what, .stack = c->stack[row], .first_t_ns = c->t_ns[row], .first_row = row};
		*place = (uint32_t)l->out->n;
	}
	l->out->rows[*place - 1].count++;
}

static int most_often(const void *a, const void *b)
{
	const struct anomaly_row *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->first_row < y->first_row ? -1 : x->first_row > y->first_row;
}

void anomaly_find(const struct model *m, uint8_t device, struct anomaly_list *out)
{
	const struct anomalies *a = &m->device[device].anomalies;
	const struct columns *c = &m->ev;
	struct listing l = {.m = m, .out = out};
	struct replaced *replaced;
	size_t row, n, i;

	*out = (struct anomaly_list){0};
	if (!a->free_unknown && !a->double_free && !a->alloc_live)
		return;
	l.place[ANOMALY_FREE] = mem_zalloc(m->stacks.n, sizeof(uint32_t));
	l.place[ANOMALY_ALLOC] = mem_zalloc(m->stacks.n, sizeof(uint32_t));
	for (row = m->n_initial; row < c->n; row++)
		if (c->device[row] == device && GMS_OP_ACTION(c->op[row]) == GMS_A_FREE &&
		    c->peer[row] == MODEL_NO_PEER && c->addr[row])
			add(&l, ANOMALY_FREE, row);
	replaced = live_replaced(m, &n);
	for (i = 0; i < n; i++)
		if (c->device[replaced[i].by] == device)
			add(&l, ANOMALY_ALLOC, replaced[i].by);
	if (out->n)
		qsort(out->rows, out->n, sizeof *out->rows, most_often);
	free(replaced);
	free(l.place[0]);
	free(l.place[1]);
}

void anomaly_free(struct anomaly_list *l)
{
	free(l->rows);
	*l = (struct anomaly_list){0};
}
