/* levels.c: naming coarse frames and building coarse stacks. */
#include "analyze/levels.h"
#include "analyze/frames.h"
#include "analyze/group.h"
#include "base/mem.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

#define MAX_NESTING 64

/* --- names ---------------------------------------------------------------------------------- */

/* "nn/modules/linear.py" → "modules/linear.py": a base name alone may be any __init__.py. */
static const char *two_parts(const char *path)
{
	const char *base = frames_base(path), *p = base;

	while (p > path + 1 && p[-2] != '/' && p[-2] != '\\')
		p--;
	return p > path ? p - 1 : path;
}

/* The package of a Python file: what follows the folder of packages, or "Python" for the standard library. */
static size_t package(const char *file, const char **name)
{
	static const char *const folder[] = {"site-packages/", "dist-packages/"};

	for (size_t i = 0; i < 2; i++) {
		const char *at = strstr(file, folder[i]);
		if (at) {
			*name = at + strlen(folder[i]);
			return strcspn(*name, "/");
		}
	}
	*name = strstr(file, "/lib/python") || !strncmp(file, "<frozen ", 8) ? "Python" : frames_base(file);
	return strlen(*name);
}

static bool is_python(const char *file)
{
	size_t n = strlen(file);

	return (n > 3 && !strcmp(file + n - 3, ".py")) || *file == '<';
}

static struct frame coarse(struct levels *l, uint32_t frame)
{
	const struct frame f = l->m->frames.v[frame];
	const char *file = model_text(l->m, f.file), *module = model_text(l->m, f.module), *name;
	struct text t = {0};
	size_t n;

	/* A frame's module is its object file or, in Python, its package. */
	if (l->level == LEVEL_FILE && *file)
		text_puts(&t, two_parts(file));
	else if (*module)
		text_puts(&t, frames_base(module));
	else if (is_python(file) && (n = package(file, &name)))
		text_add(&t, name, n);
	else
		text_puts(&t, model_text(l->m, l->nameless));
	struct frame out = {.function = model_string(l->m, t.s, t.n),
	                    .file = l->level == LEVEL_FILE ? f.file : 0};
	text_free(&t);
	return out;
}

static uint32_t add_frame(struct levels *l, struct frame f, uint32_t stands_for)
{
	bool fresh;
	uint32_t id = model_frame(l->m, &f), *at = map64_put(&l->original, id, &fresh);

	if (fresh)
		*at = stands_for;
	return id;
}

static uint32_t coarse_frame(struct levels *l, uint32_t frame)
{
	if (l->level == LEVEL_FUNCTION)
		return frame;
	if (!l->frame[frame])
		l->frame[frame] = add_frame(l, coarse(l, frame), frame) + 1;
	return l->frame[frame] - 1;
}

uint32_t levels_original(const struct levels *l, uint32_t frame)
{
	const uint32_t *at = l ? map64_find(&l->original, frame) : NULL;

	return at ? *at : frame;
}

/* --- phases --------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct phase *x = *(const struct phase *const *)a, *y = *(const struct phase *const *)b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	/* Of two that begin together the longer encloses the other. */
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static bool encloses(const struct phase *outer, const struct phase *p)
{
	return outer->end_ns >= p->end_ns && (!outer->thread || !p->thread || outer->thread == p->thread) &&
	       (outer->device == p->device || outer->device == MODEL_NO_DEVICE);
}

/* For every phase the number of the innermost one around it, plus one. */
static uint32_t *find_outer(const struct model *m)
{
	uint32_t *outer = mem_zalloc(m->n_phases + 1, sizeof *outer);
	const struct phase **order = mem_alloc((m->n_phases + 1) * sizeof *order);
	const struct phase **open = mem_alloc((m->n_phases + 1) * sizeof *open);
	size_t n_open = 0;

	for (size_t i = 0; i < m->n_phases; i++)
		order[i] = &m->phases[i];
	qsort(order, m->n_phases, sizeof *order, by_begin);
	for (size_t i = 0; i < m->n_phases; i++) {
		while (n_open && open[n_open - 1]->end_ns <= order[i]->begin_ns)
			n_open--;
		for (size_t k = n_open; k-- > 0 && n_open - k <= MAX_NESTING;)
			if (encloses(open[k], order[i])) {
				outer[order[i] - m->phases] = (uint32_t)(open[k] - m->phases) + 1;
				break;
			}
		open[n_open++] = order[i];
	}
	free(order);
	free(open);
	return outer;
}

