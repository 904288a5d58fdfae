/* torch_write.c: a model as a PyTorch memory snapshot, as torch.cuda.memory._dump_snapshot writes it.
 *
 * A framework's rows become the entries they came from. On a device of which no segments are known (the driver's
 * level, RMM's logs) every allocation is a segment with one block, and its free ends both: PyTorch's viewer finds a
 * segment around every block, or fails. Keys, frames and stacks are written once and shared. The state at the end is
 * the source's own, else made from what is live. Host memory is that of PyTorch's pinned-memory allocator, which
 * belongs to no device.
 */
#include "base/mem.h"
#include "format/pickle_out.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int export_torch(const struct export_view *v, struct output *o, struct err *e);

#define KEYS(X)                                                                                               \
	X(segments) X(device_traces) X(allocator_settings) X(external_annotations) X(device) X(address)         \
	X(total_size) X(allocated_size) X(active_size) X(requested_size) X(stream) X(segment_type)              \
	X(segment_pool_id) X(is_expandable) X(frames) X(blocks) X(size) X(state) X(name) X(filename) X(line)    \
	X(action) X(addr) X(device_free) X(time_us) X(pool_id) X(stage) X(alloc) X(free_requested)              \
	X(free_completed) X(segment_alloc) X(segment_free) X(segment_map) X(segment_unmap) X(oom) X(snapshot)   \
	X(active_allocated) X(active_pending_free) X(inactive) X(small) X(large) X(START) X(END)                \
	X(host_segments) X(host_traces)
enum word {
#define X(name) W_##name,
	KEYS(X) N_WORDS
#undef X
};
static const char *const words[] = {
#define X(name) #name,
	KEYS(X)
#undef X
};

#define NOT_YET	    UINT32_MAX
#define LIST_PAUSE  1000
#define HANDLE_BASE (1ull << 52) /* where memory without an address of its own is shown: exact as a double */
#define HANDLE_UNIT (2ull << 20)

struct torch_out {
	struct pickle_out p;
	const struct model *m;
	bool framework[256]; /* devices with a framework's rows */
	bool segments[256];  /* devices with a framework's segments */
	bool pools;	     /* private pools exist */
	uint32_t word[N_WORDS], *frame, *stack; /* in the pickle's memo */
	struct map64 place; /* row of an allocation → its place above HANDLE_BASE in units */
	uint32_t next_place;
	size_t next_failure;
	bool *requested; /* rows of allocations that the user gave back */
};

static uint32_t *not_yet(size_t n)
{
	uint32_t *v = mem_alloc(n * sizeof *v);

	memset(v, 0xff, n * sizeof *v);
	return v;
}

/* --- what is shared --- */

static void put_word(struct torch_out *t, enum word w)
{
	if (t->word[w] != NOT_YET) {
		pickle_out_again(&t->p, t->word[w]);
		return;
	}
	pickle_out_text(&t->p, words[w]);
	t->word[w] = pickle_out_remember(&t->p);
}

static void put_key_u64(struct torch_out *t, enum word w, uint64_t v)
{
	put_word(t, w);
	pickle_out_u64(&t->p, v);
}

static void put_key_word(struct torch_out *t, enum word key, enum word value)
{
	put_word(t, key);
	put_word(t, value);
}

static void put_frame(struct torch_out *t, uint32_t id)
{
	const struct frame *f = &t->m->frames.v[id];
	bool as_is = t->m->source == SOURCE_TORCH;
	struct text scratch = {0};

	if (t->frame[id] != NOT_YET) {
		pickle_out_again(&t->p, t->frame[id]);
		return;
	}
	pickle_out_dict(&t->p);
	put_word(t, W_name);
	pickle_out_text(&t->p, as_is ? model_text(t->m, f->function) : export_function(t->m, id, &scratch));
	put_word(t, W_filename);
	pickle_out_text(&t->p, f->file ? model_text(t->m, f->file) : "??");
	put_key_u64(t, W_line, f->line);
	pickle_out_dict_end(&t->p);
	t->frame[id] = pickle_out_remember(&t->p);
	text_free(&scratch);
}

