/* group.c: one pass over the allocations, adding each to the row of its key. */
#include "analyze/group.h"
#include "analyze/frames.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

struct grouping {
	const struct model *m;
	struct group_keys keys;
	uint32_t *place; /* of a key in out->rows, plus one */
	struct groups *out;
	size_t cap;
};

enum group_by group_parse(const char *word)
{
	const char *at = GROUP_WORDS;
	unsigned by;

	for (by = 0; by < GROUP_BYS; by++) {
		size_t n = strcspn(at, "|");

		if (strlen(word) == n && !strncmp(word, at, n))
			return (enum group_by)by;
		at += n + 1;
	}
	return GROUP_BYS;
}

static int by_begin(const void *a, const void *b)
{
	const struct phase *const *x = a, *const *y = b;

	if ((*x)->begin_ns != (*y)->begin_ns)
		return (*x)->begin_ns < (*y)->begin_ns ? -1 : 1;
	/* Of two that begin together the longer encloses the other. */
	return (*x)->end_ns > (*y)->end_ns ? -1 : (*x)->end_ns < (*y)->end_ns;
}

static bool covers(const struct phase *p, const struct model *m, size_t row)
{
	return p->end_ns > m->ev.t_ns[row] && (p->device == m->ev.device[row] || p->device == MODEL_NO_DEVICE) &&
	       (!p->thread || !m->ev.thread[row] || p->thread == m->ev.thread[row]);
}

uint32_t *group_phases(const struct model *m)
{
	uint32_t *column = mem_zalloc(m->ev.n, sizeof *column);
	const struct phase **order = mem_alloc(m->n_phases * sizeof *order);
	const struct phase **open = mem_alloc(m->n_phases * sizeof *open);
	size_t n = 0, next = 0, n_open = 0, row, i;

	for (i = 0; i < m->n_phases; i++)
		if (m->phases[i].end_ns > m->phases[i].begin_ns)
			order[n++] = &m->phases[i];
	if (n)
		qsort(order, n, sizeof *order, by_begin);
	for (row = 0; row < m->ev.n; row++) {
		while (next < n && order[next]->begin_ns <= m->ev.t_ns[row])
			open[n_open++] = order[next++];
		while (n_open && open[n_open - 1]->end_ns <= m->ev.t_ns[row])
			n_open--;
		for (i = n_open; i-- > 0 && n_open - i <= 64;)
			if (covers(open[i], m, row)) {
				column[row] = (uint32_t)(open[i] - m->phases) + 1;
				break;
			}
	}
	free(order);
	free(open);
	return column;
}

static uint32_t key_of_stack(const struct group_keys *k, uint32_t stack)
{
	size_t start = frames_start(k->m, stack), n;
	const uint32_t *frame = model_stack_frames(k->m, stack, &n);
	const struct frame *f = start < n ? &k->m->frames.v[frame[start]] : &k->m->frames.v[0];

	return k->by == BY_FUNCTION ? f->function : k->by == BY_FILE ? f->file : f->module;
}

static uint32_t size_class(uint64_t size)
{
	return size ? 63u - (uint32_t)__builtin_clzll(size) : 0;
}

uint32_t group_key(struct group_keys *k, size_t row)
{
	const struct columns *c = &k->m->ev;
	uint32_t stack = c->stack[row], phase;

	switch (k->by) {
	case BY_STACK:
		return stack;
	case BY_PHASE:
		phase = k->phase[row];
		return phase ? k->m->phases[phase - 1].name : 0;
	case BY_STREAM:
		return c->stream[row];
	case BY_THREAD:
		return c->thread[row];
	case BY_POOL:
		return c->pool[row];
	case BY_SIZE:
		return size_class(c->size[row]);
	case BY_KIND:
		return GMS_OP_KIND(c->op[row]);
	default:
		if (!k->of_stack[stack])
			k->of_stack[stack] = key_of_stack(k, stack) + 1;
		return k->of_stack[stack] - 1;
	}
}

static size_t count_keys(const struct group_keys *k)
{
	switch (k->by) {
	case BY_STACK:
		return k->m->stacks.n;
	case BY_STREAM:
	case BY_THREAD:
	case BY_POOL:
		return UINT16_MAX + 1u;
	case BY_SIZE:
	case BY_KIND:
		return 64;
	default:
		return k->m->strings.n;
	}
}

void group_keys_make(struct group_keys *k, const struct model *m, enum group_by by)
{
	*k = (struct group_keys){.m = m, .by = by};
	k->n = count_keys(k);
	if (by == BY_FUNCTION || by == BY_FILE || by == BY_MODULE)
		k->of_stack = mem_zalloc(m->stacks.n, sizeof *k->of_stack);
	if (by == BY_PHASE)
		k->phase = group_phases(m);
}

