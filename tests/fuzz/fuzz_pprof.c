/* fuzz_pprof.c: hostile pprof profiles must neither crash nor hang their reader. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct format pprof = {"pprof", pprof_probe, pprof_read};

	fuzz_read(&pprof, "fuzz.prof", data, n);
	return 0;
}
