/* torch_final.c: the state at the end of a PyTorch snapshot (segments, blocks), its annotations and
 * its allocator settings.
 */
#include "base/mem.h"
#include "base/text.h"
#include "format/torch.h"
#include <stdlib.h>
#include <string.h>

/* --- the final state ------------------------------------------------------------------- */

int torch_read_block(struct torch *t, const struct torch_dict *d, struct pickle_object *as)
{
	enum torch_word state = torch_word(d, TORCH_state);
	struct final_block b = {.addr = MODEL_UNKNOWN, .stack = torch_stack_of(t, d)};
	const struct torch_past *past = NULL;

	if (HAS(d, history) && pickle_is(&t->p, WORD(d, history), TORCH_IS_PAST))
		past = &t->past.v[pickle_object(&t->p, WORD(d, history))->at];
	if (!torch_u64(t, d, TORCH_size, &b.size))
		return pickle_fail(&t->p, "the snapshot has a block without a size");
	torch_bits(t, d, TORCH_address, &b.addr);
	b.requested = past ? past->size : b.size;
	torch_u64(t, d, TORCH_requested_size, &b.requested);
	if (past && !b.stack)
		b.stack = past->stack;
	b.state = state == TORCH_active_allocated ? BLOCK_ACTIVE
	          : state == TORCH_active_pending_free || state == TORCH_active_awaiting_free
	              ? BLOCK_PENDING
	              : BLOCK_INACTIVE;
	*VEC_PUSH(t->m->blocks, t->m->n_blocks, t->m->cap_blocks) = b;
	as->kind = TORCH_IS_BLOCK;
	as->at = (uint32_t)t->m->n_blocks - 1;
	return 0;
}

/* Give addresses to blocks that have none (torch 2.0). False: the blocks do not fill the segment. */
static bool place_blocks(struct model *m, const struct final_segment *s)
{
	uint64_t at = s->addr;
	bool fits = true;
	size_t i;

	for (i = 0; i < s->n_blocks; i++) {
		struct final_block *b = &m->blocks[s->first_block + i];

		if (b->addr == MODEL_UNKNOWN)
			b->addr = at;
		fits &= b->addr == at;
		at = b->addr + b->size;
	}
	return fits && (!s->n_blocks || at == s->addr + s->size);
}

/* Where the segment lies; older and other writers leave out what its blocks tell. */
static int read_place(struct torch *t, const struct torch_dict *d, struct final_segment *s)
{
	const struct final_block *blocks;
	int64_t device = 0;
	size_t i;

	if (HAS(d, blocks) && pickle_is(&t->p, WORD(d, blocks), TORCH_IS_BLOCKS)) {
		struct torch_range r = t->ranges.v[pickle_object(&t->p, WORD(d, blocks))->at];

		s->first_block = r.first;
		s->n_blocks = r.n;
	}
	blocks = t->m->blocks;
	if (HAS(d, device) && !pickle_i64(&t->p, WORD(d, device), &device))
		device = pickle_tag(WORD(d, device)) == PICKLE_BIG ? INT64_MAX : 0;
	if (device >= MODEL_NO_DEVICE)
		return pickle_fail(&t->p, "the snapshot has a segment on device %lld", (long long)device);
	s->device = device < 0 ? MODEL_NO_DEVICE : (uint8_t)device; /* the host's, or wrong: torch.c knows */
	if (!torch_bits(t, d, TORCH_address, &s->addr) && s->n_blocks)
		s->addr = blocks[s->first_block].addr;
	if (!torch_u64(t, d, TORCH_total_size, &s->size))
		for (i = 0; i < s->n_blocks; i++)
			s->size += blocks[s->first_block + i].size;
	if (s->addr + s->size < s->addr)
		return pickle_fail(&t->p, "the snapshot has a segment that goes past the last address");
	return 0;
}

/* Tables that are full are not searched again and again: everything more shares their last row. */
static uint16_t segment_stream(struct model *m, uint64_t handle, uint8_t device)
{
	return m->n_streams > UINT16_MAX ? UINT16_MAX : model_stream(m, handle, device);
}

static uint16_t segment_pool(struct torch *t, const struct torch_dict *d, const struct final_segment *s)
{
	struct pool_info pool = {.device = s->device, .small = s->small};

	if (HAS(d, segment_pool_id) && pickle_is(&t->p, WORD(d, segment_pool_id), TORCH_IS_PAIR))
		memcpy(pool.id, t->pairs.v[pickle_object(&t->p, WORD(d, segment_pool_id))->at].id,
		       sizeof pool.id);
	return t->m->n_pools > UINT16_MAX ? UINT16_MAX : model_pool(t->m, &pool);
}

int torch_read_segment(struct torch *t, const struct torch_dict *d, struct pickle_object *as)
{
	struct model *m = t->m;
	struct final_segment s = {.requested = MODEL_UNKNOWN, .stack = torch_stack_of(t, d)};
	enum torch_word type = torch_word(d, TORCH_segment_type);
	uint64_t handle = 0;

	if (read_place(t, d, &s))
		return -1;
	torch_u64(t, d, TORCH_requested_size, &s.requested);
	torch_bits(t, d, TORCH_stream, &handle);
	s.stream = segment_stream(m, handle, s.device);
	s.small = type == TORCH_small ? 1 : type == TORCH_large ? 2 : 0;
	s.expandable =
	    HAS(d, is_expandable) && WORD(d, is_expandable) == pickle_make(PICKLE_ATOM, PICKLE_TRUE);
	s.pool = segment_pool(t, d, &s);
	if (!place_blocks(m, &s) && !t->blocks_noted) {
		t->blocks_noted = true;
		model_note(m, NOTE_INCONSISTENT, "the blocks of the segment at 0x%llx do not fill it exactly",
		           (unsigned long long)s.addr);
	}
	*VEC_PUSH(m->segments, m->n_segments, m->cap_segments) = s;
	as->kind = TORCH_IS_SEGMENT;
	as->at = (uint32_t)m->n_segments - 1;
	return 0;
}

