/* whatif_fidelity.c: the recording of an allocator, replayed and compared.
 *
 * The core replays the recording under its own settings. Rows are taken in windows: what one call of
 * the program caused. The device answers as it did then: a segment is granted at the recorded
 * address if the recording shows one at this point, and refused if it shows memory going back
 * instead. What the core does is compared with the rows of the window, in order. Whether memory
 * went back because the program emptied the cache or because a request had to is told by what the
 * core would have done.
 */
#include "analyze/whatif_compile.h"
#include "base/mem.h"
#include <stdio.h>

/* Stands for all streams that a pending block waits for: only the recording knows when they are done. */
#define OTHER_STREAMS UINT64_MAX
#define NOTHING	      GMS_OP(GMS_K_TRACE, GMS_A_OTHER)

static enum gms_kind kind(const struct compiler *k, size_t i)
{
	return GMS_OP_KIND(k->c->op[k->rows[i]]);
}

static bool is(const struct compiler *k, size_t i, uint8_t op)
{
	return i < k->n && k->c->op[k->rows[i]] == op;
}

/* --- the comparison ------------------------------------------------------------------------ */

static const uint8_t op_of[] = {
	[GMA_DID_ALLOC] = BLOCK(ALLOC),
	[GMA_DID_FREE_REQUESTED] = BLOCK(FREE_REQUESTED),
	[GMA_DID_FREE_COMPLETED] = BLOCK(FREE),
	[GMA_DID_SEGMENT_ALLOC] = SEGMENT(ALLOC),
	[GMA_DID_SEGMENT_FREE] = SEGMENT(FREE),
	[GMA_DID_MAP] = SEGMENT(MAP),
	[GMA_DID_UNMAP] = SEGMENT(UNMAP),
	[GMA_DID_OOM] = BLOCK(FAIL),
};

static void describe(char *buf, size_t size, uint8_t op, uint64_t addr, uint64_t bytes)
{
	snprintf(buf, size, "%s.%s of %llu bytes at 0x%llx", gms_kind_info[GMS_OP_KIND(op)].name,
		 gms_action_name[GMS_OP_ACTION(op)], (unsigned long long)bytes, (unsigned long long)addr);
}

static void describe_or_nothing(char *buf, size_t size, uint8_t op, uint64_t addr, uint64_t bytes)
{
	if (op == NOTHING)
		snprintf(buf, size, "nothing");
	else
		describe(buf, size, op, addr, bytes);
}

/* Remember the first row that was not predicted. n NULL: nothing was predicted here. */
static void mismatch(struct compiler *k, size_t i, const struct gma_note *n)
{
	struct whatif_mismatch *x = &k->f->first;
	uint32_t row = k->rows[i < k->n ? i : k->n - 1];

	k->off = true;
	if (x->recorded[0])
		return;
	x->device = k->t->device;
	x->event = k->number[i < k->n ? i : k->n - 1];
	x->recorded_op = i < k->end ? k->c->op[row] : NOTHING;
	x->predicted_op = n ? op_of[n->what] : NOTHING;
	describe_or_nothing(x->recorded, sizeof x->recorded, x->recorded_op, k->c->addr[row], k->c->size[row]);
	describe_or_nothing(x->predicted, sizeof x->predicted, x->predicted_op, n ? n->addr : 0, n ? n->size : 0);
}

static bool shows_it(const struct compiler *k, size_t i, const struct gma_note *n)
{
	uint32_t row = k->rows[i];

	return k->c->op[row] == op_of[n->what] && k->c->size[row] == n->size &&
	       (n->what == GMA_DID_OOM || k->c->addr[row] == n->addr);
}

/* Blocks whose streams are waited for complete stream by stream, and only the program knew which those are:
 * of completed frees in a row the one that is predicted may come first. */
