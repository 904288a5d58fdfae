/* whatif_bound.c: what the same requests cost without a caching allocator, and at best.
 *
 * Plain: cudaMalloc and cudaFree for each request. The driver gives 2 MiB granules; requests below
 * 1 MiB share them, which is counted as perfect packing.
 *
 * Offline: a plan made with all lives known, one offset for each block. Blocks are placed one after
 * the other on top of what is there during their life; the best of three orders counts (longest life
 * first, largest first, most bytes times life first). Each is a plan that works, so the real optimum
 * is between the lower bound and this.
 */
#include "analyze/whatif_device.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>

#define SHARED_BELOW (1ull << 20)

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

void whatif_plain(const struct whatif_trace *t, struct whatif_run *r, bool curve)
{
	uint64_t large = 0, shared = 0, in_use = 0, now;
	uint64_t *size = mem_zalloc(t->n_slots + 1, sizeof *size); /* by slot; 0: not live */
	size_t i;

	r->curve = curve ? mem_zalloc(t->n + 1, sizeof *r->curve) : NULL;
	r->lower_bound = t->lower_bound;
	r->fragmentation_at_peak = NAN;
	for (i = 0; i < t->n; i++) {
		const struct whatif_op *op = &t->ops[i];
		bool is_alloc = op->what == WHATIF_ALLOC;
		uint64_t bytes = is_alloc ? op->size : size[op->slot], sign = is_alloc ? 1 : (uint64_t)-1;

		if (op->what == WHATIF_TRY || op->what == WHATIF_EMPTY || (!is_alloc && !bytes))
			continue;
		size[op->slot] = is_alloc ? bytes : 0;
		*(is_alloc ? &r->device_allocs : &r->device_frees) += 1;
		in_use += sign * bytes;
		if (bytes < SHARED_BELOW)
			shared += sign * round_up(bytes, GMA_MIN_BLOCK);
		else
			large += sign * round_up(bytes, GMA_SIM_GRANULE);
		now = large + round_up(shared, GMA_SIM_GRANULE);
		if (now > r->device_mem) {
			r->ooms = 1;
			r->first_oom_size = bytes;
			break;
		}
		if (now > r->reserved_peak)
			r->reserved_peak = now;
		if (in_use > r->requested_peak)
			r->requested_peak = in_use;
		if (curve)
			r->curve[i] = now;
	}
	r->allocated_peak = r->reserved_peak;
	free(size);
}

/* --- the offline plan ------------------------------------------------------------------------- */

struct life {
	uint32_t from, to; /* ops */
	uint64_t size;
};

/* Height of the stack at every op: a tree over ranges that answers "highest in a range" and sets ranges. */
struct heights {
	uint64_t *highest, *set; /* set: UINT64_MAX, or what the whole range below is */
	uint32_t leaves;
};

static void heights_init(struct heights *h, size_t n)
{
	uint32_t i;

	for (h->leaves = 1; h->leaves < n; h->leaves *= 2)
		;
	h->highest = mem_zalloc(2 * (size_t)h->leaves, sizeof *h->highest);
	h->set = mem_alloc(2 * (size_t)h->leaves * sizeof *h->set);
	for (i = 0; i < 2 * h->leaves; i++)
		h->set[i] = UINT64_MAX;
}

static void put(struct heights *h, uint32_t node, uint64_t v)
{
	h->highest[node] = h->set[node] = v;
}

static void push_down(struct heights *h, uint32_t node)
{
	if (h->set[node] == UINT64_MAX)
		return;
	put(h, 2 * node, h->set[node]);
	put(h, 2 * node + 1, h->set[node]);
	h->set[node] = UINT64_MAX;
}

/* Visit [from, to): set to v, or with v UINT64_MAX find the highest. The node covers [lo, hi). */
static uint64_t visit(struct heights *h, uint32_t node, uint32_t lo, uint32_t hi, uint32_t from, uint32_t to, uint64_t v)
{
	uint32_t mid = lo + (hi - lo) / 2;
	uint64_t l, r;

	if (to <= lo || hi <= from)
		return 0;
	if (from <= lo && hi <= to) {
		if (v != UINT64_MAX)
			put(h, node, v);
		return h->highest[node];
	}
	push_down(h, node);
	l = visit(h, 2 * node, lo, mid, from, to, v);
	r = visit(h, 2 * node + 1, mid, hi, from, to, v);
	if (v != UINT64_MAX)
		h->highest[node] = h->highest[2 * node] > h->highest[2 * node + 1] ? h->highest[2 * node]
										   : h->highest[2 * node + 1];
	return l > r ? l : r;
}

static struct life *find_lives(const struct whatif_trace *t, size_t *n)
{
	struct life *lives = mem_zalloc(t->n_slots + 1, sizeof *lives);
	size_t i;

	for (i = 0; i < t->n; i++) {
		const struct whatif_op *op = &t->ops[i];

		if (op->what == WHATIF_ALLOC)
			lives[op->slot] = (struct life){(uint32_t)i, (uint32_t)t->n, round_up(op->size, GMA_MIN_BLOCK)};
		else if (op->what == WHATIF_FREE || op->what == WHATIF_SETTLE)
			lives[op->slot].to = (uint32_t)i;
	}
	*n = t->n_slots;
	return lives;
}

static int compare(double a, double b, const struct life *x, const struct life *y)
{
	if (a != b)
		return a < b ? 1 : -1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int by_life(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	return compare(x->to - x->from, y->to - y->from, x, y);
}

static int by_size(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	return compare((double)x->size, (double)y->size, x, y);
}

static int by_both(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	return compare((double)x->size * (x->to - x->from), (double)y->size * (y->to - y->from), x, y);
}

static uint64_t stack_up(const struct life *lives, size_t n, size_t ops)
{
	struct heights h;
	uint64_t top, highest = 0;
	size_t i;

	heights_init(&h, ops);
	for (i = 0; i < n; i++) {
		if (lives[i].from >= lives[i].to)
			continue;
		top = visit(&h, 1, 0, h.leaves, lives[i].from, lives[i].to, UINT64_MAX) + lives[i].size;
		visit(&h, 1, 0, h.leaves, lives[i].from, lives[i].to, top);
		if (top > highest)
			highest = top;
	}
	free(h.highest);
	free(h.set);
	return highest;
}

void whatif_offline(const struct whatif_trace *t, struct whatif_run *r)
{
	int (*const orders[])(const void *, const void *) = {by_life, by_size, by_both};
	size_t n, i;
	struct life *lives = find_lives(t, &n);
	uint64_t best = UINT64_MAX, top;

	for (i = 0; i < sizeof orders / sizeof *orders; i++) {
		qsort(lives, n, sizeof *lives, orders[i]);
		top = stack_up(lives, n, t->n + 1);
		best = top < best ? top : best;
	}
	r->lower_bound = t->lower_bound;
	r->reserved_peak = round_up(best, GMA_SIM_GRANULE);
	r->allocated_peak = r->requested_peak = MODEL_UNKNOWN;
	r->device_allocs = best > 0;
	r->fragmentation_at_peak = NAN;
	if (r->reserved_peak > r->device_mem) {
		r->ooms = 1;
		r->first_oom_size = r->reserved_peak;
	}
	free(lives);
}
