/* live.c: the blocks that are live at one instant, and the walk over all changes of that set.
 *
 * Lives are read off the peer column alone: a block lives from its alloc row up to, but not
 * including, the row that ends it. No table of addresses is needed.
 */
#include "analyze/live.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

enum gms_level live_level(const struct model *m, uint8_t device)
{
	return m->device[device].blocks ? GMS_FRAMEWORK : GMS_DRIVER;
}

void live_roles(enum gms_level level, uint8_t role[256])
{
	unsigned kind;

	memset(role, LIVE_NONE, 256);
	for (kind = 0; kind < GMS_KINDS; kind++) {
		const struct gms_kind_info *info = &gms_kind_info[kind];
		bool counts = level == GMS_FRAMEWORK
		                  ? kind == GMS_K_BLOCK
		                  : info->level == GMS_DRIVER && info->flags & GMS_ON_DEVICE;

		if (counts)
			role[GMS_OP(kind, GMS_A_ALLOC)] = LIVE_ALLOC;
		/* A driver's free may name another kind than the alloc it ends, so the alloc decides. */
		if (info->level == level) {
			role[GMS_OP(kind, GMS_A_FREE)] = LIVE_FREE;
			role[GMS_OP(kind, GMS_A_FREE_REQUESTED)] = LIVE_FREE;
		}
	}
}

/* The alloc row again, if its block counts for the device, else MODEL_NO_PEER. */
static inline uint32_t counted(const struct columns *c, uint32_t alloc, uint8_t device,
                               const uint8_t role[256])
{
	return c->device[alloc] == device && role[c->op[alloc]] == LIVE_ALLOC ? alloc : MODEL_NO_PEER;
}

/* The alloc row that the free at row ends, if that block counted for the device. */
static inline uint32_t ended_by(const struct columns *c, size_t row, uint8_t device, const uint8_t role[256])
{
	uint32_t alloc = c->peer[row];

	if (alloc == MODEL_NO_PEER || c->peer[alloc] != row)
		return MODEL_NO_PEER;
	return counted(c, alloc, device, role);
}

int live_sign(const struct model *m, size_t row, uint8_t device, enum gms_level level)
{
	uint8_t role[256];

	live_roles(level, role);
	switch (role[m->ev.op[row]]) {
	case LIVE_ALLOC:
		return m->ev.device[row] == device;
	case LIVE_FREE:
		return -(ended_by(&m->ev, row, device, role) != MODEL_NO_PEER);
	default:
		return 0;
	}
}

static int by_row(const void *a, const void *b)
{
	const struct replaced *x = a, *y = b;

	return x->by < y->by ? -1 : x->by > y->by;
}

struct replaced *live_replaced(const struct model *m, size_t *n)
{
	const struct columns *c = &m->ev;
	struct replaced *list = NULL;
	size_t row, cap = 0;

	*n = 0;
	for (row = 0; m->anomalies.alloc_live && row < c->n; row++) {
		uint32_t end = c->peer[row];

		if (GMS_OP_ACTION(c->op[row]) == GMS_A_ALLOC && end != MODEL_NO_PEER &&
		    GMS_OP_ACTION(c->op[end]) == GMS_A_ALLOC)
			*VEC_PUSH(list, *n, cap) = (struct replaced){end, (uint32_t)row};
	}
	if (*n)
		qsort(list, *n, sizeof *list, by_row);
	return list;
}

void live_begin(struct live_walk *w, const struct model *m, uint8_t device)
{
	*w = (struct live_walk){.m = m, .device = device};
	live_roles(live_level(m, device), w->role);
	w->replaced = live_replaced(m, &w->n_replaced);
}

bool live_next(struct live_walk *w)
{
	const struct columns *c = &w->m->ev;

	while (w->next < c->n) {
		size_t row = w->next++;
		uint8_t role = w->role[c->op[row]];

		w->begins = w->ends = MODEL_NO_PEER;
		if (role == LIVE_ALLOC && c->device[row] == w->device)
			w->begins = (uint32_t)row;
		else if (role == LIVE_FREE)
			w->ends = ended_by(c, row, w->device, w->role);
		if (w->at_replaced < w->n_replaced && w->replaced[w->at_replaced].by == row)
			w->ends = counted(c, w->replaced[w->at_replaced++].old, w->device, w->role);
		if (w->begins == MODEL_NO_PEER && w->ends == MODEL_NO_PEER)
			continue;
		w->row = row;
		return true;
	}
	return false;
}

void live_end(struct live_walk *w)
{
	free(w->replaced);
	w->replaced = NULL;
}

