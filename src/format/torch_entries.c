/* torch_entries.c: trace entries of a PyTorch snapshot become rows; frames and stacks. */
#include "base/mem.h"
#include "format/torch.h"
#include <stdlib.h>
#include <string.h>

static uint16_t local_stream(struct torch *t, uint64_t handle)
{
	struct torch_streams *s = &t->streams;
	bool fresh;
	uint32_t *at;

	if (handle == s->last && s->n)
		return s->last_at;
	at = map64_put(&s->at, handle, &fresh);
	if (fresh) {
		*at = s->n < UINT16_MAX ? (uint32_t)s->n : UINT16_MAX;
		if (s->n < UINT16_MAX)
			*VEC_PUSH(s->v, s->n, s->cap) = handle;
	}
	s->last = handle;
	return s->last_at = (uint16_t)*at;
}

/* --- entries --------------------------------------------------------------------------- */

/* An entry that cannot be understood is counted; each cause is told once. */
static void note_entry(struct torch *t, pickle_word action)
{
	uint32_t name = pickle_tag(action) == PICKLE_STRING ? pickle_index(action) : UINT32_MAX;
	size_t i, max = sizeof t->odd_actions / sizeof *t->odd_actions;

	t->m->unknown_entries++;
	for (i = 0; i < t->n_odd; i++)
		if (t->odd_actions[i] == name)
			return;
	if (t->n_odd == max)
		return;
	t->odd_actions[t->n_odd++] = name;
	if (name == UINT32_MAX)
		model_note(t->m, NOTE_INFO, "trace entries whose action is no text are left out");
	else
		model_note(t->m, NOTE_INFO, "trace entries with the %s \"%s\" are left out",
		           name < TORCH_N_WORDS ? "incomplete action" : "unknown action",
		           model_text(t->m, torch_text_of(t, action)));
}

/* What is said of an entry and has no place in the model is counted: "" and "N/A" say nothing. */
static void count_unused(struct torch *t, const struct torch_dict *d)
{
	static const char *const nothing = "N/A";
	enum torch_word key;

	for (key = TORCH_user_metadata; key <= TORCH_forward_frames; key++) {
		const struct pickle_string *s = NULL;
		pickle_word w = d->v[key];

		if (!(d->has >> key & 1))
			continue;
		if (pickle_tag(w) == PICKLE_STRING)
			s = &t->p.strings[pickle_index(w)];
		t->n_unused[key - TORCH_user_metadata] +=
		    s ? s->n && !(s->n == strlen(nothing) && !memcmp(s->s, nothing, s->n))
		      : pickle_tag(w) == PICKLE_OBJECT && !pickle_is(&t->p, w, PICKLE_EMPTY_LIST);
	}
}

void torch_note_unused(struct torch *t)
{
	static const char *const name[] = {"user_metadata", "compile_context", "internal_metadata", "forward_frames"};
	size_t i;

	for (i = 0; i < sizeof name / sizeof *name; i++)
		if (t->n_unused[i])
			model_note(t->m, NOTE_INFO, "the %s of %zu trace entr%s is left out", name[i], t->n_unused[i],
			           t->n_unused[i] == 1 ? "y" : "ies");
}

static const uint8_t op_of[TORCH_N_WORDS] = {
    [TORCH_alloc] = GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC),
    [TORCH_free_requested] = GMS_OP(GMS_K_BLOCK, GMS_A_FREE_REQUESTED),
    [TORCH_free_completed] = GMS_OP(GMS_K_BLOCK, GMS_A_FREE),
    [TORCH_oom] = GMS_OP(GMS_K_BLOCK, GMS_A_FAIL),
    [TORCH_segment_alloc] = GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC),
    [TORCH_segment_free] = GMS_OP(GMS_K_SEGMENT, GMS_A_FREE),
    [TORCH_segment_map] = GMS_OP(GMS_K_SEGMENT, GMS_A_MAP),
    [TORCH_segment_unmap] = GMS_OP(GMS_K_SEGMENT, GMS_A_UNMAP),
    [TORCH_snapshot] = GMS_OP(GMS_K_TRACE, GMS_A_INFO),
    [TORCH_user_defined] = GMS_OP(GMS_K_TRACE, GMS_A_OTHER),
    [TORCH_annotate] = GMS_OP(GMS_K_TRACE, GMS_A_OTHER),
};

