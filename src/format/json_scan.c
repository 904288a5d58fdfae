/* json_scan.c: see json_scan.h for what always holds. */
#include "format/json_scan.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool json_fail(struct json_scan *s, const char *wanted)
{
	if (s->state == JSON_OK) {
		s->state = s->p >= s->end ? JSON_CUT : JSON_BAD;
		s->wanted = wanted;
	}
	return false;
}

/* Where the string that begins after p's quote ends (at its closing quote); NULL if it does not. */
static const unsigned char *string_end(const struct json_scan *s, bool *escapes)
{
	const unsigned char *p = s->p + 1;

	*escapes = false;
	for (; p < s->end && *p != '"'; p++)
		if (*p == '\\') {
			*escapes = true;
			p++;
		}
	return p < s->end ? p : NULL;
}

/* The rare string with escapes: cJSON knows them all. */
static bool decode(struct json_scan *s, const unsigned char *end, struct json_str *out)
{
	cJSON *j = cJSON_ParseWithLength((const char *)s->p, (size_t)(end + 1 - s->p));

	if (!cJSON_IsString(j)) {
		cJSON_Delete(j);
		return json_fail(s, "a string with valid escapes");
	}
	s->scratch.n = 0;
	text_puts(&s->scratch, j->valuestring);
	cJSON_Delete(j);
	*out = (struct json_str){s->scratch.s, s->scratch.n};
	return true;
}

bool json_string(struct json_scan *s, struct json_str *out)
{
	const unsigned char *end;
	bool escapes;

	if (!json_at(s, '"'))
		return json_fail(s, "a string");
	end = string_end(s, &escapes);
	if (!end) {
		s->p = s->end;
		return json_fail(s, NULL);
	}
	if (escapes) {
		if (!decode(s, end, out))
			return false;
	} else {
		*out = (struct json_str){(const char *)s->p + 1, (size_t)(end - s->p - 1)};
	}
	s->p = end + 1;
	return true;
}

bool json_key(struct json_scan *s, struct json_str *out)
{
	return json_string(s, out) && json_expect(s, ':', "a colon");
}

/* A number with a fraction or an exponent (1.0, 1e3, 1.44115188075855872e+17), as tools that keep
 * numbers as doubles print them. It must still be whole. */
static bool float_cell(struct json_scan *s, const unsigned char *end, struct json_cell *out)
{
	char digits[64], *stop;
	size_t n = (size_t)(end - s->p);
	double v;

	if (n >= sizeof digits)
		return json_fail(s, "a number");
	memcpy(digits, s->p, n);
	digits[n] = 0;
	v = strtod(digits, &stop);
	if (*stop || v != floor(v) || v >= 0x1p64 || v < -0x1p63)
		return json_fail(s, "a whole number within 64 bits");
	out->kind = v < 0 ? JSON_NEGATIVE : JSON_POSITIVE;
	out->v = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
	s->p = end;
	return true;
}

static bool literal(struct json_scan *s, const char *word)
{
	size_t n = strlen(word), left = (size_t)(s->end - s->p);

	if (left < n && !memcmp(s->p, word, left))
		s->p = s->end;
	else if (left >= n && !memcmp(s->p, word, n)) {
		s->p += n;
		return true;
	}
	return json_fail(s, "a value");
}

static bool in_number(unsigned char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

bool json_cell(struct json_scan *s, struct json_cell *out)
{
	const unsigned char *p, *digits, *end;
	uint64_t v = 0;
	bool over = false;

	if (s->state != JSON_OK || !json_space(s))
		return json_fail(s, NULL);
	if (*s->p == 'n') {
		*out = (struct json_cell){UINT64_MAX, JSON_NULL};
		return literal(s, "null");
	}
	for (end = s->p; end < s->end && in_number(*end); end++)
		;
	if (end == s->end) { /* the digits may go on behind the cut */
		s->p = end;
		return json_fail(s, NULL);
	}
	digits = s->p + (*s->p == '-');
	for (p = digits; p < end && *p >= '0' && *p <= '9'; p++)
		over |= __builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, *p - '0', &v);
	if (p == digits || (*digits == '0' && p > digits + 1))
		return json_fail(s, "a number");
	if (p < end)
		return float_cell(s, end, out);
	out->kind = digits > s->p && v ? JSON_NEGATIVE : JSON_POSITIVE;
	if (over || (out->kind == JSON_NEGATIVE && v > (uint64_t)INT64_MAX + 1))
		return json_fail(s, "a number within 64 bits");
	out->v = out->kind == JSON_NEGATIVE ? 0 - v : v;
	s->p = end;
	return true;
}

bool json_bool(struct json_scan *s, bool *out)
{
	if (s->state != JSON_OK || !json_space(s))
		return json_fail(s, NULL);
	*out = *s->p == 't';
	return literal(s, *out ? "true" : "false");
}

bool json_skip(struct json_scan *s)
{
	const unsigned char *start;
	size_t depth = 0;

	if (s->state != JSON_OK || !json_space(s))
		return json_fail(s, NULL);
	do {
		if (!json_space(s))
			return json_fail(s, NULL);
		start = s->p;
		if (*s->p == '"') {
			bool escapes;
			const unsigned char *end = string_end(s, &escapes);

			s->p = end ? end + 1 : s->end;
			if (!end)
				return json_fail(s, NULL);
		} else if (*s->p == '[' || *s->p == '{') {
			depth++;
			s->p++;
		} else if (depth && (*s->p == ']' || *s->p == '}')) {
			depth--;
			s->p++;
		} else if (depth && (*s->p == ',' || *s->p == ':')) {
			s->p++;
		} else {
			while (s->p < s->end && (in_number(*s->p) || (*s->p >= 'a' && *s->p <= 'z')))
				s->p++;
			if (s->p == s->end || s->p == start)
				return json_fail(s, "a value");
		}
	} while (depth);
	return true;
}

bool json_is(const struct json_str *str, const char *text)
{
	return strlen(text) == str->n && !memcmp(str->s, text, str->n);
}

int json_word(const struct json_str *str, const char *const *list)
{
	int i;

	for (i = 0; list[i]; i++)
		if (json_is(str, list[i]))
			return i;
	return -1;
}
