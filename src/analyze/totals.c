/* totals.c: the running sums of every device, in one pass for all of them. See totals.h. */
#include "analyze/totals.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

enum effect {
	EFFECT_NONE,
	EFFECT_ALLOC,
	EFFECT_FREE,
	EFFECT_REQUEST,
	EFFECT_FAIL,
	EFFECT_MAP,
	EFFECT_UNMAP,
	EFFECT_POOL,
	EFFECT_GRAPH,
	EFFECT_MEMORY,
	EFFECT_CHECKSUM,
};

static void effects(uint8_t effect[256])
{
	unsigned kind;

	memset(effect, EFFECT_NONE, 256);
	for (kind = 0; kind < GMS_KINDS; kind++) {
		effect[GMS_OP(kind, GMS_A_ALLOC)] = EFFECT_ALLOC;
		effect[GMS_OP(kind, GMS_A_FREE)] = EFFECT_FREE;
		effect[GMS_OP(kind, GMS_A_FREE_REQUESTED)] = EFFECT_REQUEST;
		effect[GMS_OP(kind, GMS_A_FAIL)] = EFFECT_FAIL;
	}
	effect[GMS_OP(GMS_K_SEGMENT, GMS_A_MAP)] = EFFECT_MAP;
	effect[GMS_OP(GMS_K_SEGMENT, GMS_A_UNMAP)] = EFFECT_UNMAP;
	effect[GMS_OP(GMS_K_POOL, GMS_A_INFO)] = EFFECT_POOL;
	effect[GMS_OP(GMS_K_GRAPH, GMS_A_INFO)] = EFFECT_GRAPH;
	effect[GMS_OP(GMS_K_MEMORY, GMS_A_INFO)] = EFFECT_MEMORY;
	effect[GMS_OP(GMS_K_TRACE, GMS_A_INFO)] = EFFECT_CHECKSUM;
}

/* How a device's sums are told, from the ops that occur on it. */
static struct device_totals *device_new(const bool seen[256], bool slack)
{
	struct device_totals *d = mem_zalloc(1, sizeof *d);
	bool graphs = seen[GMS_OP(GMS_K_GRAPH, GMS_A_INFO)];
	unsigned op;

	d->used_start = d->used_peak = d->used_end = d->total = MODEL_UNKNOWN;
	for (op = 0; op < 256; op++) {
		if (!seen[op])
			continue;
		if (GMS_OP_KIND(op) == GMS_K_BLOCK || GMS_OP_KIND(op) == GMS_K_SEGMENT)
			d->level = GMS_FRAMEWORK;
		d->requests |= GMS_OP_ACTION(op) == GMS_A_FREE_REQUESTED;
		d->async |= op == GMS_OP(GMS_K_ASYNC, GMS_A_ALLOC);
		d->pool_sampled |= op == GMS_OP(GMS_K_POOL, GMS_A_INFO);
		d->segments |= GMS_OP_KIND(op) == GMS_K_SEGMENT;
	}
	d->plain =
	    d->level == GMS_DRIVER && !slack && !d->requests && !d->async && !d->pool_sampled && !graphs;
	live_roles(d->level, d->role);
	return d;
}

/* What must be known before the first row: which devices there are, and what happens on each. */
static void survey(struct totals *t)
{
	const struct columns *c = &t->m->ev;
	bool(*seen)[256] = mem_zalloc(256, sizeof *seen); /* [device][op] */
	unsigned dev, op;
	size_t row;

	for (row = 0; row < c->n; row++)
		seen[c->device[row]][c->op[row]] = true;
	for (dev = 0; dev < 256; dev++) {
		bool any = t->m->device[dev].present;

		for (op = 0; op < 256 && !any; op++)
			any = seen[dev][op];
		if (any)
			t->device[dev] = device_new(seen[dev], c->slack);
	}
	free(seen);
}

void totals_begin(struct totals *t, const struct model *m)
{
	*t = (struct totals){.m = m};
	effects(t->effect);
	survey(t);
	t->given_back = mem_zalloc(m->ev.n / 64 + 1, sizeof *t->given_back);
	t->pools = mem_zalloc(m->n_pools + 1, sizeof *t->pools);
	t->replaced = live_replaced(m, &t->n_replaced);
}

static inline void raise(struct amount *a, uint64_t by, size_t row)
{
	a->now += by;
	if (a->now > a->peak) {
		a->peak = a->now;
		a->peak_row = row;
	}
}

