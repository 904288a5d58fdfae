/* whatif_va.h: where the driver puts a segment in its address space.
 *
 * Among free blocks of equal size the allocator takes the one with the lowest address, so a prediction
 * is only as good as its idea of the addresses. What the driver was seen to do: it reserves address
 * space in chunks of whole 32 MiB, each below the last (or in the highest gap that has room); a
 * segment goes to the newest chunk with a large enough hole, at that hole's start; an empty chunk is
 * given up. Chunks that other libraries caused are learned from the recording.
 */
#ifndef ANALYZE_WHATIF_VA_H
#define ANALYZE_WHATIF_VA_H

#include "model/model.h"

struct va_zone { /* address space that the recording used, and that was there already */
	uint64_t base, size;
	uint32_t since; /* row of its first use */
};
struct va_lesson {
	struct va_zone *zones; /* oldest first */
	size_t n, cap;
	uint64_t top; /* chunks of our own lie below */
};
void va_learn(struct va_lesson *l, const struct model *m, uint8_t device);
void va_forget(struct va_lesson *l);

struct va;
/* Zones first used before row `from` are left out: what lies there is known to be taken. */
struct va *va_new(const struct va_lesson *l, uint32_t from);
uint64_t va_alloc(struct va *v, uint32_t row, uint64_t size);
void va_free(struct va *v, uint64_t addr, uint64_t size);
void va_delete(struct va *v);

#endif
