/* frames.c: ranking frames by whose code they are. Pure string work, done only for what is shown. */
#include "analyze/frames.h"
#include <string.h>

const char *frames_base(const char *path)
{
	const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');

	if (back && (!slash || back > slash))
		slash = back;
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

static bool any_is(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(s, *words))
			return true;
	return false;
}

static bool unknown(const char *s)
{
	return !*s || !strcmp(s, "??");
}

static bool is_python(const struct model *m, const struct frame *f)
{
	const char *file = model_text(m, f->file);
	size_t n = strlen(file);

	return (n > 3 && !strcmp(file + n - 3, ".py")) || (*file == '<' && strcmp(file, "<unknown>"));
}

bool frames_has_python(const struct model *m, uint32_t stack)
{
	size_t n, i;
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	for (i = 0; i < n; i++)
		if (is_python(m, &m->frames.v[frame[i]]))
			return true;
	return false;
}

/* --- native code --- */

static bool runtime_function(const char *f)
{
	static const char *const prefix[] = {
	    "cuMem",      "cuIpc",    "cuArray",   "cuMipmapped",   "cuGraph",     "cuCtx",
	    "cudaMalloc", "cudaHost", "cudaGraph", "cudaMem",       "__cudart",    "libcudart_static",
	    "PyEval_",    "_PyEval_", "PyObject_", "_PyObject_",    "PyFunction_", "_PyFunction_",
	    "PyRun_",     "_PyRun_",  "Py_",       "PyVectorcall_", "cfunction_",  "method_vectorcall",
	    "__libc_",    "gma_",     "gms_",      "rec_",          "__pthread_",  "ffi_",
	    "_ctypes_",   "PyCFuncPtr_", NULL};
	static const char *const word[] = {"_start",
	                                   "start_thread",
	                                   "clone",
	                                   "clone3",
	                                   "__clone",
	                                   "execute_native_thread_routine",
	                                   "pthread_condattr_setpshared",
	                                   NULL};

	return any_starts(f, prefix) || any_is(f, word);
}

static bool dispatch_function(const char *f)
{
	static const char *const part[] = {"unwind::unwind",
	                                   "CapturedTraceback::gather",
	                                   "gather_with_cpp",
	                                   "CUDACachingAllocator",
	                                   "CachingHostAllocator",
	                                   "wrap_kernel_functor",
	                                   "c10::Dispatcher::",
	                                   "redispatch",
	                                   NULL};
	static const char *const prefix[] = {"at::", "c10::", "torch::", "THP", "void at::", "std::", NULL};

	return any_in(f, part) || any_starts(f, prefix) || strstr(f, " at::") || strstr(f, " c10::");
}

static bool runtime_file(const char *file)
{
	static const char *const part[] = {"core/boxing",        "/Register",      "/Redispatch",
	                                   "pythonrun.c",        "Modules/main.c", "Objects/",
	                                   "pycore_ceval.h",     "ceval.c",        "cpython/abstract.h",
	                                   "ATen/core/dispatch", "csu/libc-start", "_ctypes/",
	                                   "callproc.c",         "libffi/",        NULL};

	return any_in(file, part);
}

