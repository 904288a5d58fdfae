/* leak.c: what was never given back. See leak.h for what counts when. */
#include "analyze/leak.h"
#include "analyze/frames.h"
#include "base/mem.h"
#include <stdlib.h>

const char *leak_doubt(const struct model *m, uint8_t device)
{
	if (m->frees_left_out)
		return "frees were left out of this recording on purpose";
	if (live_level(m, device) == GMS_FRAMEWORK)
		return NULL;
	return m->complete ? NULL : "incomplete: leaks unreliable";
}

static enum leak_basis leak_basis(const struct model *m, uint8_t device)
{
	if (leak_doubt(m, device))
		return LEAK_UNRELIABLE;
	return live_level(m, device) == GMS_FRAMEWORK ? LEAK_GROWING : LEAK_LIVE_AT_END;
}

static int users_then_largest(const void *a, const void *b)
{
	const struct leak_row *x = a, *y = b;

	if (x->library != y->library)
		return x->library ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static struct leak_row row_of(const struct leaks *l, const struct model *m, const struct live_row *r, enum gms_kind kind)
{
	return (struct leak_row){.stack = r->stack,
	                         .bytes = r->bytes,
	                         .count = r->count,
	                         .first_t_ns = r->first_t_ns,
	                         .last_t_ns = r->last_t_ns,
	                         .kind = (uint8_t)kind,
	                         .library = l->basis == LEAK_LIVE_AT_END && frames_library_owned(m, r->stack)};
}

static void add(struct leaks *l, const struct model *m, const struct live_row *r)
{
	l->rows[l->n] = row_of(l, m, r, GMS_K_DEVICE);
	if (l->rows[l->n++].library) {
		l->library_bytes += r->bytes;
		l->library_count += r->count;
	} else {
		l->bytes += r->bytes;
		l->count += r->count;
	}
}

static bool is_growing(const struct growth *g, uint32_t stack)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		if (g->rows[i].stack == stack && g->rows[i].count)
			return true;
	return false;
}

static void add_apart(struct leaks *l, const struct model *m, uint8_t device)
{
	static const enum gms_kind driver[] = {GMS_K_MANAGED, GMS_K_PINNED, GMS_K_REGISTERED},
	                           framework[] = {GMS_K_HOST_BLOCK};
	bool native = m->source == SOURCE_NATIVE;
	const enum gms_kind *kinds = native ? driver : framework;
	size_t n = native ? sizeof driver / sizeof *driver : 1, cap = 0, k, i;
	struct live live;

	if (native && (!m->complete || m->frees_left_out))
		return;
	for (k = 0; k < n; k++) {
		live_kind_at_end(m, device, kinds[k], &live);
		for (i = 0; i < live.n; i++)
			*VEC_PUSH(l->apart, l->n_apart, cap) = row_of(l, m, &live.rows[i], kinds[k]);
		live_free(&live);
	}
}

void leak_find(const struct model *m, uint8_t device, const struct live *end, const struct growth *g,
               struct leaks *out)
{
	size_t i;

	*out = (struct leaks){.basis = leak_basis(m, device)};
	if (out->basis == LEAK_UNRELIABLE)
		return;
	out->rows = mem_alloc(end->n * sizeof *out->rows);
	for (i = 0; i < end->n; i++)
		if (out->basis == LEAK_LIVE_AT_END || is_growing(g, end->rows[i].stack))
			add(out, m, &end->rows[i]);
	if (out->n)
		qsort(out->rows, out->n, sizeof *out->rows, users_then_largest);
	add_apart(out, m, device);
}

void leak_free(struct leaks *l)
{
	free(l->rows);
	free(l->apart);
	*l = (struct leaks){0};
}

void leak_survivors(const struct model *m, uint8_t device, struct survivors *out)
{
	size_t from, to;

	*out = (struct survivors){0};
	steps_find(m, device, &out->steps);
	if (!out->steps.n)
		return;
	/* Steps 0 and 1 warm up; a block of the last two has not outlived two more. */
	from = out->steps.row[2];
	to = out->steps.row[out->steps.n - 2];
	live_kept(m, device, from == SIZE_MAX ? 0 : from + 1, to == SIZE_MAX ? 0 : to + 1, &out->live);
}

void leak_survivors_free(struct survivors *s)
{
	steps_free(&s->steps);
	live_free(&s->live);
}