/* A user_defined entry: its innermost frame has START or END as name and the label as file. */
static void mark_user_defined(struct torch *t, const struct event *ev)
{
	size_t n;
	const uint32_t *frames = model_stack_frames(t->m, ev->stack, &n);
	const struct frame *f = n ? &t->m->frames.v[frames[0]] : NULL;
	struct torch_mark mark = {.time_us = ev->t_ns, .row = (uint32_t)t->m->ev.n};

	if (!f || torch_is_done(t))
		return;
	mark.name = f->file;
	mark.stage = !strcmp(model_text(t->m, f->function), "START") ? TORCH_START
	             : !strcmp(model_text(t->m, f->function), "END") ? TORCH_END
	                                                             : 0;
	*VEC_PUSH(t->marks.v, t->marks.n, t->marks.cap) = mark;
}

int torch_read_entry(struct torch *t, const struct torch_dict *d, struct pickle_object *as)
{
	struct event ev = {.block = MODEL_UNKNOWN};
	enum torch_word action = torch_word(d, TORCH_action);
	uint64_t handle = 0, us;
	bool placed, fresh;

	if (t->m->ev.n >= PICKLE_MAX)
		return pickle_fail(&t->p, "more than %u trace entries", PICKLE_MAX);
	ev.op = action < TORCH_N_WORDS ? op_of[action] : 0;
	placed = torch_bits(t, d, TORCH_addr, &ev.addr) || action == TORCH_oom ||
	         GMS_OP_KIND(ev.op) == GMS_K_TRACE;
	if (!torch_u64(t, d, TORCH_size, &ev.size) || ev.size > INT64_MAX || !placed)
		ev.op = 0;
	if (!ev.op) {
		ev.size = 0;
		note_entry(t, WORD(d, action));
		ev.op = GMS_OP(GMS_K_TRACE, GMS_A_OTHER);
	}
	if (torch_u64(t, d, TORCH_time_us, &us) && us < INT64_MAX / 1000) {
		t->last_us = (int64_t)us;
		t->n_timed++;
	}
	ev.t_ns = t->last_us;
	torch_bits(t, d, TORCH_stream, &handle);
	ev.stream = local_stream(t, handle);
	ev.stack = torch_stack_of(t, d);
	if (HAS(d, pool_id) && pickle_is(&t->p, WORD(d, pool_id), TORCH_IS_PAIR)) {
		uint32_t pair = pickle_object(&t->p, WORD(d, pool_id))->at;

		ev.pool = pair < UINT16_MAX ? (uint16_t)pair : 0;
		t->pools_told = true;
	}
	if (ev.op == op_of[TORCH_oom]) {
		uint64_t *free = VEC_PUSH(t->ooms.v, t->ooms.n, t->ooms.cap);

		*free = MODEL_UNKNOWN;
		torch_u64(t, d, TORCH_device_free, free);
		*map64_put(&t->ooms.at, t->m->ev.n, &fresh) = (uint32_t)t->ooms.n - 1;
	}
	if (action == TORCH_user_defined)
		mark_user_defined(t, &ev);
	if (d->has >> TORCH_user_metadata)
		count_unused(t, d);
	as->kind = TORCH_IS_ENTRY;
	as->at = (uint32_t)model_add(t->m, &ev);
	return 0;
}

uint32_t torch_copy_row(struct torch *t, uint32_t row)
{
	struct event ev = model_event(t->m, row);
	const uint32_t *oom = map64_find(&t->ooms.at, row);
	bool fresh;

	if (oom) {
		uint32_t value = *oom;

		*map64_put(&t->ooms.at, t->m->ev.n, &fresh) = value;
	}
	return (uint32_t)model_add(t->m, &ev);
}

/* --- frames and stacks ----------------------------------------------------------------- */

