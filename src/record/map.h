/* map.h: a small map from u64 to two words, for what hooks must remember. The caller holds a lock. */
#ifndef RECORD_MAP_H
#define RECORD_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rec_map_entry {
	uint64_t key, a, b;
	uint32_t count;
	uint16_t used;
	uint8_t kind, device;
};
/* Start with {0}. Pointers to entries hold until the next put or take. */
struct rec_map {
	struct rec_map_entry *entry;
	uint64_t n, mask;
};
struct rec_map_entry *rec_map_find(const struct rec_map *m, uint64_t key); /* NULL if absent */
struct rec_map_entry *rec_map_put(struct rec_map *m, uint64_t key);	   /* found or new; NULL: no memory */
void rec_map_take(struct rec_map *m, uint64_t key);
void rec_map_clear(struct rec_map *m);

#endif
