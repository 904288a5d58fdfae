/* pickle_items.c: lists and dicts of the pickle machine: growing them, and handing them over.
 *
 * A container is handed to the client when it got its items in one batch, or else when it is put
 * into another one: from then on a pickler does not change it any more (only a container inside
 * itself would be changed later, and that is refused).
 */
#include "format/pickle_machine.h"
#include <stdlib.h>
#include <string.h>

/* --- containers that wait for more items ----------------------------------------------- */

static void hold(struct pickle *p, struct pickle_object *o, unsigned kind)
{
	o->kind = kind;
	if (p->n_spare) {
		o->at = p->spare_held[--p->n_spare];
		p->held[o->at].n = 0;
	} else {
		*VEC_PUSH(p->held, p->n_held, p->cap_held) = (struct pickle_held){0};
		o->at = (uint32_t)p->n_held - 1;
	}
	p->live_held++;
}

static void held_add(struct pickle *p, const struct pickle_object *o, const pickle_word *item, size_t n)
{
	struct pickle_held *h = &p->held[o->at];

	if (h->cap - h->n < n)
		h->v = mem_resize(h->v, h->cap = (h->cap + n) * 2, sizeof *h->v);
	if (n)
		memcpy(h->v + h->n, item, n * sizeof *item);
	h->n += n;
}

static void let_go(struct pickle *p, uint32_t at)
{
	*VEC_PUSH(p->spare_held, p->n_spare, p->cap_spare) = at;
	p->live_held--;
}

/* The client took the list and now wants its items kept. */
static void unfold(struct pickle *p, struct pickle_object *list)
{
	struct pickle_object taken = *list;
	size_t n = p->client.unfold(p->client.arg, &taken, NULL);
	pickle_word *item = mem_alloc(n * sizeof *item);

	p->client.unfold(p->client.arg, &taken, item);
	hold(p, list, PICKLE_HELD_LIST);
	held_add(p, list, item, n);
	free(item);
}

/* --- handing over ---------------------------------------------------------------------- */

/* w becomes part of another container or the result: it is complete now. */
static int complete(struct pickle *p, pickle_word w)
{
	struct pickle_object *o = pickle_object(p, w), was = *o;
	struct pickle_held items;
	int rc;

	if (was.kind != PICKLE_HELD_LIST && was.kind != PICKLE_HELD_DICT)
		return 0;
	items = p->held[was.at];
	p->held[was.at] =
	    (struct pickle_held){0}; /* what is inside is complete: nothing is held again meanwhile */
	o->at = 0;
	if (was.kind == PICKLE_HELD_DICT) {
		o->kind = PICKLE_OPAQUE;
		rc = p->client.dict(p->client.arg, p, items.v, items.n / 2, o);
	} else {
		o->kind = PICKLE_EMPTY_LIST;
		rc = p->client.list(p->client.arg, p, o, items.v, items.n, PICKLE_LAST);
	}
	p->held[was.at] = items;
	let_go(p, was.at);
	return rc < 0 ? -1 : 0;
}

static inline int complete_all(struct pickle *p, const pickle_word *item, size_t n)
{
	size_t i;

	if (!p->live_held)
		return 0;
	for (i = 0; i < n; i++)
		if (pickle_tag(item[i]) == PICKLE_OBJECT && complete(p, item[i]))
			return -1;
	return 0;
}

static int list_add(struct pickle *p, pickle_word list, const pickle_word *item, size_t n,
                    enum pickle_part part)
{
	struct pickle_object *o = pickle_object(p, list);

	if (complete_all(p, item, n))
		return -1;
	if (o->kind != PICKLE_HELD_LIST && o->kind != PICKLE_OPAQUE) {
		switch (p->client.list(p->client.arg, p, o, item, n, part)) {
		case PICKLE_ERROR:
			return -1;
		case PICKLE_TAKEN:
			return 0;
		case PICKLE_KEEP:
			if (o->kind == PICKLE_EMPTY_LIST)
				hold(p, o, PICKLE_HELD_LIST);
			else
				unfold(p, o);
		}
	}
	if (o->kind == PICKLE_HELD_LIST)
		held_add(p, o, item, n);
	return 0;
}

