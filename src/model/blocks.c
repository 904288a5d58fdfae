/* blocks.c: see blocks.h. One replay per device of what the addresses tell.
 *
 * At the beginning the used blocks are known by address; a free block lies between them wherever
 * the split rule would have made one. At the end every used block must have the size that the
 * final state says.
 */
#include "model/blocks.h"
#include "base/mem.h"
#include "model/blocks_replay.h"
#include <stdlib.h>
#include <string.h>

/* --- the beginning --------------------------------------------------------------------- */

static int by_addr(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void sort(struct places *p)
{
	if (p->n)
		qsort(p->v, p->n, sizeof *p->v, by_addr);
}

static struct places initial_places(const struct replay *r, enum gms_kind kind)
{
	const struct columns *c = &r->m->ev;
	struct places p = {0};
	size_t row;

	for (row = 0; row < r->m->n_initial; row++)
		if (c->op[row] == GMS_OP(kind, GMS_A_ALLOC) && c->device[row] == r->device)
			*VEC_PUSH(p.v, p.n, p.cap) = (struct place){c->addr[row], row};
	sort(&p);
	return p;
}

static struct places final_places(const struct replay *r)
{
	struct places p = {0};
	size_t i;

	for (i = 0; i < r->m->n_segments; i++)
		if (r->m->segments[i].device == r->device)
			*VEC_PUSH(p.v, p.n, p.cap) = (struct place){r->m->segments[i].addr, i};
	sort(&p);
	return p;
}

/* Is the range from addr on one that can grow and shrink? The final state says so if it still has it. */
static bool can_grow(const struct replay *r, const struct places *final, size_t *at, uint64_t addr)
{
	const struct final_segment *s;

	while (*at + 1 < final->n && final->v[*at + 1].addr <= addr)
		++*at;
	if (*at >= final->n)
		return r->rules.expandable;
	s = &r->m->segments[final->v[*at].row];
	return s->addr <= addr && addr - s->addr < s->size ? s->expandable : r->rules.expandable;
}

/* The size of a large block of before of which only the request is known, with `most` bytes up to the
 * next one. Large blocks, used or free, are all larger than a MiB, or they would not have been split off:
 * so a smaller gap is part of the block, and of a larger gap at most a MiB. */
static bool derive(struct replay *r, const struct block *b, uint64_t request, uint64_t most, bool *vague)
{
	*vague = false;
	if (request <= MIB || b->expandable || r->rules.expandable || most - request <= MIB)
		return true;
	*vague = request < r->rules.max_split;
	return *vague || !b->prev; /* what is never split fills its segment */
}

/* A block that was there before, of known size or not, with the bytes up to the next one. */
static bool lay_block(struct replay *r, size_t row, uint64_t most, struct block *b)
{
	struct columns *c = &r->m->ev;
	uint64_t request = rules_rounded(&r->rules, c->size[row]), known = model_block_size(r->m, row);

	if (c->size[row] > most || request > most)
		return false;
	b->used = true;
	b->row = (uint32_t)row;
	b->size = rules_split(&r->rules, request, most - request, b->expandable) ? request : most;
	if (known != MODEL_UNKNOWN) {
		r->odd |= known != b->size && (request <= MIB || b->expandable || known - request > MIB);
		b->size = known;
	} else if (!derive(r, b, request, most, &b->vague)) {
		return false;
	} else if (b->vague) {
		uint64_t slack = request + MIB - c->size[row];

		*VEC_PUSH(r->vague.v, r->vague.n, r->vague.cap) = (struct place){b->addr, row};
		r->n_vague++;
		r->slack_most = slack > r->slack_most ? slack : r->slack_most;
	} else {
		r->derived = true;
		if (b->size - c->size[row] < UINT32_MAX)
			c->slack[row] = (uint32_t)(b->size - c->size[row]);
	}
	r->active += b->size;
	r->n_used++;
	return b->size && b->size <= most;
}

/* One segment with the initial blocks from *at on that lie in it. */
static bool lay_segment(struct replay *r, struct block b, const struct places *blocks, size_t *at)
{
	uint64_t end = b.addr + b.size, pos = b.addr;
	const struct place *p;

	for (; *at < blocks->n && (p = &blocks->v[*at])->addr < end; ++*at) {
		uint64_t next = *at + 1 < blocks->n && p[1].addr < end ? p[1].addr : end;

		if (p->addr < pos || next == p->addr)
			return false;
		b.addr = pos;
		b.size = p->addr - pos;
		b.used = false;
		if (b.size)
			b.prev = replay_new_block(r, b);
		b.addr = p->addr;
		if (!lay_block(r, p->row, next - b.addr, &b))
			return false;
		b.prev = replay_new_block(r, b);
		pos = b.addr + b.size;
		b.vague = false;
	}
	b.addr = pos;
	b.size = end - pos;
	b.used = false;
	if (b.size)
		replay_new_block(r, b);
	return true;
}

static bool lay_out(struct replay *r)
{
	struct places segments = initial_places(r, GMS_K_SEGMENT), blocks = initial_places(r, GMS_K_BLOCK);
	struct places final = final_places(r);
	const struct columns *c = &r->m->ev;
	size_t i, at = 0, at_final = 0;
	uint64_t end = 0;
	bool good = true;

	for (i = 0; i < segments.n && good; i++) {
		struct block b = {.addr = segments.v[i].addr, .size = c->size[segments.v[i].row]};

		good = b.addr >= end && b.size && b.addr + b.size > b.addr &&
		       (at == blocks.n || blocks.v[at].addr >= b.addr);
		replay_add_segment(r, segments.v[i].row);
		b.expandable = can_grow(r, &final, &at_final, b.addr);
		end = b.addr + b.size;
		good = good && lay_segment(r, b, &blocks, &at);
	}
	good = good && at == blocks.n && !(r->odd && (r->derived || r->vague.n));
	free(segments.v);
	free(blocks.v);
	free(final.v);
	return good;
}

/* --- the end --------------------------------------------------------------------------- */

/* Does the final state, if the recording has one, have exactly the used blocks of the replay? */
static bool ends_well(const struct replay *r)
{
	const struct model *m = r->m;
	size_t i, k, used = 0;
	bool any = false;

	for (i = 0; i < m->n_segments; i++) {
		const struct final_segment *s = &m->segments[i];

		any = true;
		for (k = 0; s->device == r->device && k < s->n_blocks; k++) {
			const struct final_block *b = &m->blocks[s->first_block + k];
			const struct block *have = &r->blocks[replay_block_at(r, b->addr)];

			if (b->state == BLOCK_INACTIVE)
				continue;
			used++;
			if (have == r->blocks || !have->used || have->addr != b->addr ||
			    have->size != b->size)
				return false;
		}
	}
	return !any || used == r->n_used;
}

/* The replay failed: only blocks that the final state has are known. */
static void keep_final(struct replay *r)
{
	const struct model *m = r->m;
	struct columns *c = &r->m->ev;
	struct map64 live = {0};
	uint32_t alloc;
	bool fresh;
	size_t row, i, k;

	for (row = 0; row < c->n; row++) {
		if (c->device[row] != r->device)
			continue;
		if (c->op[row] == GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC)) {
			*map64_put(&live, c->addr[row], &fresh) = (uint32_t)row;
			c->slack[row] = UINT32_MAX;
		} else if (c->op[row] == GMS_OP(GMS_K_BLOCK, GMS_A_FREE)) {
			map64_take(&live, c->addr[row], &alloc);
		}
	}
	for (i = 0; i < m->n_segments; i++)
		for (k = 0; m->segments[i].device == r->device && k < m->segments[i].n_blocks; k++) {
			const struct final_block *b = &m->blocks[m->segments[i].first_block + k];

			if (b->state != BLOCK_INACTIVE && map64_take(&live, b->addr, &alloc) &&
			    b->requested == c->size[alloc] && b->size - b->requested < UINT32_MAX)
				c->slack[alloc] = (uint32_t)(b->size - b->requested);
		}
	map64_free(&live);
}

