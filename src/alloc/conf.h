/* conf.h: the allocator's settings and their text form, "key:value,key:value".
 *
 * The keys are PyTorch's (PYTORCH_CUDA_ALLOC_CONF) and a few of our own. Pure: no memory, no
 * globals, no locale.
 */
#ifndef ALLOC_CONF_H
#define ALLOC_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GMA_KIB 1024ull
#define GMA_MIB (1024 * GMA_KIB)
#define GMA_GIB (1024 * GMA_MIB)

enum {
	GMA_MIN_BLOCK = 512,
	GMA_DIVISION_INTERVALS = 16, /* 1 MiB … 32 GiB and above, by powers of two */
};
#define GMA_SMALL_MAX     (1 * GMA_MIB)  /* the largest block of the small pool */
#define GMA_SMALL_SEGMENT (2 * GMA_MIB)
#define GMA_LARGE_SEGMENT (20 * GMA_MIB)
#define GMA_OWN_SEGMENT   (10 * GMA_MIB) /* requests from here on get a segment of their own size */
#define GMA_SEGMENT_ROUND (2 * GMA_MIB)
#define GMA_UNLIMITED     UINT64_MAX

struct gma_conf {
	const char *idle;                /* the first key given that has no effect, NULL if all have */
	uint64_t max_split_size;         /* GMA_UNLIMITED: every large block may be split */
	uint64_t max_non_split_rounding; /* how much too large an oversize block may be */
	uint64_t large_segment_size;
	uint64_t memory_limit;           /* bytes; GMA_UNLIMITED */
	double memory_fraction;          /* of the device's total; meaningful if has_fraction */
	double gc_threshold;             /* 0: no garbage collection */
	uint16_t divisions[GMA_DIVISION_INTERVALS];
	bool has_fraction;
	bool expandable;
	bool growth;             /* false: take memory_limit from the device at the start */
	bool async;              /* backend:cudaMallocAsync */
	bool release_lock;       /* release_lock_on_cudamalloc */
};

/* What is wrong in a configuration text. */
struct gma_conf_error {
	size_t at; /* byte offset of the key or value */
	char text[160];
};

void gma_conf_default(struct gma_conf *c);
/* Read text over the defaults. NULL or "" is the default. False: e says what and where. */
bool gma_conf_parse(struct gma_conf *c, const char *text, struct gma_conf_error *e);

/* The rounding rules. */
uint64_t gma_round_size(const struct gma_conf *c, uint64_t size);
uint64_t gma_segment_size(const struct gma_conf *c, uint64_t rounded);

#endif
