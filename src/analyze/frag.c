/* frag.c: all addresses of the recording, sorted, under a tree that knows the longest free run.
 *
 * Every address at which something begins or ends is a border. Between two borders lies a piece
 * that is free, used or not mapped at any time as a whole; at a border stands a wall of no width
 * while a segment that never merges begins or ends there. Pieces and walls are the leaves. A node
 * holds the free bytes below it and its longest free run, at its left end, at its right end and
 * anywhere; an event sets a range of leaves, which touches two paths of the tree.
 */
#include "analyze/frag.h"
#include "analyze/live.h"
#include "base/mem.h"
#include "base/sorted.h"
#include <stdlib.h>

enum state { MIXED, TAKEN, FREE }; /* TAKEN: used, not mapped, or a standing wall */

struct node {
	uint64_t size, free;        /* bytes of the leaves below; of the free ones */
	uint64_t left, right, best; /* longest free run at the left end, at the right end, anywhere */
	uint8_t state; /* of all leaves below; where it is not MIXED, they need not know it yet */
};

struct replay {
	const struct model *m;
	uint8_t device;
	uint64_t *border;
	size_t n;          /* borders */
	size_t leaves;     /* a power of two; leaf 2i: the wall at border i, 2i + 1: the piece behind it */
	struct node *node; /* 1 is the root, leaf k is leaves + k */
	uint32_t *walls;   /* segments that begin or end at a border */
	uint64_t reserved, used;
	struct frag *out;
};

static bool concerns(const struct replay *r, size_t row)
{
	enum gms_kind kind = GMS_OP_KIND(r->m->ev.op[row]);

	return r->m->ev.device[row] == r->device && (kind == GMS_K_BLOCK || kind == GMS_K_SEGMENT);
}

static uint64_t bytes_of(const struct replay *r, size_t row)
{
	uint64_t block;

	if (GMS_OP_KIND(r->m->ev.op[row]) == GMS_K_SEGMENT)
		return r->m->ev.size[row];
	block = model_block_size(r->m, row);
	return block == MODEL_UNKNOWN ? (r->m->ev.size[row] + 511) / 512 * 512 : block;
}

/* The addresses where blocks, segments and mappings begin and end. */
static void find_borders(struct replay *r)
{
	const struct columns *c = &r->m->ev;
	size_t row, cap = 0;

	for (row = 0; row < c->n; row++) {
		enum gms_action a = GMS_OP_ACTION(c->op[row]);

		if (!concerns(r, row) || (a != GMS_A_ALLOC && a != GMS_A_MAP && a != GMS_A_UNMAP))
			continue;
		*VEC_PUSH(r->border, r->n, cap) = c->addr[row];
		*VEC_PUSH(r->border, r->n, cap) = c->addr[row] + bytes_of(r, row);
	}
	r->n = sorted_make(r->border, r->n);
}

static size_t index_of(const struct replay *r, uint64_t addr)
{
	return sorted_find(r->border, r->n, addr);
}

/* Nothing is mapped and no wall stands. */
static void build(struct replay *r)
{
	size_t i;

	for (r->leaves = 2; r->leaves < 2 * r->n; r->leaves *= 2)
		;
	r->node = mem_zalloc(2 * r->leaves, sizeof *r->node);
	r->walls = mem_zalloc(r->n, sizeof *r->walls);
	for (i = 0; i < r->leaves; i++) {
		r->node[r->leaves + i].state = i % 2 && i / 2 + 1 < r->n ? TAKEN : FREE;
		if (i % 2 && i / 2 + 1 < r->n)
			r->node[r->leaves + i].size = r->border[i / 2 + 1] - r->border[i / 2];
	}
	for (i = r->leaves; i-- > 1;)
		r->node[i].size = r->node[2 * i].size + r->node[2 * i + 1].size;
}

static void become(struct node *n, enum state state)
{
	n->state = (uint8_t)state;
	n->free = n->left = n->right = n->best = state == FREE ? n->size : 0;
}

static void combine(struct node *n, const struct node *a, const struct node *b)
{
	uint64_t across = a->right + b->left;

	n->state = a->state == b->state ? a->state : MIXED;
	n->free = a->free + b->free;
	n->left = a->state == FREE ? a->size + b->left : a->left;
	n->right = b->state == FREE ? b->size + a->right : b->right;
	n->best = a->best > b->best ? a->best : b->best;
	n->best = across > n->best ? across : n->best;
}

/* Set leaves from ≤ leaf < to; node i covers lo ≤ leaf < hi. */
static void set(struct replay *r, size_t i, size_t lo, size_t hi, size_t from, size_t to, enum state state)
{
	struct node *n = &r->node[i];
	size_t mid = (lo + hi) / 2;

	if (to <= lo || hi <= from || n->state == state)
		return;
	if (from <= lo && hi <= to) {
		become(n, state);
		return;
	}
	if (n->state != MIXED) {
		become(&r->node[2 * i], n->state);
		become(&r->node[2 * i + 1], n->state);
	}
	set(r, 2 * i, lo, mid, from, to, state);
	set(r, 2 * i + 1, mid, hi, from, to, state);
	combine(n, &r->node[2 * i], &r->node[2 * i + 1]);
}

