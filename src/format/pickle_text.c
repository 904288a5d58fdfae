/* pickle_text.c: the text forms of pickle protocol 0: numbers, strings and memo numbers, each one
 * line. Strings come out as UTF-8.
 */
#include "base/text.h"
#include "format/pickle_machine.h"
#include <stdlib.h>
#include <string.h>

/* The line at p->at without its end; p->at goes behind it. */
static const char *line(struct pickle *p, size_t *n)
{
	const unsigned char *s = p->at, *end = memchr(s, '\n', (size_t)(p->end - s));

	if (!end) {
		pickle_cut(p);
		return NULL;
	}
	*n = (size_t)(end - s);
	p->at = end + 1;
	return (const char *)s;
}

static int bad(struct pickle *p, const char *what)
{
	return pickle_fail(p, "the pickle has %s that cannot be read", what);
}

/* Decimal digits to a number; more than 64 bits make *too_large. */
static bool digits(const char *s, size_t n, uint64_t *v, bool *too_large)
{
	*v = 0;
	*too_large = false;
	if (!n)
		return false;
	for (; n; n--, s++) {
		if (*s < '0' || *s > '9')
			return false;
		if (__builtin_mul_overflow(*v, 10, v) || __builtin_add_overflow(*v, (uint64_t)(*s - '0'), v))
			*too_large = true;
	}
	return true;
}

int pickle_text_index(struct pickle *p, uint64_t *out)
{
	bool too_large;
	size_t n;
	const char *s = line(p, &n);

	if (!s)
		return -1;
	if (!digits(s, n, out, &too_large) || too_large)
		return bad(p, "a memo number");
	return 0;
}

static int integer(struct pickle *p, unsigned op, pickle_word *out)
{
	bool negative, too_large;
	uint64_t v;
	size_t n;
	const char *s = line(p, &n);

	if (!s)
		return -1;
	if (op == 'I' && n == 2 && s[0] == '0' &&
	    (s[1] == '0' || s[1] == '1')) { /* I00, I01 are the booleans */
		*out = pickle_make(PICKLE_ATOM, s[1] == '1' ? PICKLE_TRUE : PICKLE_FALSE);
		return 0;
	}
	if (op == 'L' && n && s[n - 1] == 'L')
		n--;
	negative = n && *s == '-';
	if (negative || (n && *s == '+'))
		s++, n--;
	if (!digits(s, n, &v, &too_large))
		return bad(p, "a number");
	*out = pickle_integer(p, v, negative && v, too_large || (negative && v > 1ull << 63));
	return 0;
}

static int real(struct pickle *p, pickle_word *out)
{
	char buf[64], *end;
	size_t n;
	const char *s = line(p, &n);

	if (!s)
		return -1;
	if (!n || n >= sizeof buf)
		return bad(p, "a number");
	memcpy(buf, s, n);
	buf[n] = 0;
	*out = pickle_float(p, strtod(buf, &end));
	return *end ? bad(p, "a number") : 0;
}

/* --- strings --------------------------------------------------------------------------- */

static void add_utf8(struct text *t, uint32_t c)
{
	char b[4];

	if (c < 0x80) {
		b[0] = (char)c;
		text_add(t, b, 1);
	} else if (c < 0x800) {
		b[0] = (char)(0xc0 | c >> 6), b[1] = (char)(0x80 | (c & 63));
		text_add(t, b, 2);
	} else if (c < 0x10000) {
		b[0] = (char)(0xe0 | c >> 12), b[1] = (char)(0x80 | (c >> 6 & 63)),
		b[2] = (char)(0x80 | (c & 63));
		text_add(t, b, 3);
	} else {
		b[0] = (char)(0xf0 | c >> 18), b[1] = (char)(0x80 | (c >> 12 & 63));
		b[2] = (char)(0x80 | (c >> 6 & 63)), b[3] = (char)(0x80 | (c & 63));
		text_add(t, b, 4);
	}
}

