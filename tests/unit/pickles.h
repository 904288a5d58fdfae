/* pickles.h: pickles written down as the Python literals they hold, for unit tests of their readers.
 *
 *     size_t n;
 *     unsigned char *p = pickle_of("{'size': 512, 'pool': (0, 0), 'on': True, 'again': *1}", &n);
 *
 * Dicts, lists, tuples of up to three items, strings in '' without escapes, integers of up to 64 bits
 * and a sign, floats (with a dot), True, False, None. Containers are numbered from 0 as they open
 * (tuples are not); *N is the N-th again.
 */
#ifndef TESTS_PICKLES_H
#define TESTS_PICKLES_H

#include <assert.h>
#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
	unsigned char *v;
	size_t n, cap;
};

static inline void emit(struct bytes *b, const void *s, size_t n)
{
	if (b->cap - b->n < n)
		b->v = realloc(b->v, b->cap = (b->cap + n) * 2 + 64);
	memcpy(b->v + b->n, s, n);
	b->n += n;
}

static inline void emit_op(struct bytes *b, unsigned char op)
{
	emit(b, &op, 1);
}

static inline void emit_string(struct bytes *b, const char *s, size_t n)
{
	uint32_t n32 = (uint32_t)n;

	emit_op(b, 'X');
	emit(b, &n32, 4);
	emit(b, s, n);
}

/* A LONG1 of nine bytes holds every 64-bit number with its sign. */
static inline void emit_integer(struct bytes *b, uint64_t magnitude, int negative)
{
	unsigned char long1[11] = {0x8a, 9};
	uint64_t bits = negative ? -magnitude : magnitude;

	memcpy(long1 + 2, &bits, 8);
	long1[10] = negative && magnitude ? 0xff : 0;
	emit(b, long1, sizeof long1);
}

static inline void skip_blanks(const char **s)
{
	*s += strspn(*s, " \n\t,:");
}

static inline void emit_value(struct bytes *b, const char **s);

static inline void emit_group(struct bytes *b, const char **s, char close, unsigned char begin,
                              unsigned char end)
{
	++*s;
	if (begin) {
		emit_op(b, begin);
		emit_op(b, 0x94); /* MEMOIZE */
	}
	emit_op(b, '(');
	for (skip_blanks(s); **s != close; skip_blanks(s))
		emit_value(b, s);
	++*s;
	emit_op(b, end);
}

static inline void emit_number(struct bytes *b, const char **s)
{
	int negative = **s == '-';
	char *end;
	uint64_t v = strtoull(*s + negative, &end, 0);
	unsigned char binfloat[9] = "G";

	if (*end == '.') {
		double d = strtod(*s, &end);

		memcpy(&v, &d, 8);
		v = htobe64(v);
		memcpy(binfloat + 1, &v, 8);
		emit(b, binfloat, 9);
	} else {
		emit_integer(b, v, negative);
	}
	assert(end != *s);
	*s = end;
}

static inline void emit_value(struct bytes *b, const char **s)
{
	uint32_t index;
	size_t n;

	switch (**s) {
	case '{':
		emit_group(b, s, '}', '}', 'u');
		break;
	case '[':
		emit_group(b, s, ']', ']', 'e');
		break;
	case '(':
		emit_group(b, s, ')', 0, 't');
		break;
	case '\'':
		n = strcspn(++*s, "'");
		emit_string(b, *s, n);
		*s += n + 1;
		break;
	case '*':
		index = (uint32_t)strtoul(*s + 1, (char **)s, 10);
		emit_op(b, 'j');
		emit(b, &index, 4);
		break;
	case 'T':
	case 'F':
	case 'N':
		emit_op(b, **s == 'T' ? 0x88 : **s == 'F' ? 0x89 : 'N');
		*s += strspn(*s, "TrueFalsNon");
		break;
	default:
		emit_number(b, s);
	}
}

static inline unsigned char *pickle_of(const char *literal, size_t *n)
{
	struct bytes b = {0};

	emit(&b, "\x80\x04", 2);
	skip_blanks(&literal);
	emit_value(&b, &literal);
	emit_op(&b, '.');
	*n = b.n;
	return b.v;
}

#endif
