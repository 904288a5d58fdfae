/* accounting.h: one account of a device's memory at one instant, in parts that add up to what is used.
 *
 * used = Σ parts + remainder, always and exactly: what nothing explains stands in the remainder (which may
 * be negative, if parts were measured at different moments), never in a part. What is not memory of the
 * device (pinned host memory), may be (managed) or is another process's (imported) stands apart and is in
 * no sum.
 *
 * The instant is the sample of the device (cuMemGetInfo) at which most was used; without samples, the last
 * row: used and remainder are then not known.
 */
#ifndef ANALYZE_ACCOUNTING_H
#define ANALYZE_ACCOUNTING_H

#include "model/model.h"

enum account_part {
	ACCOUNT_ACTIVE,	       /* a framework's blocks: requested bytes */
	ACCOUNT_PENDING,       /* the same, freed by the program while other streams still use them */
	ACCOUNT_ROUNDING,      /* of the blocks */
	ACCOUNT_CACHED_PARTS,  /* free parts of segments that are in use */
	ACCOUNT_CACHED_WHOLE,  /* segments without any block */
	ACCOUNT_LIBRARY,       /* other allocations, by the library (or program) that called the driver */
	ACCOUNT_POOL_RESERVE,  /* what the driver's memory pools keep */
	ACCOUNT_GRAPHS,	       /* reserved by CUDA graphs */
	ACCOUNT_CONTEXT,       /* the process's bytes that are no allocation, when NVML first saw it */
	ACCOUNT_CONTEXT_LATER, /* what was added to them since: code loaded later, what the driver rounds up */
	ACCOUNT_BEFORE,	       /* no NVML: all that was used at the first sample and is no allocation */
	ACCOUNT_UNNAMED,       /* NVML has other ids: all processes' contexts and code, and what the others allocated */
	ACCOUNT_OTHERS,	       /* another process (NVML) */
	ACCOUNT_PARTS
};
struct account {
	enum account_part part;
	uint32_t name; /* string: library or process; 0 = none */
	uint32_t pid;  /* OTHERS */
	int64_t bytes;
	uint64_t count; /* blocks, allocations; 0 where that means nothing */
};
struct accounting {
	size_t row; /* the instant: after it */
	int64_t t_ns;
	uint64_t used, total; /* MODEL_UNKNOWN */
	struct account *v;    /* by part, the largest of a part first */
	size_t n;
	int64_t sum;	   /* of the parts */
	int64_t remainder; /* used - sum; 0 if used is not known */
	bool by_nvml;	   /* the process's own bytes are known, so context and other processes can be told apart */
	bool foreign_ids;  /* it is not, because NVML names processes by ids of another PID namespace */
	uint64_t managed, pinned, registered, imported;
};
void accounting_make(struct accounting *a, const struct model *m, uint8_t device);
void accounting_free(struct accounting *a);
const char *accounting_part_word(enum account_part part); /* "active", "pool_reserve" … */
const char *accounting_part_name(enum account_part part); /* the same for people */

#endif
