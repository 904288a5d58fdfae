/* lives.c: allocations end at their peer row; mapped ranges are followed piece by piece. */
#include "analyze/lives.h"
#include "analyze/live.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sorted.h"
#include <stdlib.h>

/* Steps over pieces of mapped ranges: far more than any allocator needs, few enough for a hostile file. */
#define MAX_STEPS 20000000
#define ALL       SIZE_MAX /* whenever they live */

static void add(struct lives *l, uint64_t addr, uint64_t size, uint32_t begin, uint32_t end)
{
	if (size > UINT64_MAX - addr)
		size = UINT64_MAX - addr;
	if (size && (l->at == ALL || (begin <= l->at && (end == MODEL_NO_PEER || end > l->at))))
		*VEC_PUSH(l->v, l->n, l->cap) = (struct life){addr, size, begin, end};
}

static bool is_mapping(uint8_t op, enum gms_kind kind)
{
	return op == GMS_OP(kind, GMS_A_MAP) || op == GMS_OP(kind, GMS_A_UNMAP);
}

/* All borders of mapped and unmapped ranges, sorted, each once. */
static uint64_t *find_borders(const struct model *m, uint8_t device, enum gms_kind kind, size_t *n)
{
	const struct columns *c = &m->ev;
	uint64_t *border = NULL;
	size_t cap = 0;

	*n = 0;
	for (size_t row = 0; row < c->n; row++)
		if (c->device[row] == device && is_mapping(c->op[row], kind)) {
			uint64_t end = c->size[row] > UINT64_MAX - c->addr[row] ? UINT64_MAX
			                                                        : c->addr[row] + c->size[row];
			*VEC_PUSH(border, *n, cap) = c->addr[row];
			*VEC_PUSH(border, *n, cap) = end;
		}
	*n = sorted_make(border, *n);
	return border;
}

/* End the lives of the pieces from `i` to `to`, neighbours that began together as one. */
static void unmap(struct lives *l, const uint64_t *border, uint32_t *owner, size_t i, size_t to, uint32_t row)
{
	size_t j;

	for (; i < to; i = j) {
		for (j = i + 1; j < to && owner[j] == owner[i];)
			j++;
		if (owner[i] != MODEL_NO_PEER)
			add(l, border[i], border[j] - border[i], owner[i], row);
		for (size_t k = i; k < j; k++)
			owner[k] = MODEL_NO_PEER;
	}
}

static void add_mapped(struct lives *l, const struct model *m, uint8_t device, enum gms_kind kind)
{
	const struct columns *c = &m->ev;
	size_t n, steps = 0;
	uint64_t *border = find_borders(m, device, kind, &n);
	uint32_t *owner = mem_alloc((n + 1) * sizeof *owner);

	for (size_t i = 0; i < n; i++)
		owner[i] = MODEL_NO_PEER;
	for (size_t row = 0; row < c->n && n && steps < MAX_STEPS; row++) {
		if (c->device[row] != device || !is_mapping(c->op[row], kind))
			continue;
		size_t i = sorted_find(border, n, c->addr[row]);
		uint64_t end =
		    c->size[row] > UINT64_MAX - c->addr[row] ? UINT64_MAX : c->addr[row] + c->size[row];
		size_t to = sorted_find(border, n, end);
		steps += to - i;
		if (GMS_OP_ACTION(c->op[row]) == GMS_A_UNMAP)
			unmap(l, border, owner, i, to, (uint32_t)row);
		else
			for (; i < to; i++)
				owner[i] = owner[i] == MODEL_NO_PEER ? (uint32_t)row : owner[i];
	}
	if (n)
		unmap(l, border, owner, 0, n - 1, MODEL_NO_PEER);
	free(border);
	free(owner);
}

void lives_held(struct lives *l, const struct model *m, uint8_t device)
{
	const struct columns *c = &m->ev;

	*l = (struct lives){.at = ALL};
	for (size_t row = 0; row < c->n; row++)
		if (c->device[row] == device && c->op[row] == GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC))
			add(l, c->addr[row], c->size[row], (uint32_t)row, c->peer[row]);
	add_mapped(l, m, device, GMS_K_SEGMENT);
}

static size_t count_allocs(const struct columns *c, const uint8_t role[256])
{
	size_t n = 0;

	for (size_t row = 0; row < c->n; row++)
		n += role[c->op[row]] == LIVE_ALLOC;
	return n;
}

static struct life life_of(const struct model *m, size_t row)
{
	const struct columns *c = &m->ev;
	uint64_t size = model_block_size(m, row);

	size = size == MODEL_UNKNOWN ? c->size[row] : size;
	size = size > UINT64_MAX - c->addr[row] ? UINT64_MAX - c->addr[row] : size;
	return (struct life){c->addr[row], size, (uint32_t)row, c->peer[row]};
}

static enum gms_level find_roles(const struct model *m, uint8_t device, uint8_t role[256])
{
	enum gms_level level = live_level(m, device);

