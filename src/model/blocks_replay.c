/* blocks_replay.c: the blocks of a caching allocator, event by event.
 *
 * Each segment's blocks, used and free, are kept as the allocator kept them. An allocation must be
 * at the beginning of a free block, a free must name a used one, a segment given back must be one
 * free block.
 */
#include "model/blocks_replay.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

enum { MIN_BLOCK = 512, MIN_REST = 512 };

/* --- settings -------------------------------------------------------------------------- */

static unsigned log2_of(uint64_t v)
{
	return v ? 63 - (unsigned)__builtin_clzll(v) : 0;
}

/* "4", or [256:1,512:2,>:8]: each key is MiB where an interval begins, > all that are left. The first
 * key also holds for what is smaller. */
static void parse_divisions(struct rules *r, const char *s)
{
	uint64_t last = 0;
	unsigned i, from = 0;

	for (i = 0; *s != '[' && i < 16; i++)
		r->divisions[i] = strtoull(s, NULL, 10);
	while (*s == '[' || *s == ',') {
		bool rest = s[1] == '>';
		char *end;
		uint64_t mib = rest ? 0 : strtoull(s + 1, &end, 10);
		unsigned interval = log2_of(mib);

		if (rest)
			end = (char *)s + 2;
		if (*end != ':')
			return;
		last = strtoull(end + 1, &end, 10);
		interval = rest || interval > 15 ? 15 : interval;
		for (i = from; i <= interval; i++)
			r->divisions[i] = last;
		from = interval + 1;
		s = end;
	}
}

void rules_read(struct rules *r, const struct model *m)
{
	const char *split = model_setting_get(m, "max_split_size");
	const char *divisions = model_setting_get(m, "roundup_power2_divisions");
	const char *expandable = model_setting_get(m, "expandable_segments");

	*r = (struct rules){.max_split = UINT64_MAX};
	if (split && *split != '-')
		r->max_split = strtoull(split, NULL, 10);
	if (divisions)
		parse_divisions(r, divisions);
	r->expandable = expandable && !strcmp(expandable, "True");
}

uint64_t rules_rounded(const struct rules *r, uint64_t size)
{
	unsigned log = log2_of(size), interval = log < 20 ? 0 : log - 20 > 15 ? 15 : log - 20;
	uint64_t divisions = r->divisions[interval], power = 1ull << log, step;

	if (size < MIN_BLOCK)
		return MIN_BLOCK;
	if (divisions > 1 && size > MIN_BLOCK * divisions && !(divisions & (divisions - 1))) {
		step = power / divisions;
		return (size + step - 1) & ~(step - 1);
	}
	return (size + MIN_BLOCK - 1) & ~(uint64_t)(MIN_BLOCK - 1);
}

bool rules_split(const struct rules *r, uint64_t size, uint64_t rest, bool expandable)
{
	if (size <= MIB || expandable || r->expandable)
		return rest >= MIN_REST;
	return size < r->max_split && rest > MIB;
}

/* --- blocks ---------------------------------------------------------------------------- */

uint32_t replay_new_block(struct replay *r, struct block b)
{
	uint32_t i;
	bool fresh;

	if (r->n_spare)
		i = r->spare[--r->n_spare];
	else
		i = (uint32_t)(VEC_PUSH(r->blocks, r->n, r->cap) - r->blocks);
	r->blocks[i] = b;
	if (b.prev)
		r->blocks[b.prev].next = i;
	if (b.next)
		r->blocks[b.next].prev = i;
	*map64_put(&r->at, b.addr, &fresh) = i;
	if (b.expandable)
		*map64_put(&r->end, b.addr + b.size, &fresh) = i;
	return i;
}

static void set_size(struct replay *r, uint32_t i, uint64_t size)
{
	struct block *b = &r->blocks[i];
	uint32_t gone;
	bool fresh;

	if (b->expandable) {
		map64_take(&r->end, b->addr + b->size, &gone);
		*map64_put(&r->end, b->addr + size, &fresh) = i;
	}
	b->size = size;
}

/* Forget the block; its neighbours are left as they are. */
static void drop(struct replay *r, uint32_t i)
{
	uint32_t gone;

	map64_take(&r->at, r->blocks[i].addr, &gone);
	if (r->blocks[i].expandable)
		map64_take(&r->end, r->blocks[i].addr + r->blocks[i].size, &gone);
	*VEC_PUSH(r->spare, r->n_spare, r->cap_spare) = i;
}

/* The free block at i takes in its next neighbour if that is free. */
static void join(struct replay *r, uint32_t i)
{
	uint32_t next = r->blocks[i].next;
	struct block gone;

	if (!next || r->blocks[next].used)
		return;
	gone = r->blocks[next];
	drop(r, next);
	set_size(r, i, r->blocks[i].size + gone.size);
	r->blocks[i].next = gone.next;
	if (gone.next)
		r->blocks[gone.next].prev = i;
}

