/* allocator.h: PyTorch's caching allocator by its published rules, in the plainest way, with a log of what
 * it does. Readers and analyses are held against it: it knows what they have to find out.
 */
#ifndef TESTS_ALLOCATOR_H
#define TESTS_ALLOCATOR_H

#include "models.h"

#define MIB 1048576ull

static uint64_t seed;

static inline uint64_t rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

/* --- the allocator ---------------------------------------------------------------------- */

struct piece {
	uint64_t addr, size, request;
	bool used, pending, unmapped;
	size_t segment, event; /* event: of its alloc */
};
struct segment {
	bool small, gone;
};
struct log_row {
	uint8_t op;
	uint64_t addr, size, block;
	size_t alloc; /* a free's alloc */
};
struct allocator {
	uint64_t max_split, divisions;
	bool expandable;
	struct piece pieces[4096]; /* by address within a segment */
	size_t n;
	struct segment segments[512];
	size_t n_segments;
	uint64_t top;
	struct log_row log[8192];
	size_t n_log;
};

static inline struct log_row *log_row(struct allocator *a, enum gms_kind kind, enum gms_action action,
                                      uint64_t addr, uint64_t size)
{
	struct log_row *r = &a->log[a->n_log++];

	assert_true(a->n_log < 8192);
	*r = (struct log_row){.op = GMS_OP(kind, action), .addr = addr, .size = size, .block = MODEL_UNKNOWN};
	return r;
}

static inline void insert(struct allocator *a, size_t at, struct piece p)
{
	assert_true(a->n < 4096);
	memmove(a->pieces + at + 1, a->pieces + at, (a->n - at) * sizeof *a->pieces);
	a->pieces[at] = p;
	a->n++;
}

static inline void erase(struct allocator *a, size_t at)
{
	a->n--;
	memmove(a->pieces + at, a->pieces + at + 1, (a->n - at) * sizeof *a->pieces);
}

static inline bool joinable(const struct allocator *a, size_t i)
{
	const struct piece *p = &a->pieces[i], *q = p + 1;

	return i + 1 < a->n && p->segment == q->segment && !p->used && !q->used && p->unmapped == q->unmapped;
}

static inline void join(struct allocator *a, size_t i)
{
	for (; i && joinable(a, i - 1); i--)
		;
	while (joinable(a, i)) {
		a->pieces[i].size += a->pieces[i + 1].size;
		erase(a, i + 1);
	}
}

static inline uint64_t rounded(const struct allocator *a, uint64_t size)
{
	uint64_t power = 1;

	while (power * 2 <= size)
		power *= 2;
	if (size < 512)
		return 512;
	if (a->divisions > 1 && size > 512 * a->divisions)
		return size == power ? size
		                     : (size + power / a->divisions - 1) / (power / a->divisions) *
		                           (power / a->divisions);
	return (size + 511) / 512 * 512;
}

/* The smallest free piece that fits, the lowest of equals; a->n if there is none. */
static inline size_t best_fit(const struct allocator *a, uint64_t size, bool small)
{
	size_t i, best = a->n;

	for (i = 0; i < a->n; i++) {
		const struct piece *p = &a->pieces[i];

		if (p->used || p->unmapped || a->segments[p->segment].small != small || p->size < size)
			continue;
		if (!a->expandable && size < a->max_split && p->size >= a->max_split)
			continue;
		if (!a->expandable && size >= a->max_split && p->size >= size + 20 * MIB)
			continue;
		if (best == a->n || p->size < a->pieces[best].size)
			best = i;
	}
	return best;
}

static inline size_t new_segment(struct allocator *a, uint64_t size, bool small)
{
	uint64_t bytes = small             ? 2 * MIB
	                 : size < 10 * MIB ? 20 * MIB
	                                   : (size + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);

	assert_true(a->n_segments < 512);
	a->segments[a->n_segments] = (struct segment){.small = small};
	insert(a, a->n, (struct piece){.addr = a->top, .size = bytes, .segment = a->n_segments++});
	log_row(a, GMS_K_SEGMENT, GMS_A_ALLOC, a->top, bytes);
	a->top += bytes + (rnd(2) ? 2 * MIB : 0); /* some segments touch */
	return a->n - 1;
}

