/* pickle_machine.h: what the files of the pickle machine share. Nobody else includes this. */
#ifndef FORMAT_PICKLE_MACHINE_H
#define FORMAT_PICKLE_MACHINE_H

#include "base/mem.h"
#include "format/pickle.h"

#define MEMO_UNSET UINT32_MAX
#define MEMO_GAP   1024

/* The lowest stack height that the current opcode may touch. */
static inline size_t pickle_floor(const struct pickle *p)
{
	return p->n_marks ? p->marks[p->n_marks - 1] : 0;
}

static inline pickle_word pickle_new(struct pickle *p, unsigned kind)
{
	*VEC_PUSH(p->objects, p->n_objects, p->cap_objects) = (struct pickle_object){.kind = kind};
	return pickle_make(PICKLE_OBJECT, p->n_objects - 1);
}

/* pickle.c */
int pickle_cut(struct pickle *p);
pickle_word pickle_integer(struct pickle *p, uint64_t magnitude, bool negative, bool too_large);
pickle_word pickle_float(struct pickle *p, double v);
int pickle_memo_put(struct pickle *p, uint64_t index);
int pickle_memo_get(struct pickle *p, uint64_t index, pickle_word *out);

/* pickle_items.c: containers. The opcode's operands are on the stack; the place is p->at. */
int pickle_items(struct pickle *p, unsigned op); /* SETITEMS, APPENDS */
int pickle_item(struct pickle *p, unsigned op);  /* SETITEM, APPEND */
/* A new list or dict of what is above `from` takes its place on the stack. */
int pickle_collect(struct pickle *p, unsigned kind, size_t from);
int pickle_pop_mark(struct pickle *p, size_t *from);
int pickle_stop(struct pickle *p, pickle_word *result);

/* pickle_rare.c: every opcode that pickle_run does not know. */
int pickle_rare(struct pickle *p, unsigned op);
pickle_word pickle_long(struct pickle *p, const unsigned char *s,
                        size_t n); /* little-endian two's complement */

/* pickle_text.c: the forms that are text up to a line's end. */
int pickle_text_value(struct pickle *p, unsigned op, pickle_word *out);
int pickle_text_index(struct pickle *p, uint64_t *out);

#endif