static inline uint64_t less(uint64_t from, uint64_t by)
{
	return by < from ? from - by : 0;
}

static inline void lower(struct amount *a, uint64_t by)
{
	a->now = less(a->now, by);
}

static inline void kind_raise(struct kind_total *k, uint64_t by)
{
	k->now += by;
	if (k->now > k->peak)
		k->peak = k->now;
}

static uint64_t pool_holds(const struct pool_total *p)
{
	return p->reserved > p->used ? p->reserved : p->used;
}

static void pool_becomes(struct totals *t, struct device_totals *d, size_t pool, struct pool_total after,
                         size_t row)
{
	struct pool_total before = t->pools[pool];

	t->pools[pool] = after;
	if (d->level != GMS_DRIVER)
		return;
	lower(&d->amount[TOTAL_RESERVED], pool_holds(&before));
	raise(&d->amount[TOTAL_RESERVED], pool_holds(&after), row);
}

/* While a block of unknown size is live only bounds are known: the sum without it, and the sum with as much
 * as it can be. */
static void bounds_raise(struct device_totals *d, uint64_t slack_most, uint64_t size)
{
	int which;

	if (slack_most != MODEL_UNKNOWN)
		d->unknown_most += size + slack_most;
	for (which = TOTAL_ALLOCATED; which <= TOTAL_ACTIVE; which++)
		if (d->unknown_blocks && d->amount[which].now + d->unknown_most > d->most[which])
			d->most[which] = d->amount[which].now + d->unknown_most;
}

/* Is the highest sum known for certain, although some were only bounded? */
static bool peak_certain(const struct device_totals *d, enum total which, uint64_t slack_most)
{
	return !d->was_unknown || (slack_most != MODEL_UNKNOWN && !d->peak_unknown[which] &&
	                           d->most[which] <= d->amount[which].peak);
}

static inline void raise_block(struct device_totals *d, enum total which, uint64_t by, size_t row)
{
	uint64_t before = d->amount[which].peak;

	raise(&d->amount[which], by, row);
	if (d->amount[which].peak != before)
		d->peak_unknown[which] = d->unknown_blocks;
}

/* Bytes of the block of an allocation. The driver hands out what was asked for unless it says otherwise. */
static inline uint64_t block_of(const struct totals *t, const struct device_totals *d, size_t alloc)
{
	uint64_t block = model_block_size(t->m, alloc);

	return block == MODEL_UNKNOWN && d->level == GMS_DRIVER ? t->m->ev.size[alloc] : block;
}

static inline void block_begins(struct totals *t, struct device_totals *d, size_t row)
{
	const struct columns *c = &t->m->ev;
	uint64_t block;

	d->live_blocks++;
	raise(&d->amount[TOTAL_REQUESTED], c->size[row], row);
	if (d->plain)
		return;
	block = block_of(t, d, row);
	if (block == MODEL_UNKNOWN) {
		d->unknown_blocks++;
		d->was_unknown = true;
		bounds_raise(d, t->m->device[c->device[row]].slack_most, c->size[row]);
	} else {
		raise_block(d, TOTAL_ALLOCATED, block, row);
		raise_block(d, TOTAL_ACTIVE, block, row);
		if (d->unknown_blocks)
			bounds_raise(d, MODEL_UNKNOWN, 0);
	}
	if (d->level != GMS_DRIVER)
		return;
	if (GMS_OP_KIND(c->op[row]) == GMS_K_ASYNC) {
		struct pool_total p = t->pools[c->pool[row]];

		p.used += block;
		pool_becomes(t, d, c->pool[row], p, row);
	} else {
		raise(&d->amount[TOTAL_RESERVED], block, row);
	}
}

static bool given_back(const struct totals *t, size_t alloc)
{
	return t->given_back[alloc / 64] >> alloc % 64 & 1;
}

static void block_given_back(struct totals *t, struct device_totals *d, size_t alloc)
{
	uint64_t block = block_of(t, d, alloc);

	if (d->role[t->m->ev.op[alloc]] != LIVE_ALLOC || given_back(t, alloc))
		return;
	t->given_back[alloc / 64] |= 1ull << alloc % 64;
	if (block != MODEL_UNKNOWN)
		lower(&d->amount[TOTAL_ALLOCATED], block);
}

