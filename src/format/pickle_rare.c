/* pickle_rare.c: the opcodes of a pickle that snapshots use seldom, and those that are refused. */
#include "format/pickle_machine.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Opcodes that import, call or build something, or take data from elsewhere. */
static const char *const refused[256] = {
	['c'] = "GLOBAL",    ['R'] = "REDUCE",       ['b'] = "BUILD",     ['i'] = "INST",
	['o'] = "OBJ",       ['P'] = "PERSID",       ['Q'] = "BINPERSID", [0x81] = "NEWOBJ",
	[0x82] = "EXT1",     [0x83] = "EXT2",        [0x84] = "EXT4",     [0x92] = "NEWOBJ_EX",
	[0x93] = "STACK_GLOBAL", [0x97] = "NEXT_BUFFER", [0x98] = "READONLY_BUFFER",
};

static int unknown(struct pickle *p, unsigned op)
{
	p->at--; /* the place of the opcode itself */
	if (refused[op])
		return pickle_fail(p, "opcode %s would import or call code: refused, a snapshot is data only", refused[op]);
	return pickle_fail(p, "0x%02x is no pickle opcode: the file is damaged", op);
}

static int push(struct pickle *p, pickle_word w)
{
	if (p->n == p->cap)
		p->stack = mem_resize(p->stack, p->cap = p->cap * 2 + 64, sizeof *p->stack);
	p->stack[p->n++] = w;
	return 0;
}

pickle_word pickle_long(struct pickle *p, const unsigned char *s, size_t n)
{
	bool negative = n && s[n - 1] & 0x80;
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < n && i < 8; i++)
		v |= (uint64_t)s[i] << 8 * i;
	if (negative) {
		if (n < 8)
			v |= ~0ull << 8 * n;
		v = -v; /* the magnitude, if it fits */
	}
	while (n > 8 && s[n - 1] == (negative ? 0xff : 0))
		n--;
	return pickle_integer(p, v, negative, n > 8 || (negative && n == 8 && v > 1ull << 63));
}

/* The little-endian length of `bytes` bytes at p->at, and that many bytes after it. */
static const unsigned char *counted(struct pickle *p, unsigned bytes, size_t *n)
{
	uint64_t length = 0;
	const unsigned char *s;

	if ((size_t)(p->end - p->at) < bytes) {
		pickle_cut(p);
		return NULL;
	}
	memcpy(&length, p->at, bytes);
	if (length > (size_t)(p->end - p->at) - bytes) {
		pickle_fail(p, "a length of %llu bytes goes past the end: the file is damaged or was cut short",
			    (unsigned long long)length);
		return NULL;
	}
	s = p->at + bytes;
	p->at = s + length;
	*n = length;
	return s;
}

static int counted_string(struct pickle *p, unsigned bytes)
{
	size_t n;
	const unsigned char *s = counted(p, bytes, &n);

	if (!s)
		return -1;
	if (n > UINT32_MAX)
		return pickle_fail(p, "a string of %zu bytes is too long for this reader", n);
	return push(p, pickle_make(PICKLE_STRING, pickle_intern(p, s, n)));
}

static int counted_long(struct pickle *p, unsigned bytes)
{
	size_t n;
	const unsigned char *s = counted(p, bytes, &n);

	return s ? push(p, pickle_long(p, s, n)) : -1;
}

static int bin_float(struct pickle *p)
{
	uint64_t bits;
	double v;

	if (p->end - p->at < 8)
		return pickle_cut(p);
	memcpy(&bits, p->at, 8);
	bits = be64toh(bits);
	memcpy(&v, &bits, 8);
	p->at += 8;
	return push(p, pickle_float(p, v));
}

static int skip(struct pickle *p, size_t n)
{
	if ((size_t)(p->end - p->at) < n)
		return pickle_cut(p);
	p->at += n;
	return 0;
}

static int proto(struct pickle *p)
{
	if (p->at < p->end && *p->at > 5)
		return pickle_fail(p, "pickle protocol %u is not known", *p->at);
	return skip(p, 1);
}

