/* diff.c: stacks of two models meet by the hash of what their frames say. */
#include "analyze/diff.h"
#include "base/hash.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t h, const char *s)
{
	return hash_u64(h ^ hash_bytes(s, strlen(s)));
}

uint64_t diff_identity(const struct model *m, uint32_t stack, bool loose)
{
	size_t n, i;
	const uint32_t *frame = model_stack_frames(m, stack, &n);
	uint64_t h = n;

	for (i = 0; i < n; i++) {
		const struct frame *f = &m->frames.v[frame[i]];

		h = mix(mix(h, model_text(m, f->function)), model_text(m, f->file));
		if (!loose)
			h = mix(h ^ f->line, model_text(m, f->module));
	}
	return h;
}

struct joining {
	struct diff *d;
	size_t cap;
	struct map64 by_identity;
};

static struct diff_row *row_for(struct joining *j, const struct model *m, uint32_t stack, enum diff_side side)
{
	bool fresh;
	uint32_t *at = map64_put(&j->by_identity, diff_identity(m, stack, false), &fresh);
	struct diff_row *r;

	if (fresh) {
		*at = (uint32_t)j->d->n;
		*VEC_PUSH(j->d->rows, j->d->n, j->cap) = (struct diff_row){0};
	}
	r = &j->d->rows[*at];
	r->has[side] = true;
	r->stack[side] = stack;
	return r;
}

static void join(struct joining *j, const struct model *m, const struct totals *t, enum diff_side side)
{
	uint8_t device = j->d->device;
	struct live live;
	size_t i;

	if (!t->device[device])
		return;
	j->d->present[side] = true;
	j->d->totals[side] = *t->device[device];
	live_at(m, device, t->device[device]->amount[TOTAL_REQUESTED].peak_row, &live);
	for (i = 0; i < live.n; i++) {
		struct diff_row *r = row_for(j, m, live.rows[i].stack, side);

		r->peak[side] += live.rows[i].bytes;
		r->peak_count[side] += live.rows[i].count;
	}
	live_free(&live);
	live_at(m, device, m->ev.n ? m->ev.n - 1 : SIZE_MAX, &live);
	for (i = 0; i < live.n; i++) {
		struct diff_row *r = row_for(j, m, live.rows[i].stack, side);

		r->end[side] += live.rows[i].bytes;
		r->end_count[side] += live.rows[i].count;
	}
	live_free(&live);
}

static void absorb(struct diff_row *into, const struct diff_row *from)
{
	unsigned side;

	for (side = 0; side < 2; side++) {
		if (from->has[side] && !into->has[side])
			into->stack[side] = from->stack[side];
		into->has[side] |= from->has[side];
		into->peak[side] += from->peak[side];
		into->end[side] += from->end[side];
		into->peak_count[side] += from->peak_count[side];
		into->end_count[side] += from->end_count[side];
	}
}

/* Pair what is on one side only with its like on the other. */
static void pair_moved(struct diff *d, const struct model *const m[2])
{
	struct map64 gone = {0};
	size_t i, kept = 0;
	bool fresh;

	for (i = 0; i < d->n; i++)
		if (d->rows[i].has[DIFF_A] && !d->rows[i].has[DIFF_B]) {
			uint32_t *at =
			    map64_put(&gone, diff_identity(m[DIFF_A], d->rows[i].stack[DIFF_A], true), &fresh);

			*at = fresh ? (uint32_t)i : *at;
		}
	for (i = 0; i < d->n; i++) {
		struct diff_row *r = &d->rows[i];
		uint32_t *at = NULL;

		if (!r->has[DIFF_A] && r->has[DIFF_B])
			at = map64_find(&gone, diff_identity(m[DIFF_B], r->stack[DIFF_B], true));
		if (!at)
			continue;
		absorb(&d->rows[*at], r);
		r->has[DIFF_B] = false;
	}
	for (i = 0; i < d->n; i++)
		if (d->rows[i].has[DIFF_A] || d->rows[i].has[DIFF_B])
			d->rows[kept++] = d->rows[i];
	d->n = kept;
	map64_free(&gone);
}

static uint64_t change(const uint64_t v[2])
{
	return v[0] > v[1] ? v[0] - v[1] : v[1] - v[0];
}

static int most_changed(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	uint64_t px = change(x->peak), py = change(y->peak), ex = change(x->end), ey = change(y->end);

	if (px != py)
		return px > py ? -1 : 1;
	if (ex != ey)
		return ex > ey ? -1 : 1;
	if (x->peak[1] != y->peak[1])
		return x->peak[1] > y->peak[1] ? -1 : 1;
	/* Something that does not depend on where the rows happened to stand. */
	if (x->stack[0] != y->stack[0])
		return x->stack[0] < y->stack[0] ? -1 : 1;
	return x->stack[1] < y->stack[1] ? -1 : x->stack[1] > y->stack[1];
}

void diff_make(struct diff *d, const struct model *const m[2], const struct totals *const t[2],
               uint8_t device)
{
	struct joining j = {.d = d};

	*d = (struct diff){.device = device};
	join(&j, m[DIFF_A], t[DIFF_A], DIFF_A);
	join(&j, m[DIFF_B], t[DIFF_B], DIFF_B);
	map64_free(&j.by_identity);
	if (!d->n)
		return;
	pair_moved(d, m);
	qsort(d->rows, d->n, sizeof *d->rows, most_changed);
}

void diff_free(struct diff *d)
{
	free(d->rows);
	*d = (struct diff){0};
}

enum diff_status diff_status(const struct diff_row *r)
{
	const uint64_t *v = r->peak[0] == r->peak[1] ? r->end : r->peak;

	if (!r->has[DIFF_A])
		return DIFF_NEW;
	if (!r->has[DIFF_B])
		return DIFF_GONE;
	return v[0] == v[1] ? DIFF_SAME : v[1] > v[0] ? DIFF_GROWN : DIFF_SHRUNK;
}

const char *diff_status_name(enum diff_status s)
{
	static const char *const name[] = {"same", "new", "gone", "grown", "shrunk"};

	return name[s];
}