/* Everything between two addresses, with the walls inside. */
static void set_range(struct replay *r, uint64_t addr, uint64_t size, enum state state)
{
	size_t from = index_of(r, addr), to = index_of(r, addr + size);

	if (from < to)
		set(r, 1, 0, r->leaves, 2 * from + 1, 2 * to, state);
}

static void wall(struct replay *r, uint64_t addr, int by)
{
	size_t i = index_of(r, addr);

	if (i == r->n)
		return;
	r->walls[i] = r->walls[i] + (uint32_t)by;
	set(r, 1, 0, r->leaves, 2 * i, 2 * i + 1, r->walls[i] ? TAKEN : FREE);
}

static void segment_row(struct replay *r, size_t row)
{
	const struct columns *c = &r->m->ev;
	uint64_t addr = c->addr[row], size = c->size[row];
	uint32_t peer = c->peer[row];

	switch (GMS_OP_ACTION(c->op[row])) {
	case GMS_A_ALLOC:
	case GMS_A_MAP:
		set_range(r, addr, size, FREE);
		r->reserved += size;
		break;
	case GMS_A_UNMAP:
		set_range(r, addr, size, TAKEN);
		r->reserved -= size < r->reserved ? size : r->reserved;
		return;
	case GMS_A_FREE:
		if (peer == MODEL_NO_PEER || c->peer[peer] != row)
			return;
		set_range(r, addr, c->size[peer], TAKEN);
		r->reserved -= c->size[peer];
		wall(r, addr, -1);
		wall(r, addr + c->size[peer], -1);
		return;
	default:
		return;
	}
	/* A mapping joins its neighbours: where both were unmapped together, the wall between was taken too.
	 */
	wall(r, addr, GMS_OP_ACTION(c->op[row]) == GMS_A_ALLOC);
	wall(r, addr + size, GMS_OP_ACTION(c->op[row]) == GMS_A_ALLOC);
}

double frag_external(const struct frag_moment *f)
{
	return f->free ? 1.0 - (double)f->largest / (double)f->free : 0;
}

static void note(struct replay *r, size_t row)
{
	const struct node *root = &r->node[1];
	struct frag_moment now = {row, r->reserved, r->used, root->free, root->best};
	size_t n = r->m->ev.n - r->m->n_initial;
	size_t column = (row - r->m->n_initial) * FRAG_COLUMNS / (n ? n : 1);
	float external = (float)frag_external(&now);
	float utilisation = now.reserved ? (float)now.used / (float)now.reserved : 1;

	if (now.free * 16 < now.reserved || !now.reserved)
		external = 0;
	else if (r->out->worst.row == SIZE_MAX || frag_external(&now) > frag_external(&r->out->worst))
		r->out->worst = now;
	if (r->out->idlest.row == SIZE_MAX ||
	    now.reserved - now.used > r->out->idlest.reserved - r->out->idlest.used)
		r->out->idlest = now;
	if (external > r->out->external[column])
		r->out->external[column] = external;
	if (r->out->utilisation[column] < 0 || utilisation < r->out->utilisation[column])
		r->out->utilisation[column] = utilisation;
}

static void replay(struct replay *r)
{
	const struct columns *c = &r->m->ev;
	struct live_walk w;
	size_t row;
	bool more;

	live_begin(&w, r->m, r->device);
	more = live_next(&w);
	for (row = 0; row < c->n; row++) {
		bool changes = more && w.row == row;

		if (changes && w.ends != MODEL_NO_PEER) {
			set_range(r, c->addr[w.ends], bytes_of(r, w.ends), FREE);
			r->used -= bytes_of(r, w.ends);
		}
		if (changes && w.begins != MODEL_NO_PEER) {
			set_range(r, c->addr[row], bytes_of(r, row), TAKEN);
			r->used += bytes_of(r, row);
		}
		if (changes)
			more = live_next(&w);
		else if (concerns(r, row) && GMS_OP_KIND(c->op[row]) == GMS_K_SEGMENT)
			segment_row(r, row);
		else
			continue;
		if (row >= r->m->n_initial)
			note(r, row);
	}
	live_end(&w);
}

void frag_find(const struct model *m, uint8_t device, struct frag *out)
{
	struct replay r = {.m = m, .device = device, .out = out};
	size_t i;

	*out = (struct frag){.worst.row = SIZE_MAX, .idlest.row = SIZE_MAX};
	for (i = 0; i < FRAG_COLUMNS; i++)
		out->external[i] = out->utilisation[i] = -1;
	for (i = 0; i < m->ev.n && !out->known; i++)
		out->known = m->ev.device[i] == device && GMS_OP_KIND(m->ev.op[i]) == GMS_K_SEGMENT;
	if (!out->known || m->history == HISTORY_NONE)
		return;
	find_borders(&r);
	if (r.n > 1) {
		build(&r);
		replay(&r);
	}
	free(r.border);
	free(r.node);
	free(r.walls);
}