static bool runtime_module(const char *base)
{
	static const char *const prefix[] = {"libcuda.so", "libcudart", "libgpumem", "libc.so", "libpthread",
	                                     "ld-linux",   "libnvidia", "libpython", "[vdso]",  "libffi", "_ctypes.", NULL};

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

static bool is_operator(const char *f)
{
	return (starts(f, "at::_ops::") && strstr(f, "::call")) || strstr(f, "::generated::");
}

static enum frame_rank native_rank(const struct model *m, const struct frame *f, bool python)
{
	static const char *const library[] = {"c10d::", "cublas", "cudnn", "nccl", "triton", NULL};
	static const char *const sources[] = {"aten/src/", "torch/csrc/", "ATen/", "/usr/include/", NULL};
	const char *function = model_text(m, f->function), *file = model_text(m, f->file);
	const char *module = model_text(m, f->module);

	if (is_operator(function))
		return FRAME_OPERATOR;
	if (runtime_module(frames_base(module)) || runtime_function(function) || runtime_file(file))
		return FRAME_NOISE;
	if (unknown(function) && !*module && unknown(file))
		return FRAME_NOISE;
	if (any_starts(function, library) || library_module(module))
		return FRAME_LIBRARY;
	if (dispatch_function(function))
		return FRAME_NOISE;
	if (any_in(file, sources))
		return FRAME_LIBRARY;
	/* Of a Python program's native frames only those with a line may be somebody's extension. */
	if (python)
		return f->line ? FRAME_LIBRARY : FRAME_NOISE;
	return !f->line && unknown(file) && strstr(function, "::") ? FRAME_LIBRARY : FRAME_USER;
}

/* --- Python --- */

static enum frame_rank python_rank(const char *function, const char *file)
{
	static const char *const noise[] = {"_call_impl", "_wrapped_call_impl", "_fn", "_use_grad", NULL};
	static const char *const library[] = {"site-packages", "dist-packages", "/lib/python",
	                                      "\\Lib\\",       "<frozen ",      NULL};

	if (any_in(file, library))
		return any_is(function, noise) || starts(file, "<frozen ") ? FRAME_NOISE : FRAME_LIBRARY;
	return FRAME_USER;
}

enum frame_rank frames_rank(const struct model *m, uint32_t id, bool python)
{
	const struct frame *f = &m->frames.v[id];

	return is_python(m, f) ? python_rank(model_text(m, f->function), model_text(m, f->file))
	                       : native_rank(m, f, python);
}

/* --- stacks --- */

size_t frames_start(const struct model *m, uint32_t stack)
{
	bool python = frames_has_python(m, stack);
	size_t n, i, fallback = SIZE_MAX;
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	for (i = 0; i < n; i++) {
		enum frame_rank rank = frames_rank(m, frame[i], python);

		if (rank == FRAME_USER)
			return i;
		if (rank != FRAME_NOISE && fallback == SIZE_MAX)
			fallback = i;
	}
	return n && fallback == SIZE_MAX ? 0 : fallback;
}

size_t frames_shown(const struct model *m, uint32_t stack, size_t *at, size_t max)
{
	bool python = frames_has_python(m, stack);
	size_t n, i, k = 0, operator= SIZE_MAX, library = SIZE_MAX;
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	/* Operators call each other: the outermost is the one that was asked for. */
	for (i = 0; i < n; i++) {
		enum frame_rank rank = frames_rank(m, frame[i], python);

		if (rank == FRAME_USER)
			break;
		if (rank == FRAME_OPERATOR && library == SIZE_MAX)
			operator= i;
		if (rank == FRAME_LIBRARY && library == SIZE_MAX)
			library = i;
	}
	if (operator!= SIZE_MAX && k<max)
		at[k++] = operator;
	if (library != SIZE_MAX && k < max && (!k || max > 2))
		at[k++] = library;
	for (; i < n && k < max; i++)
		if (frames_rank(m, frame[i], python) == FRAME_USER)
			at[k++] = i;
	if (!k && n && max)
		at[k++] = 0;
	return k;
}

bool frames_library_owned(const struct model *m, uint32_t stack)
{
	static const char *const owner[] = {"libcublas",   "libcudnn",    "libnccl",   "libcufft",
	                                    "libcusparse", "libcusolver", "libcurand", NULL};
	bool python = frames_has_python(m, stack), user = false, first = true;
	size_t n, i;
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	for (i = 0; i < n && !user; i++) {
		enum frame_rank rank = frames_rank(m, frame[i], python);

		if (rank == FRAME_NOISE)
			continue;
		if (first && any_starts(frames_base(model_text(m, m->frames.v[frame[i]].module)), owner))
			return true;
		first = false;
		user = rank == FRAME_USER;
	}
	return n && !user;
}

/* --- names --- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Past the bracket that closes the one at s. */
static const char *past_bracket(const char *s, char open, char close)
{
	unsigned depth = 0;

	for (; *s; s++) {
		if (*s == open)
			depth++;
		else if (*s == close && !--depth)
			return s + 1;
	}
	return s;
}

static bool ends_with_operator(const struct text *t, size_t begin)
{
	return t->n - begin >= 8 && !strcmp(t->s + t->n - 8, "operator");
}

/* "T at::f<long>(int, g(x)) const" → "at::f"; names that are not C++ stay as they are. */
static void plain_function(struct text *t, const char *s)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t begin = t->n;
	const char *from = s;

	while (*s) {
		if (starts(s, anonymous)) {
			text_puts(t, anonymous);
			s += sizeof anonymous - 1;
		} else if (starts(s, "{lambda(")) {
			text_puts(t, "{lambda}");
			s = past_bracket(s, '{', '}');
		} else if (starts(s, "()") && ends_with_operator(t, begin)) {
			text_puts(t, "()");
			s += 2;
		} else if (*s == '<' && s > from && is_word(s[-1]) && !ends_with_operator(t, begin)) {
			s = past_bracket(s, '<', '>');
		} else if (*s == '(' && s > from) {
			s = past_bracket(s, '(', ')');
			if (!starts(s, "::"))
				break;
		} else if (*s == ' ' && t->n > begin && t->s[t->n - 1] != ')' && !ends_with_operator(t, begin)) {
			t->n = begin; /* what stood before was the type it returns */
			t->s[begin] = 0;
			s++;
		} else {
			text_add(t, s++, 1);
		}
	}
}

static void operator_name(struct text *t, const char *f)
{
	const char *name, *generated = strstr(f, "::generated::");

	if (generated) {
		name = generated + strlen("::generated::");
	} else {
		name = f + strlen("at::_ops::");
		text_puts(t, "aten::");
	}
	text_add(t, name, strcspn(name, ":("));
}

static void function_name(struct text *t, const char *f)
{
	if (is_operator(f))
		operator_name(t, f);
	else if (strchr(f, '(') && strchr(f, ')'))
		plain_function(t, f);
	else
		text_puts(t, *f ? f : "??");
}

void frames_label(struct text *t, const struct model *m, uint32_t id)
{
	const struct frame *f = &m->frames.v[id];
	const char *function = model_text(m, f->function), *file = model_text(m, f->file);
	const char *module = model_text(m, f->module);

	function_name(t, function);
	if (is_operator(function))
		return;
	if (!unknown(file) && f->line)
		text_printf(t, " %s:%u", frames_base(file), f->line);
	else if (!unknown(file))
		text_printf(t, " %s", frames_base(file));
	else if (*module)
		text_printf(t, " [%s]", frames_base(module));
}
