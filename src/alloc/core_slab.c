/* core_slab.c: memory for the core's records, cut from the backend's pages.
 *
 * Records of one kind are recycled through a list and never go back before the core does. A step
 * that will need records asks for room first, so that it cannot run dry half way.
 */
#include "alloc/core_internal.h"

enum { PAGE_BYTES = 1 << 16 };

struct page {
	struct page *next;
	size_t bytes;
};

static bool new_page(struct gma_core *c, size_t at_least)
{
	size_t bytes = at_least + sizeof(struct page) > PAGE_BYTES ? at_least + sizeof(struct page) : PAGE_BYTES;
	struct page *p = c->be.page_get(c->be.ctx, bytes);

	if (!p)
		return false;
	p->next = c->pages;
	p->bytes = bytes;
	c->pages = p;
	c->fresh = (char *)(p + 1);
	c->fresh_end = (char *)p + bytes;
	return true;
}

void *gma_permanent(struct gma_core *c, size_t bytes)
{
	void *p;

	bytes = (bytes + 15) & ~(size_t)15;
	if ((size_t)(c->fresh_end - c->fresh) < bytes && !new_page(c, bytes))
		return NULL;
	p = c->fresh;
	c->fresh += bytes;
	return memset(p, 0, bytes);
}

bool gma_make_room(struct gma_core *c, struct gma_spares *s, size_t n)
{
	while (s->n < n) {
		void *r = gma_permanent(c, s->bytes);

		if (!r)
			return false;
		gma_give(s, r);
	}
	return true;
}

void *gma_take(struct gma_spares *s)
{
	return memset(gma_spare(s), 0, s->bytes);
}

int gma_core_create(struct gma_core **out, const struct gma_conf *conf, const struct gma_backend *b)
{
	struct gma_core start = {.conf = *conf, .be = *b}, *c;

	*out = NULL;
	if (!new_page(&start, sizeof *c))
		return GMA_NO_HOST_MEMORY;
	c = gma_permanent(&start, sizeof *c);
	*c = start;
	c->limit = GMA_UNLIMITED;
	c->blocks.bytes = sizeof(struct gma_block);
	c->segments.bytes = sizeof(struct gma_segment);
	c->uses.bytes = sizeof(struct gma_use);
	c->pool.small = (struct gma_half){.pool = &c->pool, .stat = GMA_STAT_SMALL};
	c->pool.large = (struct gma_half){.pool = &c->pool, .stat = GMA_STAT_LARGE};
	c->pool.uses = 1;
	gma_core_set_conf(c, conf);
	*out = c;
	return GMA_OK;
}

static void give_back(struct gma_core *c, struct gma_segment *s)
{
	struct gma_block *b;
	uint64_t page = s->lane->half->stat == GMA_STAT_SMALL ? GMA_SMALL_SEGMENT : c->conf.large_segment_size;

	if (!s->expandable) {
		c->be.segment_free(c->be.ctx, s->addr, s->size);
		return;
	}
	for (b = s->first; b; b = b->next) {
		uint64_t from = b->addr;

		if (b->state == GMA_UNMAPPED)
			continue;
		while (b->next && b->next->state != GMA_UNMAPPED)
			b = b->next;
		c->be.unmap(c->be.ctx, from, b->addr + b->size - from, page);
	}
	c->be.unreserve(c->be.ctx, s->addr, s->size);
}

void gma_core_destroy(struct gma_core *c)
{
	struct gma_backend be;
	struct gma_segment *s;
	struct gma_queue *q;
	struct gma_use *u;
	struct page *p, *next;

	if (!c)
		return;
	be = c->be;
	for (q = c->queues; q; q = q->next)
		for (u = q->head; u; u = u->next)
			if (u->recorded)
				be.event_destroy(be.ctx, u->event);
	for (s = c->oldest; s; s = s->next)
		give_back(c, s);
	for (p = c->pages; p; p = next) {
		next = p->next;
		be.page_put(be.ctx, p, p->bytes);
	}
}
