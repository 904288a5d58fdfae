/* code.c: whose code a frame is, told by its rank, file and module. */
#include "analyze/code.h"
#include "analyze/frames.h"
#include "base/mem.h"
#include <string.h>

static bool starts_any(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (!strncmp(s, *words, strlen(*words)))
			return true;
	return false;
}

static bool no_name(const char *s)
{
	return !*s || !strcmp(s, "??") || !strcmp(s, "?");
}

static bool is_python(const char *file)
{
	size_t n = strlen(file);

	/* Generated code has names like "<string>", "<eval_with_key>.12". */
	return (n > 3 && !strcmp(file + n - 3, ".py")) || file[0] == '<';
}

static bool is_cuda(const char *function, const char *module)
{
	static const char *const file[] = {"libcuda",	 "libcublas", "libcudnn", "libcufft", "libcusparse", "libcurand",
					   "libcusolver", "libnccl",   "libnv",	   NULL};
	static const char *const name[] = {"cuda", "cublas", "cudnn", "nccl", "cufft", "cusparse", NULL};

	return starts_any(frames_base(module), file) || starts_any(function, name) ||
	       (!strncmp(function, "cu", 2) && function[2] >= 'A' && function[2] <= 'Z');
}

static bool has_python(const struct model *m)
{
	for (size_t i = 0; i < m->frames.n; i++)
		if (is_python(model_text(m, m->frames.v[i].file)))
			return true;
	return false;
}

static enum code code(const struct model *m, uint32_t frame, bool python)
{
	const struct frame *f = &m->frames.v[frame];
	const char *function = model_text(m, f->function);
	enum frame_rank rank = frames_rank(m, frame, python);

	if (is_python(model_text(m, f->file)))
		return rank == FRAME_USER ? CODE_YOURS : CODE_PYTHON;
	if (no_name(function))
		return CODE_UNKNOWN;
	if (is_cuda(function, model_text(m, f->module)))
		return CODE_CUDA;
	return rank == FRAME_USER ? CODE_YOURS : CODE_NATIVE;
}

enum code code_of(const struct model *m, uint32_t frame)
{
	return code(m, frame, has_python(m));
}

uint8_t *code_of_all(const struct model *m)
{
	uint8_t *all = mem_alloc(m->frames.n + 1);
	bool python = has_python(m);

	for (size_t i = 0; i < m->frames.n; i++)
		all[i] = (uint8_t)code(m, (uint32_t)i, python);
	return all;
}

void code_where(const struct model *m, uint32_t frame, bool line, struct text *out)
{
	const struct frame *f = &m->frames.v[frame];
	const char *file = model_text(m, f->file), *module = model_text(m, f->module);

	if (!no_name(file) && f->line && line)
		text_printf(out, "%s:%u", frames_base(file), f->line);
	else if (!no_name(file))
		text_puts(out, frames_base(file));
	else if (no_name(model_text(m, f->function)))
		text_puts(out, frames_base(module));
}

void code_stack_name(const struct model *m, uint32_t stack, struct text *out)
{
	size_t at[2], n, depth;
	const uint32_t *f = model_stack_frames(m, stack, &depth);

	n = frames_shown(m, stack, at, 2);
	if (!n) {
		text_puts(out, "no stack recorded");
		return;
	}
	frames_label(out, m, f[at[0]]);
	if (n == 2 && frames_rank(m, f[at[0]], frames_has_python(m, stack)) != FRAME_USER) {
		text_puts(out, " \xe2\x86\x90 ");
		frames_label(out, m, f[at[1]]);
	}
}