int torch_read_frame(struct torch *t, const struct torch_dict *d, struct pickle_object *as)
{
	uint64_t line = 0;
	struct frame f = {0};

	torch_u64(t, d, TORCH_line, &line);
	if (HAS(d, name))
		f.function = torch_text_of(t, WORD(d, name));
	if (HAS(d, filename))
		f.file = torch_text_of(t, WORD(d, filename));
	f.line = line < UINT32_MAX ? (uint32_t)line : 0;
	as->kind = TORCH_IS_FRAME;
	as->at = model_frame(t->m, &f);
	return 0;
}

/* Words of objects are below 2^32: two go into one step, and four chains run side by side. */
static uint64_t hash_items(const pickle_word *w, size_t n)
{
	const uint64_t k = 0x9fb21c651e98df25ull;
	uint64_t h[4] = {n, 1, 2, 3};
	size_t i;

	for (; n >= 8; n -= 8, w += 8)
		for (i = 0; i < 4; i++) {
			h[i] = (h[i] ^ w[2 * i] ^ w[2 * i + 1] << 32) * k;
			h[i] ^= h[i] >> 29;
		}
	for (i = 0; i < n; i++)
		h[i & 3] = (h[i & 3] ^ w[i]) * k;
	return hash_u64(h[0] ^ h[1] << 1 ^ h[2] << 2 ^ h[3] << 3);
}

static void sites_grow(struct torch_sites *s)
{
	size_t i, k, mask = s->slot ? s->mask * 2 + 1 : 1023;
	uint32_t *slot = mem_zalloc(mask + 1, sizeof *slot);

	for (i = 0; i < s->n; i++) {
		for (k = hash_items(s->words + s->v[i].first, s->v[i].n) & mask; slot[k]; k = (k + 1) & mask)
			;
		slot[k] = (uint32_t)i + 1;
	}
	free(s->slot);
	s->slot = slot;
	s->mask = mask;
}

static inline bool is_site(const struct torch_sites *s, uint32_t at, const pickle_word *item, size_t n)
{
	const struct torch_site *have = &s->v[at];

	return have->n == n && !memcmp(s->words + have->first, item, n * sizeof *item);
}

/* The site of n frames, made at need; false if one of the items is no frame. */
bool torch_find_site(struct torch *t, const pickle_word *item, size_t n, uint32_t *at)
{
	struct torch_sites *s = &t->sites;
	size_t i, k;

	/* A free is requested and completed, a segment got and cut, in one place: often it is the last again. */
	if (s->last < s->n && is_site(s, s->last, item, n)) {
		*at = s->last;
		return true;
	}
	if ((s->n + 1) * 2 > s->mask)
		sites_grow(s);
	for (k = hash_items(item, n) & s->mask; s->slot[k]; k = (k + 1) & s->mask) {
		if (is_site(s, s->slot[k] - 1, item, n)) {
			*at = s->last = s->slot[k] - 1;
			return true;
		}
	}
	if (s->n_words + n > UINT32_MAX)
		return false;
	if (n > s->cap_frames)
		s->frames = mem_resize(s->frames, s->cap_frames = n * 2, sizeof *s->frames);
	if (s->n_words + n > s->cap_words)
		s->words = mem_resize(s->words, s->cap_words = (s->cap_words + n) * 2, sizeof *s->words);
	for (i = 0; i < n; i++) {
		if (!pickle_is(&t->p, item[i], TORCH_IS_FRAME))
			return false;
		s->words[s->n_words + i] = item[i];
		s->frames[i] = pickle_object(&t->p, item[i])->at;
	}
	*VEC_PUSH(s->v, s->n, s->cap) = (struct torch_site){
	    .first = (uint32_t)s->n_words, .n = (uint32_t)n, .stack = model_stack(t->m, s->frames, n)};
	s->n_words += n;
	s->slot[k] = (uint32_t)s->n;
	*at = s->last = (uint32_t)s->n - 1;
	return true;
}

size_t torch_unfold_stack(void *arg, const struct pickle_object *list, pickle_word *out)
{
	const struct torch *t = arg;
	const struct torch_site *site = &t->sites.v[list->at];

	if (out)
		memcpy(out, t->sites.words + site->first, site->n * sizeof *out);
	return site->n;
}