static void put_stack(struct torch_out *t, uint32_t id)
{
	size_t n, i;
	const uint32_t *frame = model_stack_frames(t->m, id, &n);

	put_word(t, W_frames);
	if (t->stack[id] != NOT_YET) {
		pickle_out_again(&t->p, t->stack[id]);
		return;
	}
	pickle_out_list(&t->p);
	for (i = 0; i < n; i++)
		put_frame(t, frame[i]);
	pickle_out_list_end(&t->p);
	t->stack[id] = pickle_out_remember(&t->p);
}

static int64_t microseconds(const struct model *m, int64_t t_ns)
{
	return m->has_time ? (m->start_wall_ns + t_ns) / 1000 : t_ns;
}

/* --- which rows, and where --- */

static bool is_kept(const struct torch_out *t, size_t row)
{
	const struct gms_kind_info *kind = &gms_kind_info[model_kind(t->m, row)];
	uint8_t device = t->m->ev.device[row];

	if (device == MODEL_NO_DEVICE)
		return model_kind(t->m, row) == GMS_K_HOST_BLOCK || model_kind(t->m, row) == GMS_K_SEGMENT;
	if (t->framework[device])
		return kind->level == GMS_FRAMEWORK && (t->segments[device] || model_kind(t->m, row) == GMS_K_BLOCK);
	return kind->level == GMS_DRIVER && kind->flags == GMS_ON_DEVICE && model_kind(t->m, row) != GMS_K_GRAPH;
}

/* Handles are no addresses: such memory gets a place of its own, far from all others. */
static uint64_t address_of(struct torch_out *t, size_t alloc)
{
	const struct columns *c = &t->m->ev;
	bool fresh;
	uint32_t *place;

	if (gms_kind_info[GMS_OP_KIND(c->op[alloc])].space == GMS_VA || t->framework[c->device[alloc]])
		return c->addr[alloc];
	place = map64_put(&t->place, alloc, &fresh);
	if (fresh) {
		*place = t->next_place;
		t->next_place += (uint32_t)(c->size[alloc] / HANDLE_UNIT + 1);
	}
	return HANDLE_BASE + *place * HANDLE_UNIT;
}

/* --- traces --- */

static void put_entry(struct torch_out *t, size_t row, enum word action, uint64_t addr, uint64_t size)
{
	const struct model *m = t->m;
	const struct pool_info *pool = &m->pools[m->ev.pool[row]];

	pickle_out_dict(&t->p);
	put_key_word(t, W_action, action);
	put_key_u64(t, action == W_oom ? W_device_free : W_addr, addr);
	put_key_u64(t, W_size, size);
	put_key_u64(t, W_stream, m->streams[m->ev.stream[row]].handle);
	if (t->pools) {
		put_word(t, W_pool_id);
		pickle_out_pair(&t->p, pool->id[0], pool->id[1]);
	}
	if (m->has_time) {
		put_word(t, W_time_us);
		pickle_out_i64(&t->p, microseconds(m, m->ev.t_ns[row]));
	}
	put_stack(t, m->ev.stack[row]);
	pickle_out_dict_end(&t->p);
}

static void put_failure(struct torch_out *t, size_t row)
{
	const struct model *m = t->m;
	uint64_t free = 0;

	while (t->next_failure < m->n_failures && m->failures[t->next_failure].event < row)
		t->next_failure++;
	if (t->next_failure < m->n_failures && m->failures[t->next_failure].event == row &&
	    m->failures[t->next_failure].free != MODEL_UNKNOWN)
		free = m->failures[t->next_failure].free;
	put_entry(t, row, W_oom, free, m->ev.size[row]);
}

