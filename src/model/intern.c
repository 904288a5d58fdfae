/* intern.c: strings, frames and stacks are stored once; equal content has one number.
 *
 * Each table is an array in order of first use plus an open-addressing index of numbers
 * (slot value = number + 1, 0 = empty). Number 0 is the empty string, the unknown frame and
 * the empty stack.
 */
#include "base/mem.h"
#include "model/model.h"
#include <stdlib.h>
#include <string.h>

/* The slot arrays of the three tables behave alike; only hashing and comparing differ. */
static void slots_grow(uint32_t **slot, size_t *mask, size_t n, uint64_t (*hash)(const struct model *, uint32_t),
		       const struct model *m)
{
	size_t i, new_mask = *slot ? *mask * 2 + 1 : 1023;
	uint32_t *bigger = mem_zalloc(new_mask + 1, sizeof *bigger), id;

	for (id = 0; id < n; id++) {
		for (i = hash(m, id) & new_mask; bigger[i]; i = (i + 1) & new_mask)
			;
		bigger[i] = id + 1;
	}
	free(*slot);
	*slot = bigger;
	*mask = new_mask;
}

static bool slots_full(const uint32_t *slot, size_t mask, size_t n)
{
	return !slot || (n + 1) * 2 > mask + 1;
}

static uint64_t string_hash(const struct model *m, uint32_t id)
{
	size_t at = m->strings.at[id], end = id + 1 < m->strings.n ? m->strings.at[id + 1] : m->strings.n_bytes;

	return hash_bytes(m->strings.bytes + at, end - at - 1);
}

static bool string_is(const struct strings *t, uint32_t id, const char *s, size_t n)
{
	size_t at = t->at[id], end = id + 1 < t->n ? t->at[id + 1] : t->n_bytes;

	return end - at - 1 == n && !memcmp(t->bytes + at, s, n);
}

uint32_t model_string(struct model *m, const char *s, size_t n)
{
	struct strings *t = &m->strings;
	size_t i;

	if (slots_full(t->slot, t->mask, t->n))
		slots_grow(&t->slot, &t->mask, t->n, string_hash, m);
	for (i = hash_bytes(s, n) & t->mask; t->slot[i]; i = (i + 1) & t->mask)
		if (string_is(t, t->slot[i] - 1, s, n))
			return t->slot[i] - 1;
	if (t->n_bytes + n + 1 > UINT32_MAX)
		return 0;
	if (t->n_bytes + n + 1 > t->cap_bytes)
		t->bytes = mem_resize(t->bytes, t->cap_bytes = (t->cap_bytes + n + 64) * 2, 1);
	*VEC_PUSH(t->at, t->n, t->cap) = (uint32_t)t->n_bytes;
	memcpy(t->bytes + t->n_bytes, s, n);
	t->bytes[t->n_bytes + n] = 0;
	t->n_bytes += n + 1;
	t->slot[i] = (uint32_t)t->n;
	return (uint32_t)t->n - 1;
}

uint32_t model_cstring(struct model *m, const char *s)
{
	return model_string(m, s, strlen(s));
}

static uint64_t frame_key(const struct frame *f)
{
	return hash_u64(((uint64_t)f->function << 32 | f->line) ^ hash_u64((uint64_t)f->file << 32 | f->module));
}

static uint64_t frame_hash(const struct model *m, uint32_t id)
{
	return frame_key(&m->frames.v[id]);
}

uint32_t model_frame(struct model *m, const struct frame *f)
{
	struct frames *t = &m->frames;
	size_t i;

	if (slots_full(t->slot, t->mask, t->n))
		slots_grow(&t->slot, &t->mask, t->n, frame_hash, m);
	for (i = frame_key(f) & t->mask; t->slot[i]; i = (i + 1) & t->mask)
		if (!memcmp(&t->v[t->slot[i] - 1], f, sizeof *f))
			return t->slot[i] - 1;
	*VEC_PUSH(t->v, t->n, t->cap) = *f;
	t->slot[i] = (uint32_t)t->n;
	return (uint32_t)t->n - 1;
}

static uint64_t stack_hash(const struct model *m, uint32_t id)
{
	size_t n;
	const uint32_t *f = model_stack_frames(m, id, &n);

	return hash_words(f, n);
}

uint32_t model_stack(struct model *m, const uint32_t *frames, size_t n)
{
	struct stacks *t = &m->stacks;
	size_t i, have;

	if (slots_full(t->slot, t->mask, t->n))
		slots_grow(&t->slot, &t->mask, t->n, stack_hash, m);
	for (i = hash_words(frames, n) & t->mask; t->slot[i]; i = (i + 1) & t->mask) {
		const uint32_t *f = model_stack_frames(m, t->slot[i] - 1, &have);

		if (have == n && (!n || !memcmp(f, frames, n * sizeof *f)))
			return t->slot[i] - 1;
	}
	if (t->n_flat + n > UINT32_MAX)
		return 0;
	if (!t->flat || t->n_flat + n > t->cap_flat) /* never NULL: readers add offsets to it */
		t->flat = mem_resize(t->flat, t->cap_flat = (t->cap_flat + n + 64) * 2, sizeof *t->flat);
	if (t->n + 2 > t->cap)
		t->at = mem_resize(t->at, t->cap = t->cap * 2 + 64, sizeof *t->at);
	t->at[t->n] = (uint32_t)t->n_flat;
	if (n)
		memcpy(t->flat + t->n_flat, frames, n * sizeof *frames);
	t->n_flat += n;
	t->at[++t->n] = (uint32_t)t->n_flat;
	t->slot[i] = (uint32_t)t->n;
	return (uint32_t)t->n - 1;
}
