/* driver.h: driver.def as C, and how a name asked of the driver becomes one of its rows.
 *
 * Always holds: the same answer in the recorder and in the simulated driver, without memory of its
 * own, allocation or locks, so that it may run inside any process at any moment.
 * Who may call: src/record, src/simcuda and their tests. The table is static: include this in the
 * one or two files that look names up. Types of the functions come from cuda.h, which declares
 * every symbol when __CUDA_API_VERSION_INTERNAL is defined before it is included.
 */
#ifndef DRIVER_DRIVER_H
#define DRIVER_DRIVER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum driver_variant { DRIVER_LEGACY, DRIVER_PER_THREAD };
enum driver_hook { DRIVER_PLAIN, DRIVER_HOOKED };

/* A row is named after its symbol: DRIVER_FN_cuMemAlloc_v2. */
enum driver_row {
#define DRIVER_FN(base, symbol, since, variant, hooked) DRIVER_FN_##symbol,
#include "driver/driver.def"
#undef DRIVER_FN
	DRIVER_ROWS,
	DRIVER_UNKNOWN = -1, /* no row has this name */
	DRIVER_TOO_NEW = -2, /* the name exists, but only in later versions than the one asked for */
};

struct driver_fn {
	const char *base, *symbol;
	int since;
	uint8_t variant; /* enum driver_variant */
	uint8_t hooked;  /* enum driver_hook */
	uint8_t base_len, symbol_len;
};

static const struct driver_fn driver_fns[DRIVER_ROWS] = {
#define DRIVER_FN(base, symbol, since, variant, hooked)                                                      \
	{#base, #symbol, since, DRIVER_##variant, DRIVER_##hooked, sizeof(#base) - 1, sizeof(#symbol) - 1},
#include "driver/driver.def"
#undef DRIVER_FN
};

/* The row that cuGetProcAddress means by base at a CUDA version: the newest not newer than it, the
 * per-thread one if asked for and there is one. DRIVER_UNKNOWN or DRIVER_TOO_NEW if there is none. */
static inline int driver_lookup(const char *base, int version, int per_thread)
{
	size_t len = strlen(base);
	int best = DRIVER_UNKNOWN;

	for (int i = 0; i < DRIVER_ROWS; i++) {
		const struct driver_fn *f = &driver_fns[i];

		if (f->base_len != len || memcmp(f->base, base, len) != 0)
			continue;
		if (f->since > version || (f->variant == DRIVER_PER_THREAD && !per_thread)) {
			if (best == DRIVER_UNKNOWN)
				best = DRIVER_TOO_NEW;
			continue;
		}
		best = i; /* later rows of a base are newer, and its per-thread rows come last */
	}
	return best;
}

/* The row that exports a symbol, as dlsym would find it; DRIVER_UNKNOWN if there is none. */
static inline int driver_by_symbol(const char *symbol)
{
	size_t len = strlen(symbol);

	for (int i = 0; i < DRIVER_ROWS; i++)
		if (driver_fns[i].symbol_len == len && memcmp(driver_fns[i].symbol, symbol, len) == 0)
			return i;
	return DRIVER_UNKNOWN;
}

#endif
