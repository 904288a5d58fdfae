/* code.c: whose code a frame is, told by its rank, file and module. */
#include "analyze/code.h"
#include "analyze/frames.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

#define LED_BY " \xe2\x86\x90 " /* ← */

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
	static const char *const file[] = {"libcuda",   "libcublas",   "libcudnn", "libcufft", "libcusparse",
	                                   "libcurand", "libcusolver", "libnccl",  "libnv",    NULL};
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

static enum code of_rank(const struct model *m, uint32_t frame, enum frame_rank rank)
{
	const struct frame *f = &m->frames.v[frame];
	const char *function = model_text(m, f->function);

	if (is_python(model_text(m, f->file)))
		return rank == FRAME_USER ? CODE_YOURS : CODE_PYTHON;
	if (no_name(function))
		return CODE_UNKNOWN;
	if (is_cuda(function, model_text(m, f->module)))
		return CODE_CUDA;
	return rank == FRAME_USER ? CODE_YOURS : CODE_NATIVE;
}

enum code code_of(struct code_memo *c, const struct model *m, uint32_t frame, unsigned *worth)
{
	if (!c->known) {
		c->known = mem_zalloc(m->frames.n + 1, 1);
		c->python = has_python(m);
	}
	if (!c->known[frame]) {
		enum frame_rank rank = frames_rank(m, frame, c->python);
		enum code code = of_rank(m, frame, rank);
		/* Python's frames have a place, which an operator's have not. */
		unsigned w = rank == FRAME_USER       ? 4
		             : rank == FRAME_NOISE    ? 0
		             : code == CODE_PYTHON    ? 3
		             : rank == FRAME_OPERATOR ? 2
		                                      : 1;
		c->known[frame] = (uint8_t)((code + 1u) | w << 4);
	}
	if (worth)
		*worth = c->known[frame] >> 4;
	return (enum code)((c->known[frame] & 15) - 1);
}

void code_memo_free(struct code_memo *c)
{
	free(c->known);
	*c = (struct code_memo){0};
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

void code_stack_name(struct code_memo *c, const struct model *m, uint32_t stack, struct text *out)
{
	size_t depth, i, inner = 0, own = SIZE_MAX;
	unsigned most = 0, worth;
	const uint32_t *f = model_stack_frames(m, stack, &depth);

	if (!depth) {
		text_puts(out, "no stack recorded");
		return;
	}
	for (i = 0; i < depth && own == SIZE_MAX; i++) {
		code_of(c, m, f[i], &worth);
		/* Operators call each other: the outermost is the one that was asked for. */
		if (worth > most || (worth == 2 && most == 2)) {
			inner = most == 3 ? inner : i;
			most = most == 3 ? 3 : worth;
		}
		if (worth == 4)
			own = i;
	}
	frames_label(out, m, f[inner]);
	if (own != SIZE_MAX && own != inner) {
		text_puts(out, LED_BY);
		frames_label(out, m, f[own]);
	}
}

size_t code_name_inner(const char *name)
{
	const char *rest = strstr(name, LED_BY);

	return rest ? (size_t)(rest - name) : strlen(name);
}

void code_stack_difference(struct code_memo *c, const struct model *m, uint32_t stack, uint32_t other,
                           struct text *out)
{
	size_t n, n_other, i = 0;
	unsigned worth;
	const uint32_t *f = model_stack_frames(m, stack, &n), *g = model_stack_frames(m, other, &n_other);

	while (i < n && i < n_other && f[i] == g[i])
		i++;
	for (; i < n; i++) {
		code_of(c, m, f[i], &worth);
		if (worth) {
			frames_label(out, m, f[i]);
			return;
		}
	}
}
