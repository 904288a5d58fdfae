/* whatif_bound.c: what the same requests cost without a caching allocator, and at best.
 *
 * Plain: cudaMalloc and cudaFree for each request. The driver gives 2 MiB granules; requests below
 * 1 MiB share them, which is counted as perfect packing.
 *
 * Offline: one range of memory for everything, cut by best fit, with lives known: blocks that die soon
 * are put at the other end of a hole than those that stay. Halving finds how small the range can be;
 * the best of a few ideas of "soon" counts. It is a plan that works, so the real optimum is between the
 * lower bound and this.
 */
#include "alloc/core_internal.h"
#include "analyze/whatif_device.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>

#define SHARED_BELOW (1ull << 20)

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

void whatif_plain(const struct whatif_trace *t, struct whatif_run *r, const struct bands_axis *axis)
{
	uint64_t large = 0, shared = 0, in_use = 0, now;
	uint64_t *size = mem_zalloc(t->n_slots + 1, sizeof *size); /* by slot; 0: not live */
	struct whatif_curve curve;
	size_t i;

	whatif_curve_begin(&curve, axis);
	r->lower_bound = t->lower_bound;
	r->fragmentation_at_peak = NAN;
	for (i = 0; i < t->n; i++) {
		const struct whatif_op *op = &t->ops[i];
		bool is_alloc = op->what == WHATIF_ALLOC;
		uint64_t bytes = is_alloc ? op->size : size[op->slot], sign = is_alloc ? 1 : (uint64_t)-1;

		if (op->what == WHATIF_TRY || op->what == WHATIF_EMPTY || op->what == WHATIF_GIVEN_UP ||
		    (!is_alloc && !bytes))
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
		whatif_curve_put(&curve, t, op->row, now);
	}
	r->curve = whatif_curve_end(&curve, i == t->n);
	r->allocated_peak = r->reserved_peak;
	free(size);
}

/* --- the offline plan ------------------------------------------------------------------------- */

/* One range of memory, cut by best fit, with the core's own bins. */
struct arena {
	struct gma_lane lane;
	struct gma_half half;
	struct gma_segment segment;
	struct gma_block *blocks, *spare; /* spare: linked by next */
	size_t used;                      /* of blocks */
	struct gma_block **live;          /* by slot */
};

static struct gma_block *new_piece(struct arena *a, uint64_t addr, uint64_t size)
{
	struct gma_block *b = a->spare ? a->spare : &a->blocks[a->used++];

	a->spare = a->spare ? a->spare->next : NULL;
	*b = (struct gma_block){.addr = addr, .size = size, .segment = &a->segment};
	return b;
}

static void drop_piece(struct arena *a, struct gma_block *b)
{
	b->next = a->spare;
	a->spare = b;
}

static void arena_reset(struct arena *a, uint64_t size)
{
	a->lane = (struct gma_lane){.half = &a->half};
	a->segment.lane = &a->lane;
	a->spare = NULL;
	a->used = 0;
	gma_bins_put(new_piece(a, 0, size));
}

/* The smallest hole that fits; the block gets its low or its high end. */
static bool arena_take(struct arena *a, uint32_t slot, uint64_t size, bool high)
{
	struct gma_block *b = gma_bins_from(&a->lane, size, 0), *rest;

	if (!b)
		return false;
	gma_bins_take(b);
	if (b->size > size) {
		rest = new_piece(a, high ? b->addr : b->addr + size, b->size - size);
		b->addr += high ? b->size - size : 0;
		b->size = size;
		if (high) {
			rest->prev = b->prev;
			rest->next = b;
			if (rest->prev)
				rest->prev->next = rest;
			b->prev = rest;
		} else {
			gma_follow(rest, b);
		}
		gma_bins_put(rest);
	}
	b->state = GMA_LIVE;
	a->live[slot] = b;
	return true;
}

static void arena_give(struct arena *a, uint32_t slot)
{
	struct gma_block *b = a->live[slot], *prev = b->prev, *next = b->next;

	a->live[slot] = NULL;
	b->state = GMA_FREE;
	if (gma_absorb(b, prev))
		drop_piece(a, prev);
	if (gma_absorb(b, next))
		drop_piece(a, next);
	gma_bins_put(b);
}

/* How many ops each block lives. */
static uint32_t *find_lives(const struct whatif_trace *t)
{
	uint32_t *life = mem_zalloc(t->n_slots + 1, sizeof *life);
	size_t i;

	for (i = 0; i < t->n; i++) {
		const struct whatif_op *op = &t->ops[i];

		if (op->what == WHATIF_ALLOC)
			life[op->slot] = (uint32_t)(t->n - i);
		else if (op->what == WHATIF_FREE || op->what == WHATIF_SETTLE)
			life[op->slot] -= (uint32_t)(t->n - i);
	}
	return life;
}

/* Does everything fit into `size` bytes if blocks that live shorter go to the high ends? */
static bool fits(struct arena *a, const struct whatif_trace *t, const uint32_t *life, uint32_t shorter, uint64_t size)
{
	size_t i;

	arena_reset(a, size);
	memset(a->live, 0, (t->n_slots + 1) * sizeof(struct gma_block *));
	for (i = 0; i < t->n; i++) {
		const struct whatif_op *op = &t->ops[i];

		if (op->what == WHATIF_ALLOC &&
		    !arena_take(a, op->slot, round_up(op->size, GMA_MIN_BLOCK), life[op->slot] < shorter))
			return false;
		if ((op->what == WHATIF_FREE || op->what == WHATIF_SETTLE) && a->live[op->slot])
			arena_give(a, op->slot);
	}
	return true;
}

/* The least multiple of 2 MiB, about, that holds everything. */
static uint64_t least_arena(const struct whatif_trace *t)
{
	static const uint32_t shorter[] = {0, 16, 256, 4096};
	struct arena *a = mem_zalloc(1, sizeof *a);
	uint64_t low = round_up(t->lower_bound, GMA_SIM_GRANULE), high = low, mid, step;
	uint32_t *life = find_lives(t);
	size_t i;

	a->blocks = mem_zalloc(2 * t->n_slots + 2, sizeof *a->blocks);
	a->live = mem_zalloc(t->n_slots + 1, sizeof(struct gma_block *));
	while (!fits(a, t, life, 0, high))
		high += high / 4 + GMA_SIM_GRANULE;
	for (i = 0; i < sizeof shorter / sizeof *shorter; i++) {
		if (high > low && fits(a, t, life, shorter[i], low))
			high = low;
		step = round_up(low / 256, GMA_SIM_GRANULE);
		for (mid = low; high - mid > step && mid < high; ) {
			uint64_t half = mid + round_up((high - mid) / 2, GMA_SIM_GRANULE);

			if (half < high && fits(a, t, life, shorter[i], half))
				high = half;
			else
				mid = half;
		}
	}
	free(a->blocks);
	free(a->live);
	free(a);
	free(life);
	return high;
}

void whatif_offline(const struct whatif_trace *t, struct whatif_run *r)
{
	r->lower_bound = t->lower_bound;
	r->reserved_peak = least_arena(t);
	r->allocated_peak = r->requested_peak = MODEL_UNKNOWN;
	r->device_allocs = r->reserved_peak > 0;
	r->fragmentation_at_peak = NAN;
	if (r->reserved_peak > r->device_mem) {
		r->ooms = 1;
		r->first_oom_size = r->reserved_peak;
	}
}