/* Blocks awaiting their streams at the end are live: what was noted as their end is only the request. */
static void revive_pending(struct replay *r)
{
	struct columns *c = &r->m->ev;
	size_t i;

	for (i = 0; r->at.slot && i <= r->at.mask; i++) {
		const struct block *b = &r->blocks[r->at.slot[i].value];

		if (r->at.slot[i].used && b->used)
			c->peer[b->row] = MODEL_NO_PEER;
	}
}

static bool recover_device(struct model *m, uint8_t device, const struct rules *rules, bool tell)
{
	struct replay r = {.m = m, .device = device, .rules = *rules, .tell = tell};
	const struct columns *c = &m->ev;
	const char *why = NULL;
	size_t row;

	*VEC_PUSH(r.blocks, r.n, r.cap) = (struct block){0};
	if (!lay_out(&r))
		why = "the blocks that were there before the first event do not fit into the segments";
	for (row = m->n_initial; row < c->n && !why; row++)
		if (c->device[row] == device && !replay_row(&r, row))
			why =
			    "this event does not follow from those before it by the allocator's known rules";
	if (why && tell)
		model_note(
		    m, NOTE_INFO,
		    "device %u: at event %zu: %s: the sizes of blocks, and so allocated bytes, are not known",
		    device, replay_event_number(&r, row > m->n_initial ? row - 1 : row), why);
	if (!why && !ends_well(&r)) {
		why = "";
		if (tell)
			model_note(m, NOTE_INFO,
			           "device %u: the blocks at the end are not those that the events give: the "
			           "sizes of "
			           "earlier blocks, and so allocated bytes, are not known",
			           device);
	}
	if (r.bad_sums && tell)
		model_note(m, NOTE_INCONSISTENT,
		           "device %u: %llu of %llu counts of active bytes disagree with the events", device,
		           (unsigned long long)r.bad_sums, (unsigned long long)r.n_sums);
	if (why)
		keep_final(&r);
	else
		revive_pending(&r);
	m->device[device].slack_most = why ? MODEL_UNKNOWN : r.slack_most;
	free(r.vague.v);
	free(r.blocks);
	free(r.spare);
	map64_free(&r.at);
	map64_free(&r.end);
	map64_free(&r.segments);
	return !why && !r.bad_sums;
}

