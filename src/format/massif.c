/* massif.c: memory over time as Valgrind's massif writes it, for ms_print and massif-visualizer.
 *
 * Detailed snapshots hold a tree from the innermost frame outwards. As in massif, what is below one
 * percent of the total is summed up, and a tree is cut at a depth of 30. The format knows no unit below
 * a millisecond: in a short recording time is the number of the event.
 */
#include "base/mem.h"
#include "format/export.h"
#include <stdlib.h>
#include <string.h>

int export_massif(const struct export_view *v, struct output *o, struct err *e);

#define DEPTH_MAX 30
#define SHORT_NS  1000000000

/* Blocks of one stack; while a tree is written, rows with equal inner frames lie together. */
struct branch {
	const uint32_t *frame; /* innermost first */
	size_t depth;
	uint64_t bytes;
};
/* Rows with the same frame at one depth. */
struct twig {
	size_t first, n;
	uint64_t bytes;
};

static int by_frames(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;
	size_t i;

	for (i = 0; i < x->depth && i < y->depth; i++)
		if (x->frame[i] != y->frame[i])
			return x->frame[i] < y->frame[i] ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

static int largest_first(const void *a, const void *b)
{
	const struct twig *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void put_label(struct text *t, const struct model *m, uint32_t id)
{
	const struct frame *f = &m->frames.v[id];
	const char *file = strrchr(model_text(m, f->file), '/');
	struct text scratch = {0};
	const char *s;

	text_printf(t, "0x%X: ", id);
	for (s = export_function(m, id, &scratch); *s; s++)
		text_add(t, *s == '\n' ? " " : s, 1);
	file = file ? file + 1 : model_text(m, f->file);
	if (f->line)
		text_printf(t, " (%s:%u)", file, f->line);
	else if (f->module)
		text_printf(t, " (in %s)", model_text(m, f->module));
	text_free(&scratch);
}

/* Rows that go on at this depth, by the frame they go on with. */
static size_t split(const struct branch *row, size_t n, size_t depth, struct twig **out)
{
	size_t i, twigs = 0, cap = 0;

	*out = NULL;
	for (i = 0; i < n; i++) {
		if (row[i].depth <= depth)
			continue;
		if (!twigs || row[(*out)[twigs - 1].first].frame[depth] != row[i].frame[depth])
			*VEC_PUSH(*out, twigs, cap) = (struct twig){i, 0, 0};
		(*out)[twigs - 1].n = i + 1 - (*out)[twigs - 1].first;
		(*out)[twigs - 1].bytes += row[i].bytes;
	}
	if (twigs)
		qsort(*out, twigs, sizeof **out, largest_first);
	return twigs;
}

static void put_tree(struct export_text *x, const struct model *m, const struct branch *row, size_t n, size_t depth,
		     uint64_t threshold)
{
	struct twig *twig;
	size_t i, shown, twigs = depth < DEPTH_MAX ? split(row, n, depth, &twig) : 0;
	uint64_t bytes = 0, rest = 0;

	for (i = 0; i < n; i++)
		bytes += row[i].bytes;
	for (shown = 0; shown < twigs && twig[shown].bytes >= threshold; shown++)
		;
	for (i = shown; i < twigs; i++)
		rest += twig[i].bytes;
	text_printf(&x->t, "%*sn%zu: %llu ", (int)depth, "", shown + (shown < twigs), (unsigned long long)bytes);
	if (depth)
		put_label(&x->t, m, row->frame[depth - 1]);
	else
		text_puts(&x->t, "(heap allocation functions) GPU memory");
	text_puts(&x->t, "\n");
	for (i = 0; i < shown; i++)
		put_tree(x, m, row + twig[i].first, twig[i].n, depth + 1, threshold);
	if (shown < twigs)
		text_printf(&x->t, "%*sn0: %llu in %zu places, all below massif's threshold (1.00%%)\n", (int)depth + 1, "",
			    (unsigned long long)rest, twigs - shown);
	if (depth < DEPTH_MAX)
		free(twig);
	export_flush(x);
}

static void put_moment_tree(struct export_text *x, const struct model *m, const struct export_moment *at)
{
	struct branch *row = mem_alloc(at->n * sizeof *row);
	size_t i;

	for (i = 0; i < at->n; i++) {
		row[i].frame = model_stack_frames(m, at->rows[i].stack, &row[i].depth);
		row[i].bytes = at->rows[i].bytes;
	}
	if (at->n)
		qsort(row, at->n, sizeof *row, by_frames);
	put_tree(x, m, row, at->n, 0, at->bytes / 100 + !(at->bytes / 100));
	free(row);
}

static void put_command(struct text *t, const char *s)
{
	for (; s && *s; s++)
		text_add(t, *s == '\n' ? " " : s, 1);
}

int export_massif(const struct export_view *v, struct output *o, struct err *e)
{
	struct export_text x = {.o = o, .e = e};
	bool ms = v->m->has_time && v->m->duration_ns >= SHORT_NS;
	size_t i;

	text_printf(&x.t, "desc: GPU %u, recorded by gpumemsnap\ncmd: ", v->device);
	put_command(&x.t, v->m->command ? v->m->command : v->m->file);
	text_printf(&x.t, "\ntime_unit: %s\n", ms ? "ms" : "i");
	for (i = 0; i < v->n_moments && !x.failed; i++) {
		const struct export_moment *at = &v->moments[i];

		text_printf(&x.t, "#-----------\nsnapshot=%zu\n#-----------\ntime=%lld\n", i,
			    ms ? (long long)(at->t_ns / 1000000) : (long long)at->row);
		text_printf(&x.t, "mem_heap_B=%llu\nmem_heap_extra_B=0\nmem_stacks_B=0\n", (unsigned long long)at->bytes);
		text_printf(&x.t, "heap_tree=%s\n", at->peak ? "peak" : at->rows ? "detailed" : "empty");
		if (at->rows)
			put_moment_tree(&x, v->m, at);
	}
	return export_done(&x);
}
