/* hash.c: hashes and the u64 → u32 map. */
#include "base/hash.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

uint64_t hash_bytes(const void *p, size_t n)
{
	const unsigned char *s = p;
	uint64_t h = n * 0x9e3779b97f4a7c15ull, w;

	for (; n >= 8; n -= 8, s += 8) {
		memcpy(&w, s, 8);
		h = hash_u64(h ^ w);
	}
	w = 0;
	memcpy(&w, s, n);
	return hash_u64(h ^ w);
}

uint64_t hash_words(const uint32_t *p, size_t n)
{
	uint64_t h = n;
	size_t i;

	for (i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x9fb21c651e98df25ull, h ^= h >> 29;
	return hash_u64(h);
}

uint32_t *map64_find(const struct map64 *m, uint64_t key)
{
	size_t i;

	if (!m->slot)
		return NULL;
	for (i = hash_u64(key) & m->mask; m->slot[i].used; i = (i + 1) & m->mask)
		if (m->slot[i].key == key)
			return &m->slot[i].value;
	return NULL;
}

static void grow(struct map64 *m)
{
	struct map64 bigger = {.mask = m->slot ? m->mask * 2 + 1 : 63};
	size_t i;
	bool fresh;

	bigger.slot = mem_zalloc(bigger.mask + 1, sizeof *bigger.slot);
	for (i = 0; m->slot && i <= m->mask; i++)
		if (m->slot[i].used)
			*map64_put(&bigger, m->slot[i].key, &fresh) = m->slot[i].value;
	free(m->slot);
	*m = bigger;
}

uint32_t *map64_put(struct map64 *m, uint64_t key, bool *fresh)
{
	size_t i;

	if (!m->slot || m->n * 8 >= (m->mask + 1) * 5)
		grow(m);
	for (i = hash_u64(key) & m->mask; m->slot[i].used; i = (i + 1) & m->mask)
		if (m->slot[i].key == key) {
			*fresh = false;
			return &m->slot[i].value;
		}
	*fresh = true;
	m->n++;
	m->slot[i].key = key;
	m->slot[i].used = 1;
	return &m->slot[i].value;
}

/* Close the hole at i: move back every later entry of the run that may not stay behind it. */
static void close_hole(struct map64 *m, size_t i)
{
	size_t j = i, home;

	for (;;) {
		j = (j + 1) & m->mask;
		if (!m->slot[j].used)
			break;
		home = hash_u64(m->slot[j].key) & m->mask;
		if (((j - home) & m->mask) >= ((j - i) & m->mask)) {
			m->slot[i] = m->slot[j];
			i = j;
		}
	}
	m->slot[i].used = 0;
}

bool map64_take(struct map64 *m, uint64_t key, uint32_t *value)
{
	size_t i;

	if (!m->slot)
		return false;
	for (i = hash_u64(key) & m->mask; m->slot[i].used; i = (i + 1) & m->mask)
		if (m->slot[i].key == key) {
			*value = m->slot[i].value;
			close_hole(m, i);
			m->n--;
			return true;
		}
	return false;
}

void map64_free(struct map64 *m)
{
	free(m->slot);
	*m = (struct map64){0};
}