static void start_columns(struct columns *c)
{
	if (!c->slack) {
		c->slack = mem_alloc(c->cap * sizeof *c->slack);
		memset(c->slack, 0xff, c->n * sizeof *c->slack);
	}
	c->peer = mem_resize(c->peer, c->n, sizeof *c->peer);
	memset(c->peer, 0xff, c->n * sizeof *c->peer);
}

bool blocks_recover(struct model *m, bool tell)
{
	struct columns *c = &m->ev;
	bool blocks[256] = {false}, rest[256] = {false}, maps[256] = {false};
	bool completes = false, others = false, good = true;
	struct rules rules, of_device;
	size_t row;
	unsigned d;

	for (row = 0; row < c->n; row++) {
		enum gms_kind kind = GMS_OP_KIND(c->op[row]);

		(kind == GMS_K_BLOCK ? blocks : rest)[c->device[row]] = true;
		maps[c->device[row]] |= c->op[row] == GMS_OP(GMS_K_SEGMENT, GMS_A_MAP);
		completes |= c->op[row] == GMS_OP(GMS_K_BLOCK, GMS_A_FREE);
		others |= kind != GMS_K_BLOCK && kind != GMS_K_SEGMENT && kind != GMS_K_TRACE;
	}
	start_columns(c);
	rules_read(&rules, m);
	for (d = 0; d < 256; d++) {
		of_device = rules;
		of_device.expandable |= maps[d];
		if (blocks[d])
			good &= recover_device(m, (uint8_t)d, &of_device, tell);
		else
			others |= rest[d]; /* segments alone */
	}
	m->linked = good && completes && !others;
	return good;
}
