/* map.c: a small map from u64 to two words, for what hooks must remember. The caller holds a lock.
 *
 * Linear probing with backward-shift deletion, in memory of our own.
 */
#include "record/map.h"
#include "record/rec.h"
#include <sys/mman.h>

static uint64_t home(const struct rec_map *m, uint64_t key)
{
	uint64_t h = key * 0x9fb21c651e98df25ull;

	return (h ^ h >> 32) & m->mask;
}

static size_t bytes_of(const struct rec_map *m)
{
	return (m->mask + 1) * sizeof *m->entry;
}

struct rec_map_entry *rec_map_find(const struct rec_map *m, uint64_t key)
{
	uint64_t i;

	if (!m->entry)
		return NULL;
	for (i = home(m, key); m->entry[i].used; i = (i + 1) & m->mask)
		if (m->entry[i].key == key)
			return &m->entry[i];
	return NULL;
}

static bool grow(struct rec_map *m)
{
	struct rec_map bigger = {.mask = m->entry ? (m->mask + 1) * 2 - 1 : 255};
	uint64_t i;

	bigger.entry = rec_memory(bytes_of(&bigger));
	if (!bigger.entry)
		return false;
	for (i = 0; m->entry && i <= m->mask; i++)
		if (m->entry[i].used)
			*rec_map_put(&bigger, m->entry[i].key) = m->entry[i];
	if (m->entry)
		munmap(m->entry, bytes_of(m));
	*m = bigger;
	return true;
}

struct rec_map_entry *rec_map_put(struct rec_map *m, uint64_t key)
{
	struct rec_map_entry *e = rec_map_find(m, key);
	uint64_t i;

	if (e)
		return e;
	if ((!m->entry || m->n * 4 >= m->mask * 3) && !grow(m))
		return NULL;
	for (i = home(m, key); m->entry[i].used; i = (i + 1) & m->mask)
		;
	m->entry[i] = (struct rec_map_entry){.key = key, .used = 1};
	m->n++;
	return &m->entry[i];
}

void rec_map_take(struct rec_map *m, uint64_t key)
{
	struct rec_map_entry *e = rec_map_find(m, key);
	uint64_t hole, i;

	if (!e)
		return;
	hole = (uint64_t)(e - m->entry);
	for (i = (hole + 1) & m->mask; m->entry[i].used; i = (i + 1) & m->mask) {
		uint64_t want = home(m, m->entry[i].key);

		if (((i - want) & m->mask) >= ((i - hole) & m->mask)) {
			m->entry[hole] = m->entry[i];
			hole = i;
		}
	}
	m->entry[hole].used = 0;
	m->n--;
}

void rec_map_clear(struct rec_map *m)
{
	if (m->entry)
		munmap(m->entry, bytes_of(m));
	*m = (struct rec_map){0};
}
