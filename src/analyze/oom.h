/* oom.h: why each failed allocation failed, and what would have helped.
 *
 *   SHORTAGE       even all free and cached memory together is too little
 *   FRAGMENTATION  together there is enough, but no hole is large enough
 *   LIMIT          the device has enough, but this process may not take it (a memory fraction)
 *   OTHERS         too little is free because somebody else on the device holds the rest
 *   REFUSED        the driver refused for another reason, or although it had enough
 *   UNKNOWN        the recording does not say how much was free
 *
 * At the framework's level the cache and its holes are known. Of the driver only the device's total and
 * free bytes are, and what we saw it hand out: total = free + reserved + others, always. Addresses say
 * nothing there: what lies between two allocations need not be memory at all.
 */
#ifndef ANALYZE_OOM_H
#define ANALYZE_OOM_H

#include "model/model.h"

enum oom_cause { OOM_SHORTAGE, OOM_FRAGMENTATION, OOM_LIMIT, OOM_OTHERS, OOM_REFUSED, OOM_UNKNOWN };
enum oom_help {                          /* bits: what would have helped, and is not on already */
	        OOM_HELP_EXPANDABLE = 1, /* expandable_segments:True */
	        OOM_HELP_RELEASE = 2,    /* returning cached segments (empty_cache) */
	        OOM_HELP_FRACTION = 4,   /* a larger memory fraction or limit */
	        OOM_HELP_OTHERS = 8,     /* ending what else uses the device */
	        OOM_HELP_LESS = 16,      /* asking for less: smaller batches, or freeing earlier */
	        OOM_HELP_POOL = 32,      /* allocating from a pool, or large buffers first */
};
struct oom {
	size_t row;
	int64_t event, t_ns; /* event: of its device, as totals_event */
	uint32_t stack;
	uint64_t size; /* asked for */
	uint64_t need; /* what the device would have had to give: the segment for it */
	int32_t error;
	bool framework; /* asked of a caching allocator, not of the driver */
	uint64_t free, total; /* of the device, MODEL_UNKNOWN if not recorded */
	uint64_t live;        /* requested bytes live just then */
	uint64_t reserved;    /* held from the device by what we recorded; MODEL_UNKNOWN if not known */
	uint64_t cached;      /* of that, in free blocks of a framework's segments; MODEL_UNKNOWN */
	uint64_t others;      /* used on the device, but not by what we recorded; MODEL_UNKNOWN */
	uint64_t processes;   /* of that, by other processes, as NVML said last; MODEL_UNKNOWN */
	uint64_t stranded;    /* of others: at most this is lost in pages filled only partly; MODEL_UNKNOWN */
	uint64_t missing;     /* how much more would have been enough; 0 if that was not the problem */
	uint64_t largest;     /* free block this request could use (framework, detailed only); MODEL_UNKNOWN */
	uint64_t holes;       /* free blocks, and … */
	uint64_t whole;       /* … bytes of segments that nobody uses (detailed only); MODEL_UNKNOWN */
	size_t group;         /* the first failure of this stack, size and cause */
	size_t alike, last;   /* of the first one: how many there are, and which is the last */
	enum oom_cause cause;
	unsigned help;
};
struct ooms {
	struct oom *v; /* in the order of the recording */
	size_t n;
	size_t groups;
};
#define OOMS_DETAILED 16 /* the holes are looked at for so many groups: a program may retry in a loop */
void oom_find(const struct model *m, uint8_t device, struct ooms *out);
void oom_free(struct ooms *o);
/* One or two words: "real shortage", "fragmentation", … */
const char *oom_cause_name(enum oom_cause c);
/* Would it not even have fitted with nothing else of this program's on the device? */
bool oom_too_large(const struct oom *o);

#endif