/* Frames of the phases around a phase (number plus one; 0: outside any), the outermost first. */
static size_t phase_frames(struct levels *l, uint32_t phase, uint32_t *out)
{
	size_t n = 0;

	if (!phase) {
		out[0] = add_frame(l, (struct frame){.function = model_cstring(l->m, "(outside any phase)")},
		                   LEVELS_PHASE);
		return 1;
	}
	for (; phase && n < MAX_NESTING; phase = l->outer[phase - 1])
		out[n++] =
		    add_frame(l, (struct frame){.function = l->m->phases[phase - 1].name}, LEVELS_PHASE);
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t other = out[i];
		out[i] = out[n - 1 - i];
		out[n - 1 - i] = other;
	}
	return n;
}

/* --- stacks --------------------------------------------------------------------------------- */

/* What called code with a name and has none itself is an interpreter on its way there: it would stand between
 * any two files and packages, and says nothing. */
static uint32_t coarse_stack(struct levels *l, uint32_t stack, uint32_t phase)
{
	size_t n, k = 0, n_phases;
	bool named = false;
	uint32_t phases[MAX_NESTING];

	model_stack_frames(l->m, stack, &n);
	uint32_t *out = mem_alloc((n + MAX_NESTING + 1) * sizeof *out);
	n_phases = l->phases ? phase_frames(l, phase, phases) : 0;
	if (l->reverse && n_phases) {
		memcpy(out, phases, n_phases * sizeof *out);
		k = n_phases;
	}
	for (size_t i = 0, from = k; i < n; i++) {
		uint32_t frame = coarse_frame(l, model_stack_frames(l->m, stack, &n)[i]);
		bool nameless = l->level != LEVEL_FUNCTION && l->m->frames.v[frame].function == l->nameless;
		if (nameless && named)
			continue;
		named |= !nameless;
		if (k == from || l->level == LEVEL_FUNCTION || out[k - 1] != frame)
			out[k++] = frame;
	}
	for (size_t i = n_phases; !l->reverse && i-- > 0;)
		out[k++] = phases[i];
	uint32_t id = model_stack(l->m, out, k);
	free(out);
	return id;
}

void levels_make(struct levels *l, struct model *m, enum level level, bool phases, bool reverse)
{
	*l = (struct levels){.level = level, .phases = phases, .m = m, .reverse = reverse};
	l->nameless = model_cstring(m, level == LEVEL_FILE ? "(no file known)" : "(native code)");
	l->frame = mem_zalloc(m->frames.n + 1, sizeof *l->frame);
	l->phase_of_row = phases ? group_phases(m) : NULL;
	l->outer = phases ? find_outer(m) : NULL;
}

void levels_free(struct levels *l)
{
	map64_free(&l->original);
	free(l->frame);
	free(l->phase_of_row);
	free(l->outer);
	*l = (struct levels){0};
}

/* --- who is live ---------------------------------------------------------------------------- */

struct holder {
	uint32_t stack, phase;
	uint64_t value;
};

void levels_fill(struct levels *l, struct flame *f, uint8_t device, size_t row, bool total, bool count)
{
	const struct columns *c = &l->m->ev;
	struct map64 place = {0};
	struct holder *v = NULL;
	size_t n = 0, cap = 0, after = row + 1, until = total ? c->n : after;
	uint8_t role[256];
	bool fresh;

	live_roles(live_level(l->m, device), role);
	for (size_t r = total ? l->m->n_initial : 0; r < until && r < c->n; r++) {
		if (role[c->op[r]] != LIVE_ALLOC || c->device[r] != device || (!total && c->peer[r] < after))
			continue;
		uint32_t phase = l->phases ? l->phase_of_row[r] : 0;
		uint32_t *at = map64_put(&place, (uint64_t)c->stack[r] << 32 | phase, &fresh);
		if (fresh) {
			*at = (uint32_t)n;
			*VEC_PUSH(v, n, cap) = (struct holder){.stack = c->stack[r], .phase = phase};
		}
		v[*at].value += count ? 1 : c->size[r];
	}
	for (size_t i = 0; i < n; i++)
		flame_add(f, coarse_stack(l, v[i].stack, v[i].phase), v[i].value);
	map64_free(&place);
	free(v);
}
