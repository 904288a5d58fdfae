/* space.c: rebuilds segments and blocks at one row. Two passes over the op column, then sorting.
 *
 * Mapped ranges: what is mapped at an address is decided by the last map or unmap that covered it.
 * Going backwards in time and letting the first to reach an address keep it needs no tree: the
 * borders of all ranges are sorted once, and a union-find skips what has been decided already.
 */
#include "analyze/space.h"
#include "base/mem.h"
#include "base/sorted.h"
#include <stdlib.h>

#define SMALL_REQUEST (1u << 20) /* PyTorch serves requests up to this from its small pool */

struct ranges {
	uint32_t *row; /* of maps and unmaps, in time order */
	size_t n, cap;
};

/* The first undecided piece at or after i, with path halving. */
static size_t undecided(uint32_t *next, size_t i)
{
	while (next[i] != i) {
		next[i] = next[next[i]];
		i = next[i];
	}
	return i;
}

static uint64_t range_end(const struct columns *c, size_t row)
{
	return c->size[row] > UINT64_MAX - c->addr[row] ? UINT64_MAX : c->addr[row] + c->size[row];
}

static bool same_owner(const struct columns *c, uint32_t a, uint32_t b)
{
	return c->stream[a] == c->stream[b] && c->pool[a] == c->pool[b];
}

static void add_mapped(struct space *s, const struct columns *c, const uint64_t *border,
                       const uint32_t *owner, size_t pieces, size_t *cap)
{
	struct space_segment *open = NULL;
	size_t i;

	for (i = 0; i < pieces; i++) {
		uint64_t size = border[i + 1] - border[i];

		if (owner[i] == UINT32_MAX || GMS_OP_ACTION(c->op[owner[i]]) != GMS_A_MAP) {
			open = NULL;
		} else if (open && same_owner(c, open->row, owner[i])) {
			open->size += size;
			open->row = owner[i] < open->row ? owner[i] : open->row;
		} else {
			open = VEC_PUSH(s->segments, s->n, *cap);
			*open = (struct space_segment){
			    .addr = border[i], .size = size, .row = owner[i], .expandable = true};
		}
	}
}

static void mapped_segments(struct space *s, const struct columns *c, const struct ranges *r, size_t *cap)
{
	uint64_t *border = mem_alloc(2 * r->n * sizeof *border);
	uint32_t *next = mem_alloc((2 * r->n + 1) * sizeof *next);
	uint32_t *owner = mem_alloc((2 * r->n + 1) * sizeof *owner);
	size_t n = 0, i;

	for (i = 0; i < r->n; i++) {
		border[n++] = c->addr[r->row[i]];
		border[n++] = range_end(c, r->row[i]);
	}
	n = sorted_make(border, n);
	for (i = 0; i <= n; i++) {
		next[i] = (uint32_t)i;
		owner[i] = UINT32_MAX;
	}
	for (i = r->n; i-- > 0;) {
		size_t end = sorted_find(border, n, range_end(c, r->row[i]));
		size_t at = undecided(next, sorted_find(border, n, c->addr[r->row[i]]));

		for (; at < end; at = undecided(next, at)) {
			owner[at] = r->row[i];
			next[at] = (uint32_t)at + 1;
		}
	}
	add_mapped(s, c, border, owner, n ? n - 1 : 0, cap);
	free(border);
	free(next);
	free(owner);
}

