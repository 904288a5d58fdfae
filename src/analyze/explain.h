/* explain.h: what the text of an out-of-memory error says, in words.
 *
 * Understands PyTorch's messages of all versions (CUDA's, HIP's, XPU's and MPS's), and those of the programs
 * in explain_known.c. The text may stand anywhere in a log; of several messages the first counts. Numbers the
 * message does not give are MODEL_UNKNOWN; numbers that cannot be (PyTorch has printed negative ones as
 * 2^34 GiB) are dropped and named.
 */
#ifndef ANALYZE_EXPLAIN_H
#define ANALYZE_EXPLAIN_H

#include "analyze/oom.h"
#include "analyze/verdict.h"

struct explanation {
	const char *source;   /* "pytorch", "tensorflow", … */
	const char *writer;   /* "PyTorch 2.1 or later" */
	const char *advice;   /* what helps with this writer, NULL: nothing special */
	int device;           /* -1: not said */
	uint64_t asked;       /* what was asked of the device (rounded to a segment by PyTorch) */
	uint64_t total, free; /* of the device */
	uint64_t process;     /* this process, with context and libraries */
	uint64_t others;      /* all other processes that are named */
	unsigned n_others;
	uint64_t allowed;       /* by a limit */
	uint64_t allocated;     /* live, by the framework */
	uint64_t cached;        /* reserved by the framework but not allocated */
	uint64_t private_pools; /* of CUDA graphs and other private pools */
	uint64_t
	    other_memory; /* used, but neither the framework's nor of a named process: context, libraries … */
	bool nonsense;    /* a number was impossible */
	bool share;       /* allowed is what its share of the device leaves for this (vLLM's KV cache) */
	bool host;        /* the host's memory ran out, not the device's */
	bool harmless;    /* the writer says itself that it went on without */
	bool own_by_other_name; /* one of the processes named is this one: it has another number in a
	                           container */
	unsigned more;          /* messages in the text that say something else; the first is explained */
	enum oom_cause cause;   /* OOM_UNKNOWN: to be judged from the numbers */
	struct verdict verdict;
};
/* false if the text is no out-of-memory message that we know. */
bool explain(const char *text, struct explanation *out);
void explain_free(struct explanation *x);

#endif