static int put(struct pickle *p, unsigned bytes)
{
	uint32_t index = 0;

	if ((size_t)(p->end - p->at) < bytes)
		return pickle_cut(p);
	memcpy(&index, p->at, bytes);
	p->at += bytes;
	return pickle_memo_put(p, index);
}

static int text(struct pickle *p, unsigned op)
{
	pickle_word w;
	uint64_t index;

	if (op == 'g')
		return pickle_text_index(p, &index) || pickle_memo_get(p, index, &w) ? -1 : push(p, w);
	if (op == 'p')
		return pickle_text_index(p, &index) ? -1 : pickle_memo_put(p, index);
	return pickle_text_value(p, op, &w) ? -1 : push(p, w);
}

static int tuple(struct pickle *p, size_t n)
{
	if (p->n - pickle_floor(p) < n)
		return pickle_fail(p, "the pickle takes a value where there is none");
	return pickle_collect(p, PICKLE_EMPTY_LIST, p->n - n);
}

static int group(struct pickle *p, unsigned kind)
{
	size_t from;

	return pickle_pop_mark(p, &from) ? -1 : pickle_collect(p, kind, from);
}

/* POP drops a value, or the mark if that is on top. */
static int pop(struct pickle *p)
{
	if (p->n > pickle_floor(p))
		p->n--;
	else if (p->n_marks)
		p->n_marks--;
	else
		return pickle_fail(p, "the pickle takes a value where there is none");
	return 0;
}

static int dup(struct pickle *p)
{
	if (p->n == pickle_floor(p))
		return pickle_fail(p, "the pickle takes a value where there is none");
	return push(p, p->stack[p->n - 1]);
}

int pickle_rare(struct pickle *p, unsigned op)
{
	size_t from;

	switch (op) {
	case 0x80: return proto(p);
	case 0x95: return skip(p, 8);                /* FRAME: a hint for buffering */
	case 's':                                    /* SETITEM */
	case 'a': return pickle_item(p, op);         /* APPEND */
	case 0x90: return pickle_items(p, 'e');      /* ADDITEMS */
	case 'X': return counted_string(p, 4);       /* BINUNICODE */
	case 0x8d: return counted_string(p, 8);      /* BINUNICODE8 */
	case 'U': return counted_string(p, 1);       /* SHORT_BINSTRING */
	case 'T': return counted_string(p, 4);       /* BINSTRING */
	case 'C': return counted_string(p, 1);       /* SHORT_BINBYTES */
	case 'B': return counted_string(p, 4);       /* BINBYTES */
	case 0x8e:                                   /* BINBYTES8 */
	case 0x96: return counted_string(p, 8);      /* BYTEARRAY8 */
	case 0x8b: return counted_long(p, 4);        /* LONG4 */
	case 'G': return bin_float(p);               /* BINFLOAT */
	case 'N': return push(p, pickle_make(PICKLE_ATOM, PICKLE_NONE));
	case 0x88: return push(p, pickle_make(PICKLE_ATOM, PICKLE_TRUE));
	case 0x89: return push(p, pickle_make(PICKLE_ATOM, PICKLE_FALSE));
	case 'q': return put(p, 1);                  /* BINPUT */
	case 'r': return put(p, 4);                  /* LONG_BINPUT */
	case ')': return tuple(p, 0);                /* EMPTY_TUPLE */
	case 0x85: return tuple(p, 1);
	case 0x86: return tuple(p, 2);
	case 0x87: return tuple(p, 3);
	case 0x8f: return push(p, pickle_new(p, PICKLE_EMPTY_LIST)); /* EMPTY_SET */
	case 't':                                    /* TUPLE */
	case 'l':                                    /* LIST */
	case 0x91: return group(p, PICKLE_EMPTY_LIST); /* FROZENSET */
	case 'd': return group(p, PICKLE_EMPTY_DICT); /* DICT */
	case '0': return pop(p);
	case '1':                                    /* POP_MARK */
		if (pickle_pop_mark(p, &from))
			return -1;
		p->n = from;
		return 0;
	case '2': return dup(p);
	case 'I': case 'L': case 'F': case 'S': case 'V': case 'g': case 'p':
		return text(p, op);
	default:
		return unknown(p, op);
	}
}