void group_keys_free(struct group_keys *k)
{
	free(k->of_stack);
	free(k->phase);
	*k = (struct group_keys){0};
}

static struct group_row *row_of(struct grouping *g, uint32_t key)
{
	if (!g->place[key]) {
		*VEC_PUSH(g->out->rows, g->out->n, g->cap) = (struct group_row){.key = key};
		g->place[key] = (uint32_t)g->out->n;
	}
	return &g->out->rows[g->place[key] - 1];
}

static int most_first(const void *a, const void *b)
{
	const struct group_row *x = a, *y = b;

	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes > y->peak_bytes ? -1 : 1;
	if (x->end_bytes != y->end_bytes)
		return x->end_bytes > y->end_bytes ? -1 : 1;
	if (x->alloc_bytes != y->alloc_bytes)
		return x->alloc_bytes > y->alloc_bytes ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void add_all(struct grouping *g, uint8_t device, size_t peak_row)
{
	const struct columns *c = &g->m->ev;
	size_t peak = peak_row + 1, row; /* rows before this one are at or before the peak */
	uint8_t role[256];

	live_roles(live_level(g->m, device), role);
	for (row = 0; row < c->n; row++) {
		struct group_row *r;

		if (role[c->op[row]] != LIVE_ALLOC || c->device[row] != device)
			continue;
		r = row_of(g, group_key(&g->keys, row));
		if (row >= g->m->n_initial) {
			r->allocs++;
			r->alloc_bytes += c->size[row];
		}
		if (row < peak && c->peer[row] >= peak) {
			r->peak_count++;
			r->peak_bytes += c->size[row];
		}
		if (c->peer[row] == MODEL_NO_PEER) {
			r->end_count++;
			r->end_bytes += c->size[row];
		}
	}
}

void group_make(const struct model *m, uint8_t device, enum group_by by, size_t peak_row, struct groups *out)
{
	struct grouping g = {.m = m, .out = out};

	*out = (struct groups){.by = by};
	group_keys_make(&g.keys, m, by);
	g.place = mem_zalloc(g.keys.n, sizeof *g.place);
	add_all(&g, device, peak_row);
	if (out->n)
		qsort(out->rows, out->n, sizeof *out->rows, most_first);
	free(g.place);
	group_keys_free(&g.keys);
}

void group_free(struct groups *g)
{
	free(g->rows);
	*g = (struct groups){0};
}

static void pool_label(struct text *t, const struct pool_info *p)
{
	const char *size = p->small == 1 ? "small" : p->small == 2 ? "large" : "";

	if (p->handle)
		text_printf(t, "pool 0x%llx", (unsigned long long)p->handle);
	else if (p->id[0] || p->id[1])
		text_printf(t, "private pool (%llu,%llu)%s%s", (unsigned long long)p->id[0],
		            (unsigned long long)p->id[1], *size ? " " : "", size);
	else
		text_printf(t, "default pool%s%s", *size ? ", " : "", size);
}

void group_label(struct text *t, const struct model *m, enum group_by by, uint32_t key)
{
	char from[TEXT_SIZE_MAX], to[TEXT_SIZE_MAX];
	const struct thread_info *thread;

	switch (by) {
	case BY_STREAM:
		if (!m->streams[key].handle)
			text_puts(t, "default stream");
		else
			text_printf(t, "stream 0x%llx", (unsigned long long)m->streams[key].handle);
		return;
	case BY_THREAD:
		thread = &m->threads[key];
		if (thread->name)
			text_printf(t, "%s (%llu)", model_text(m, thread->name),
			            (unsigned long long)thread->tid);
		else if (thread->tid)
			text_printf(t, "thread %llu", (unsigned long long)thread->tid);
		else
			text_puts(t, "(not recorded)");
		return;
	case BY_POOL:
		pool_label(t, &m->pools[key]);
		return;
	case BY_SIZE:
		text_printf(t, "%s to %s", text_bytes(from, key ? 1ull << key : 0),
		            key < 63 ? text_bytes(to, 1ull << (key + 1)) : "more");
		return;
	case BY_KIND:
		text_puts(t, gms_kind_info[key].name);
		return;
	case BY_PHASE:
		text_puts(t, key ? model_text(m, key) : "(outside any phase)");
		return;
	default:
		text_puts(t, *model_text(m, key) ? model_text(m, key) : "(not known)");
		return;
	}
}