static int dict_add(struct pickle *p, pickle_word dict, const pickle_word *pairs, size_t n,
                    enum pickle_part part)
{
	struct pickle_object *o = pickle_object(p, dict);

	if (complete_all(p, pairs, n * 2))
		return -1;
	if (o->kind == PICKLE_EMPTY_DICT && part != PICKLE_ONE) {
		o->kind = PICKLE_OPAQUE;
		return p->client.dict(p->client.arg, p, pairs, n, o);
	}
	if (o->kind == PICKLE_EMPTY_DICT)
		hold(p, o, PICKLE_HELD_DICT);
	if (o->kind == PICKLE_HELD_DICT)
		held_add(p, o, pairs, n * 2);
	else if (o->kind != PICKLE_OPAQUE)
		return pickle_fail(p, "a dict of the pickle is changed after it was complete");
	return 0;
}

/* --- opcodes --------------------------------------------------------------------------- */

int pickle_pop_mark(struct pickle *p, size_t *from)
{
	*from = p->n;
	if (!p->n_marks)
		return pickle_fail(p, "the pickle ends a group that never began");
	*from = p->marks[--p->n_marks];
	return 0;
}

static bool is_dict(const struct pickle *p, pickle_word w)
{
	return pickle_tag(w) == PICKLE_OBJECT && pickle_object(p, w)->kind != PICKLE_EMPTY_LIST &&
	       pickle_object(p, w)->kind != PICKLE_HELD_LIST;
}

static bool is_list(const struct pickle *p, pickle_word w)
{
	return pickle_tag(w) == PICKLE_OBJECT && pickle_object(p, w)->kind != PICKLE_EMPTY_DICT &&
	       pickle_object(p, w)->kind != PICKLE_HELD_DICT;
}

/* Put what is above `from` into the container just below it, and off the stack. */
static int add(struct pickle *p, bool dict, size_t from, enum pickle_part part)
{
	size_t n = p->n - from;
	pickle_word into;
	int rc;

	if (from <= pickle_floor(p))
		return pickle_fail(p, "the pickle adds to a container where there is none");
	into = p->stack[from - 1];
	if (dict ? !is_dict(p, into) || n % 2 : !is_list(p, into))
		return pickle_fail(p, "the pickle adds items to something that cannot hold them");
	rc = !n     ? 0
	     : dict ? dict_add(p, into, p->stack + from, n / 2, part)
	            : list_add(p, into, p->stack + from, n, part);
	p->n = from;
	return rc;
}

int pickle_items(struct pickle *p, unsigned op)
{
	size_t from;

	return pickle_pop_mark(p, &from) ? -1 : add(p, op == 'u', from, PICKLE_BATCH);
}

int pickle_item(struct pickle *p, unsigned op)
{
	size_t n = op == 's' ? 2 : 1;

	if (p->n - pickle_floor(p) < n)
		return pickle_fail(p, "the pickle takes a value where there is none");
	return add(p, op == 's', p->n - n, PICKLE_ONE);
}

int pickle_collect(struct pickle *p, unsigned kind, size_t from)
{
	bool dict = kind == PICKLE_EMPTY_DICT;
	pickle_word w = pickle_new(p, kind);
	size_t n = p->n - from;

	if (dict && n % 2)
		return pickle_fail(p, "a dict of the pickle has a key without a value");
	if (n && (dict ? dict_add(p, w, p->stack + from, n / 2, PICKLE_LAST)
	               : list_add(p, w, p->stack + from, n, PICKLE_LAST)))
		return -1;
	if (from == p->cap)
		p->stack = mem_resize(p->stack, p->cap = p->cap * 2 + 64, sizeof *p->stack);
	p->stack[from] = w;
	p->n = from + 1;
	return 0;
}

int pickle_stop(struct pickle *p, pickle_word *result)
{
	if (p->n_marks || p->n != 1)
		return pickle_fail(p, "the pickle ends with %zu values instead of one", p->n);
	*result = p->stack[0];
	return pickle_tag(*result) == PICKLE_OBJECT ? complete(p, *result) : 0;
}
