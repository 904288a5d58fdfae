/* explain.c: finds the numbers of an out-of-memory message. What they mean is in explain_words.c. */
#include "analyze/explain.h"
#include "analyze/explain_words.h"
#include "base/mem.h"
#include "base/text.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define IMPOSSIBLE (1ull << 50) /* no device has a PiB */

/* One space for every run of white space: logs wrap lines. */
static char *one_line(const char *text)
{
	char *line = mem_alloc(strlen(text) + 1), *to = line;

	for (; *text; text++) {
		bool space = isspace((unsigned char)*text);

		if (!space || (to > line && to[-1] != ' '))
			*to++ = space ? ' ' : *text;
	}
	*to = 0;
	return line;
}

/* "734.00 MiB" or "17,179 bytes" at s; *end is behind it. */
static bool read_size(const char *s, uint64_t *out, const char **end)
{
	static const struct {
		const char *name;
		double factor;
	} unit[] = {{"bytes", 1},       {"byte", 1},           {"KiB", 1024.0},
	            {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
	            {"B", 1},           {"KB", 1e3},           {"MB", 1e6},
	            {"GB", 1e9}};
	char digits[40];
	size_t n = 0, i;
	double v;

	for (; (isdigit((unsigned char)*s) || *s == ',' || *s == '.') && n < sizeof digits - 1; s++)
		if (*s != ',')
			digits[n++] = *s;
	digits[n] = 0;
	if (!n)
		return false;
	v = strtod(digits, NULL);
	while (*s == ' ')
		s++;
	for (i = 0; i < sizeof unit / sizeof *unit; i++)
		if (!strncmp(s, unit[i].name, strlen(unit[i].name))) {
			v *= unit[i].factor;
			*out = v < 9e18 ? (uint64_t)v : UINT64_MAX - 1;
			*end = s + strlen(unit[i].name);
			return true;
		}
	return false;
}

static uint64_t plausible(struct explanation *x, uint64_t v)
{
	if (v == MODEL_UNKNOWN || v < IMPOSSIBLE)
		return v;
	x->nonsense = true;
	return MODEL_UNKNOWN;
}

/* The size right behind a phrase. */
static uint64_t after(struct explanation *x, const char *text, const char *phrase)
{
	const char *at = strstr(text, phrase), *end;
	uint64_t v;

	return at && read_size(at + strlen(phrase), &v, &end) ? plausible(x, v) : MODEL_UNKNOWN;
}

/* The size right before a phrase. */
static uint64_t before(struct explanation *x, const char *text, const char *phrase)
{
	const char *at = strstr(text, phrase), *s, *end;
	unsigned words = 0;
	uint64_t v;

	if (!at)
		return MODEL_UNKNOWN;
	for (s = at; s > text && words < 2; s--)
		words += s[-1] == ' ' && s < at;
	for (; s < at; s++)
		if (isdigit((unsigned char)*s) && (s == text || !isdigit((unsigned char)s[-1])) &&
		    read_size(s, &v, &end) && end <= at + 1 && end >= at - 1)
			return plausible(x, v);
	return MODEL_UNKNOWN;
}

static int device_after(const char *text, const char *phrase)
{
	const char *at = strstr(text, phrase);

	return at && isdigit((unsigned char)at[strlen(phrase)]) ? atoi(at + strlen(phrase)) : -1;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a == MODEL_UNKNOWN || b == MODEL_UNKNOWN ? MODEL_UNKNOWN : a > b ? a - b : 0;
}

/* "Process 1234 has 20.00 GiB memory in use." as often as it stands there. */
static void other_processes(struct explanation *x, const char *text)
{
	const char *at = text, *end;
	uint64_t v, sum = 0;

	while ((at = strstr(at, "Process ")) != NULL) {
		at += strlen("Process ");
		while (isdigit((unsigned char)*at))
			at++;
		if (strncmp(at, " has ", 5) || !read_size(at + 5, &v, &end))
			continue;
		v = plausible(x, v);
		sum += v == MODEL_UNKNOWN ? 0 : v;
		x->n_others++;
	}
	if (x->n_others)
		x->others = sum;
}

/* PyTorch 2.1 and later: sentences. 2.1 wrote "capacty". */
static bool pytorch_new(struct explanation *x, const char *text)
{
	const char *capacity = strstr(text, "has a total capac");

	if (!capacity)
		return false;
	x->writer = "PyTorch 2.1 or later";
	x->device = device_after(text, "GPU ");
	x->asked = after(x, text, "Tried to allocate ");
	x->total = after(x, capacity, "ty of ");
	x->free = after(x, capacity, "of which ");
	x->process = after(x, text, "this process has ");
	x->allowed = before(x, text, " allowed;");
	x->allocated = after(x, text, "Of the allocated memory ");
	x->private_pools = before(x, text, " allocated in private pools");
	x->cached = before(x, text, " is reserved by PyTorch but unallocated");
	x->other_memory = minus(minus(x->process, x->allocated), x->cached);
	other_processes(x, text);
	return true;
}

/* Before 2.1: one parenthesis. "cached" became "reserved in total by PyTorch" in 1.4. */
static bool pytorch_old(struct explanation *x, const char *text)
{
	const char *paren = strstr(text, " total capacity;");
	uint64_t reserved;

	if (!paren)
		return false;
	x->writer = "PyTorch before 2.1";
	x->device = device_after(text, "(GPU ");
	x->asked = after(x, text, "Tried to allocate ");
	x->total = before(x, text, " total capacity;");
	x->allocated = before(x, text, " already allocated;");
	x->free = before(x, text, " free;");
	x->allowed = before(x, text, " allowed;");
	reserved = before(x, text, " reserved in total by PyTorch");
	x->cached = reserved != MODEL_UNKNOWN ? minus(reserved, x->allocated) : before(x, text, " cached");
	x->process = MODEL_UNKNOWN;
	x->other_memory = minus(minus(minus(x->total, x->free), x->allocated), x->cached);
	return true;
}

static bool pytorch(struct explanation *x, const char *text)
{
	if (!strstr(text, "out of memory. Tried to allocate") &&
	    !strstr(text, "out of memory. tried to allocate"))
		return false;
	x->source = EXPLAIN_PYTORCH;
	x->writer = "PyTorch";
	if (!pytorch_new(x, text) && !pytorch_old(x, text))
		x->asked = after(x, text, "ried to allocate ");
	return true;
}

/* Bytes of "shape[256,512,1024] and type float". */
static uint64_t tensor_bytes(const char *text)
{
	static const struct {
		const char *name;
		unsigned bytes;
	} type[] = {{"float", 4}, {"half", 2},  {"bfloat16", 2},  {"double", 8},
	            {"int32", 4}, {"int64", 8}, {"bool", 1},      {"int8", 1},
	            {"uint8", 1}, {"int16", 2}, {"complex64", 8}, {"complex128", 16}};
	const char *at = strstr(text, "shape["), *of = at ? strstr(at, "and type ") : NULL;
	uint64_t n = 1;
	size_t i;

	if (!of)
		return MODEL_UNKNOWN;
	for (at += strlen("shape["); isdigit((unsigned char)*at); at += *at == ',') {
		char *end;
		uint64_t dimension = strtoull(at, &end, 10);

		if (dimension && n > IMPOSSIBLE / dimension)
			return MODEL_UNKNOWN;
		n *= dimension;
		at = end;
	}
	of += strlen("and type ");
	for (i = 0; i < sizeof type / sizeof *type; i++) {
		size_t len = strlen(type[i].name);

		if (!strncmp(of, type[i].name, len) && !isalnum((unsigned char)of[len]))
			return n * type[i].bytes;
	}
	return MODEL_UNKNOWN;
}

static bool tensorflow(struct explanation *x, const char *text)
{
	if (!strstr(text, "OOM when allocating tensor"))
		return false;
	x->source = EXPLAIN_TENSORFLOW;
	x->writer = "TensorFlow";
	x->asked = tensor_bytes(text);
	x->device = device_after(text, "device:GPU:");
	return true;
}

static bool xla(struct explanation *x, const char *text)
{
	if (!strstr(text, "RESOURCE_EXHAUSTED") && !strstr(text, "Out of memory while trying to allocate"))
		return false;
	x->source = EXPLAIN_XLA;
	x->writer = "XLA (JAX or TensorFlow)";
	x->asked = after(x, text, "trying to allocate ");
	return true;
}

static bool cupy(struct explanation *x, const char *text)
{
	bool old = strstr(text, "out of memory to allocate ") != NULL; /* before 6.1 */

	if (!old && !strstr(text, "Out of memory allocating "))
		return false;
	x->source = EXPLAIN_CUPY;
	x->writer = "CuPy";
	x->asked = after(x, text, old ? "out of memory to allocate " : "Out of memory allocating ");
	/* The old total counts what would have been allocated, had it worked. */
	x->allocated = old ? minus(after(x, text, "(total "), x->asked) : after(x, text, "allocated so far: ");
	x->allowed = after(x, text, old ? "limit set to " : "limit set to: ");
	return true;
}

static bool rmm(struct explanation *x, const char *text)
{
	if (!strstr(text, "RMM failure") && !strstr(text, "rmm::") &&
	    !strstr(text, "Maximum pool size exceeded"))
		return false;
	x->source = EXPLAIN_RMM;
	x->writer = "RMM";
	x->asked = after(x, text, "allocate ");
	return true;
}

static bool cuda(struct explanation *x, const char *text)
{
	if (!strstr(text, "out of memory") && !strstr(text, "cudaErrorMemoryAllocation") &&
	    !strstr(text, "CUDA_ERROR_OUT_OF_MEMORY"))
		return false;
	x->source = EXPLAIN_CUDA;
	x->writer = "CUDA itself";
	return true;
}

bool explain(const char *text, struct explanation *out)
{
	static bool (*const known[])(struct explanation *, const char *) = {pytorch, tensorflow, xla,
	                                                                    cupy,    rmm,        cuda};
	char *line = one_line(text);
	bool found = false;
	size_t i;

	*out = (struct explanation){.device = -1,
	                            .asked = MODEL_UNKNOWN,
	                            .total = MODEL_UNKNOWN,
	                            .free = MODEL_UNKNOWN,
	                            .process = MODEL_UNKNOWN,
	                            .others = MODEL_UNKNOWN,
	                            .allowed = MODEL_UNKNOWN,
	                            .allocated = MODEL_UNKNOWN,
	                            .cached = MODEL_UNKNOWN,
	                            .private_pools = MODEL_UNKNOWN,
	                            .other_memory = MODEL_UNKNOWN};
	for (i = 0; i < sizeof known / sizeof *known && !found; i++)
		found = known[i](out, line);
	if (found)
		explain_words(out, line);
	free(line);
	return found;
}

void explain_free(struct explanation *x)
{
	verdict_free(&x->verdict);
}
