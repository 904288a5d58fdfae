/* hash.h: the one hash of the tool, and the open-addressing map from u64 to u32. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9fb21c651e98df25ull;
	x ^= x >> 28;
	x *= 0x9fb21c651e98df25ull;
	return x ^ x >> 28;
}
uint64_t hash_bytes(const void *p, size_t n);
uint64_t hash_words(const uint32_t *p, size_t n);

/* Map of u64 keys to u32 values (linear probing, backward-shift deletion). Start with {0}. */
struct map64 {
	struct map64_slot {
		uint64_t key;
		uint32_t value;
		uint32_t used;
	} *slot;
	size_t n, mask; /* mask + 1 slots, 0 before the first put */
};
uint32_t *map64_find(const struct map64 *m, uint64_t key); /* NULL if absent */
uint32_t *map64_put(struct map64 *m, uint64_t key, bool *fresh); /* the value's place; *fresh: it was not there */
bool map64_take(struct map64 *m, uint64_t key, uint32_t *value); /* find and remove */
void map64_free(struct map64 *m);

#endif