static int by_addr_segment(const void *a, const void *b)
{
	const struct space_segment *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_addr_block(const void *a, const void *b)
{
	const struct space_block *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void add_block(struct space *s, const struct model *m, size_t row, size_t *cap)
{
	uint64_t block = model_block_size(m, row);

	if (block == MODEL_UNKNOWN) {
		s->exact = false;
		block = (m->ev.size[row] + 511) / 512 * 512;
	}
	*VEC_PUSH(s->blocks, s->n_blocks, *cap) =
	    (struct space_block){.addr = m->ev.addr[row], .size = block, .row = (uint32_t)row};
	s->requested += m->ev.size[row];
	s->used += block;
}

static void gather(struct space *s, const struct model *m, uint8_t device, size_t n)
{
	const struct columns *c = &m->ev;
	struct ranges ranges = {0};
	size_t row, cap_segments = 0, cap_blocks = 0;

	for (row = 0; row < n; row++) {
		enum gms_kind kind = GMS_OP_KIND(c->op[row]);
		enum gms_action action = GMS_OP_ACTION(c->op[row]);

		if ((kind != GMS_K_BLOCK && kind != GMS_K_SEGMENT) || c->device[row] != device)
			continue;
		if (kind == GMS_K_SEGMENT)
			s->known = true;
		if (action == GMS_A_MAP || action == GMS_A_UNMAP)
			*VEC_PUSH(ranges.row, ranges.n, ranges.cap) = (uint32_t)row;
		if (action != GMS_A_ALLOC || c->peer[row] < n)
			continue;
		if (kind == GMS_K_BLOCK)
			add_block(s, m, row, &cap_blocks);
		else
			*VEC_PUSH(s->segments, s->n, cap_segments) = (struct space_segment){
			    .addr = c->addr[row], .size = c->size[row], .row = (uint32_t)row};
	}
	if (ranges.n)
		mapped_segments(s, c, &ranges, &cap_segments);
	free(ranges.row);
}

static void hole(struct space *s, struct space_segment *g, uint64_t size)
{
	if (!size)
		return;
	s->holes++;
	s->free += size;
	g->largest = size > g->largest ? size : g->largest;
	s->largest = size > s->largest ? size : s->largest;
}

/* Blocks and segments are sorted: walk both at once. */
static void place_blocks(struct space *s)
{
	size_t i, b = 0;

	for (i = 0; i < s->n; i++) {
		struct space_segment *g = &s->segments[i];
		uint64_t at = g->addr, end = g->addr + g->size;

		while (b < s->n_blocks && s->blocks[b].addr < g->addr)
			s->outside += s->blocks[b++].size;
		g->first = b;
		for (; b < s->n_blocks && s->blocks[b].addr < end; b++) {
			const struct space_block *k = &s->blocks[b];

			if (k->addr > at)
				hole(s, g, k->addr - at);
			g->used += k->size;
			at = k->addr + k->size > at ? k->addr + k->size : at;
		}
		g->n = b - g->first;
		if (end > at)
			hole(s, g, end - at);
		if (!g->n)
			s->whole += g->size;
		s->reserved += g->size;
	}
	while (b < s->n_blocks)
		s->outside += s->blocks[b++].size;
}

void space_at(const struct model *m, uint8_t device, size_t row, struct space *out)
{
	*out = (struct space){.exact = true};
	gather(out, m, device, row < m->ev.n ? row + 1 : row == SIZE_MAX ? 0 : m->ev.n);
	if (!out->known)
		return;
	if (out->n)
		qsort(out->segments, out->n, sizeof *out->segments, by_addr_segment);
	if (out->n_blocks)
		qsort(out->blocks, out->n_blocks, sizeof *out->blocks, by_addr_block);
	place_blocks(out);
}

void space_free(struct space *s)
{
	free(s->segments);
	free(s->blocks);
	*s = (struct space){0};
}

double space_external(const struct space *s)
{
	return s->free ? 1.0 - (double)s->largest / (double)s->free : 0;
}

double space_utilisation(const struct space *s)
{
	return s->reserved ? (double)s->used / (double)s->reserved : 1;
}

static int most_free(const void *a, const void *b)
{
	const struct pinned_segment *x = a, *y = b;

	if (x->free != y->free)
		return x->free > y->free ? -1 : 1;
	return x->segment < y->segment ? -1 : x->segment > y->segment;
}

void space_pinned(const struct space *s, struct pinned *out)
{
	size_t i, cap = 0;

	*out = (struct pinned){0};
	for (i = 0; i < s->n; i++) {
		const struct space_segment *g = &s->segments[i];

		if (g->expandable || !g->n || g->used > g->size / 4)
			continue;
		*VEC_PUSH(out->rows, out->n, cap) = (struct pinned_segment){g, g->size - g->used};
		out->free += g->size - g->used;
		out->used += g->used;
		out->blocks += g->n;
	}
	if (out->n)
		qsort(out->rows, out->n, sizeof *out->rows, most_free);
}

void space_pinned_free(struct pinned *p)
{
	free(p->rows);
	*p = (struct pinned){0};
}

uint64_t space_largest_for(const struct model *m, const struct space *s, uint16_t stream, uint64_t size)
{
	uint8_t pool = size <= SMALL_REQUEST ? 1 : 2;
	uint64_t largest = 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct space_segment *g = &s->segments[i];
		uint8_t small = m->pools[m->ev.pool[g->row]].small;

		if (m->ev.stream[g->row] == stream && (!small || small == pool) && g->largest > largest)
			largest = g->largest;
	}
	return largest;
}