static void put_framework_row(struct torch_out *t, size_t row)
{
	static const enum word action[256] = {
		[GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC)] = W_alloc,
		[GMS_OP(GMS_K_BLOCK, GMS_A_FREE_REQUESTED)] = W_free_requested,
		[GMS_OP(GMS_K_BLOCK, GMS_A_FREE)] = W_free_completed,
		[GMS_OP(GMS_K_HOST_BLOCK, GMS_A_ALLOC)] = W_alloc,
		[GMS_OP(GMS_K_HOST_BLOCK, GMS_A_FREE_REQUESTED)] = W_free_requested,
		[GMS_OP(GMS_K_HOST_BLOCK, GMS_A_FREE)] = W_free_completed,
		[GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC)] = W_segment_alloc,
		[GMS_OP(GMS_K_SEGMENT, GMS_A_FREE)] = W_segment_free,
		[GMS_OP(GMS_K_SEGMENT, GMS_A_MAP)] = W_segment_map,
		[GMS_OP(GMS_K_SEGMENT, GMS_A_UNMAP)] = W_segment_unmap,
		[GMS_OP(GMS_K_TRACE, GMS_A_INFO)] = W_snapshot,
	};
	const struct columns *c = &t->m->ev;
	uint64_t size = c->size[row];
	uint32_t peer = c->peer[row];

	if (c->op[row] == GMS_OP(GMS_K_BLOCK, GMS_A_FAIL)) {
		put_failure(t, row);
		return;
	}
	if (!action[c->op[row]])
		return;
	if (GMS_OP_ACTION(c->op[row]) != GMS_A_ALLOC && !size && peer != MODEL_NO_PEER)
		size = c->size[peer];
	put_entry(t, row, action[c->op[row]], c->addr[row], size);
}

/* About an allocation that is a segment of its own. */
static void put_whole_row(struct torch_out *t, size_t row)
{
	const struct columns *c = &t->m->ev;
	uint32_t peer = c->peer[row];

	switch (GMS_OP_ACTION(c->op[row])) {
	case GMS_A_ALLOC:
		put_entry(t, row, W_segment_alloc, address_of(t, row), c->size[row]);
		put_entry(t, row, W_alloc, address_of(t, row), c->size[row]);
		break;
	case GMS_A_FREE:
		if (peer == MODEL_NO_PEER)
			break;
		put_entry(t, row, W_free_requested, address_of(t, peer), c->size[peer]);
		put_entry(t, row, W_free_completed, address_of(t, peer), c->size[peer]);
		put_entry(t, row, W_segment_free, address_of(t, peer), c->size[peer]);
		break;
	case GMS_A_FAIL:
		put_failure(t, row);
		break;
	default:
		break;
	}
}

static void put_trace(struct torch_out *t, unsigned device)
{
	const struct model *m = t->m;
	size_t row, n = 0;

	t->next_failure = 0;
	pickle_out_list(&t->p);
	for (row = m->n_initial; row < m->ev.n && !t->p.x.failed; row++) {
		if (m->ev.device[row] != device || !is_kept(t, row))
			continue;
		if (t->segments[device])
			put_framework_row(t, row);
		else
			put_whole_row(t, row);
		if (++n % LIST_PAUSE == 0)
			pickle_out_list_pause(&t->p);
	}
	pickle_out_list_end(&t->p);
}

static void put_traces(struct torch_out *t)
{
	unsigned d, last = 0;

	for (d = 0; d < MODEL_NO_DEVICE; d++)
		if (t->m->device[d].present)
			last = d;
	put_word(t, W_device_traces);
	pickle_out_list(&t->p);
	for (d = 0; d <= last; d++)
		put_trace(t, d);
	pickle_out_list_end(&t->p);
}

/* --- the state at the end --- */

