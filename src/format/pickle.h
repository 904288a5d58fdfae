/* pickle.h: a Python pickle read as data, without ever building its object graph.
 *
 *  - The machine runs the pickle's opcodes over small words. As soon as a dict or list can not
 *    grow any more it is handed to the client, which turns it into a kind of its own with a
 *    32-bit number (a row, a stack, …); only that stays behind. What the client does not know
 *    becomes PICKLE_OPAQUE and costs nothing.
 *  - Nothing is imported, called or built: opcodes that would do so are refused by name.
 *  - Memory grows with the bytes read, never with a length or index written in them; nothing
 *    here recurses.
 *  - Sharing is kept: an object read through the memo has the same word as where it was made.
 *
 * Only readers in format/ use this.
 */
#ifndef FORMAT_PICKLE_H
#define FORMAT_PICKLE_H

#include "base/err.h"
#include "base/hash.h"
#include "base/input.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value. The low three bits say which kind, the rest is a signed integer or an index. */
typedef uint64_t pickle_word;
enum pickle_tag {
	PICKLE_INT,
	PICKLE_OBJECT,
	PICKLE_STRING,
	PICKLE_BIG,
	PICKLE_FLOAT,
	PICKLE_ATOM,
	PICKLE_BOXED = 7
};
enum { PICKLE_NONE, PICKLE_FALSE, PICKLE_TRUE }; /* the atoms */

static inline enum pickle_tag pickle_tag(pickle_word w)
{
	return (enum pickle_tag)(w & 7);
}
static inline uint32_t pickle_index(pickle_word w)
{
	return (uint32_t)(w >> 3);
}
static inline pickle_word pickle_make(enum pickle_tag tag, uint64_t payload)
{
	return payload << 3 | tag;
}

/* A list (or tuple, set) or dict. kind is one of these, or PICKLE_CLIENT + n as the client likes. */
enum {
	PICKLE_EMPTY_LIST,
	PICKLE_EMPTY_DICT,
	PICKLE_HELD_LIST,
	PICKLE_HELD_DICT,
	PICKLE_OPAQUE,
	PICKLE_CLIENT
};
struct pickle_object {
	uint32_t kind : 5, at : 27; /* there is one per dict and list of the file: they are kept small */
};
#define PICKLE_MAX (1u << 27)

struct pickle_string {
	const unsigned char *s; /* not terminated */
	uint32_t n;
	uint32_t user; /* the client's, 0 at first */
};

struct pickle;
enum pickle_answer { PICKLE_ERROR = -1, PICKLE_TAKEN, PICKLE_KEEP };
enum pickle_part {
	PICKLE_ONE,   /* one item; more are likely to follow */
	PICKLE_BATCH, /* many items; most lists come as one batch */
	PICKLE_LAST,  /* nothing follows; PICKLE_KEEP is no answer */
};
struct pickle_client {
	/* A complete dict of n pairs (key, value, key, value …): say in *as what it becomes. */
	int (*dict)(void *arg, struct pickle *p, const pickle_word *pairs, size_t n,
	            struct pickle_object *as);
	/* n items are put at the end of the list. PICKLE_KEEP: the machine holds the list's items and offers
	 * them all together, as the last part, when it is complete. */
	enum pickle_answer (*list)(void *arg, struct pickle *p, struct pickle_object *list,
	                           const pickle_word *item, size_t n, enum pickle_part part);
	/* The items of a list that the client has taken and now wants kept; NULL out: only how many. */
	size_t (*unfold)(void *arg, const struct pickle_object *list, pickle_word *out);
	void *arg;
};

struct pickle {
	const struct input *in;
	struct pickle_client client;
	struct err *e;
	const unsigned char *at, *end;
	size_t released; /* bytes of the input given back to the system */

	pickle_word *stack;
	size_t n, cap;
	uint32_t *marks; /* stack heights */
	size_t n_marks, cap_marks;
	uint32_t *memo; /* words below 2^32 as they are, others boxed */
	size_t n_memo, cap_memo;
	struct map64 far_memo; /* indices far beyond n_memo */
	size_t n_stored;       /* values in the memo */

	struct pickle_object *objects;
	size_t n_objects, cap_objects;
	struct pickle_string *strings;
	size_t n_strings, cap_strings;
	uint32_t *string_slot;
	size_t string_mask;
	uint64_t *boxes;
	size_t n_boxes, cap_boxes;
	struct pickle_held {
		pickle_word *v;
		size_t n, cap;
	} * held;
	size_t n_held, cap_held, live_held;
	uint32_t *spare_held;
	size_t n_spare, cap_spare;
	char **decoded; /* strings that are not in the input as they are */
	size_t n_decoded, cap_decoded;
};

/* Prepare to read `in`. Strings interned before pickle_run get the indices 0, 1, 2 … */
void pickle_open(struct pickle *p, const struct input *in, const struct pickle_client *client, struct err *e);
/* Run to STOP; the value left is in *top, complete. */
int pickle_run(struct pickle *p, pickle_word *top);
void pickle_close(struct pickle *p);

/* Could these bytes be the beginning of a pickle? */
bool pickle_probe(const unsigned char *s, size_t n);

uint32_t pickle_intern(struct pickle *p, const void *s, size_t n); /* s must outlive p */
/* Fail at the current place. Always -1. */
int pickle_fail(struct pickle *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline struct pickle_object *pickle_object(const struct pickle *p, pickle_word w)
{
	return &p->objects[pickle_index(w)];
}
static inline bool pickle_is(const struct pickle *p, pickle_word w, unsigned kind)
{
	return pickle_tag(w) == PICKLE_OBJECT && pickle_object(p, w)->kind == kind;
}
/* The value as an integer; false if it is none or does not fit. Floats are cut to integers. */
bool pickle_large_u64(const struct pickle *p, pickle_word w, uint64_t *out);
static inline bool pickle_u64(const struct pickle *p, pickle_word w, uint64_t *out)
{
	if (pickle_tag(w) != PICKLE_INT)
		return pickle_large_u64(p, w, out);
	*out = w >> 3;
	return (int64_t)w >= 0;
}
bool pickle_i64(const struct pickle *p, pickle_word w, int64_t *out);
bool pickle_double(const struct pickle *p, pickle_word w, double *out);

#endif
