/* fuzz_conf.c: any text may be given to the caching allocator as its configuration. */
#include "alloc/conf.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = mem_strndup((const char *)data, n);
	struct gma_conf conf;
	struct gma_conf_error e = {0};

	gma_conf_default(&conf);
	if (!gma_conf_parse(&conf, text, &e) && !*e.text)
		abort(); /* an error must say what it is */
	free(text);
	return 0;
}
