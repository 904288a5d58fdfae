/* torch_state.c: what was there before the first event of a PyTorch trace.
 *
 * The file has the state at the end. What is in it and was not made by an event was there before;
 * so was what an event ends that no event began. Blocks and segments are matched one by one, by address.
 * Expandable segments are ranges that maps and unmaps cut and join, so they are counted per address:
 * covered at the end − covered by maps + by unmaps = covered at the start.
 * Pinned host memory is one more device here, with blocks of a kind of its own.
 */
#include "base/mem.h"
#include "format/torch.h"
#include "model/blocks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rows to be put first, and what is needed to find them. */
struct undo {
	struct model *m;
	uint8_t device, block; /* its kind of block */
	char where[24];        /* for notes */
	struct event *rows;
	size_t n, cap;
	struct map64 live;      /* address → row of its alloc */
	struct map64 ended;     /* addresses freed that no event allocated; all freed if none is completed */
	bool inconsistent;      /* said so */
	bool completes;         /* the trace has free_completed entries */
	size_t n_same, n_other; /* frees whose stack is, or is not, that of their alloc */
};

static void at_device(struct undo *u, uint8_t device)
{
	bool host = device == MODEL_NO_DEVICE;

	*u = (struct undo){.m = u->m,
	                   .device = device,
	                   .block = host ? GMS_K_HOST_BLOCK : GMS_K_BLOCK,
	                   .rows = u->rows,
	                   .n = u->n,
	                   .cap = u->cap};
	if (host)
		strcpy(u->where, "pinned host memory");
	else
		snprintf(u->where, sizeof u->where, "device %u", device);
}

static void add(struct undo *u, uint8_t kind, struct event ev)
{
	ev.op = GMS_OP(kind, GMS_A_ALLOC);
	ev.device = u->device;
	*VEC_PUSH(u->rows, u->n, u->cap) = ev;
}

/* --- segments -------------------------------------------------------------------------- */

struct edge {
	uint64_t at;
	int32_t step; /* coverage behind this address, compared with before it */
	bool begins;  /* the place where its range begins, not where it ends */
	uint16_t stream, pool;
	uint32_t stack;
};
struct edges {
	struct edge *v;
	size_t n, cap;
};

static void add_range(struct edges *e, uint64_t addr, uint64_t size, struct edge edge)
{
	if (!size || addr + size < addr)
		return;
	edge.at = addr;
	edge.begins = true;
	*VEC_PUSH(e->v, e->n, e->cap) = edge;
	edge.at = addr + size;
	edge.begins = false;
	edge.step = -edge.step;
	*VEC_PUSH(e->v, e->n, e->cap) = edge;
}