	live_roles(level, role);
	for (unsigned op = 0; op < 256; op++)
		if (role[op] == LIVE_ALLOC && gms_kind_info[GMS_OP_KIND(op)].space != GMS_VA)
			role[op] = LIVE_NONE;
	return level;
}

/* Without a branch: whether a row allocates cannot be foretold, and asking costs more than writing in vain.
 */
void lives_blocks(struct lives *l, const struct model *m, uint8_t device)
{
	const struct columns *c = &m->ev;
	uint8_t role[256];
	enum gms_level level = find_roles(m, device, role);

	*l = (struct lives){.at = ALL};
	l->v = mem_alloc((l->cap = count_allocs(c, role) + 1) * sizeof *l->v);
	for (size_t row = 0; row < c->n; row++) {
		l->v[l->n] = life_of(m, row);
		l->n += (role[c->op[row]] == LIVE_ALLOC) & (c->device[row] == device) & (l->v[l->n].size > 0);
	}
	if (level == GMS_DRIVER)
		add_mapped(l, m, device, GMS_K_PHYSICAL);
}

void lives_blocks_at(struct lives *l, const struct model *m, uint8_t device, size_t row)
{
	uint8_t role[256];
	enum gms_level level = find_roles(m, device, role);

	*l = (struct lives){.at = row};
	for (size_t r = 0; row != SIZE_MAX && r <= row && r < m->ev.n; r++)
		if (m->ev.peer[r] > row && role[m->ev.op[r]] == LIVE_ALLOC && m->ev.device[r] == device) {
			struct life life = life_of(m, r);
			add(l, life.addr, life.size, life.begin, life.end);
		}
	if (level == GMS_DRIVER && row != SIZE_MAX)
		add_mapped(l, m, device, GMS_K_PHYSICAL);
}

void lives_free(struct lives *l)
{
	free(l->v);
	*l = (struct lives){0};
}

static int by_address(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

#define RECENT 12

/* Addresses come back again and again: each becomes one range before anything is sorted. */
static struct range *longest_at_each(const struct lives *l, size_t *n)
{
	struct range recent[1 << RECENT] = {0}, *v = NULL; /* what most are no news to */
	struct map64 place = {0};
	size_t cap = 0;
	bool fresh;

	for (size_t i = 0; i < l->n; i++) {
		const struct life *a = &l->v[i];
		struct range *r = &recent[a->addr * 0x9fb21c651e98df25ull >> (64 - RECENT)];
		if (r->addr == a->addr && r->size >= a->size)
			continue;
		*r = (struct range){a->addr, a->size};
		uint32_t *k = map64_put(&place, a->addr, &fresh);
		if (fresh) {
			*k = (uint32_t)*n;
			*VEC_PUSH(v, *n, cap) = (struct range){a->addr, a->size};
		} else if (v[*k].size < a->size) {
			v[*k].size = a->size;
		}
	}
	map64_free(&place);
	return v;
}

#define PARTS 4096 /* of the addresses from the first range to the last */

/* So that a search begins close to its end. */
static void divide(struct ranges *r)
{
	uint64_t begin = r->v[0].addr, last = r->v[r->n - 1].addr + r->v[r->n - 1].size - 1 - begin;
	size_t i = 0;

	while (last >> r->shift >= PARTS)
		r->shift++;
	r->first = mem_alloc((PARTS + 1) * sizeof *r->first);
	for (uint64_t part = 0; part <= PARTS; part++) {
		while (i + 1 < r->n && r->v[i].addr + r->v[i].size - begin <= part << r->shift)
			i++;
		r->first[part] = (uint32_t)i;
	}
}

void lives_ranges(const struct lives *l, struct ranges *out)
{
	size_t n = 0, kept = 0;
	struct range *v = longest_at_each(l, &n);

	if (n)
		qsort(v, n, sizeof *v, by_address);
	for (size_t i = 0; i < n; i++) {
		struct range *last = kept ? &v[kept - 1] : NULL, r = v[i];
		if (!last || r.addr > last->addr + last->size)
			v[kept++] = r;
		else if (r.addr + r.size > last->addr + last->size)
			last->size = r.addr + r.size - last->addr;
	}
	*out = (struct ranges){.v = v, .n = kept};
	if (kept)
		divide(out);
}

void lives_ranges_free(struct ranges *r)
{
	free(r->v);
	free(r->first);
	*r = (struct ranges){0};
}

size_t lives_range_of(const struct ranges *r, uint64_t addr)
{
	if (!r->n || addr < r->v[0].addr || (addr - r->v[0].addr) >> r->shift >= PARTS)
		return SIZE_MAX;
	size_t part = (addr - r->v[0].addr) >> r->shift, lo = r->first[part], hi = r->first[part + 1] + 1;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (r->v[mid].addr + r->v[mid].size <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->n && r->v[lo].addr <= addr ? lo : SIZE_MAX;
}
