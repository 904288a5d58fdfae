/* frames.c: ranking frames by whose code they are. Pure string work, done only for what is shown. */
#include "analyze/frames.h"
#include <string.h>

const char *frames_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool any_in(const char *s, const char *const *parts)
{
	for (; *parts; parts++)
		if (strstr(s, *parts))
			return true;
	return false;
}

static bool any_starts(const char *s, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (starts(s, *prefixes))
			return true;
	return false;
}

static bool noise_function(const char *f)
{
	static const char *const part[] = {"unwind::unwind",
	                                   "CapturedTraceback::gather",
	                                   "gather_with_cpp",
	                                   "CUDACachingAllocator",
	                                   "CachingHostAllocator",
	                                   "wrap_kernel_functor",
	                                   "BoxedKernelWrapper",
	                                   "KernelFunction::call",
	                                   "c10::Dispatcher::",
	                                   "redispatch",
	                                   NULL};
	static const char *const prefix[] = {"PyEval_",
	                                     "_PyEval_",
	                                     "PyObject_",
	                                     "_PyObject_",
	                                     "PyFunction_",
	                                     "_PyFunction_",
	                                     "PyRun_",
	                                     "Py_RunMain",
	                                     "Py_Main",
	                                     "Py_BytesMain",
	                                     "PyVectorcall_",
	                                     "cfunction_",
	                                     "method_vectorcall",
	                                     "__libc_start",
	                                     "_start",
	                                     "start_thread",
	                                     "clone3",
	                                     "__clone",
	                                     "_call_impl",
	                                     "_wrapped_call_impl",
	                                     "gma_",
	                                     "gms_",
	                                     "rec_",
	                                     NULL};
	static const char *const api[] = {
	    "cuMem",    "cuIpc",     "cuArray", "cuMipmapped", "cuGraph",          "cuCtx", "cudaMalloc",
	    "cudaHost", "cudaGraph", "cudaMem", "__cudart",    "libcudart_static", NULL};

	return any_starts(f, prefix) || any_starts(f, api) || any_in(f, part);
}

static bool noise_file(const char *file)
{
	static const char *const part[] = {
	    "core/boxing",        "/Register",      "/Redispatch",    "pythonrun.c", "Modules/main.c",
	    "Objects/call.c",     "methodobject.c", "pycore_ceval.h", "ceval.c",     "cpython/abstract.h",
	    "ATen/core/dispatch", "csu/libc-start", "<frozen ",       NULL};

	return any_in(file, part);
}

static bool noise_module(const char *base)
{
	static const char *const prefix[] = {
	    "libcuda.so", "libcudart", "libgpumemsnap", "libgpumem", "libc.so", "libpthread",
	    "ld-linux",   "libnvidia", "libpython",     "[vdso]",    NULL};

	return any_starts(base, prefix);
}

static bool library_module(const char *path)
{
	static const char *const prefix[] = {
	    "libcublas", "libcudnn",     "libnccl",  "libcufft", "libcusparse", "libcusolver", "libcurand",
	    "libnvrtc",  "libnvJitLink", "libtorch", "libc10",   "libstdc++",   "libgomp",     NULL};
	static const char *const folder[] = {"site-packages", "dist-packages", NULL};

	return any_starts(frames_base(path), prefix) || any_in(path, folder);
}

static bool library_code(const char *function, const char *file)
{
	static const char *const space[] = {"at::",  "c10::", "torch::", "c10d::", "std::", "cublas",
	                                    "cudnn", "THP",   "triton",  "at_",    NULL};
	static const char *const folder[] = {"site-packages", "dist-packages",  "/lib/python",   "aten/src/",
	                                     "torch/csrc/",    "ATen/",          "/usr/include/", NULL};

	return any_starts(function, space) || any_in(file, folder);
}

enum frame_rank frames_rank(const struct model *m, uint32_t id)
{
	const struct frame *f = &m->frames.v[id];
	const char *function = model_text(m, f->function), *file = model_text(m, f->file);
	const char *module = model_text(m, f->module);
	bool nameless = !*function || !strcmp(function, "??");

	if (noise_module(frames_base(module)) || noise_function(function) || noise_file(file))
		return FRAME_NOISE;
	if (nameless && !*module && (!*file || !strcmp(file, "??")))
		return FRAME_NOISE;
	if (library_module(module) || library_code(function, file))
		return FRAME_LIBRARY;
	/* C++ without a line, in a process whose other frames have them, is somebody's binary. */
	if (!f->line && strstr(function, "::") && (!*file || !strcmp(file, "??")))
		return FRAME_LIBRARY;
	return FRAME_USER;
}

size_t frames_start(const struct model *m, uint32_t stack)
{
	size_t n, i, fallback = SIZE_MAX;
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	for (i = 0; i < n; i++) {
		enum frame_rank rank = frames_rank(m, frame[i]);

		if (rank == FRAME_USER)
			return i;
		if (rank == FRAME_LIBRARY && fallback == SIZE_MAX)
			fallback = i;
	}
	return n && fallback == SIZE_MAX ? 0 : fallback;
}

size_t frames_shown(const struct model *m, uint32_t stack, size_t *at, size_t max)
{
	size_t n, i, k = 0;
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	for (i = 0; i < n && k < max; i++) {
		enum frame_rank rank = frames_rank(m, frame[i]);

		if (rank == FRAME_USER || (rank == FRAME_LIBRARY && !k))
			at[k++] = i;
	}
	if (!k && n && max)
		at[k++] = 0;
	return k;
}

bool frames_library_owned(const struct model *m, uint32_t stack)
{
	static const char *const owner[] = {"libcublas",   "libcudnn",    "libnccl",   "libcufft",
	                                    "libcusparse", "libcusolver", "libcurand", NULL};
	size_t n, i;
	const uint32_t *frame = model_stack_frames(m, stack, &n);
	bool user = false, first = true;

	for (i = 0; i < n && !user; i++) {
		enum frame_rank rank = frames_rank(m, frame[i]);

		if (rank == FRAME_NOISE)
			continue;
		if (first && any_starts(frames_base(model_text(m, m->frames.v[frame[i]].module)), owner))
			return true;
		first = false;
		user = rank == FRAME_USER;
	}
	return n && !user;
}

void frames_label(struct text *t, const struct model *m, uint32_t id)
{
	const struct frame *f = &m->frames.v[id];
	const char *function = model_text(m, f->function), *file = model_text(m, f->file);
	const char *module = model_text(m, f->module);

	text_puts(t, *function ? function : "??");
	if (*file && strcmp(file, "??") && f->line)
		text_printf(t, " %s:%u", frames_base(file), f->line);
	else if (*file && strcmp(file, "??"))
		text_printf(t, " %s", frames_base(file));
	else if (*module)
		text_printf(t, " [%s]", frames_base(module));
}
