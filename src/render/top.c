/* top.c: the data of top: order and end of life. */
#include "render/top.h"
#include <stdlib.h>

static void process_free(struct top_process *p)
{
	size_t i;

	for (i = 0; i < p->n_sites; i++)
		free(p->sites[i].name);
	for (i = 0; i < p->n_failures; i++)
		free(p->failures[i].site);
	free(p->sites);
	free(p->failures);
	free(p->command);
	free(p->trouble);
}

void top_free(struct top *t)
{
	size_t i;

	for (i = 0; i < t->n_processes; i++)
		process_free(&t->processes[i]);
	free(t->processes);
	free(t->gpus);
	free(t->driver);
	free(t->no_nvml);
	*t = (struct top){0};
}

const char *top_order_name(enum top_order o)
{
	static const char *const name[TOP_ORDERS] = {"used", "live", "growth", "failures", "pid"};

	return name[o];
}

/* Larger is more; what is not known is least. */
static uint64_t known(uint64_t v)
{
	return v == MODEL_UNKNOWN ? 0 : v + 1;
}

static int compare(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int by_pid(const void *a, const void *b)
{
	const struct top_process *x = a, *y = b;

	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : x->gpu - y->gpu;
}

static int by_used(const void *a, const void *b)
{
	const struct top_process *x = a, *y = b;
	int c = compare(x->used != MODEL_UNKNOWN ? known(x->used) : known(x->reserved),
	                y->used != MODEL_UNKNOWN ? known(y->used) : known(y->reserved));

	return c ? c : by_pid(a, b);
}

static int by_live(const void *a, const void *b)
{
	const struct top_process *x = a, *y = b;
	int c = compare(known(x->live), known(y->live));

	return c ? c : by_used(a, b);
}

static int by_growth(const void *a, const void *b)
{
	const struct top_process *x = a, *y = b;

	return x->per_minute != y->per_minute ? (x->per_minute > y->per_minute ? -1 : 1) : by_live(a, b);
}

static int by_failures(const void *a, const void *b)
{
	const struct top_process *x = a, *y = b;
	int c = compare(x->failed, y->failed);

	return c ? c : by_live(a, b);
}

void top_sort(struct top *t, enum top_order o)
{
	static int (*const order[TOP_ORDERS])(const void *, const void *) = {by_used, by_live, by_growth,
	                                                                      by_failures, by_pid};

	if (t->n_processes)
		qsort(t->processes, t->n_processes, sizeof *t->processes, order[o]);
}