size_t live_peak_row(const struct model *m, uint8_t device)
{
	struct live_walk w;
	uint64_t now = 0, peak = 0;
	size_t at = m->n_initial - 1;

	for (live_begin(&w, m, device); live_next(&w);) {
		if (w.ends != MODEL_NO_PEER)
			now -= m->ev.size[w.ends];
		if (w.begins != MODEL_NO_PEER)
			now += m->ev.size[w.begins];
		if (now > peak) {
			peak = now;
			if (w.row >= m->n_initial)
				at = w.row;
		} else if (w.row < m->n_initial) {
			peak = now;
		}
	}
	live_end(&w);
	return at;
}

static int largest_first(const void *a, const void *b)
{
	const struct live_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void add_block(struct live *l, struct live_row *row, uint64_t bytes, int64_t t_ns)
{
	if (!row->count || t_ns < row->first_t_ns)
		row->first_t_ns = t_ns;
	if (!row->count || t_ns > row->last_t_ns)
		row->last_t_ns = t_ns;
	row->bytes += bytes;
	row->count++;
	l->bytes += bytes;
	l->count++;
}

/* By stack: blocks of rows from ≤ row < to whose end is not before row `until`. */
static void collect(const struct model *m, uint8_t device, const uint8_t role[256], size_t from, size_t to,
                    size_t until, struct live *out)
{
	const struct columns *c = &m->ev;
	uint32_t *place = mem_zalloc(m->stacks.n, sizeof *place); /* of a stack in out->rows, plus one */
	size_t cap = 0, i;

	*out = (struct live){0};
	for (i = from; i < to; i++) {
		uint32_t stack;

		/* The peer first: most blocks are gone, and a free's own peer lies before it. */
		if (c->peer[i] < until || role[c->op[i]] != LIVE_ALLOC || c->device[i] != device)
			continue;
		stack = c->stack[i];
		if (!place[stack]) {
			*VEC_PUSH(out->rows, out->n, cap) = (struct live_row){.stack = stack};
			place[stack] = (uint32_t)out->n;
		}
		add_block(out, &out->rows[place[stack] - 1], c->size[i], c->t_ns[i]);
	}
	free(place);
	if (out->n)
		qsort(out->rows, out->n, sizeof *out->rows, largest_first);
}

void live_at(const struct model *m, uint8_t device, size_t row, struct live *out)
{
	size_t n = row < m->ev.n ? row + 1 : row == SIZE_MAX ? 0 : m->ev.n;
	uint8_t role[256];

	live_roles(live_level(m, device), role);
	collect(m, device, role, 0, n, n, out);
}

void live_kept(const struct model *m, uint8_t device, size_t from, size_t to, struct live *out)
{
	uint8_t role[256];

	live_roles(live_level(m, device), role);
	collect(m, device, role, from, to < m->ev.n ? to : m->ev.n, m->ev.n, out);
}

void live_kind_at_end(const struct model *m, uint8_t device, enum gms_kind kind, struct live *out)
{
	uint8_t role[256] = {0};

	role[GMS_OP(kind, GMS_A_ALLOC)] = LIVE_ALLOC;
	collect(m, device, role, 0, m->ev.n, m->ev.n, out);
}

void live_free(struct live *l)
{
	free(l->rows);
	*l = (struct live){0};
}

/* Addresses of blocks that wait at the end. */
static void waiting_at_end(const struct model *m, struct map64 *wait)
{
	size_t i, k;
	bool fresh;

	for (i = 0; i < m->n_segments; i++)
		for (k = 0; k < m->segments[i].n_blocks; k++)
			if (m->blocks[m->segments[i].first_block + k].state == BLOCK_PENDING)
				map64_put(wait, m->blocks[m->segments[i].first_block + k].addr, &fresh);
}

size_t live_waiting(const struct model *m, uint32_t **rows)
{
	const struct columns *c = &m->ev;
	struct map64 wait = {0};
	bool *asked, any = false;
	size_t row, n = 0;

	*rows = NULL;
	if (!m->n_initial)
		return 0;
	asked = mem_zalloc(m->n_initial, sizeof *asked);
	for (row = m->n_initial; row < c->n; row++)
		if (c->op[row] == GMS_OP(GMS_K_BLOCK, GMS_A_FREE_REQUESTED)) {
			any = true;
			if (c->peer[row] < m->n_initial)
				asked[c->peer[row]] = true;
		}
	waiting_at_end(m, &wait);
	*rows = mem_alloc(m->n_initial * sizeof **rows);
	for (row = 0; row < m->n_initial; row++) {
		uint32_t end = c->peer[row];

		if (c->op[row] != GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC) || asked[row])
			continue;
		if (end == MODEL_NO_PEER ? map64_find(&wait, c->addr[row]) != NULL
		                         : any && c->op[end] == GMS_OP(GMS_K_BLOCK, GMS_A_FREE))
			(*rows)[n++] = (uint32_t)row;
	}
	map64_free(&wait);
	free(asked);
	return n;
}