int torch_read_past(struct torch *t, const struct torch_dict *d, struct pickle_object *as)
{
	struct torch_past past = {.stack = torch_stack_of(t, d)};

	torch_u64(t, d, TORCH_real_size, &past.size);
	*VEC_PUSH(t->past.v, t->past.n, t->past.cap) = past;
	as->kind = TORCH_IS_PAST;
	as->at = (uint32_t)t->past.n - 1;
	return 0;
}

/* --- annotations and settings ---------------------------------------------------------- */

int torch_read_annotation(struct torch *t, const struct torch_dict *d)
{
	struct torch_mark mark = {.row = UINT32_MAX, .name = torch_text_of(t, WORD(d, name))};
	enum torch_word stage = torch_word(d, TORCH_stage);
	uint64_t us, device = MODEL_NO_DEVICE;

	if (torch_is_done(t) || !torch_u64(t, d, TORCH_time_us, &us) || us >= INT64_MAX / 1000)
		return 0;
	torch_u64(t, d, TORCH_device, &device);
	mark.time_us = (int64_t)us;
	mark.device = device < MODEL_NO_DEVICE ? (uint8_t)device : MODEL_NO_DEVICE;
	mark.stage = stage == TORCH_START || stage == TORCH_END ? (uint8_t)stage : 0;
	*VEC_PUSH(t->marks.v, t->marks.n, t->marks.cap) = mark;
	return 0;
}

/* The value of a setting, written as PyTorch's configuration strings would. False: not a plain value. */
static bool setting_text(const struct torch *t, pickle_word w, struct text *out)
{
	uint64_t u;
	int64_t i;
	double v;

	if (pickle_tag(w) == PICKLE_STRING)
		text_add(out, (const char *)t->p.strings[pickle_index(w)].s, t->p.strings[pickle_index(w)].n);
	else if (pickle_tag(w) == PICKLE_ATOM)
		text_puts(out, pickle_index(w) == PICKLE_TRUE    ? "True"
		               : pickle_index(w) == PICKLE_FALSE ? "False"
		                                                 : "None");
	else if (pickle_double(&t->p, w, &v))
		text_printf(out, "%.15g", v);
	else if (pickle_i64(&t->p, w, &i))
		text_i64(out, i);
	else if (pickle_u64(&t->p, w, &u))
		text_u64(out, u);
	else if (pickle_is(&t->p, w, TORCH_IS_TEXT))
		text_puts(out, t->texts.v[pickle_object(&t->p, w)->at]);
	else
		return false;
	return true;
}

int torch_read_settings(struct torch *t, const struct torch_dict *d)
{
	struct model *m = t->m;
	size_t i;

	if (torch_is_done(t))
		return 0;
	m->n_settings = 0;
	for (i = 0; i < d->n; i++) {
		struct text value = {0};
		const char *key = model_text(m, torch_text_of(t, d->pairs[2 * i]));

		if (*key && setting_text(t, d->pairs[2 * i + 1], &value)) {
			char *k = mem_strdup(key); /* the model's strings may move */

			/* very old nightlies wrote "unlimited" as 2^64-1 */
			model_setting(m, k, !strcmp(value.s, "18446744073709551615") ? "-1" : value.s);
			t->overflowed |= !strcmp(k, "trace_alloc_overflowed") && !strcmp(value.s, "True");
			free(k);
		}
		text_free(&value);
	}
	return 0;
}

/* A string of one to six digits. */
static const struct pickle_string *small_number(const struct torch *t, pickle_word w)
{
	const struct pickle_string *s;
	uint32_t i;

	if (pickle_tag(w) != PICKLE_STRING)
		return NULL;
	s = &t->p.strings[pickle_index(w)];
	for (i = 0; i < s->n; i++)
		if (s->s[i] < '0' || s->s[i] > '9')
			return NULL;
	return s->n >= 1 && s->n <= 6 ? s : NULL;
}

/* {"1": 0, "2": 4, …}: as [1:0,2:4,…], or the one number if all are equal. */
int torch_read_roundup(struct torch *t, const struct torch_dict *d, struct pickle_object *as)
{
	struct text out = {0};
	uint64_t first = 0, v;
	bool equal = true;
	size_t i;

	text_puts(&out, "[");
	for (i = 0; i < d->n; i++) {
		const struct pickle_string *key = small_number(t, d->pairs[2 * i]);

		if (!key || !pickle_u64(&t->p, d->pairs[2 * i + 1], &v))
			break;
		first = i ? first : v;
		equal &= v == first;
		text_puts(&out, i ? "," : "");
		text_add(&out, (const char *)key->s, key->n);
		text_printf(&out, ":%llu", (unsigned long long)v);
	}
	text_puts(&out, "]");
	if (i == d->n) {
		as->kind = TORCH_IS_TEXT;
		as->at = (uint32_t)t->texts.n;
		*VEC_PUSH(t->texts.v, t->texts.n, t->texts.cap) =
		    equal ? mem_printf("%llu", (unsigned long long)first) : mem_strdup(out.s);
	}
	text_free(&out);
	return 0;
}
