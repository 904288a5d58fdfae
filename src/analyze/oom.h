/* oom.h: why each failed allocation failed, and what would have helped.
 *
 *   SHORTAGE       even all free and cached memory together is too little
 *   FRAGMENTATION  together there is enough, but no hole is large enough
 *   LIMIT          the device has enough, but this process may not take it (a memory fraction)
 *   OTHERS         too little is free because somebody else on the device holds the rest
 *   REFUSED        the driver refused for another reason, or although it had enough
 *   UNKNOWN        the recording does not say how much was free
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
	uint64_t reserved;    /* MODEL_UNKNOWN if not known */
	uint64_t cached;      /* in holes of segments; MODEL_UNKNOWN */
	uint64_t largest;     /* of those holes; at the driver level: largest gap between allocations */
	uint64_t holes;
	uint64_t whole;    /* cached in segments that nobody uses */
	uint64_t others;   /* used on the device, but not by what we recorded; MODEL_UNKNOWN */
	uint64_t stranded; /* not free, live or used before: in partly filled pages; MODEL_UNKNOWN */
	uint64_t missing;  /* how much more would have been enough; 0 if that was not the problem */
	enum oom_cause cause;
	unsigned help;
};
struct ooms {
	struct oom *v;
	size_t n, examined; /* all are listed; the cause is told for the first OOMS_EXAMINED */
};
#define OOMS_EXAMINED 16 /* a program that retries in a loop fails thousands of times */
void oom_find(const struct model *m, uint8_t device, struct ooms *out);
void oom_free(struct ooms *o);
/* One or two words: "real shortage", "fragmentation", … */
const char *oom_cause_name(enum oom_cause c);
/* Is this setting on? (expandable_segments: as its own key or inside the configuration text) */
bool oom_setting_on(const struct model *m, const char *key);

#endif