static void bring_forward(struct compiler *k, const struct gma_note *n)
{
	enum { FAR = 4096 }; /* no recording is worth a longer search */
	size_t i = k->at;
	uint32_t row, number;

	if (n->what != GMA_DID_FREE_COMPLETED)
		return;
	while (i < k->end && i - k->at < FAR && is(k, i, BLOCK(FREE)) && !shows_it(k, i, n))
		i++;
	if (i == k->end || !shows_it(k, i, n))
		return;
	row = k->rows[i], number = k->number[i];
	k->rows[i] = k->rows[k->at], k->number[i] = k->number[k->at];
	k->rows[k->at] = row, k->number[k->at] = number;
}

static void compare(void *ctx, const struct gma_note *n)
{
	struct compiler *k = ctx;

	if (k->quiet || k->off)
		return;
	if (k->at == k->end) {
		mismatch(k, k->at, n);
		return;
	}
	bring_forward(k, n);
	if (!shows_it(k, k->at, n)) {
		mismatch(k, k->at, n);
		return;
	}
	k->at++;
	k->f->matched++;
}

static void window_open(struct compiler *k, size_t from, size_t to)
{
	k->at = from;
	k->end = to;
	k->off = false;
	k->f->events += to - from;
}

static void window_close(struct compiler *k)
{
	for (; k->at < k->end; k->at++)
		if (!k->off)
			mismatch(k, k->at, NULL);
	k->off = false;
}

/* --- the device as recorded ------------------------------------------------------------------ */

/* Does the recording show op at this point? */
static bool shows(const struct compiler *k, uint8_t op)
{
	return k->at < k->end && !k->off && is(k, k->at, op);
}

/* Does it show that the device refused? When the limit is being looked for, only the limit refuses. */
static bool refuses(const struct compiler *k)
{
	return !k->probe && (shows(k, SEGMENT(FREE)) || shows(k, SEGMENT(UNMAP)) || shows(k, BLOCK(FREE)) || shows(k, BLOCK(FAIL)));
}

static bool can_be_place(uint64_t addr)
{
	return addr < GMA_TOO_MUCH && addr % GMA_MIN_BLOCK == 0;
}

static int recorded_alloc(void *ctx, uint64_t size, uint64_t *addr)
{
	struct compiler *k = ctx;

	if (refuses(k))
		return GMA_OUT_OF_MEMORY;
	if (shows(k, SEGMENT(ALLOC)) && can_be_place(k->c->addr[k->rows[k->at]])) {
		*addr = k->c->addr[k->rows[k->at]];
		return GMA_OK;
	}
	*addr = k->d.sim.next;
	k->d.sim.next += (size + GMA_SIM_GRANULE - 1) & ~(GMA_SIM_GRANULE - 1);
	return GMA_OK;
}

static int recorded_free(void *ctx, uint64_t addr, uint64_t size)
{
	(void)ctx;
	(void)addr;
	(void)size;
	return GMA_OK;
}

/* The range is where the request maps its first page, though it may have to flush the cache before. */
static int recorded_reserve(void *ctx, uint64_t size, uint64_t *addr)
{
	struct compiler *k = ctx;
	size_t i = k->at;

	while (i < k->end && !is(k, i, SEGMENT(MAP)))
		i++;
	if (i < k->end && !k->off && can_be_place(k->c->addr[k->rows[i]])) {
		*addr = k->c->addr[k->rows[i]];
		return GMA_OK;
	}
	*addr = k->d.sim.next;
	k->d.sim.next += size;
	return GMA_OK;
}

static int recorded_map(void *ctx, uint64_t addr, uint64_t size, uint64_t page)
{
	struct compiler *k = ctx;

	(void)addr;
	(void)size;
	(void)page;
	return refuses(k) ? GMA_OUT_OF_MEMORY : GMA_OK;
}

static int recorded_unmap(void *ctx, uint64_t addr, uint64_t size, uint64_t page)
{
	(void)page;
	return recorded_free(ctx, addr, size);
}

/* Only rows tell when other streams are done, except that a refused request waits for them. */
static int recorded_event(void *ctx, gma_stream stream, uint64_t *event)
{
	(void)ctx;
	(void)stream;
	*event = 0;
	return GMA_OK;
}

static int recorded_wait(void *ctx, uint64_t event)
{
	const struct compiler *k = ctx;

	(void)event;
	return k->emptying ? GMA_NOT_READY : GMA_OK;
}

