/* explain.h: what the text of an out-of-memory error says, in words.
 *
 * Understands PyTorch's messages of all versions (and their HIP twins), TensorFlow's, XLA's, CuPy's,
 * RMM's, and the bare CUDA error. The text may stand anywhere in a log. Numbers the message does
 * not give are MODEL_UNKNOWN; numbers that cannot be (PyTorch has printed negative ones as 2^34 GiB)
 * are dropped and named.
 */
#ifndef ANALYZE_EXPLAIN_H
#define ANALYZE_EXPLAIN_H

#include "analyze/oom.h"
#include "analyze/verdict.h"

enum explain_source {
	EXPLAIN_PYTORCH,
	EXPLAIN_TENSORFLOW,
	EXPLAIN_XLA,
	EXPLAIN_CUPY,
	EXPLAIN_RMM,
	EXPLAIN_CUDA,
};
struct explanation {
	enum explain_source source;
	const char *writer;   /* "PyTorch 2.1 or later" */
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
	uint64_t other_memory;  /* of this process, not the framework's: context, libraries */
	bool nonsense;          /* a number was impossible */
	enum oom_cause cause;
	struct verdict verdict;
};
/* false if the text is no out-of-memory message that we know. */
bool explain(const char *text, struct explanation *out);
void explain_free(struct explanation *x);

#endif