/* `count` hexadecimal digits at s (n bytes left) as a number, −1 if they are not there. */
static int64_t hex(const char *s, size_t n, size_t count)
{
	int64_t v = 0;
	size_t i;

	if (n < count)
		return -1;
	for (i = 0; i < count; i++) {
		char c = s[i] | 0x20;

		if (s[i] >= '0' && s[i] <= '9')
			v = v << 4 | (s[i] - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (c - 'a' + 10);
		else
			return -1;
	}
	return v;
}

/* The string lives as long as p: as it is in the input, or decoded. */
static pickle_word interned(struct pickle *p, const char *raw, size_t n_raw, struct text *t)
{
	char *keep;

	if (!t->n || (t->n == n_raw && !memcmp(t->s, raw, n_raw))) {
		pickle_word w = pickle_make(PICKLE_STRING, pickle_intern(p, t->n ? raw : "", t->n));

		text_free(t);
		return w;
	}
	keep = *VEC_PUSH(p->decoded, p->n_decoded, p->cap_decoded) = mem_strndup(t->s, t->n);
	size_t n = t->n;

	text_free(t);
	return pickle_make(PICKLE_STRING, pickle_intern(p, keep, n));
}

/* UNICODE: Latin-1 with \uXXXX and \UXXXXXXXX. */
static int unicode(struct pickle *p, pickle_word *out)
{
	struct text t = {0};
	size_t n, i;
	const char *s = line(p, &n);

	if (!s)
		return -1;
	for (i = 0; i < n; i++) {
		size_t count = s[i] == '\\' && i + 1 < n ? s[i + 1] == 'u' ? 4 : s[i + 1] == 'U' ? 8 : 0 : 0;
		int64_t c = count ? hex(s + i + 2, n - i - 2, count) : -1;

		if (c >= 0 && c <= 0x10ffff) {
			add_utf8(&t, (uint32_t)c);
			i += 1 + count;
		} else {
			add_utf8(&t, (unsigned char)s[i]);
		}
	}
	*out = interned(p, s, n, &t);
	return 0;
}

/* One escape of a STRING at s (behind the backslash); returns the bytes it took. */
static size_t escape(struct text *t, const char *s, size_t n)
{
	static const char from[] = "nrtabfv", to[] = "\n\r\t\a\b\f\v";
	const char *known = *s ? strchr(from, *s) : NULL;
	size_t i;
	int64_t c;

	if (known) {
		text_add(t, &to[known - from], 1);
		return 1;
	}
	if (*s == 'x' && (c = hex(s + 1, n - 1, 2)) >= 0) {
		text_add(t, &(char){(char)c}, 1);
		return 3;
	}
	for (i = 0, c = 0; i < 3 && i < n && s[i] >= '0' && s[i] <= '7'; i++)
		c = c << 3 | (s[i] - '0');
	text_add(t, i ? &(char){(char)c} : s, 1); /* \\ \' \" stand for themselves */
	return i ? i : 1;
}

/* STRING: quoted, as Python 2's repr wrote it. */
static int quoted(struct pickle *p, pickle_word *out)
{
	struct text t = {0};
	size_t n, i;
	const char *s = line(p, &n);

	if (!s)
		return -1;
	if (n < 2 || (*s != '\'' && *s != '"') || s[n - 1] != *s)
		return bad(p, "a string");
	for (i = 1; i < n - 1;) {
		if (s[i] == '\\' && i + 1 < n - 1)
			i += 1 + escape(&t, s + i + 1, n - 2 - i);
		else
			text_add(&t, s + i++, 1);
	}
	*out = interned(p, s + 1, n - 2, &t);
	return 0;
}

int pickle_text_value(struct pickle *p, unsigned op, pickle_word *out)
{
	switch (op) {
	case 'F':
		return real(p, out);
	case 'S':
		return quoted(p, out);
	case 'V':
		return unicode(p, out);
	default:
		return integer(p, op, out);
	}
}
