/* blocks.c: see blocks.h. One replay per device of what the addresses tell.
 *
 * The replay keeps the blocks of each segment, used and free, as the allocator did. An allocation
 * must be at the beginning of a free block, a free must name a used one, a segment given back must
 * be one free block. At the beginning the used blocks are known by address; a free block lies
 * between them wherever the split rule would have made one. At the end every used block must have
 * the size that the final state says.
 */
#include "model/blocks.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, MIN_BLOCK = 512, MIN_REST = 512 };

/* The settings that decide over sizes. */
struct rules {
	uint64_t max_split;   /* requests from here on are never split off */
	uint64_t divisions[16]; /* by log2(size) - 20: steps between two powers of two, 0: none */
	bool expandable;
};

struct block {
	uint64_t addr, size;
	uint32_t prev, next; /* neighbours in the segment, 0 if none */
	uint32_t row;        /* used: its alloc */
	bool used, expandable;
};

struct replay {
	struct model *m;
	struct rules rules;
	uint8_t device;
	struct block *blocks; /* the first is not used */
	size_t n, cap;
	uint32_t *spare;
	size_t n_spare, cap_spare;
	struct map64 at;  /* address → block */
	struct map64 end; /* end of a block of an expandable segment → block */
	struct map64 segments; /* address → row of the SEGMENT.alloc */
	uint64_t active;
	size_t scanned; /* blocks looked at to find the one around an address */
	uint64_t bad_sums, n_sums;
	size_t n_used;
	bool tell;
	bool guessed, odd; /* initial blocks: of unknown size; of another size than the rule gives */
};

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

static void read_rules(struct rules *r, const struct model *m)
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

static uint64_t rounded(const struct rules *r, uint64_t size)
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

/* Does a request of (rounded) `size` leave `rest` behind as a free block? */
static bool splits(const struct rules *r, uint64_t size, uint64_t rest, bool expandable)
{
	if (size <= MIB || expandable || r->expandable)
		return rest >= MIN_REST;
	return size < r->max_split && rest > MIB;
}

/* --- blocks ---------------------------------------------------------------------------- */

static uint32_t new_block(struct replay *r, struct block b)
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

static uint32_t block_at(const struct replay *r, uint64_t addr)
{
	const uint32_t *i = map64_find(&r->at, addr);

	return i ? *i : 0;
}

/* --- events: false if the event contradicts the replay ---------------------------------- */

static bool replay_alloc(struct replay *r, size_t row)
{
	struct columns *c = &r->m->ev;
	uint32_t i = block_at(r, c->addr[row]);
	uint64_t size, rest;
	struct block *b;

	if (!i || r->blocks[i].used || c->size[row] > r->blocks[i].size)
		return false;
	b = &r->blocks[i];
	size = rounded(&r->rules, c->size[row]);
	if (size > b->size)
		return false;
	rest = b->size - size;
	if (splits(&r->rules, size, rest, b->expandable)) {
		struct block left = {.addr = b->addr + size, .size = rest, .prev = i, .next = b->next,
				     .expandable = b->expandable};

		set_size(r, i, size);
		new_block(r, left);
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
	uint32_t i = block_at(r, r->m->ev.addr[row]), *peer = r->m->ev.peer;

	if (!i || !r->blocks[i].used || peer[r->blocks[i].row] != MODEL_NO_PEER)
		return false;
	peer[row] = r->blocks[i].row;
	peer[r->blocks[i].row] = (uint32_t)row;
	return true;
}

static bool replay_free(struct replay *r, size_t row)
{
	uint32_t i = block_at(r, r->m->ev.addr[row]);

	if (!i || !r->blocks[i].used)
		return false;
	r->m->ev.peer[row] = r->blocks[i].row;
	r->m->ev.peer[r->blocks[i].row] = (uint32_t)row;
	r->blocks[i].used = false;
	r->n_used--;
	r->active -= r->blocks[i].size;
	join_around(r, i);
	return true;
}

static void add_segment(struct replay *r, size_t row)
{
	bool fresh;

	*map64_put(&r->segments, r->m->ev.addr[row], &fresh) = (uint32_t)row;
}

static bool replay_segment(struct replay *r, size_t row)
{
	uint64_t addr = r->m->ev.addr[row], size = r->m->ev.size[row];

	if (!size || addr + size < addr || block_at(r, addr))
		return false;
	new_block(r, (struct block){.addr = addr, .size = size});
	add_segment(r, row);
	return true;
}

static bool replay_segment_free(struct replay *r, size_t row)
{
	uint64_t addr = r->m->ev.addr[row], size = r->m->ev.size[row];
	uint32_t i = block_at(r, addr), alloc;
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

	if (!size || addr + size < addr || block_at(r, addr))
		return false;
	b.prev = before ? *before : 0;
	b.next = block_at(r, addr + size);
	if (b.next && !r->blocks[b.next].expandable)
		b.next = 0;
	join_around(r, new_block(r, b));
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

		if (b->addr <= addr && addr - b->addr < b->size && block_at(r, b->addr) == k)
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
	behind = (struct block){.addr = addr + size, .size = b.addr + b.size - addr - size, .next = b.next, .expandable = true};
	if (b.addr < addr)
		new_block(r, (struct block){.addr = b.addr, .size = addr - b.addr, .prev = b.prev, .expandable = true});
	if (behind.size)
		new_block(r, behind);
	return true;
}

static size_t event_number(const struct replay *r, size_t row)
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

	r->n_sums++;
	if (said == r->active || r->bad_sums++ || !r->tell)
		return;
	model_note(r->m, NOTE_INCONSISTENT,
		   "device %u: at event %zu the recorder counted %llu active bytes, the events give %llu", r->device,
		   event_number(r, row), (unsigned long long)said, (unsigned long long)r->active);
}