static inline void block_ends(struct totals *t, struct device_totals *d, size_t alloc, size_t row)
{
	const struct columns *c = &t->m->ev;
	uint64_t block;

	d->live_blocks--;
	lower(&d->amount[TOTAL_REQUESTED], c->size[alloc]);
	if (d->plain)
		return;
	block = block_of(t, d, alloc);
	if (d->requests)
		block_given_back(t, d, alloc);
	else if (block != MODEL_UNKNOWN)
		lower(&d->amount[TOTAL_ALLOCATED], block);
	if (block == MODEL_UNKNOWN) {
		d->unknown_blocks--;
		d->unknown_most =
		    less(d->unknown_most, c->size[alloc] + t->m->device[c->device[alloc]].slack_most);
		return;
	}
	lower(&d->amount[TOTAL_ACTIVE], block);
	if (d->level != GMS_DRIVER)
		return;
	if (GMS_OP_KIND(c->op[alloc]) == GMS_K_ASYNC) {
		struct pool_total p = t->pools[c->pool[alloc]];

		p.used = less(p.used, block);
		pool_becomes(t, d, c->pool[alloc], p, row);
	} else {
		lower(&d->amount[TOTAL_RESERVED], block);
	}
}

static inline void life_ends(struct totals *t, struct device_totals *d, size_t alloc, size_t row)
{
	const struct columns *c = &t->m->ev;
	enum gms_kind kind = GMS_OP_KIND(c->op[alloc]);

	d->kind[kind].now = less(d->kind[kind].now, c->size[alloc]);
	if (d->role[c->op[alloc]] == LIVE_ALLOC)
		block_ends(t, d, alloc, row);
	else if (kind == GMS_K_SEGMENT && d->level == GMS_FRAMEWORK)
		lower(&d->amount[TOTAL_RESERVED], c->size[alloc]);
}

/* Blocks that end because this row takes their address; they may be another device's. */
static void end_replaced(struct totals *t, size_t row)
{
	while (t->at_replaced < t->n_replaced && t->replaced[t->at_replaced].by <= row) {
		uint32_t old = t->replaced[t->at_replaced++].old;

		life_ends(t, t->device[t->m->ev.device[old]], old, row);
	}
}

static inline void on_alloc(struct totals *t, struct device_totals *d, size_t row)
{
	const struct columns *c = &t->m->ev;
	enum gms_kind kind = GMS_OP_KIND(c->op[row]);
	struct kind_total *k = &d->kind[kind];

	if (t->n_replaced)
		end_replaced(t, row);
	k->allocs++;
	k->alloc_bytes += c->size[row];
	kind_raise(k, c->size[row]);
	if (d->role[c->op[row]] == LIVE_ALLOC)
		block_begins(t, d, row);
	else if (kind == GMS_K_SEGMENT && d->level == GMS_FRAMEWORK)
		raise(&d->amount[TOTAL_RESERVED], c->size[row], row);
}

static bool frees_memory(const struct device_totals *d, uint8_t op)
{
	const struct gms_kind_info *info = &gms_kind_info[GMS_OP_KIND(op)];

	return d->role[op] == LIVE_FREE && info->space == GMS_VA;
}

static inline void on_free(struct totals *t, struct device_totals *d, size_t row)
{
	const struct columns *c = &t->m->ev;
	uint32_t alloc = c->peer[row];

	if ((alloc == MODEL_NO_PEER || alloc < t->m->n_initial) && frees_memory(d, c->op[row]))
		d->unmatched_frees++;
	if (alloc == MODEL_NO_PEER)
		return;
	d = t->device[c->device[alloc]];
	d->kind[GMS_OP_KIND(c->op[alloc])].frees++;
	if (c->peer[alloc] == row)
		life_ends(t, d, alloc, row);
}

static void on_free_requested(struct totals *t, struct device_totals *d, size_t row)
{
	uint32_t alloc = t->m->ev.peer[row];

	if (alloc == MODEL_NO_PEER)
		return;
	if (t->m->ev.peer[alloc] == row)
		on_free(t, d, row);
	else
		block_given_back(t, d, alloc);
}

static void on_mapping(struct device_totals *d, uint64_t size, bool maps, size_t row)
{
	struct kind_total *k = &d->kind[GMS_K_SEGMENT];

	if (maps) {
		k->allocs++;
		k->alloc_bytes += size;
		kind_raise(k, size);
	} else {
		k->frees++;
		k->now = less(k->now, size);
	}
	if (d->level != GMS_FRAMEWORK)
		return;
	if (maps)
		raise(&d->amount[TOTAL_RESERVED], size, row);
	else
		lower(&d->amount[TOTAL_RESERVED], size);
}

