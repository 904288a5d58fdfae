/* fuzz_explain.c: any text may be given to explain-oom as an out-of-memory message. */
#include "analyze/explain.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = mem_strndup((const char *)data, n);
	struct explanation x;

	if (explain(text, &x)) {
		if (!x.verdict.n)
			abort(); /* what is known must be explained */
		explain_free(&x);
	}
	free(text);
	return 0;
}