static void put_block(struct torch_out *t, const struct final_block *b)
{
	static const enum word state[] = {W_inactive, W_active_allocated, W_active_pending_free};

	pickle_out_dict(&t->p);
	put_key_u64(t, W_address, b->addr);
	put_key_u64(t, W_size, b->size);
	put_key_u64(t, W_requested_size, b->requested == MODEL_UNKNOWN ? b->size : b->requested);
	put_key_word(t, W_state, state[b->state]);
	put_stack(t, b->stack);
	pickle_out_dict_end(&t->p);
}

static void put_segment(struct torch_out *t, const struct final_segment *s, const struct final_block *blocks)
{
	uint64_t allocated = 0, active = 0, requested = 0;
	const struct pool_info *pool = &t->m->pools[s->pool];
	size_t i;

	for (i = 0; i < s->n_blocks; i++) {
		const struct final_block *b = &blocks[i];

		allocated += b->state == BLOCK_ACTIVE ? b->size : 0;
		active += b->state != BLOCK_INACTIVE ? b->size : 0;
		requested += b->state == BLOCK_INACTIVE ? 0 : b->requested == MODEL_UNKNOWN ? b->size : b->requested;
	}
	pickle_out_dict(&t->p);
	put_key_u64(t, W_device, s->device == MODEL_NO_DEVICE ? 0 : s->device);
	put_key_u64(t, W_address, s->addr);
	put_key_u64(t, W_total_size, s->size);
	put_key_u64(t, W_allocated_size, allocated);
	put_key_u64(t, W_active_size, active);
	put_key_u64(t, W_requested_size, s->requested == MODEL_UNKNOWN ? requested : s->requested);
	put_key_u64(t, W_stream, t->m->streams[s->stream].handle);
	put_key_word(t, W_segment_type, s->small == 1 ? W_small : W_large);
	put_word(t, W_segment_pool_id);
	pickle_out_pair(&t->p, pool->id[0], pool->id[1]);
	put_word(t, W_is_expandable);
	pickle_out_bool(&t->p, s->expandable);
	put_stack(t, s->stack);
	put_word(t, W_blocks);
	pickle_out_list(&t->p);
	for (i = 0; i < s->n_blocks; i++)
		put_block(t, &blocks[i]);
	pickle_out_list_end(&t->p);
	pickle_out_dict_end(&t->p);
}

/* An allocation that is live at the end. */
struct lasting {
	uint64_t addr;
	size_t row;
	bool segment;
};

static int by_address(const void *a, const void *b)
{
	const struct lasting *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return y->segment - x->segment; /* a segment before the first block in it */
}

static size_t collect_lasting(struct torch_out *t, unsigned device, struct lasting **out)
{
	const struct columns *c = &t->m->ev;
	size_t row, n = 0, cap = 0;

	*out = NULL;
	for (row = 0; row < c->n; row++) {
		enum gms_kind kind = GMS_OP_KIND(c->op[row]);

		if (c->device[row] != device || GMS_OP_ACTION(c->op[row]) != GMS_A_ALLOC ||
		    c->peer[row] != MODEL_NO_PEER || !is_kept(t, row))
			continue;
		*VEC_PUSH(*out, n, cap) = (struct lasting){address_of(t, row), row, kind == GMS_K_SEGMENT};
	}
	if (n)
		qsort(*out, n, sizeof **out, by_address);
	return n;
}

static struct final_block block_of(struct torch_out *t, const struct lasting *l)
{
	uint64_t size = model_block_size(t->m, l->row);
	bool pending = t->requested[l->row] && t->segments[t->m->ev.device[l->row]];

	return (struct final_block){.addr = l->addr,
				    .size = size == MODEL_UNKNOWN ? t->m->ev.size[l->row] : size,
				    .requested = t->m->ev.size[l->row],
				    .stack = t->m->ev.stack[l->row],
				    .state = pending ? BLOCK_PENDING : BLOCK_ACTIVE};
}