/* Expandable: map whole pages behind what is mapped, in the pool's one range. */
static inline size_t grow(struct allocator *a, uint64_t size, bool small)
{
	uint64_t page = small ? 2 * MIB : 20 * MIB;
	size_t i, at = a->n;

	for (i = 0; i < a->n; i++)
		if (a->segments[a->pieces[i].segment].small == small)
			at = i;
	if (at == a->n) {
		a->segments[a->n_segments] = (struct segment){.small = small};
		insert(a, a->n,
		       (struct piece){
		           .addr = a->top, .size = 4000 * MIB, .unmapped = true, .segment = a->n_segments++});
		a->top += 8000 * MIB;
		at = a->n - 1;
	}
	struct piece *tail = &a->pieces[at]; /* the unmapped rest of the range */
	uint64_t have = at && a->pieces[at - 1].segment == tail->segment && !a->pieces[at - 1].used &&
	                        !a->pieces[at - 1].unmapped
	                    ? a->pieces[at - 1].size
	                    : 0;
	uint64_t bytes = (size - have + page - 1) / page * page;
	struct piece mapped = {.addr = tail->addr, .size = bytes, .segment = tail->segment};

	assert_true(tail->unmapped && tail->size > bytes);
	tail->addr += bytes;
	tail->size -= bytes;
	insert(a, at, mapped);
	log_row(a, GMS_K_SEGMENT, GMS_A_MAP, mapped.addr, bytes);
	join(a, at);
	for (i = 0; a->pieces[i].addr + a->pieces[i].size != mapped.addr + bytes; i++)
		;
	return i;
}

static inline void allocate(struct allocator *a, uint64_t request)
{
	uint64_t size = rounded(a, request), rest;
	bool small = size <= MIB, split;
	size_t i = best_fit(a, size, small);

	if (i == a->n)
		i = a->expandable ? grow(a, size, small) : new_segment(a, size, small);
	rest = a->pieces[i].size - size;
	split = small || a->expandable ? rest >= 512 : size < a->max_split && rest > MIB;
	if (split) {
		struct piece left = a->pieces[i];

		left.addr += size;
		left.size = rest;
		a->pieces[i].size = size;
		insert(a, i + 1, left);
	}
	a->pieces[i].used = true;
	a->pieces[i].pending = false;
	a->pieces[i].request = request;
	a->pieces[i].event = a->n_log;
	log_row(a, GMS_K_BLOCK, GMS_A_ALLOC, a->pieces[i].addr, request)->block = a->pieces[i].size;
}

static inline void release(struct allocator *a, size_t i, bool complete)
{
	struct piece *p = &a->pieces[i];

	if (!p->pending)
		log_row(a, GMS_K_BLOCK, GMS_A_FREE_REQUESTED, p->addr, p->request)->alloc = p->event;
	p->pending = true;
	if (!complete)
		return;
	log_row(a, GMS_K_BLOCK, GMS_A_FREE, p->addr, p->request)->alloc = p->event;
	p->used = false;
	join(a, i);
}

/* Give back what is free: whole segments, or whole pages of expandable ones. */
static inline void empty_cache(struct allocator *a)
{
	size_t i;

	for (i = 0; i < a->n; i++) {
		struct piece *p = &a->pieces[i], middle = *p;
		uint64_t page = a->segments[p->segment].small ? 2 * MIB : 20 * MIB, end = p->addr + p->size;
		const uint64_t base =
		    0x10000000; /* ranges are 8,000 MiB apart: pages of both sizes line up there */

		if (p->used || p->unmapped)
			continue;
		if (!a->expandable) {
			if ((i && a->pieces[i - 1].segment == p->segment) ||
			    (i + 1 < a->n && p[1].segment == p->segment))
				continue;
			log_row(a, GMS_K_SEGMENT, GMS_A_FREE, p->addr, p->size);
			a->segments[p->segment].gone = true;
			erase(a, i--);
			continue;
		}
		middle.addr = base + (p->addr - base + page - 1) / page * page;
		end = base + (end - base) / page * page;
		if (middle.addr >= end)
			continue;
		middle.size = end - middle.addr;
		middle.unmapped = true;
		log_row(a, GMS_K_SEGMENT, GMS_A_UNMAP, middle.addr, middle.size);
		struct piece before = *p, behind = *p;

		before.size = middle.addr - p->addr;
		behind.addr = end;
		behind.size = p->addr + p->size - end;
		*p = middle;
		if (behind.size)
			insert(a, i + 1, behind);
		if (before.size)
			insert(a, i++, before);
		join(a, i);
	}
}

static inline uint64_t random_request(void)
{
	switch (rnd(6)) {
	case 0:
		return 1 + rnd(3000);
	case 1:
		return 1 + rnd(MIB);
	case 2:
		return (1 + rnd(8)) * MIB;
	case 3:
		return MIB + rnd(9 * MIB);
	case 4:
		return (1 + rnd(20)) * 2 * MIB;
	default:
		return 10 * MIB + rnd(40 * MIB);
	}
}

static inline void run(struct allocator *a, size_t steps)
{
	size_t used, i, k;

	while (steps--) {
		for (used = 0, i = 0; i < a->n; i++)
			used += a->pieces[i].used;
		if (used < 5 || (used < 60 && rnd(100) < 50)) {
			allocate(a, random_request());
			continue;
		}
		if (rnd(100) < 2)
			empty_cache(a);
		for (k = rnd(used), i = 0; !a->pieces[i].used || k--; i++)
			;
		release(a, i, rnd(10) > 0);
	}
}

#endif