static void join_around(struct replay *r, uint32_t i)
{
	uint32_t prev = r->blocks[i].prev;

	join(r, i);
	if (prev && !r->blocks[prev].used)
		join(r, prev);
}

uint32_t replay_block_at(const struct replay *r, uint64_t addr)
{
	const uint32_t *i = map64_find(&r->at, addr);

	return i ? *i : 0;
}

/* --- events: false if the event contradicts the replay ---------------------------------- */

/* The vague block i is of this size. */
static void settle(struct replay *r, uint32_t i, uint64_t size)
{
	struct columns *c = &r->m->ev;
	struct block *b = &r->blocks[i];

	b->vague = false;
	r->n_vague--;
	r->active += size - b->size;
	set_size(r, i, size);
	if (size - c->size[b->row] < UINT32_MAX)
		c->slack[b->row] = (uint32_t)(size - c->size[b->row]);
}

/* An allocation at addr, inside the free block behind a vague one, tells where that one ends. */
static uint32_t reveal(struct replay *r, uint64_t addr)
{
	size_t lo = 0, hi = r->vague.n;
	struct block left;
	uint32_t i;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (r->vague.v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	i = lo ? replay_block_at(r, r->vague.v[lo - 1].addr) : 0;
	if (!i || !r->blocks[i].vague || !r->blocks[i].next)
		return 0;
	left = r->blocks[r->blocks[i].next];
	if (left.used || addr <= left.addr || addr - left.addr > MIB || addr - left.addr >= left.size)
		return 0;
	drop(r, r->blocks[i].next);
	settle(r, i, addr - r->blocks[i].addr);
	left.size -= addr - left.addr;
	left.addr = addr;
	return replay_new_block(r, left);
}

static bool replay_alloc(struct replay *r, size_t row)
{
	struct columns *c = &r->m->ev;
	uint32_t i = replay_block_at(r, c->addr[row]);
	uint64_t size, rest;
	struct block *b;

	if (!i && r->n_vague)
		i = reveal(r, c->addr[row]);
	if (!i || r->blocks[i].used || c->size[row] > r->blocks[i].size)
		return false;
	b = &r->blocks[i];
	size = rules_rounded(&r->rules, c->size[row]);
	if (size > b->size)
		return false;
	if (b->prev && r->blocks[b->prev].vague)
		settle(r, b->prev, r->blocks[b->prev].size);
	rest = b->size - size;
	if (rules_split(&r->rules, size, rest, b->expandable)) {
		struct block left = {.addr = b->addr + size,
		                     .size = rest,
		                     .prev = i,
		                     .next = b->next,
		                     .expandable = b->expandable};

		set_size(r, i, size);
		replay_new_block(r, left);
		b = &r->blocks[i];
	}
	b->used = true;
	b->row = (uint32_t)row;
	r->n_used++;
	r->active += b->size;
	if (b->size - c->size[row] < UINT32_MAX)
		c->slack[row] = (uint32_t)(b->size - c->size[row]);
	return true;
}

/* Its free is requested, at most once. */
static bool replay_request(struct replay *r, size_t row)
{
	uint32_t i = replay_block_at(r, r->m->ev.addr[row]), *peer = r->m->ev.peer;

	if (!i || !r->blocks[i].used || peer[r->blocks[i].row] != MODEL_NO_PEER)
		return false;
	peer[row] = r->blocks[i].row;
	peer[r->blocks[i].row] = (uint32_t)row;
	return true;
}

static bool replay_free(struct replay *r, size_t row)
{
	uint32_t i = replay_block_at(r, r->m->ev.addr[row]);

	if (!i || !r->blocks[i].used)
		return false;
	r->m->ev.peer[row] = r->blocks[i].row;
	r->m->ev.peer[r->blocks[i].row] = (uint32_t)row;
	if (r->blocks[i].vague)
		r->n_vague--;
	r->blocks[i].used = r->blocks[i].vague = false;
	r->n_used--;
	r->active -= r->blocks[i].size;
	join_around(r, i);
	return true;
}

void replay_add_segment(struct replay *r, size_t row)
{
	bool fresh;

	*map64_put(&r->segments, r->m->ev.addr[row], &fresh) = (uint32_t)row;
}

static bool replay_segment(struct replay *r, size_t row)
{
	uint64_t addr = r->m->ev.addr[row], size = r->m->ev.size[row];

	if (!size || addr + size < addr || replay_block_at(r, addr))
		return false;
	replay_new_block(r, (struct block){.addr = addr, .size = size});
	replay_add_segment(r, row);
	return true;
}

static bool replay_segment_free(struct replay *r, size_t row)
{
	uint64_t addr = r->m->ev.addr[row], size = r->m->ev.size[row];
	uint32_t i = replay_block_at(r, addr), alloc;
	const struct block *b = &r->blocks[i];

	if (!i || b->used || b->prev || b->next || b->size != size || !map64_take(&r->segments, addr, &alloc))
		return false;
	r->m->ev.peer[row] = alloc;
	r->m->ev.peer[alloc] = (uint32_t)row;
	drop(r, i);
	return true;
}

static bool replay_map(struct replay *r, uint64_t addr, uint64_t size)
{
	struct block b = {.addr = addr, .size = size, .expandable = true};
	const uint32_t *before = map64_find(&r->end, addr);

	if (!size || addr + size < addr || replay_block_at(r, addr))
		return false;
	b.prev = before ? *before : 0;
	b.next = replay_block_at(r, addr + size);
	if (b.next && !r->blocks[b.next].expandable)
		b.next = 0;
	join_around(r, replay_new_block(r, b));
	return true;
}

/* The free block that [addr, addr + size) lies in, 0 if there is none. */
static uint32_t free_around(struct replay *r, uint64_t addr, uint64_t size)
{
	const uint32_t *at = map64_find(&r->at, addr), *end = map64_find(&r->end, addr + size);
	uint32_t i = at ? *at : end ? *end : 0;
	size_t most = 100000000; /* all searches together */

	for (uint32_t k = 1; !i && k < r->n && r->scanned < most; k++, r->scanned++) {
		const struct block *b = &r->blocks[k];

		if (b->addr <= addr && addr - b->addr < b->size && replay_block_at(r, b->addr) == k)
			i = k;
	}
	if (!i || r->blocks[i].used || !r->blocks[i].expandable || r->blocks[i].addr > addr ||
	    r->blocks[i].addr + r->blocks[i].size < addr + size)
		return 0;
	return i;
}

/* Whole pages leave a free block; what is left before and behind are blocks of their own. */
static bool replay_unmap(struct replay *r, uint64_t addr, uint64_t size)
{
	uint32_t i = size && addr + size > addr ? free_around(r, addr, size) : 0;
	struct block b, behind;

	if (!i)
		return false;
	b = r->blocks[i];
	if (b.prev)
		r->blocks[b.prev].next = 0;
	if (b.next)
		r->blocks[b.next].prev = 0;
	drop(r, i);
	behind = (struct block){
	    .addr = addr + size, .size = b.addr + b.size - addr - size, .next = b.next, .expandable = true};
	if (b.addr < addr)
		replay_new_block(
		    r, (struct block){
		           .addr = b.addr, .size = addr - b.addr, .prev = b.prev, .expandable = true});
	if (behind.size)
		replay_new_block(r, behind);
	return true;
}

size_t replay_event_number(const struct replay *r, size_t row)
{
	size_t i, n = 0;

	for (i = r->m->n_initial; i < row; i++)
		n += r->m->ev.device[i] == r->device;
	return n;
}

/* A checksum row: the active bytes then. */
static void check_sum(struct replay *r, size_t row)
{
	uint64_t said = r->m->ev.size[row];

	if (r->n_vague)
		return;
	r->n_sums++;
	if (said == r->active || r->bad_sums++ || !r->tell)
		return;
	model_note(r->m, NOTE_INCONSISTENT,
	           "device %u: at event %zu the recorder counted %llu active bytes, the events give %llu",
	           r->device, replay_event_number(r, row), (unsigned long long)said,
	           (unsigned long long)r->active);
}

bool replay_row(struct replay *r, size_t row)
{
	const struct columns *c = &r->m->ev;

	switch (c->op[row]) {
	case GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC):
		return replay_alloc(r, row);
	case GMS_OP(GMS_K_BLOCK, GMS_A_FREE):
		return replay_free(r, row);
	case GMS_OP(GMS_K_BLOCK, GMS_A_FREE_REQUESTED):
		return replay_request(r, row);
	case GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC):
		return replay_segment(r, row);
	case GMS_OP(GMS_K_SEGMENT, GMS_A_FREE):
		return replay_segment_free(r, row);
	case GMS_OP(GMS_K_SEGMENT, GMS_A_MAP):
		return replay_map(r, c->addr[row], c->size[row]);
	case GMS_OP(GMS_K_SEGMENT, GMS_A_UNMAP):
		return replay_unmap(r, c->addr[row], c->size[row]);
	case GMS_OP(GMS_K_TRACE, GMS_A_INFO):
		check_sum(r, row);
		return true;
	default:
		return true;
	}
}
