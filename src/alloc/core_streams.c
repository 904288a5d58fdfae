/* core_streams.c: blocks that other streams use: they are free when those streams are done.
 *
 * A use is noted when it begins. When the block is freed an event is recorded on every stream that
 * used it; the block stays pending until all are complete. Uses are allocated when they are
 * noted, so that a free never needs memory. An event that could not be recorded is tried again.
 */
#include "alloc/core_internal.h"

static struct gma_queue *queue_get(struct gma_core *c, gma_stream stream)
{
	struct gma_queue *q, **at = &c->queues;

	for (q = *at; q; q = *at) {
		if (q->stream == stream)
			return q;
		at = &q->next;
	}
	q = *at = gma_permanent(c, sizeof *q);
	if (q)
		q->stream = stream;
	return q;
}

int gma_core_record_stream(struct gma_core *c, struct gma_block *b, gma_stream stream)
{
	struct gma_queue *q;
	struct gma_use *u;

	if (b->state != GMA_LIVE)
		return GMA_INVALID_VALUE;
	if (stream == b->segment->lane->stream)
		return GMA_OK;
	for (u = b->uses; u; u = u->of_block)
		if (u->stream == stream)
			return GMA_OK;
	q = queue_get(c, stream);
	if (!q || !gma_room(c, &c->uses, 1))
		return GMA_NO_HOST_MEMORY;
	u = gma_take(&c->uses);
	u->stream = stream;
	u->block = b;
	u->queue = q;
	u->in_capture = c->captures > 0;
	u->of_block = b->uses;
	b->uses = u;
	return GMA_OK;
}

static void try_record(struct gma_core *c, struct gma_use *u)
{
	if (!u->recorded && c->be.event_record)
		u->recorded = !c->be.event_record(c->be.ctx, u->stream, &u->event);
}

static void enqueue(struct gma_core *c, struct gma_use *u)
{
	struct gma_queue *q = u->queue;

	try_record(c, u);
	u->prev = q->tail;
	*(q->tail ? &q->tail->next : &q->head) = u;
	q->tail = u;
	u->queued = true;
}

/* The use is over: out of the queue, off the block. */
static void end_use(struct gma_core *c, struct gma_use *u)
{
	struct gma_use **at = &u->block->uses;

	if (u->queued) {
		*(u->prev ? &u->prev->next : &u->queue->head) = u->next;
		*(u->next ? &u->next->prev : &u->queue->tail) = u->prev;
	}
	if (u->recorded)
		c->be.event_destroy(c->be.ctx, u->event);
	while (*at != u)
		at = &(*at)->of_block;
	*at = u->of_block;
	gma_give(&c->uses, u);
}

void gma_free_pending(struct gma_core *c, struct gma_block *b)
{
	struct gma_use *u;

	b->state = GMA_PENDING;
	if (c->captures) {
		/* Events must not be asked during a capture; recording waits for its end. */
		b->left = c->deferred;
		c->deferred = b;
		return;
	}
	for (u = b->uses; u; u = u->of_block)
		enqueue(c, u);
}

/* Blocks freed during a capture. What happened only inside it is over when it ends. */
static void record_deferred(struct gma_core *c)
{
	struct gma_block *b, *next;
	struct gma_use *u, *next_use;

	for (b = c->deferred, c->deferred = NULL; b; b = next) {
		next = b->left;
		for (u = b->uses; u; u = next_use) {
			next_use = u->of_block;
			if (u->in_capture)
				end_use(c, u);
			else
				enqueue(c, u);
		}
		if (!b->uses)
			gma_block_free(c, b);
	}
}

void gma_core_poll(struct gma_core *c)
{
	struct gma_queue *q;
	struct gma_use *u;
	struct gma_block *b;

	if (c->deferred)
		record_deferred(c);
	if (!c->be.event_query)
		return;
	for (q = c->queues; q; q = q->next) {
		while ((u = q->head)) {
			try_record(c, u);
			if (!u->recorded || c->be.event_query(c->be.ctx, u->event))
				break;
			b = u->block;
			end_use(c, u);
			if (!b->uses)
				gma_block_free(c, b);
		}
	}
}

void gma_wait_pending(struct gma_core *c, const struct gma_pool *only)
{
	struct gma_queue *q;
	struct gma_use *u, *next;
	struct gma_block *b;

	c->stats.num_sync_all_streams++;
	if (c->deferred)
		record_deferred(c);
	for (q = c->queues; q; q = q->next) {
		for (u = q->head; u; u = next) {
			next = u->next;
			b = u->block;
			if (only && b->segment->lane->half->pool != only)
				continue;
			try_record(c, u);
			if (c->be.event_wait && (!u->recorded || c->be.event_wait(c->be.ctx, u->event)))
				continue; /* it stays pending */
			end_use(c, u);
			if (!b->uses)
				gma_block_free(c, b);
		}
	}
}

void gma_core_settle(struct gma_core *c, struct gma_block *b)
{
	struct gma_block **at = &c->deferred;

	if (b->state != GMA_PENDING)
		return;
	while (*at && *at != b)
		at = &(*at)->left;
	if (*at)
		*at = b->left;
	while (b->uses)
		end_use(c, b->uses);
	gma_block_free(c, b);
}
