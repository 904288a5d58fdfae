/* spool_stacks.c: a spool's stacks of addresses as stacks of named frames.
 *
 * Each distinct address is named once. Python frames take the place of the interpreter's loop: one
 * activation of it runs the Python frames up to and including one marked as its entry.
 */
#include "base/mem.h"
#include "format/spool_reader.h"
#include <stdio.h>
#include <stdlib.h>

#define INLINES_MAX 64

/* The module that holds a code address in an epoch; NULL if none does. Rows of one address range from
 * different epochs stand side by side. */
static struct spool_module_row *module_at(struct spool_reader *r, uint64_t pc, uint32_t epoch)
{
	size_t lo = 0, hi = r->n_modules;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->modules[mid].begin <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* A module gone before may be larger and begin earlier than the one that matters. */
	for (hi = 0; lo-- > 0 && hi < 1024; hi++) {
		struct spool_module_row *row = &r->modules[lo];

		if (pc < row->end && row->epoch <= epoch && epoch < row->gone)
			return row;
	}
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool is_python_loop(const char *function)
{
	return function && (!strncmp(function, "_PyEval_EvalFrameDefault", 24) || !strncmp(function, "_TAIL_CALL_", 11));
}

static void add_frame(struct spool_reader *r, const struct frame *f)
{
	*VEC_PUSH(r->place_frames, r->n_place_frames, r->cap_place_frames) = model_frame(r->m, f);
}

static void name_unknown(struct spool_reader *r, const struct spool_module_row *module, uint64_t pc)
{
	struct frame f = {0};
	char *text = module ? mem_printf("%s+0x%llx", base_name(module->file.path), (unsigned long long)(pc - module->bias))
			    : mem_printf("0x%llx", (unsigned long long)pc);

	f.function = model_cstring(r->m, text);
	f.module = module ? module->name : 0;
	free(text);
	add_frame(r, &f);
}

/* The frames of one address: the functions inlined there, innermost first, and the one they are in. */
static struct spool_place_row name_address(struct spool_reader *r, struct spool_module_row *module, uint64_t pc)
{
	const struct spool_finder *finder = r->o ? r->o->finder : NULL;
	struct spool_place out[INLINES_MAX];
	struct spool_place_row p = {.first = (uint32_t)r->n_place_frames};
	size_t i, n = 0;

	if (finder && module)
		n = finder->find(finder->ctx, &module->file, pc - 1 - module->bias, out, INLINES_MAX);
	for (i = 0; i < n; i++) {
		struct frame f = {.function = out[i].function ? model_cstring(r->m, out[i].function) : 0,
				  .file = out[i].file ? model_cstring(r->m, out[i].file) : 0,
				  .module = module->name,
				  .line = out[i].line};

		if (is_python_loop(out[i].function))
			p.python_loop = true;
		if (f.function || f.file)
			add_frame(r, &f);
	}
	if (r->n_place_frames == p.first)
		name_unknown(r, module, pc);
	p.n = (uint32_t)r->n_place_frames - p.first;
	return p;
}

static struct spool_place_row place_of(struct spool_reader *r, uint64_t pc, uint32_t epoch)
{
	struct spool_module_row *module = module_at(r, pc - 1, epoch);
	uint64_t key = pc ^ (module ? hash_u64((uint64_t)module->id + 1) << 48 : 0);
	bool fresh;
	uint32_t *at = map64_put(&r->places, key, &fresh);

	if (fresh) {
		*at = (uint32_t)r->n_place;
		*VEC_PUSH(r->place, r->n_place, r->cap_place) = name_address(r, module, pc);
	}
	return r->place[*at];
}

struct frames_out {
	uint32_t *v;
	size_t n, cap;
};

static uint64_t word_at(const struct spool_reader *r, const struct spool_stack_row *s, uint32_t i)
{
	uint64_t w;

	memcpy(&w, r->data + s->at + (size_t)i * 8, sizeof w);
	return w;
}

/* The Python frames of one activation of the loop, from *py on. */
static void add_python(struct spool_reader *r, const struct spool_stack_row *s, uint32_t *py, struct frames_out *out)
{
	while (*py < s->n) {
		uint64_t w = word_at(r, s, (*py)++);

		*VEC_PUSH(out->v, out->n, out->cap) = spool_python_frame(r, w & ~SPOOL_PY_ENTRY);
		if (w & SPOOL_PY_ENTRY)
			break;
	}
}

static uint32_t build(struct spool_reader *r, const struct spool_stack_row *s)
{
	struct frames_out out = {0};
	uint32_t i, k, n = 0, py, id;

	while (n < s->n && !(word_at(r, s, n) & SPOOL_PY))
		n++;
	py = n;
	for (i = 0; i < n; i++) {
		uint64_t w = word_at(r, s, i), pc = w & ~SPOOL_LOOP;
		struct spool_place_row p = place_of(r, pc, s->epoch);

		if (py < s->n && (p.python_loop || (w & SPOOL_LOOP)))
			add_python(r, s, &py, &out);
		else
			for (k = 0; k < p.n; k++)
				*VEC_PUSH(out.v, out.n, out.cap) = r->place_frames[p.first + k];
	}
	while (py < s->n) /* the native stack was cut before its end */
		add_python(r, s, &py, &out);
	id = model_stack(r->m, out.v, out.n);
	free(out.v);
	return id;
}

uint32_t spool_stack_of(struct spool_reader *r, uint32_t id)
{
	struct spool_stack_row *s;

	if (!id || id >= r->n_stack || !r->stack[id].at)
		return 0;
	s = &r->stack[id];
	if (s->model == UINT32_MAX)
		s->model = build(r, s);
	return s->model;
}
