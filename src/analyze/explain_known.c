/* explain_known.c: out-of-memory messages as programs write them, one row each, in the order they are tried.
 *
 * A row knows a text by its signs and says behind which phrases the numbers stand; what needs more than that
 * has a function. Rows whose text may quote another's (vLLM logs PyTorch, JAX logs TensorFlow's allocator)
 * come first.
 */
#include "analyze/explain_known.h"
#include "analyze/explain_scan.h"
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct figure_at {
	size_t field; /* of struct explanation */
	const char *phrase;
};
struct known {
	const char *source, *writer;
	const char *sign[5];       /* one of them is in the text … */
	const char *also[2];       /* … and one of these, if there are any */
	struct figure_at after[8]; /* the first phrase of a field that has a size behind it counts */
	const char *device[3];     /* phrases that the device's number follows */
	void (*more)(struct explanation *x, const char *text);
	const char *advice;
};

#define AT(field, phrase)                                                                                    \
	{                                                                                                    \
		offsetof(struct explanation, field), phrase                                                  \
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

		if (dimension && n > SCAN_IMPOSSIBLE / dimension)
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

/* The allocator took its limit from the device long ago: what failed is a search in its own memory. */
static void arena(struct explanation *x, const char *text)
{
	uint64_t shape = tensor_bytes(text);

	if (shape != MODEL_UNKNOWN)
		x->asked = shape;
	x->harmless = strstr(text, "caller indicates that this is not a failure") && shape == MODEL_UNKNOWN &&
	              !strstr(text, "xhausted") && !strstr(text, "EXHAUSTED");
	x->cached = scan_minus(x->allowed, x->allocated);
	if (x->cached == MODEL_UNKNOWN || x->asked == MODEL_UNKNOWN)
		return;
	x->cause = x->cached >= x->asked ? OOM_FRAGMENTATION : OOM_SHORTAGE;
}

/* The old total counts what would have been allocated, had it worked. */
static void cupy_old(struct explanation *x, const char *text)
{
	(void)text;
	x->allocated = scan_minus(x->allocated, x->asked);
}

/* TPUs: what the compiled program needs of what there is. */
static void xla(struct explanation *x, const char *text)
{
	const char *used = strstr(text, "hbm. Used ");

	if (used) {
		x->asked = scan_after(used, "Used ");
		x->total = scan_after(used, " of ");
		x->cause = OOM_SHORTAGE;
		x->advice = NULL;
	} else {
		arena(x, text);
	}
}

/* "Free memory on device cuda:0 (3.27/15.98 GiB) on startup": nothing of it is its own yet. */
static void vllm_start(struct explanation *x, const char *text)
{
	const char *paren = strchr(strstr(text, "Free memory on device"), '('), *slash;
	double gib = 1024.0 * 1024 * 1024;

	if (!paren || !isdigit((unsigned char)paren[1]))
		return;
	x->free = (uint64_t)(strtod(paren + 1, NULL) * gib);
	slash = strchr(paren, '/');
	if (slash && isdigit((unsigned char)slash[1]))
		x->total = (uint64_t)(strtod(slash + 1, NULL) * gib);
	x->other_memory = scan_minus(x->total, x->free);
	paren = strchr(paren + 1, '(');
	if (paren)
		x->asked = scan_after(paren, ", ");
	if (x->asked != MODEL_UNKNOWN && x->total != MODEL_UNKNOWN)
		x->cause = x->asked > x->total ? OOM_SHORTAGE : OOM_OTHERS;
}

/* What is left of its share of the device does not do. */
static void share(struct explanation *x, const char *text)
{
	x->asked = scan_before(text, " KV cache is needed");
	x->share = true;
	x->cause = OOM_LIMIT;
}

static void host(struct explanation *x, const char *text)
{
	(void)text;
	x->host = true;
	x->cause = OOM_SHORTAGE;
}

#define TENSORFLOW                                                                                           \
	.after = {AT(asked, "(rounded to "), AT(asked, "an out of memory trying to allocate "), AT(allowed, "Limit: "),  \
	          AT(allocated, "InUse: ")},                                                                     \
	.device = {"device:GPU:", "Allocator (GPU_", "allocator GPU_"}, .more = arena,                       \
	.advice = "TensorFlow takes nearly the whole device at start; set_memory_growth makes it grow "      \
	          "instead. The "                                                                            \
	          "log lines above the error list what was in use."
#define SHARE                                                                                                \
	"Raise gpu_memory_utilization if nothing else needs the device, or ask for less: a smaller "         \
	"max_model_len or "                                                                                  \
	"max_num_seqs, enforce_eager (no CUDA graphs), a quantised model or KV cache, or more GPUs."

static const struct known known[] = {
    {.source = "pytorch",
     .writer = "PyTorch with cudaMallocAsync",
     .sign = {"would exceed allowed memory. (out of memory)", "OutOfMemoryError: Allocation on device"},
     .after = {AT(allocated, "Currently allocated : "), AT(asked, "Requested : "), AT(total, "Device limit : "),
               AT(free, "Free (according to CUDA): "), AT(allowed, "user-supplied memory fraction) : ")},
     .device = {"Allocation on device "}},
    {.source = "pytorch",
     .writer = "PyTorch on Apple's MPS",
     .sign = {"MPS backend out of memory"},
     .after = {AT(allocated, "MPS allocated: "),
               {offsetof(struct explanation, other_memory), "other allocations: "},
               AT(allowed, "max allowed: "),
               AT(asked, "Tried to allocate ")}},
    {.source = "vllm",
     .writer = "vLLM",
     .sign = {"is less than desired GPU memory utilization"},
     .also = {"Free memory on device"},
     .more = vllm_start,
     .advice =
         "Lower gpu_memory_utilization to what is free: the share is one of the whole device, not of what "
         "others left."},
    {.source = "vllm",
     .writer = "vLLM",
     .sign = {"KV cache is needed", "No available memory for the cache blocks", "stored in KV cache ("},
     .after = {AT(allowed, "available KV cache memory (")},
     .more = share,
     .advice = SHARE},
    {.source = "sglang",
     .writer = "SGLang",
     .sign = {"Please try to increase --mem-fraction-static",
              "Please try to increase `--mem-fraction-static`"},
     .more = share,
     .advice =
         "Raise --mem-fraction-static, or ask for less: a smaller --context-length, --max-running-requests "
         "or --cuda-graph-max-bs."},
    {.source = "tensorflow",
     .writer = "TensorFlow",
     .sign = {"OOM when allocating tensor", " tensorflow/core/common_runtime/bfc_allocator"},
     TENSORFLOW},
    {.source = "xla",
     .writer = "XLA (JAX or TensorFlow)",
     .sign = {"RESOURCE_EXHAUSTED", "Resource exhausted", "Out of memory while trying to allocate"},
     .also = {"emory", "ailed to allocate"},
     .after = {AT(asked, "Out of memory while trying to allocate "), AT(asked, "Out of memory allocating "),
               AT(asked, "Failed to allocate request for "), AT(asked, "Attempting to allocate "),
               AT(asked, "trying to allocate "), AT(allowed, "Limit: "), AT(allocated, "InUse: "), AT(free, "There are ")},
     .device = {"device ordinal ", "Allocator (GPU_"},
     .more = xla,
     .advice = "JAX takes 75 % of the device at start (XLA_PYTHON_CLIENT_PREALLOCATE, "
               "XLA_PYTHON_CLIENT_MEM_FRACTION); what it could not get is inside that share."},
    {.source = "tensorflow",
     .writer = "TensorFlow",
     .sign = {"an out of memory trying to allocate"},
     TENSORFLOW},
    {.source = "cupy",
     .writer = "CuPy",
     .sign = {"out of memory to allocate "}, /* before 6.1 */
     .after = {AT(asked, "out of memory to allocate "), AT(allocated, "(total "), AT(allowed, "limit set to ")},
     .more = cupy_old},
    {.source = "cupy",
     .writer = "CuPy",
     .sign = {"Out of memory allocating "},
     .after = {AT(asked, "Out of memory allocating "), AT(allocated, "allocated so far: "),
               AT(allowed, "limit set to: ")}},
    {.source = "rmm",
     .writer = "RMM",
     .sign = {"RMM failure", "rmm::", "/rmm/", "[RMM]", "aximum pool size exceeded"},
     .after = {AT(asked, "failed to allocate "), AT(asked, "[Upstream "), AT(asked, "allocate ")},
     .advice = "If the pool resource has a maximum size, raise it; RMM's log (RMM_LOG_FILE) can be read with "
               "gpumemsnap report."},
    {.source = "paddle",
     .writer = "PaddlePaddle",
     .sign = {"Out of memory error on GPU"},
     .after = {AT(asked, "Cannot allocate "), AT(free, "available memory is only ")},
     .device = {"error on GPU "}},
    {.source = "xgboost",
     .writer = "XGBoost",
     .sign = {"Memory allocation error on worker"},
     .after = {AT(asked, "Requested memory: "), AT(free, "Free memory: ")}},
    {.source = "onnxruntime",
     .writer = "ONNX Runtime",
     .sign = {"BFCArena"},
     .also = {"Failed to allocate memory", "smaller than requested bytes"},
     .after = {AT(asked, "requested buffer of size "), AT(asked, "smaller than requested bytes of "),
               AT(free, "Available memory of ")},
     .advice = "arena_extend_strategy=kSameAsRequested keeps its arena from growing in powers of two; "
               "gpu_mem_limit "
               "bounds it."},
    {.source = "tensorrt",
     .writer = "TensorRT",
     .sign = {"Requested amount of GPU memory", "Requested amount of memory (", "Error Code 2: OutOfMemory",
              "nvinfer1::", "[TRT]"},
     .also = {"emory"},
     .after = {AT(asked, "Requested amount of GPU memory ("), AT(asked, "Requested amount of memory ("),
               AT(asked, "Requested size was ")},
     .advice =
         "A smaller workspace (setMemoryPoolLimit, --memPoolSize) lets the builder choose other tactics."},
    {.source = "llama.cpp",
     .writer = "llama.cpp",
     .sign = {"ggml_", "llama_"},
     .also = {"cudaMalloc failed: out of memory", "failed to allocate CUDA"},
     .after = {AT(asked, " buffer of size "), AT(asked, ": allocating ")},
     .device = {" on device ", "allocate CUDA"},
     .advice = "Put fewer layers on the GPU (-ngl), shorten the context (-c), quantise the KV cache "
               "(--cache-type-k), or divide the model otherwise (--tensor-split)."},
    {.source = "host",
     .writer = "PyTorch",
     .sign = {"DefaultCPUAllocator"},
     .after = {AT(asked, "you tried to allocate ")},
     .more = host},
    {.source = "host",
     .writer = "the Linux kernel",
     .sign = {"Out of memory: Kill", "oom-kill:"},
     .more = host},
    {.source = "cuda",
     .writer = "CUDA itself",
     .sign = {"out of memory", "cudaErrorMemoryAllocation", "OUT_OF_MEMORY", "ALLOC_FAILED",
              "hipErrorOutOfMemory"},
     .after = {AT(asked, "ailed to allocate "), AT(asked, "Failed to CUDA calloc ")},
     .advice =
         "It came from a direct CUDA call (a context, a library such as cuBLAS or NCCL, a kernel's stack), "
         "not from a caching allocator: see how much of the device was free then."},
};

static bool has_one(const char *text, const char *const *phrase, size_t n)
{
	for (size_t i = 0; i < n && phrase[i]; i++)
		if (strstr(text, phrase[i]))
			return true;
	return !phrase[0];
}

static void fill(struct explanation *x, const struct known *k, const char *text)
{
	size_t i;

	x->source = k->source;
	x->writer = k->writer;
	x->advice = k->advice;
	for (i = 0; i < sizeof k->after / sizeof *k->after && k->after[i].phrase; i++) {
		uint64_t *v = (uint64_t *)((char *)x + k->after[i].field);

		if (*v == MODEL_UNKNOWN)
			*v = scan_after(text, k->after[i].phrase);
	}
	for (i = 0; i < sizeof k->device / sizeof *k->device && k->device[i] && x->device < 0; i++)
		x->device = scan_number(text, k->device[i]);
	if (k->more)
		k->more(x, text);
}

bool explain_known(struct explanation *x, const char *text)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (has_one(text, known[i].sign, sizeof known->sign / sizeof *known->sign) &&
		    has_one(text, known[i].also, sizeof known->also / sizeof *known->also)) {
			fill(x, &known[i], text);
			return true;
		}
	return false;
}