static void on_pool_sample(struct totals *t, struct device_totals *d, size_t row)
{
	size_t pool = t->m->ev.pool[row];

	pool_becomes(t, d, pool, (struct pool_total){t->m->ev.size[row], t->pools[pool].used}, row);
}

static void on_graph_sample(struct device_totals *d, uint64_t reserved, size_t row)
{
	struct kind_total *k = &d->kind[GMS_K_GRAPH];

	if (d->level == GMS_DRIVER) {
		lower(&d->amount[TOTAL_RESERVED], k->now);
		raise(&d->amount[TOTAL_RESERVED], reserved, row);
	}
	k->now = 0;
	kind_raise(k, reserved);
}

static void on_memory_sample(struct device_totals *d, uint64_t free_bytes, uint64_t total)
{
	uint64_t used = less(total, free_bytes);

	d->total = total;
	if (d->used_peak == MODEL_UNKNOWN && !d->amount[TOTAL_REQUESTED].peak)
		d->used_start = used; /* a later one is not how it was at the start */
	if (d->used_peak == MODEL_UNKNOWN || used > d->used_peak)
		d->used_peak = used;
	d->used_end = used;
}

static void on_checksum(struct device_totals *d, uint64_t recorded, size_t row)
{
	uint64_t ours = totals_now(d, TOTAL_ACTIVE);

	if (ours == MODEL_UNKNOWN)
		return;
	d->checksums++;
	if (ours == recorded || d->checksums_wrong++)
		return;
	d->first_wrong = row;
	d->wrong_recorded = recorded;
	d->wrong_ours = ours;
}

/* The common rows of plain devices, without a branch that depends on whether the row allocates or
 * frees: in a busy program nothing predicts that, and a wrong guess costs more than all the rest. False:
 * this row is not of that sort. */
static inline bool step_plain(struct totals *t, struct device_totals *d, size_t row, uint8_t op)
{
	const struct columns *c = &t->m->ev;
	uint64_t frees = d->role[op] == LIVE_FREE, minus = 0 - frees; /* all ones for a free */
	uint64_t alloc = row ^ ((row ^ c->peer[row]) & minus), size;
	struct kind_total *k;

	if (d->role[op] == LIVE_NONE || alloc == MODEL_NO_PEER || d->role[c->op[alloc]] != LIVE_ALLOC ||
	    (frees & (c->peer[alloc] != row)))
		return false;
	size = c->size[alloc];
	k = &d->kind[GMS_OP_KIND(c->op[alloc])];
	k->allocs += 1 - frees;
	k->frees += frees;
	k->alloc_bytes += size & ~minus;
	k->now += (size ^ minus) + frees; /* size, or its negative */
	d->amount[TOTAL_REQUESTED].now += (size ^ minus) + frees;
	d->live_blocks += (1 ^ minus) + frees;
	d->unmatched_frees += frees & (alloc < t->m->n_initial);
	if (k->now > k->peak)
		k->peak = k->now;
	if (d->amount[TOTAL_REQUESTED].now > d->amount[TOTAL_REQUESTED].peak)
		raise(&d->amount[TOTAL_REQUESTED], 0, row);
	return true;
}

void totals_step(struct totals *t, size_t row)
{
	const struct columns *c = &t->m->ev;
	struct device_totals *d = t->device[c->device[row]];
	uint8_t op = c->op[row];

	d->events++;
	d->ops[op]++;
	if (d->plain && !t->n_replaced && step_plain(t, d, row, op))
		return;
	switch (t->effect[op]) {
	case EFFECT_ALLOC:
		on_alloc(t, d, row);
		break;
	case EFFECT_FREE:
		on_free(t, d, row);
		break;
	case EFFECT_REQUEST:
		on_free_requested(t, d, row);
		break;
	case EFFECT_FAIL:
		d->kind[GMS_OP_KIND(op)].failed++;
		break;
	case EFFECT_MAP:
	case EFFECT_UNMAP:
		on_mapping(d, c->size[row], t->effect[op] == EFFECT_MAP, row);
		break;
	case EFFECT_POOL:
		on_pool_sample(t, d, row);
		break;
	case EFFECT_GRAPH:
		on_graph_sample(d, c->size[row], row);
		break;
	case EFFECT_MEMORY:
		on_memory_sample(d, c->addr[row], c->size[row]);
		break;
	case EFFECT_CHECKSUM:
		on_checksum(d, c->size[row], row);
		break;
	default:
		break;
	}
}