static bool replay_row(struct replay *r, size_t row)
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

/* --- the beginning --------------------------------------------------------------------- */

/* An initial row (or a segment of the final state) by address. */
struct place {
	uint64_t addr;
	size_t row;
};
struct places {
	struct place *v;
	size_t n, cap;
};

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

/* A block that was there before: of known size, or as large as the rule made it before `next`. */
static bool lay_block(struct replay *r, size_t row, uint64_t next, struct block *b)
{
	struct columns *c = &r->m->ev;
	uint64_t most = next - b->addr, size = rounded(&r->rules, c->size[row]);

	if (c->size[row] > most || size > most)
		return false;
	if (!splits(&r->rules, size, most - size, b->expandable))
		size = most;
	b->used = true;
	b->row = (uint32_t)row;
	b->size = model_block_size(r->m, row);
	if (b->size == MODEL_UNKNOWN) {
		r->guessed = true;
		b->size = size;
		if (size - c->size[row] < UINT32_MAX)
			c->slack[row] = (uint32_t)(size - c->size[row]);
	} else if (b->size != size) {
		r->odd = true;
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
			b.prev = new_block(r, b);
		b.addr = p->addr;
		if (!lay_block(r, p->row, next, &b))
			return false;
		b.prev = new_block(r, b);
		pos = b.addr + b.size;
	}
	b.addr = pos;
	b.size = end - pos;
	b.used = false;
	if (b.size)
		new_block(r, b);
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
		add_segment(r, segments.v[i].row);
		b.expandable = can_grow(r, &final, &at_final, b.addr);
		end = b.addr + b.size;
		good = good && lay_segment(r, b, &blocks, &at);
	}
	good = good && at == blocks.n && !(r->odd && r->guessed);
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
			const struct block *have = &r->blocks[block_at(r, b->addr)];

			if (b->state == BLOCK_INACTIVE)
				continue;
			used++;
			if (have == r->blocks || !have->used || have->addr != b->addr || have->size != b->size)
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
			why = "this event does not follow from those before it by the allocator's known rules";
	if (why && tell)
		model_note(m, NOTE_INFO,
			   "device %u: at event %zu: %s: the sizes of blocks, and so allocated bytes, are not known",
			   device, event_number(&r, row > m->n_initial ? row - 1 : row), why);
	if (!why && !ends_well(&r)) {
		why = "";
		if (tell)
			model_note(m, NOTE_INFO,
				   "device %u: the blocks at the end are not those that the events give: the sizes of "
				   "earlier blocks, and so allocated bytes, are not known",
				   device);
	}
	if (r.bad_sums && tell)
		model_note(m, NOTE_INCONSISTENT, "device %u: %llu of %llu counts of active bytes disagree with the events",
			   device, (unsigned long long)r.bad_sums, (unsigned long long)r.n_sums);
	if (why)
		keep_final(&r);
	else
		revive_pending(&r);
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
	bool blocks[256] = {false}, rest[256] = {false}, completes = false, others = false, good = true;
	struct rules rules;
	size_t row;
	unsigned d;

	for (row = 0; row < c->n; row++) {
		enum gms_kind kind = GMS_OP_KIND(c->op[row]);

		(kind == GMS_K_BLOCK ? blocks : rest)[c->device[row]] = true;
		completes |= c->op[row] == GMS_OP(GMS_K_BLOCK, GMS_A_FREE);
		others |= kind != GMS_K_BLOCK && kind != GMS_K_SEGMENT && kind != GMS_K_TRACE;
	}
	start_columns(c);
	read_rules(&rules, m);
	for (d = 0; d < 256; d++)
		if (blocks[d])
			good &= recover_device(m, (uint8_t)d, &rules, tell);
		else
			others |= rest[d]; /* segments alone */
	m->linked = good && completes && !others;
	return good;
}