static int by_place(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void collect_ranges(const struct undo *u, struct edges *e)
{
	const struct model *m = u->m;
	const struct columns *c = &m->ev;
	size_t i;

	for (i = 0; i < m->n_segments; i++) {
		const struct final_segment *s = &m->segments[i];

		if (s->device == u->device && s->expandable)
			add_range(e, s->addr, s->size,
			          (struct edge){
			              .step = 1, .stream = s->stream, .pool = s->pool, .stack = s->stack});
	}
	for (i = 0; i < c->n; i++) {
		bool map = c->op[i] == GMS_OP(GMS_K_SEGMENT, GMS_A_MAP);

		if (c->device[i] == u->device && (map || c->op[i] == GMS_OP(GMS_K_SEGMENT, GMS_A_UNMAP)))
			add_range(
			    e, c->addr[i], c->size[i],
			    (struct edge){.step = map ? -1 : 1, .stream = c->stream[i], .pool = c->pool[i]});
	}
	if (e->n)
		qsort(e->v, e->n, sizeof *e->v, by_place);
}

/* How well an edge tells whose memory begins here: the neighbour that ends here knows least. */
static int knows(const struct edge *e)
{
	return e->step > 0 ? 1 + e->begins : 0;
}

static void say_inconsistent(struct undo *u, uint64_t addr, bool twice)
{
	if (!u->inconsistent)
		model_note(u->m, NOTE_INCONSISTENT,
		           "%s: the segment events do not lead to the segments at the end (first at "
		           "0x%llx): %s",
		           u->where, (unsigned long long)addr,
		           twice ? "a range is got twice" : "a range was got that is not there");
	u->inconsistent = true;
}

static void undo_ranges(struct undo *u)
{
	struct edges e = {0};
	const struct edge *from = NULL, *source;
	int64_t covered = 0;
	size_t i, j;

	collect_ranges(u, &e);
	for (i = 0; i < e.n; i = j) {
		int64_t before = covered;

		source = &e.v[i];
		for (j = i; j < e.n && e.v[j].at == e.v[i].at; j++) {
			covered += e.v[j].step;
			if (knows(&e.v[j]) > knows(source))
				source = &e.v[j];
		}
		if (from && covered <= 0) {
			add(u, GMS_K_SEGMENT,
			    (struct event){.addr = from->at,
			                   .size = e.v[i].at - from->at,
			                   .block = MODEL_UNKNOWN,
			                   .stack = from->stack,
			                   .stream = from->stream,
			                   .pool = from->pool});
			from = NULL;
		}
		if (covered > 0 && (!from || before <= 0))
			from = source;
		if (covered < 0 || covered > 1)
			say_inconsistent(u, e.v[i].at, covered > 1);
	}
	free(e.v);
}

/* Segments that events give back but none got. */
static void undo_given_back(struct undo *u)
{
	const struct columns *c = &u->m->ev;
	uint32_t alloc;
	size_t row;
	bool fresh;

	for (row = 0; row < c->n; row++) {
		if (c->device[row] != u->device)
			continue;
		if (c->op[row] == GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC)) {
			*map64_put(&u->live, c->addr[row], &fresh) = (uint32_t)row;
			if (!fresh)
				say_inconsistent(u, c->addr[row], true);
		} else if (c->op[row] == GMS_OP(GMS_K_SEGMENT, GMS_A_FREE) && c->size[row] &&
		           !map64_take(&u->live, c->addr[row], &alloc)) {
			add(u, GMS_K_SEGMENT,
			    (struct event){.addr = c->addr[row],
			                   .size = c->size[row],
			                   .block = MODEL_UNKNOWN,
			                   .stream = c->stream[row],
			                   .pool = c->pool[row]});
		}
	}
}

static int by_row_address(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void undo_segments(struct undo *u)
{
	const struct model *m = u->m;
	size_t first = u->n, i;
	uint32_t alloc;

	undo_given_back(u);
	for (i = 0; i < m->n_segments; i++) {
		const struct final_segment *s = &m->segments[i];

		if (s->device != u->device || s->expandable || !s->size)
			continue;
		if (map64_take(&u->live, s->addr, &alloc)) {
			if (m->ev.size[alloc] != s->size)
				say_inconsistent(u, s->addr, m->ev.size[alloc] < s->size);
			continue;
		}
		add(u, GMS_K_SEGMENT,
		    (struct event){.addr = s->addr,
		                   .size = s->size,
		                   .block = MODEL_UNKNOWN,
		                   .stack = s->stack,
		                   .stream = s->stream,
		                   .pool = s->pool});
	}
	for (i = 0; u->live.n && i < m->ev.n; i++)
		if (m->ev.op[i] == GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC) && m->ev.device[i] == u->device &&
		    map64_take(&u->live, m->ev.addr[i], &alloc))
			say_inconsistent(u, m->ev.addr[i], false);
	map64_free(&u->live);
	undo_ranges(u);
	if (u->n > first)
		qsort(u->rows + first, u->n - first, sizeof *u->rows, by_row_address);
}

/* --- blocks ---------------------------------------------------------------------------- */

static void undo_free(struct undo *u, size_t row)
{
	const struct columns *c = &u->m->ev;
	uint32_t alloc;
	bool fresh;

	if (map64_take(&u->live, c->addr[row], &alloc)) {
		if (c->stack[row] && c->stack[alloc])
			*(c->stack[row] == c->stack[alloc] ? &u->n_same : &u->n_other) += 1;
		if (!u->completes)
			map64_put(&u->ended, c->addr[row], &fresh);
		return;
	}
	*map64_put(&u->ended, c->addr[row], &fresh) = 0;
	if (fresh && c->addr[row])
		add(u, u->block,
		    (struct event){.addr = c->addr[row],
		                   .size = c->size[row],
		                   .block = MODEL_UNKNOWN,
		                   .stack = c->stack[row],
		                   .stream = c->stream[row],
		                   .pool = c->pool[row]});
}

/* Blocks that events end but none began. Their stack is the free's only if frees carry the stack of
 * their allocation (recorded with less than context="all"). */
