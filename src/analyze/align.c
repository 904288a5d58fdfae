/* align.c: pairs of rows about the same memory, and the shift of clocks that suits them all. */
#include "analyze/align.h"
#include "base/mem.h"
#include <stdlib.h>

/* The rows about an address, in order: next[] chains them, the last row is found by address. */
struct chains {
	struct map64 first, last;
	uint32_t *next; /* by row; UINT32_MAX ends it */
};
#define END UINT32_MAX

static void chain(struct chains *c, uint64_t addr, uint32_t row)
{
	bool fresh;
	uint32_t *at = map64_put(&c->last, addr, &fresh);

	if (fresh)
		*map64_put(&c->first, addr, &fresh) = row;
	else
		c->next[*at] = row;
	*at = row;
	c->next[row] = END;
}

static uint32_t first_of(const struct chains *c, uint64_t addr)
{
	const uint32_t *at = map64_find(&c->first, addr);

	return at ? *at : END;
}

static size_t count_of(const struct chains *c, uint64_t addr)
{
	uint32_t row;
	size_t n = 0;

	for (row = first_of(c, addr); row != END; row = c->next[row])
		n++;
	return n;
}

enum side { GETS, GIVES_BACK, NEITHER };

/* What a driver row does to memory that a segment may consist of. */
static enum side driver_side(uint8_t op)
{
	enum gms_kind kind = GMS_OP_KIND(op);
	enum gms_action action = GMS_OP_ACTION(op);

	if (kind == GMS_K_PHYSICAL)
		return action == GMS_A_MAP ? GETS : NEITHER;
	if (kind != GMS_K_DEVICE && kind != GMS_K_ASYNC && kind != GMS_K_MANAGED)
		return NEITHER;
	return action == GMS_A_ALLOC ? GETS : action == GMS_A_FREE ? GIVES_BACK : NEITHER;
}

static enum side framework_side(uint8_t op)
{
	switch (op) {
	case GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC):
	case GMS_OP(GMS_K_SEGMENT, GMS_A_MAP):
		return GETS;
	case GMS_OP(GMS_K_SEGMENT, GMS_A_FREE): /* an unmap is noted when it is done: it bounds nothing */
		return GIVES_BACK;
	default:
		return NEITHER;
	}
}

static void chains_make(struct chains *c, const struct model *m, enum side (*side_of)(uint8_t),
                        enum side side)
{
	size_t row;

	*c = (struct chains){.next = mem_alloc(m->ev.n * sizeof *c->next)};
	for (row = m->n_initial; row < m->ev.n; row++)
		if (side_of(m->ev.op[row]) == side)
			chain(c, m->ev.addr[row], (uint32_t)row);
}

static void chains_free(struct chains *c)
{
	map64_free(&c->first);
	map64_free(&c->last);
	free(c->next);
}

/* From a row of a chain on, the one nearest to a time (chains are in the order of time). */
static uint32_t nearest(const struct model *m, const struct chains *c, uint32_t row, int64_t t_ns)
{
	uint32_t next;

	while ((next = c->next[row]) != END &&
	       llabs(m->ev.t_ns[next] - t_ns) <= llabs(m->ev.t_ns[row] - t_ns))
		row = next;
	return row;
}

struct bounds {
	const struct model *driver, *framework;
	bool wall;
	int64_t wall_shift, low, high;
	size_t rows, found;
};

static void bound(struct bounds *b, enum side side, uint32_t driver_row, uint32_t framework_row)
{
	int64_t shift = b->driver->ev.t_ns[driver_row] - b->framework->ev.t_ns[framework_row];

	b->found++;
	if (side == GETS && shift > b->low)
		b->low = shift;
	if (side == GIVES_BACK && shift < b->high)
		b->high = shift;
}

/* An address may be used many times: pair its rows by order if both saw as many, else by wall clock. */
static void bound_address(struct bounds *b, enum side side, const struct chains *d, const struct chains *f,
                          uint64_t addr)
{
	uint32_t row, peer = first_of(d, addr);
	bool same = count_of(d, addr) == count_of(f, addr);

	for (row = first_of(f, addr); row != END && peer != END; row = f->next[row]) {
		if (!same && !b->wall)
			return;
		if (!same)
			peer = nearest(b->driver, d, peer, b->framework->ev.t_ns[row] + b->wall_shift);
		bound(b, side, peer, row);
		if (same)
			peer = d->next[peer];
	}
}

static void bound_side(struct bounds *b, enum side side)
{
	const struct model *m = b->framework;
	struct chains d, f;
	size_t row;

	b->rows = b->found = 0;
	chains_make(&d, b->driver, driver_side, side);
	chains_make(&f, b->framework, framework_side, side);
	for (row = m->n_initial; row < m->ev.n; row++) {
		if (framework_side(m->ev.op[row]) != side)
			continue;
		b->rows++;
		if (first_of(&f, m->ev.addr[row]) == row)
			bound_address(b, side, &d, &f, m->ev.addr[row]);
	}
	chains_free(&d);
	chains_free(&f);
}

#define TICK 1000 /* a framework's times are cut to whole microseconds */

int align_find(const struct model *driver, const struct model *framework, struct align *out)
{
	struct bounds b = {driver,
	                   framework,
	                   driver->start_wall_ns && framework->start_wall_ns,
	                   framework->start_wall_ns - driver->start_wall_ns,
	                   INT64_MIN,
	                   INT64_MAX,
	                   0,
	                   0};

	*out = (struct align){0};
	bound_side(&b, GIVES_BACK);
	bound_side(&b, GETS);
	out->segments = b.rows;
	out->found = b.found;
	if (b.low == INT64_MIN) {
		out->by_wall_clock = true;
		out->shift_ns = b.wall_shift;
		out->error_ns = INT64_MAX;
		return b.wall ? 0 : -1;
	}
	out->shift_ns = b.low;
	out->torn = b.high < b.low - TICK;
	out->error_ns = b.high == INT64_MAX            ? INT64_MAX
	                : llabs(b.high - b.low) > TICK ? llabs(b.high - b.low)
	                                               : TICK;
	return 0;
}