uint64_t totals_now(const struct device_totals *d, enum total which)
{
	bool unknown = which == TOTAL_RESERVED
	                   ? (d->level == GMS_FRAMEWORK ? !d->segments : d->async && !d->pool_sampled)
	                   : which != TOTAL_REQUESTED && d->unknown_blocks;

	return unknown ? MODEL_UNKNOWN : d->amount[d->plain ? TOTAL_REQUESTED : which].now;
}

/* Blocks that the program had given back before the window, though other streams still used them. */
static void give_back_waiting(struct totals *t)
{
	uint32_t *waiting;
	size_t n = live_waiting(t->m, &waiting), i;

	for (i = 0; i < n; i++)
		block_given_back(t, t->device[t->m->ev.device[waiting[i]]], waiting[i]);
	free(waiting);
}

/* What the initial rows built up is the start of the window; only what follows is counted. */
void totals_window_begins(struct totals *t)
{
	unsigned dev, kind, which;

	give_back_waiting(t);
	for (dev = 0; dev < 256; dev++) {
		struct device_totals *d = t->device[dev];

		if (!d)
			continue;
		d->events = 0;
		d->was_unknown = d->unknown_blocks;
		for (which = 0; which < TOTALS; which++) {
			d->peak_unknown[which] = d->unknown_blocks;
			d->most[which] = d->unknown_blocks ? d->amount[which].now + d->unknown_most : 0;
		}
		memset(d->ops, 0, sizeof d->ops);
		for (kind = 0; kind < GMS_KINDS; kind++)
			d->kind[kind] =
			    (struct kind_total){.now = d->kind[kind].now, .peak = d->kind[kind].now};
		for (which = 0; which < TOTALS; which++) {
			struct amount *a = &d->amount[which];

			a->start = totals_now(d, which);
			a->peak = a->now;
			a->peak_row = t->m->n_initial - 1;
		}
	}
}

static void device_ends(const struct model *m, struct device_totals *d, uint64_t slack_most)
{
	unsigned kind, which;

	for (which = 0; d->plain && which < TOTALS; which++)
		d->amount[which] = d->amount[TOTAL_REQUESTED];
	for (which = 0; which < TOTALS; which++) {
		struct amount *a = &d->amount[which];
		bool blocks = which == TOTAL_ALLOCATED || which == TOTAL_ACTIVE;

		a->end = totals_now(d, which);
		if (m->history == HISTORY_NONE || (blocks && !peak_certain(d, which, slack_most)) ||
		    (which == TOTAL_RESERVED && a->end == MODEL_UNKNOWN))
			a->peak = MODEL_UNKNOWN;
	}
	d->pending = d->unknown_blocks ? MODEL_UNKNOWN
	                               : less(d->amount[TOTAL_ACTIVE].now, d->amount[TOTAL_ALLOCATED].now);
	for (kind = 0; kind < GMS_KINDS; kind++) {
		d->kind[kind].end = d->kind[kind].now;
		if (m->history == HISTORY_NONE)
			d->kind[kind].peak = MODEL_UNKNOWN;
	}
}

void totals_end(struct totals *t)
{
	unsigned dev;

	for (dev = 0; dev < 256; dev++)
		if (t->device[dev])
			device_ends(t->m, t->device[dev], t->m->device[dev].slack_most);
	free(t->given_back);
	free(t->pools);
	free(t->replaced);
	t->given_back = NULL;
	t->pools = NULL;
	t->replaced = NULL;
}

static void run(struct totals *t, size_t from, size_t to)
{
	size_t row;

	for (row = from; row < to; row++)
		totals_step(t, row);
}

void totals_all(struct totals *t, const struct model *m)
{
	totals_begin(t, m);
	run(t, 0, m->n_initial);
	totals_window_begins(t);
	run(t, m->n_initial, m->ev.n);
	totals_end(t);
}

void totals_free(struct totals *t)
{
	unsigned dev;

	for (dev = 0; dev < 256; dev++) {
		if (t->device[dev])
			free(t->device[dev]->profile);
		free(t->device[dev]);
	}
	*t = (struct totals){0};
}

int64_t totals_event(const struct model *m, uint8_t device, size_t row)
{
	int64_t n = -1;
	size_t i;

	for (i = m->n_initial; row != SIZE_MAX && i <= row && i < m->ev.n; i++)
		n += m->ev.device[i] == device;
	return n;
}