static void recorded_event_end(void *ctx, uint64_t event)
{
	(void)ctx;
	(void)event;
}

static int recorded_info(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes)
{
	struct compiler *k = ctx;

	*total_bytes = *free_bytes = k->d.sim.total;
	return GMA_OK;
}

static const struct gma_backend recorded_device = {
	.segment_alloc = recorded_alloc,
	.segment_free = recorded_free,
	.reserve = recorded_reserve,
	.unreserve = recorded_free,
	.map = recorded_map,
	.unmap = recorded_unmap,
	.event_record = recorded_event,
	.event_wait = recorded_wait,
	.event_destroy = recorded_event_end,
	.device_info = recorded_info,
	.page_get = whatif_page_get,
	.page_put = whatif_page_put,
};

/* --- windows --------------------------------------------------------------------------------- */

/* The request of row i; it will be the block of the next slot. */
static struct gma_request request(struct compiler *k, size_t i)
{
	uint32_t row = k->rows[i];

	return whatif_request(&k->d, k->c->size[row], k->c->stream[row], k->c->pool[row], (uint32_t)k->t->n_slots);
}

/* A private pool's segments go back only when nobody needs it any more, or for a request of its own. */
static void give_up_pools(struct compiler *k, size_t from, size_t to, size_t request)
{
	const struct pool_info *pools = k->t->m->pools;
	const uint64_t *own = request < k->n ? pools[k->c->pool[k->rows[request]]].id : pools[0].id;
	size_t i;

	for (i = from; i < to; i++) {
		const uint64_t *id = pools[k->c->pool[k->rows[i]]].id;

		if (!(id[0] || id[1]) || (id[0] == own[0] && id[1] == own[1]) ||
		    !(is(k, i, SEGMENT(FREE)) || is(k, i, SEGMENT(UNMAP))))
			continue;
		whatif_pool_dead(&k->d, k->c->pool[k->rows[i]]);
		compile_op(k, WHATIF_GIVEN_UP, k->rows[i], 0);
	}
}

/* Rows [from, i] are what one request caused; row i is its alloc or fail row. */
static void take_request(struct compiler *k, size_t from, size_t i)
{
	struct gma_request q = request(k, i);
	uint32_t row = k->rows[i], slot;
	struct gma_block *b;
	bool failed = is(k, i, BLOCK(FAIL));

	compile_replaced(k, row);
	give_up_pools(k, from, i, i);
	window_open(k, from, i + 1);
	gma_core_malloc(k->d.core, &q, &b);
	window_close(k);
	if (!failed) {
		slot = compile_slot(k, row);
		k->d.blocks[slot] = b;
		compile_op(k, WHATIF_ALLOC, row, slot);
		return;
	}
	k->quiet = true;
	if (b)
		gma_core_free(k->d.core, b);
	k->quiet = false;
	compile_op(k, WHATIF_TRY, row, 0);
}

static void take_empty(struct compiler *k, size_t from, size_t to)
{
	give_up_pools(k, from, to, k->n);
	window_open(k, from, to);
	k->emptying = true;
	gma_core_empty_cache(k->d.core, NULL);
	k->emptying = false;
	window_close(k);
	compile_op(k, WHATIF_EMPTY, k->rows[from], 0);
}

/* What a request asks of the device. */
static uint64_t asked(const struct gma_conf *c, uint64_t size)
{
	return gma_segment_size(c, gma_round_size(c, size));
}

/* Memory goes back from row `from` on, and row i is the next alloc or fail. Was it that request that
 * flushed the cache? If not, the program emptied it. */
