/* fuzz_filter.c: conditions of --where, one a line, on a small recording. Not those with a regular
 * expression: how long one of them takes is up to libc.
 */
#include "analyze/filter.h"
#include "fuzz.h"

static void record(struct model *m)
{
	static const struct event rows[] = {
	    {.op = GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC), .addr = 4096, .size = 4096, .t_ns = 1},
	    {.op = GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC), .addr = 4096, .size = 512, .t_ns = 2},
	    {.op = GMS_OP(GMS_K_DEVICE, GMS_A_ALLOC), .addr = 8192, .size = 7, .t_ns = 3, .device = 1},
	    {.op = GMS_OP(GMS_K_BLOCK, GMS_A_FREE), .addr = 4096, .t_ns = 4},
	    {.op = GMS_OP(GMS_K_BLOCK, GMS_A_FAIL), .size = 1 << 20, .t_ns = 5},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		model_add(m, &rows[i]);
	model_fail(m, 4, 2, 0, MODEL_UNKNOWN);
	model_link(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = mem_strndup((const char *)data, n), *line, *rest = text;
	struct filter f = {0};
	struct model m;

	model_init(&m, "fuzz");
	record(&m);
	while ((line = strsep(&rest, "\n"))) {
		struct err e = {0};

		if (!strchr(line, '~') && filter_add(&f, line, &e) && !*e.msg)
			abort(); /* an error must say what it is */
	}
	filter_apply(&f, &m);
	if (f.n && !m.ev.n != !!m.why_nothing)
		abort(); /* nothing is left, and nobody says why */
	filter_free(&f);
	model_free(&m);
	free(text);
	return 0;
}