static void undo_frees(struct undo *u)
{
	const struct columns *c = &u->m->ev;
	size_t first = u->n, row, i;
	bool fresh;

	for (row = 0; row < c->n && !u->completes; row++)
		u->completes = c->op[row] == GMS_OP(u->block, GMS_A_FREE) && c->device[row] == u->device;
	for (row = 0; row < c->n; row++) {
		uint8_t op = c->op[row];

		if (c->device[row] != u->device)
			continue;
		if (op == GMS_OP(u->block, GMS_A_ALLOC))
			*map64_put(&u->live, c->addr[row], &fresh) = (uint32_t)row;
		else if (op == GMS_OP(u->block, u->completes ? GMS_A_FREE : GMS_A_FREE_REQUESTED))
			undo_free(u, row);
	}
	for (i = first; i < u->n; i++)
		if (u->n_other || !u->n_same)
			u->rows[i].stack = 0;
}

/* Blocks live at the end that no event began; the others leave u->live. */
static void undo_final(struct undo *u)
{
	const struct model *m = u->m;
	size_t i, k;
	uint32_t alloc;

	for (i = 0; i < m->n_segments; i++) {
		const struct final_segment *s = &m->segments[i];

		for (k = 0; s->device == u->device && k < s->n_blocks; k++) {
			const struct final_block *b = &m->blocks[s->first_block + k];

			if (b->state == BLOCK_INACTIVE || map64_take(&u->live, b->addr, &alloc) ||
			    (b->state == BLOCK_PENDING && !u->completes && map64_find(&u->ended, b->addr)))
				continue;
			add(u, u->block,
			    (struct event){.addr = b->addr,
			                   .size = b->requested,
			                   .block = b->size,
			                   .stack = b->stack,
			                   .stream = s->stream,
			                   .pool = s->pool});
		}
	}
}

static bool has_segments(const struct model *m, bool host)
{
	for (size_t i = 0; i < m->n_segments; i++)
		if ((m->segments[i].device == MODEL_NO_DEVICE) == host)
			return true;
	return false;
}

/* Blocks that the events leave live and the final state does not have. */
static void judge_lost(struct undo *u)
{
	struct model *m = u->m;
	bool frees = false;
	size_t row;

	for (row = 0; row < m->ev.n && !frees; row++)
		frees = GMS_OP_KIND(m->ev.op[row]) == u->block && m->ev.device[row] == u->device &&
		        (GMS_OP_ACTION(m->ev.op[row]) == GMS_A_FREE ||
		         GMS_OP_ACTION(m->ev.op[row]) == GMS_A_FREE_REQUESTED);
	if (!u->live.n || !has_segments(m, u->device == MODEL_NO_DEVICE))
		return;
	if (!frees) {
		m->frees_left_out = true;
		model_note(m, NOTE_WARNING,
		           "%s: %zu block%s gone at the end but no free was recorded: frees were "
		           "left out of the recording",
		           u->where, u->live.n, u->live.n == 1 ? " is" : "s are");
		return;
	}
	model_note(m, NOTE_INCONSISTENT,
	           "%s: %zu block%s that the events leave live %s not in the state at the end", u->where, u->live.n,
	           u->live.n == 1 ? "" : "s", u->live.n == 1 ? "is" : "are");
}

static void undo_blocks(struct undo *u, bool has_segments)
{
	undo_frees(u);
	undo_final(u);
	if (has_segments)
		judge_lost(u);
	map64_free(&u->live);
	map64_free(&u->ended);
}

static bool has_final_state(const struct torch *t, unsigned device)
{
	return device == MODEL_NO_DEVICE ? t->has_host_segments : t->has_segments;
}

void torch_undo(struct torch *t)
{
	struct model *m = t->m;
	struct undo u = {.m = m};
	bool present[256] = {false};
	size_t i;
	unsigned d;

	for (i = 0; i < m->ev.n; i++)
		present[m->ev.device[i]] = true;
	for (i = 0; i < m->n_segments; i++)
		present[m->segments[i].device] = true;
	for (d = 0; d <= MODEL_NO_DEVICE; d++) {
		at_device(&u, (uint8_t)d);
		if (present[d] && has_final_state(t, d))
			undo_segments(&u);
	}
	/* Without segments before there were no blocks either, as the replay will confirm. */
	if (!u.n && blocks_recover(m, false))
		return;
	for (d = 0; d <= MODEL_NO_DEVICE; d++) {
		at_device(&u, (uint8_t)d);
		if (present[d])
			undo_blocks(&u, has_final_state(t, d));
	}
	if (u.n)
		model_prepend_initial(m, u.rows, u.n);
	free(u.rows);
	blocks_recover(m, true);
}
