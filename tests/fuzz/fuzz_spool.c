/* fuzz_spool.c: a damaged or hostile spool must neither crash nor hang its reader. */
#include "format/spool.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct format spool = {"spool", spool_probe, spool_format_read};

	fuzz_read(&spool, "fuzz.spool", data, n);
	return 0;
}