/* A segment from its own row or, without one, around a single block; v[*i] is its first block. */
static void put_made_segment(struct torch_out *t, const struct lasting *own, const struct lasting *v, size_t n, size_t *i)
{
	const struct columns *c = &t->m->ev;
	size_t row = own ? own->row : v[*i].row, n_blocks = 0, cap = 0;
	struct final_block *blocks = NULL, first = own ? (struct final_block){0} : block_of(t, &v[*i]);
	struct final_segment s = {.addr = own ? own->addr : first.addr,
				  .size = own ? c->size[row] : first.size,
				  .requested = MODEL_UNKNOWN,
				  .stack = c->stack[row],
				  .stream = c->stream[row],
				  .pool = c->pool[row],
				  .device = c->device[row],
				  .small = t->m->pools[c->pool[row]].small};
	uint64_t at = s.addr;

	for (; *i < n && !v[*i].segment && v[*i].addr >= at && v[*i].addr < s.addr + s.size; ++*i) {
		struct final_block b = block_of(t, &v[*i]);

		if (b.addr > at)
			*VEC_PUSH(blocks, n_blocks, cap) = (struct final_block){.addr = at, .size = b.addr - at};
		*VEC_PUSH(blocks, n_blocks, cap) = b;
		at = b.addr + b.size;
	}
	if (at < s.addr + s.size)
		*VEC_PUSH(blocks, n_blocks, cap) = (struct final_block){.addr = at, .size = s.addr + s.size - at};
	s.n_blocks = (uint32_t)n_blocks;
	put_segment(t, &s, blocks);
	free(blocks);
}

static void put_made_segments(struct torch_out *t, unsigned device)
{
	struct lasting *v;
	size_t i = 0, n = collect_lasting(t, device, &v);

	while (i < n) {
		size_t before = i;
		const struct lasting *own = v[i].segment ? &v[i++] : NULL;

		put_made_segment(t, own, v, n, &i);
		if (i == before) /* a block of no size */
			i++;
	}
	free(v);
}

static void put_segments(struct torch_out *t)
{
	const struct model *m = t->m;
	unsigned d;
	size_t i;

	put_word(t, W_segments);
	pickle_out_list(&t->p);
	for (i = 0; i < m->n_segments; i++)
		put_segment(t, &m->segments[i], m->blocks + m->segments[i].first_block);
	for (d = 0; d < MODEL_NO_DEVICE && !m->n_segments; d++)
		if (m->device[d].present)
			put_made_segments(t, d);
	pickle_out_list_end(&t->p);
}

static void put_host(struct torch_out *t)
{
	put_word(t, W_host_segments);
	pickle_out_list(&t->p);
	put_made_segments(t, MODEL_NO_DEVICE);
	pickle_out_list_end(&t->p);
	put_word(t, W_host_traces);
	pickle_out_list(&t->p);
	put_trace(t, MODEL_NO_DEVICE);
	pickle_out_list_end(&t->p);
}

/* --- the rest --- */

/* "[1:0,2:4]" or one number for all: PyTorch's dict from the interval's start in MiB. */
static void put_roundup(struct torch_out *t, const char *s)
{
	char key[24];
	long mib, value;
	int used;

	pickle_out_dict(&t->p);
	for (mib = 1; s[0] != '[' && mib <= 32768; mib *= 2) {
		snprintf(key, sizeof key, "%ld", mib);
		pickle_out_text(&t->p, key);
		pickle_out_i64(&t->p, strtol(s, NULL, 10));
	}
	for (; (*s == '[' || *s == ',') && sscanf(s + 1, "%ld:%ld%n", &mib, &value, &used) == 2; s += 1 + used) {
		snprintf(key, sizeof key, "%ld", mib);
		pickle_out_text(&t->p, key);
		pickle_out_i64(&t->p, value);
	}
	pickle_out_dict_end(&t->p);
}

