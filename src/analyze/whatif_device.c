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

static struct gma_pool *pool_of(struct whatif_device *d, uint16_t pool)
{
	const struct pool_info *p = &d->m->pools[pool];
	struct gma_pool **at = &d->pools[pool];

	if (!p->id[0] && !p->id[1])
		return NULL;
	if (!*at)
		*at = gma_core_pool_find(d->core, p->id[0], p->id[1]);
	if (!*at)
		gma_core_pool_create(d->core, at, p->id[0], p->id[1], 0);
	return *at;
}

struct gma_request whatif_request(struct whatif_device *d, uint64_t size, uint16_t stream, uint16_t pool, uint32_t slot)
{
	return (struct gma_request){size, d->m->streams[stream].handle, pool_of(d, pool), slot};
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

static int by_addr(const void *a, const void *b, void *arg)
{
	const struct model *m = arg;
	uint64_t x = m->ev.addr[*(const uint32_t *)a], y = m->ev.addr[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

/* The initial rows of one kind on the device, by address. */
static uint32_t *initial_rows(const struct model *m, uint8_t device, enum gms_kind kind, size_t *n)
{
	uint32_t *rows = mem_zalloc(m->n_initial + 1, sizeof *rows);
	size_t row;

	*n = 0;
	for (row = 0; row < m->n_initial; row++)
		if (m->ev.device[row] == device && GMS_OP_KIND(m->ev.op[row]) == kind)
			rows[(*n)++] = (uint32_t)row;
	qsort_r(rows, *n, sizeof *rows, by_addr, (void *)m);
	return rows;
}

static uint64_t block_size(const struct whatif_device *d, uint32_t row)
{
	uint64_t size = model_block_size(d->m, row);

	return size != MODEL_UNKNOWN && size % GMA_MIN_BLOCK == 0 && size
	               ? size
	               : gma_round_size(gma_core_conf(d->core), d->m->ev.size[row]);
}

static bool is_small(const struct model *m, uint32_t row)
{
	uint8_t small = m->pools[m->ev.pool[row]].small;

	return small ? small == 1 : m->ev.size[row] == GMA_SMALL_SEGMENT;
}

void whatif_adopt(struct whatif_device *d, uint8_t device, const uint32_t *slot_of)
{
	const struct model *m = d->m;
	const struct columns *c = &m->ev;
	size_t n_segments, n_blocks, i, j = 0, n;
	uint32_t *segments = initial_rows(m, device, GMS_K_SEGMENT, &n_segments);
	uint32_t *rows = initial_rows(m, device, GMS_K_BLOCK, &n_blocks);
	struct gma_adopted *live = mem_zalloc(n_blocks + 1, sizeof *live);
	struct gma_block **blocks = mem_zalloc(n_blocks + 1, sizeof *blocks);

	for (i = 0; i < n_segments; i++) {
		uint32_t s = segments[i];
		uint64_t end = c->addr[s] + c->size[s];
		bool expandable = GMS_OP_ACTION(c->op[s]) == GMS_A_MAP;
		struct gma_request q = whatif_request(d, 0, c->stream[s], c->pool[s], 0);

		while (j < n_blocks && c->addr[rows[j]] < c->addr[s])
			j++;
		for (n = 0; j + n < n_blocks && c->addr[rows[j + n]] < end; n++) {
			uint32_t b = rows[j + n];

			live[n] = (struct gma_adopted){c->addr[b], block_size(d, b), c->size[b], slot_of[b]};
		}
		if (!gma_core_adopt(d->core, c->addr[s], c->size[s], q.stream, q.pool, is_small(m, s), expandable, live, n,
				    blocks)) {
			size_t k;

			for (k = 0; k < n; k++)
				d->blocks[live[k].user] = blocks[k];
		}
		j += n;
	}
	free(segments);
	free(rows);
	free(live);
	free(blocks);
}
