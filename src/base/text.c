/* text.c: numbers and names to text and back. */
#include "base/text.h"
#include "base/mem.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *room(struct text *t, size_t n)
{
	if (t->cap - t->n < n + 1) {
		t->cap = (t->cap + n + 64) * 2;
		t->s = mem_resize(t->s, t->cap, 1);
	}
	return t->s + t->n;
}

void text_add(struct text *t, const char *s, size_t n)
{
	memcpy(room(t, n), s, n);
	t->n += n;
	t->s[t->n] = 0;
}

void text_puts(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(room(t, 127), 128, fmt, ap);
	if (n > 127)
		vsnprintf(room(t, (size_t)n), (size_t)n + 1, fmt, again);
	va_end(again);
	va_end(ap);
	if (n > 0)
		t->n += (size_t)n;
}

char *text_put_u64(char *p, uint64_t v)
{
	char digits[20];
	int n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		*p++ = digits[--n];
	return p;
}

void text_u64(struct text *t, uint64_t v)
{
	char *p = room(t, 20);
	char *end = text_put_u64(p, v);

	*end = 0;
	t->n += (size_t)(end - p);
}

void text_i64(struct text *t, int64_t v)
{
	if (v < 0)
		text_add(t, "-", 1);
	text_u64(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

size_t text_utf8_len(const char *str, size_t n)
{
	const unsigned char *s = (const unsigned char *)str;
	size_t len, i;
	uint32_t c;

	if (!n)
		return 0;
	if (s[0] < 0x80)
		return 1;
	len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || len > n)
		return 0;
	c = s[0] & (0xffu >> (len + 1));
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if ((len == 3 && c < 0x800) || (len == 4 && (c < 0x10000 || c > 0x10ffff)) || (c >= 0xd800 && c < 0xe000))
		return 0;
	return len;
}

void text_json(struct text *t, const char *s)
{
	size_t n = strlen(s), i, len;

	text_add(t, "\"", 1);
	for (i = 0; i < n; i += len ? len : 1) {
		len = text_utf8_len(s + i, n - i);
		if (!len)
			text_puts(t, "\xef\xbf\xbd");
		else if (s[i] == '"' || s[i] == '\\')
			text_printf(t, "\\%c", s[i]);
		else if ((unsigned char)s[i] < 0x20)
			text_printf(t, "\\u%04x", (unsigned)s[i]);
		else
			text_add(t, s + i, len);
	}
	text_add(t, "\"", 1);
}

void text_free(struct text *t)
{
	free(t->s);
	*t = (struct text){0};
}

char *text_bytes(char *buf, uint64_t bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)bytes;
	int u = 0;

	while (v >= 1023.995 && u < 6) {
		v /= 1024;
		u++;
	}
	if (u)
		snprintf(buf, TEXT_SIZE_MAX, "%.2f %s", v, unit[u]);
	else
		snprintf(buf, TEXT_SIZE_MAX, "%u B", (unsigned)bytes);
	return buf;
}

char *text_ns(char *buf, int64_t ns)
{
	double a = fabs((double)ns);

	if (a < 1e3)
		snprintf(buf, TEXT_SIZE_MAX, "%d ns", (int)ns);
	else if (a < 1e6)
		snprintf(buf, TEXT_SIZE_MAX, "%.2f us", (double)ns / 1e3);
	else if (a < 1e9)
		snprintf(buf, TEXT_SIZE_MAX, "%.2f ms", (double)ns / 1e6);
	else if (a < 120e9)
		snprintf(buf, TEXT_SIZE_MAX, "%.3f s", (double)ns / 1e9);
	else if (a < 7200e9)
		snprintf(buf, TEXT_SIZE_MAX, "%s%dm %02ds", ns < 0 ? "-" : "", (int)(a / 60e9), (int)(a / 1e9) % 60);
	else
		snprintf(buf, TEXT_SIZE_MAX, "%s%dh %02dm", ns < 0 ? "-" : "", (int)(a / 3600e9),
			 (int)(a / 60e9) % 60);
	return buf;
}

char *text_count(char *buf, uint64_t n)
{
	char digits[20], *end = text_put_u64(digits, n), *out = buf;
	long left = end - digits, i;

	for (i = 0; left; i++, left--) {
		if (i && left % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = 0;
	return buf;
}

bool text_parse_u64(const char *s, uint64_t *out)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	*out = strtoull(s, &end, s[0] == '0' && (s[1] | 32) == 'x' ? 16 : 10);
	return !*end;
}

/* A non-negative number and the unit behind it, which is looked up in a list of (name, factor). */
struct unit {
	const char *name;
	double factor;
};

static bool parse_scaled(const char *s, const struct unit *units, double *out)
{
	char *end;
	double v;

	if (*s != '.' && (*s < '0' || *s > '9'))
		return false;
	v = strtod(s, &end);
	while (*end == ' ')
		end++;
	for (; units->name; units++)
		if (!strcasecmp(end, units->name)) {
			*out = v * units->factor;
			return *out >= 0 && *out < 9.2e18;
		}
	return false;
}

bool text_parse_bytes(const char *s, uint64_t *out)
{
	static const struct unit units[] = {
		{"", 1},       {"b", 1},        {"k", 0x1p10},  {"kib", 0x1p10}, {"m", 0x1p20},
		{"mib", 0x1p20}, {"g", 0x1p30}, {"gib", 0x1p30}, {"t", 0x1p40},  {"tib", 0x1p40},
		{"kb", 1e3},   {"mb", 1e6},     {"gb", 1e9},    {"tb", 1e12},    {NULL, 0},
	};
	double v;

	if (text_parse_u64(s, out)) /* exact beyond 2^53 */
		return true;
	if (!parse_scaled(s, units, &v))
		return false;
	*out = (uint64_t)(v + 0.5);
	return true;
}

bool text_parse_ns(const char *s, int64_t *out)
{
	static const struct unit units[] = {{"", 1},     {"ns", 1},   {"us", 1e3},   {"ms", 1e6},
					    {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {NULL, 0}};
	double v;

	if (!parse_scaled(s, units, &v))
		return false;
	*out = (int64_t)(v + 0.5);
	return true;
}
