/* fuzz_pickle.c: hostile pickles must neither crash nor hang the PyTorch reader. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct format torch = {"torch", torch_probe, torch_read};

	fuzz_read(&torch, "fuzz.pickle", data, n);
	return 0;
}
