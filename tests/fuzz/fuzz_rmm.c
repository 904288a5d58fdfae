/* fuzz_rmm.c: hostile RMM logs must neither crash nor hang their reader. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct format rmm = {"rmm", rmm_probe, rmm_read};

	fuzz_read(&rmm, "fuzz.dev1.csv", data, n);
	return 0;
}
