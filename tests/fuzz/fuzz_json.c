/* fuzz_json.c: hostile snapshots must neither crash nor hang their reader. */
#include "format/json.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct format json = {"json", json_probe, json_read};

	fuzz_read(&json, "fuzz.json", data, n);
	return 0;
}
