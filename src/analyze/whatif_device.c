/* whatif_device.c: see whatif_device.h. */
#include "analyze/whatif_device.h"
#include "base/mem.h"
#include <stdlib.h>

void *whatif_page_get(void *ctx, size_t bytes)
{
	(void)ctx;
	return mem_alloc(bytes);
}

void whatif_page_put(void *ctx, void *page, size_t bytes)
{
	(void)ctx;
	(void)bytes;
	free(page);
}

/* No program has so many; a damaged recording may. Those beyond share the default one. */
enum { STREAMS = 4096, POOLS = 1024 };

static struct gma_pool *pool_of(struct whatif_device *d, uint16_t pool)
{
	const struct pool_info *p = &d->m->pools[pool];
	struct gma_pool **at = &d->pools[pool];

	if (pool >= POOLS || (!p->id[0] && !p->id[1]))
		return NULL;
	if (!*at)
		*at = gma_core_pool_find(d->core, p->id[0], p->id[1]);
	if (!*at)
		gma_core_pool_create(d->core, at, p->id[0], p->id[1], 0);
	return *at;
}

struct gma_request whatif_request(struct whatif_device *d, uint64_t size, uint16_t stream, uint16_t pool, uint32_t slot)
{
	return (struct gma_request){size, stream < STREAMS ? d->m->streams[stream].handle : 0, pool_of(d, pool), slot};
}

struct gma_block *whatif_block(const struct whatif_device *d, uint32_t slot)
{
	struct gma_block *b = d->blocks[slot];

	return b && b->user == slot && (b->state == GMA_LIVE || b->state == GMA_PENDING) ? b : NULL;
}

void whatif_pool_dead(struct whatif_device *d, uint16_t pool)
{
	struct gma_pool *p = pool_of(d, pool);

	if (p)
		gma_core_pool_release(p);
}

/* --- the state a recording begins with -------------------------------------------------------- */

struct initial { /* a row and its address, for sorting */
	uint64_t addr;
	uint32_t row, slot;
};

static int by_addr(const void *a, const void *b)
{
	const struct initial *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static struct initial *initial_segments(const struct whatif_trace *t, size_t *n)
{
	const struct columns *c = &t->m->ev;
	struct initial *v = mem_zalloc(t->m->n_initial + 1, sizeof *v);
	uint32_t row;

	*n = 0;
	for (row = 0; row < t->m->n_initial; row++)
		if (c->device[row] == t->device && GMS_OP_KIND(c->op[row]) == GMS_K_SEGMENT)
			v[(*n)++] = (struct initial){c->addr[row], row, 0};
	qsort(v, *n, sizeof *v, by_addr);
	return v;
}

static struct initial *initial_blocks(const struct whatif_trace *t)
{
	const struct columns *c = &t->m->ev;
	struct initial *v = mem_zalloc(t->n_initial + 1, sizeof *v);
	uint32_t slot;

	for (slot = 0; slot < t->n_initial; slot++)
		v[slot] = (struct initial){c->addr[t->alloc_row[slot]], t->alloc_row[slot], slot};
	qsort(v, t->n_initial, sizeof *v, by_addr);
	return v;
}

static uint64_t block_size(const struct whatif_device *d, uint32_t row)
{
	uint64_t size = model_block_size(d->m, row);

	if (size != MODEL_UNKNOWN && size && size % GMA_MIN_BLOCK == 0)
		return size;
	return gma_round_size(gma_core_conf(d->core), d->m->ev.size[row]);
}

static bool is_small(const struct model *m, uint32_t row)
{
	uint8_t small = m->pools[m->ev.pool[row]].small;

	return small ? small == 1 : m->ev.size[row] == GMA_SMALL_SEGMENT;
}

/* Was the segment at addr made of mapped pages? The state at the end tells, else the setting. */
static bool is_expandable(const struct whatif_device *d, uint8_t device, uint64_t addr)
{
	const struct model *m = d->m;
	size_t i;

	if (!gma_core_conf(d->core)->expandable)
		return false;
	for (i = 0; i < m->n_segments; i++)
		if (m->segments[i].device == device && addr >= m->segments[i].addr &&
		    addr - m->segments[i].addr < m->segments[i].size)
			return m->segments[i].expandable;
	return true;
}

/* Adopt one segment with the blocks from j on that lie in it; returns the first block behind it. */
static size_t adopt_segment(struct whatif_device *d, const struct whatif_trace *t, uint32_t s, const struct initial *blocks,
			    size_t j, struct gma_adopted *live, struct gma_block **got)
{
	const struct columns *c = &t->m->ev;
	struct gma_request q = whatif_request(d, 0, c->stream[s], c->pool[s], 0);
	size_t n = 0, i;

	while (j < t->n_initial && blocks[j].addr < c->addr[s])
		j++;
	for (; j + n < t->n_initial && blocks[j + n].addr - c->addr[s] < c->size[s]; n++) {
		const struct initial *b = &blocks[j + n];

		live[n] = (struct gma_adopted){b->addr, block_size(d, b->row), c->size[b->row], b->slot};
	}
	if (!gma_core_adopt(d->core, c->addr[s], c->size[s], q.stream, q.pool, is_small(t->m, s),
			    is_expandable(d, t->device, c->addr[s]), live, n, got))
		for (i = 0; i < n; i++)
			d->blocks[live[i].user] = got[i];
	return j + n;
}

void whatif_adopt(struct whatif_device *d, const struct whatif_trace *t)
{
	size_t n, i, j = 0;
	struct initial *segments = initial_segments(t, &n), *blocks = initial_blocks(t);
	struct gma_adopted *live = mem_zalloc(t->n_initial + 1, sizeof *live);
	struct gma_block **got = mem_zalloc(t->n_initial + 1, sizeof(struct gma_block *));

	for (i = 0; i < n; i++)
		j = adopt_segment(d, t, segments[i].row, blocks, j, live, got);
	free(segments);
	free(blocks);
	free(live);
	free(got);
}
