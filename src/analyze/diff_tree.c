/* diff_tree.c: frames of one model looked up in another. */
#include "analyze/diff_tree.h"
#include "base/mem.h"
#include <stdlib.h>

#define SEVERAL UINT32_MAX /* frames of b bear the name, on different lines */

struct translation {
	struct model *b;
	const struct model *a;
	uint32_t *frame; /* a's frame → b's + 1; 0: not asked yet */
	uint32_t known;  /* frames of b before any was added */
	struct map64 by_name;
};

static uint64_t name_of(const struct frame *f)
{
	return (uint64_t)f->function << 32 | f->file;
}

static void note_names(struct translation *t)
{
	bool fresh;

	t->known = (uint32_t)t->b->frames.n;
	for (uint32_t i = 0; i < t->known; i++) {
		const struct frame *f = &t->b->frames.v[i];
		uint32_t *at = f->function ? map64_put(&t->by_name, name_of(f), &fresh) : NULL;
		if (at)
			*at = fresh ? i : SEVERAL;
	}
}

static uint32_t frame_in_b(struct translation *t, uint32_t frame)
{
	const struct frame *f = &t->a->frames.v[frame];

	if (!t->frame[frame]) {
		struct frame same = {.function = model_cstring(t->b, model_text(t->a, f->function)),
		                     .file = model_cstring(t->b, model_text(t->a, f->file)),
		                     .module = model_cstring(t->b, model_text(t->a, f->module)),
		                     .line = f->line};
		uint32_t id = model_frame(t->b, &same), *moved;
		if (id >= t->known && (moved = map64_find(&t->by_name, name_of(&same))) && *moved != SEVERAL)
			id = *moved;
		t->frame[frame] = id + 1;
	}
	return t->frame[frame] - 1;
}

static uint32_t stack_in_b(struct translation *t, uint32_t stack)
{
	size_t n;
	const uint32_t *frames = model_stack_frames(t->a, stack, &n);
	uint32_t *same = mem_alloc((n + 1) * sizeof *same);

	for (size_t i = 0; i < n; i++)
		same[i] = frame_in_b(t, frames[i]);
	uint32_t id = model_stack(t->b, same, n);
	free(same);
	return id;
}

void diff_tree_fill(struct flame *f, struct model *b, const struct model *a, const struct diff *d, bool end,
                    bool count)
{
	struct translation t = {.b = b, .a = a, .frame = mem_zalloc(a->frames.n + 1, sizeof(uint32_t))};

	note_names(&t);
	for (size_t i = 0; i < d->n; i++) {
		const struct diff_row *r = &d->rows[i];
		const uint64_t *v = diff_values(r, end, count);
		if (v[DIFF_A] || v[DIFF_B])
			flame_add_change(f,
			                 r->has[DIFF_B] ? r->stack[DIFF_B] : stack_in_b(&t, r->stack[DIFF_A]),
			                 v[DIFF_B], v[DIFF_A]);
	}
	map64_free(&t.by_name);
	free(t.frame);
}