static void put_setting(struct torch_out *t, const char *key, const char *value)
{
	char *end;
	long long whole = strtoll(value, &end, 10);
	bool text = strstr(key, "CONF") || !value[0];

	pickle_out_text(&t->p, key);
	if (!strcmp(key, "roundup_power2_divisions"))
		put_roundup(t, value);
	else if (!text && (!strcmp(value, "True") || !strcmp(value, "False")))
		pickle_out_bool(&t->p, value[0] == 'T');
	else if (!text && !*end && strcmp(key, "garbage_collection_threshold") != 0)
		pickle_out_i64(&t->p, whole);
	else if (!text && (strtod(value, &end), !*end))
		pickle_out_double(&t->p, strtod(value, NULL));
	else
		pickle_out_text(&t->p, value);
}

static void put_settings(struct torch_out *t)
{
	const struct model *m = t->m;
	size_t i;

	put_word(t, W_allocator_settings);
	pickle_out_dict(&t->p);
	for (i = 0; i < m->n_settings; i++)
		put_setting(t, model_text(m, m->settings[i].key), model_text(m, m->settings[i].value));
	pickle_out_dict_end(&t->p);
}

static void put_annotation(struct torch_out *t, const struct phase *p, enum word stage, int64_t t_ns)
{
	pickle_out_dict(&t->p);
	put_word(t, W_name);
	pickle_out_text(&t->p, model_text(t->m, p->name));
	put_key_word(t, W_stage, stage);
	put_key_u64(t, W_device, p->device == MODEL_NO_DEVICE ? 0 : p->device);
	put_word(t, W_time_us);
	pickle_out_i64(&t->p, microseconds(t->m, t_ns));
	pickle_out_dict_end(&t->p);
}

static void put_annotations(struct torch_out *t)
{
	size_t i;

	put_word(t, W_external_annotations);
	pickle_out_list(&t->p);
	for (i = 0; i < t->m->n_phases; i++) {
		const struct phase *p = &t->m->phases[i];

		put_annotation(t, p, W_START, p->begin_ns);
		if (p->end_ns != INT64_MAX)
			put_annotation(t, p, W_END, p->end_ns);
	}
	pickle_out_list_end(&t->p);
}

/* What the recording knows of each device, and which blocks await streams. */
static void look_at(struct torch_out *t)
{
	const struct model *m = t->m;
	const struct columns *c = &m->ev;
	size_t i;

	t->requested = mem_zalloc(c->n, sizeof *t->requested);
	for (i = 0; i < c->n; i++) {
		enum gms_kind kind = GMS_OP_KIND(c->op[i]);

		t->framework[c->device[i]] |= kind == GMS_K_BLOCK || kind == GMS_K_SEGMENT || kind == GMS_K_HOST_BLOCK;
		t->segments[c->device[i]] |= kind == GMS_K_SEGMENT;
		if (GMS_OP_ACTION(c->op[i]) == GMS_A_FREE_REQUESTED && c->peer[i] != MODEL_NO_PEER)
			t->requested[c->peer[i]] = true;
	}
	for (i = 0; i < m->n_segments; i++)
		t->segments[m->segments[i].device] = true;
	for (i = 0; i < m->n_pools; i++)
		t->pools |= m->pools[i].id[0] || m->pools[i].id[1];
}

int export_torch(const struct export_view *v, struct output *o, struct err *e)
{
	const struct model *m = v->m;
	struct torch_out t = {.m = m, .p.x = {.o = o, .e = e}};

	look_at(&t);
	memset(t.word, 0xff, sizeof t.word);
	t.frame = not_yet(m->frames.n);
	t.stack = not_yet(m->stacks.n);
	pickle_out_begin(&t.p);
	pickle_out_dict(&t.p);
	put_segments(&t);
	put_traces(&t);
	put_settings(&t);
	put_annotations(&t);
	if (t.framework[MODEL_NO_DEVICE])
		put_host(&t);
	pickle_out_dict_end(&t.p);
	free(t.frame);
	free(t.stack);
	free(t.requested);
	map64_free(&t.place);
	return pickle_out_end(&t.p);
}