static bool flushed_by(struct compiler *k, size_t from, size_t back_end, size_t i)
{
	const uint32_t *stack = k->c->stack;
	uint32_t row = k->rows[i];
	struct gma_request q = request(k, i);
	bool same = true, stacks = stack[row] != 0, none = false;
	size_t j;

	if (is(k, i, BLOCK(FAIL)))
		return true;
	if (back_end == i)
		return false; /* it took nothing new from the device */
	for (j = from; j < back_end; j++) {
		none = none || !stack[k->rows[j]];
		stacks = stacks && stack[k->rows[j]];
		same = same && stack[k->rows[j]] == stack[row];
	}
	if (stacks ? !same : stack[row] && none && k->t->m->source == SOURCE_TORCH)
		return false; /* PyTorch gives what a request flushes the request's stack */
	if (gma_core_would_fit(k->d.core, &q))
		return false;
	if (stacks || gma_core_conf(k->d.core)->gc_threshold > 0)
		return true;
	/* A refusal makes sense only if granting would have exceeded everything that was ever held. */
	return k->reserved + asked(gma_core_conf(k->d.core), q.size) > k->reserved_max;
}

/* Segments come or go at row i. Returns the first row after the window. */
static size_t take_segments(struct compiler *k, size_t i)
{
	size_t back_end = i, j;

	while (is(k, back_end, SEGMENT(FREE)) || is(k, back_end, SEGMENT(UNMAP)))
		back_end++;
	for (j = back_end; j < k->n && kind(k, j) == GMS_K_SEGMENT; j++)
		;
	if (back_end > i && (j == k->n || !(is(k, j, BLOCK(ALLOC)) || is(k, j, BLOCK(FAIL))) || !flushed_by(k, i, back_end, j))) {
		take_empty(k, i, back_end);
		return back_end;
	}
	if (is(k, j, BLOCK(ALLOC)) || is(k, j, BLOCK(FAIL))) {
		take_request(k, i, j);
		return j + 1;
	}
	window_open(k, i, j); /* segments nobody asked for: a cut recording */
	window_close(k);
	return j;
}

static struct gma_block *block_of(struct compiler *k, size_t i, uint32_t *slot)
{
	uint32_t peer = k->c->peer[k->rows[i]];

	if (peer == MODEL_NO_PEER || k->slot_of[peer] == UINT32_MAX)
		return NULL;
	*slot = k->slot_of[peer];
	return whatif_block(&k->d, *slot);
}

/* A free. Returns the first row after its window. */
static size_t take_free(struct compiler *k, size_t i)
{
	uint32_t slot = 0, row = k->rows[i], peer = k->c->peer[row];
	struct gma_block *b = block_of(k, i, &slot);
	bool requested = is(k, i, BLOCK(FREE_REQUESTED));
	bool whole = requested && is(k, i + 1, BLOCK(FREE)) && k->c->peer[k->rows[i + 1]] == peer;
	size_t next = i + 1 + whole;

	window_open(k, i, next);
	if (b && b->state == GMA_LIVE && requested && !whole)
		gma_core_record_stream(k->d.core, b, OTHER_STREAMS);
	if (b && b->state == GMA_PENDING && !requested) {
		gma_core_settle(k->d.core, b);
	} else if (b && b->state == GMA_LIVE) {
		k->quiet = !requested; /* a recording that only shows completed frees */
		gma_core_free(k->d.core, b);
		if (k->quiet && k->at < k->end) {
			k->at++;
			k->f->matched++;
		}
		k->quiet = false;
	}
	window_close(k);
	if (peer == MODEL_NO_PEER || k->slot_of[peer] == UINT32_MAX)
		return next;
	if (!requested || whole) {
		compile_op(k, requested ? WHATIF_FREE : WHATIF_SETTLE, row, slot);
		compile_end(k, peer);
	} else {
		compile_op(k, WHATIF_PENDING, row, slot);
	}
	return next;
}

/* Completed frees at rows [i, j) come before memory that goes back for request `alloc`. If one of them
 * would have served it, they completed only when the request waited for them. */
static bool waited_for(struct compiler *k, size_t i, size_t j, size_t alloc)
{
	struct gma_request q = request(k, alloc);
	uint32_t slot;
	uint64_t room;

	for (; i < j; i++) {
		const struct gma_block *b = block_of(k, i, &slot);

		if (!b || gma_segment_stream(b->segment) != q.stream || gma_segment_pool(b->segment) != q.pool)
			continue;
		room = b->size + (b->prev && b->prev->state == GMA_FREE ? b->prev->size : 0) +
		       (b->next && b->next->state == GMA_FREE ? b->next->size : 0);
		if (room >= gma_round_size(gma_core_conf(k->d.core), q.size))
			return true;
	}
	return false;
}

