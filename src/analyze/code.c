/* code.c: whose code a frame is, told by file and module names. */
#include "analyze/code.h"
#include "base/mem.h"
#include <string.h>

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool has_any(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (strstr(s, *words))
			return true;
	return false;
}

static bool starts_any(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (starts(s, *words))
			return true;
	return false;
}

const char *code_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool no_name(const char *s)
{
	return !*s || !strcmp(s, "??") || !strcmp(s, "?");
}

static bool is_python(const char *file)
{
	size_t n = strlen(file);

	return (n > 3 && !strcmp(file + n - 3, ".py")) || (n > 2 && file[0] == '<' && file[n - 1] == '>') ||
	       starts(file, "<eval_with_key>") || starts(file, "<ipython-input");
}

static enum code of_python(const char *file)
{
	static const char *const library[] = {"/site-packages/", "/dist-packages/", "/lib/python", "<frozen ",
	                                      NULL};

	return has_any(file, library) || starts(file, "torch/") ? CODE_PYTHON : CODE_YOURS;
}

static bool is_cuda_library(const char *name)
{
	static const char *const cuda[] = {"libcuda",  "libcudart",   "libcublas", "libcudnn",
	                                   "libcufft", "libcusparse", "libcurand", "libcusolver",
	                                   "libnccl",  "libnv",       NULL};

	return starts_any(name, cuda);
}

static enum code of_module(const char *module)
{
	static const char *const system[] = {"/lib", "/usr/", "/opt/", NULL};
	static const char *const library[] = {"/site-packages/", "/dist-packages/", "/lib/python", "conda",
	                                      NULL};
	const char *name = code_basename(module);

	if (is_cuda_library(name))
		return CODE_CUDA;
	if (starts(name, "python") || starts(name, "libpython"))
		return CODE_NATIVE;
	if (!strstr(name, ".so"))
		return CODE_YOURS;
	/* A bare name tells no place: system libraries are the likelier. */
	return *module != '/' || starts_any(module, system) || has_any(module, library) ? CODE_NATIVE
	                                                                                : CODE_YOURS;
}

static bool is_cuda_function(const char *s)
{
	static const char *const cuda[] = {"cuda", "cublas", "cudnn", "nccl", "cufft", "cusparse", NULL};

	return starts_any(s, cuda) || (starts(s, "cu") && s[2] >= 'A' && s[2] <= 'Z');
}

enum code code_of(const struct model *m, uint32_t frame)
{
	const struct frame *f = &m->frames.v[frame];
	const char *function = model_text(m, f->function), *file = model_text(m, f->file),
	           *module = model_text(m, f->module);

	if (is_python(file))
		return of_python(file);
	if (no_name(function))
		return CODE_UNKNOWN;
	if (*module)
		return of_module(module);
	return is_cuda_function(function) ? CODE_CUDA : m->source == SOURCE_TORCH ? CODE_NATIVE : CODE_YOURS;
}

uint8_t *code_of_all(const struct model *m)
{
	uint8_t *all = mem_alloc(m->frames.n + 1);

	for (size_t i = 0; i < m->frames.n; i++)
		all[i] = (uint8_t)code_of(m, (uint32_t)i);
	return all;
}

void code_frame_name(const struct model *m, uint32_t frame, struct text *out)
{
	const struct frame *f = &m->frames.v[frame];
	const char *function = model_text(m, f->function), *file = code_basename(model_text(m, f->file)),
	           *module = code_basename(model_text(m, f->module));

	text_puts(out, *function ? function : "??");
	if (!no_name(file) && f->line)
		text_printf(out, "  %s:%u", file, f->line);
	else if (!no_name(file))
		text_printf(out, "  %s", file);
	else if (no_name(function) && *module)
		text_printf(out, "  %s", module);
}

/* Allocator entry points and unwinding: true of every stack, so they tell nothing. */
static bool is_plumbing(const char *s)
{
	static const char *const plumbing[] = {"c10::cuda::CUDACachingAllocator",
	                                       "c10::cuda::CUDAAllocator",
	                                       "c10::StorageImpl",
	                                       "torch::unwind",
	                                       "torch::CapturedTraceback",
	                                       "torch::cuda::",
	                                       "unwind::",
	                                       "at::detail::empty_",
	                                       "at::detail::_empty",
	                                       "at::native::empty_",
	                                       "gather_with_cpp",
	                                       "cuMem",
	                                       "cudaMalloc",
	                                       NULL};

	return has_any(s, plumbing);
}

void code_stack_name(const struct model *m, const uint8_t *codes, uint32_t stack, struct text *out)
{
	size_t n, first, own;
	const uint32_t *f = model_stack_frames(m, stack, &n);

	if (!n) {
		text_puts(out, "no stack recorded");
		return;
	}
	for (first = 0; first < n; first++)
		if (codes[f[first]] != CODE_UNKNOWN && codes[f[first]] != CODE_CUDA &&
		    !is_plumbing(model_text(m, m->frames.v[f[first]].function)))
			break;
	if (first == n)
		first = 0;
	code_frame_name(m, f[first], out);
	for (own = first; own < n && codes[f[own]] != CODE_YOURS; own++)
		;
	if (own < n && own > first) {
		text_puts(out, " \xe2\x86\x90 ");
		code_frame_name(m, f[own], out);
	}
}