/* A completed free at row i. Returns the first row after the window. */
static size_t take_completed(struct compiler *k, size_t i)
{
	size_t j, back_end, alloc, row;

	for (j = i; is(k, j, BLOCK(FREE)); j++)
		;
	for (back_end = j; is(k, back_end, SEGMENT(FREE)) || is(k, back_end, SEGMENT(UNMAP)); back_end++)
		;
	for (alloc = back_end; alloc < k->n && kind(k, alloc) == GMS_K_SEGMENT; alloc++)
		;
	if (back_end == j || !(is(k, alloc, BLOCK(ALLOC)) || is(k, alloc, BLOCK(FAIL))) || !waited_for(k, i, j, alloc) ||
	    !flushed_by(k, j, back_end, alloc))
		return take_free(k, i);
	for (row = i; row < j; row++) { /* the request itself completes them */
		uint32_t slot = 0, peer = k->c->peer[k->rows[row]];

		if (!block_of(k, row, &slot))
			continue;
		compile_op(k, WHATIF_SETTLE, k->rows[row], slot);
		compile_end(k, peer);
	}
	take_request(k, i, alloc);
	return alloc + 1;
}

/* The recording's own checksum of active bytes. */
static void take_checksum(struct compiler *k, size_t i)
{
	window_open(k, i, i + 1);
	if (k->c->size[k->rows[i]] == gma_core_active(k->d.core)) {
		k->at++;
		k->f->matched++;
	}
	window_close(k);
}

static size_t take_row(struct compiler *k, size_t i)
{
	switch (k->c->op[k->rows[i]]) {
	case BLOCK(ALLOC):
	case BLOCK(FAIL):
		take_request(k, i, i);
		return i + 1;
	case BLOCK(FREE_REQUESTED):
		return take_free(k, i);
	case BLOCK(FREE):
		return take_completed(k, i);
	case GMS_OP(GMS_K_TRACE, GMS_A_INFO):
		take_checksum(k, i);
		return i + 1;
	default:
		return kind(k, i) == GMS_K_SEGMENT ? take_segments(k, i) : i + 1;
	}
}

/* The most reserved at once, and the most that can have been there: less than what the first failure asked for
 * on top of what was held then. */
static void find_reserved_max(struct compiler *k, const struct gma_conf *own)
{
	uint64_t now = k->reserved, available = MODEL_UNKNOWN;
	size_t i;

	k->reserved_max = now;
	for (i = 0; i < k->n; i++) {
		now += compile_reserved(k->c, k->rows[i]);
		if (now > k->reserved_max && now < INT64_MAX)
			k->reserved_max = now;
		if (available == MODEL_UNKNOWN && is(k, i, BLOCK(FAIL)) && now < INT64_MAX && k->c->size[k->rows[i]] < GMA_TOO_MUCH)
			available = now + asked(own, k->c->size[k->rows[i]]) - 1;
	}
	if (available != MODEL_UNKNOWN && available >= k->reserved_max)
		k->t->available = available;
}

void compile_blocks(struct compiler *k, const struct gma_conf *own, uint64_t limit)
{
	struct gma_backend be = recorded_device;
	size_t i, next;

	be.ctx = k;
	if (gma_core_create(&k->d.core, own, &be))
		return;
	gma_core_set_limit(k->d.core, limit);
	gma_core_on_note(k->d.core, compare, k);
	k->quiet = true;
	whatif_adopt(&k->d, k->t);
	k->quiet = false;
	find_reserved_max(k, own);
	k->t->recorded_peak = k->reserved_max;
	for (i = 0; i < k->n && !(k->probe && k->f->matched < k->f->events); i = next) {
		next = take_row(k, i);
		for (; i < next; i++)
			k->reserved += compile_reserved(k->c, k->rows[i]);
	}
	gma_core_destroy(k->d.core);
}
