/* explain_scan.c: see explain_scan.h. */
#include "analyze/explain_scan.h"
#include "base/mem.h"
#include "model/model.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
	return isdigit((unsigned char)c) != 0;
}

char *scan_one_line(const char *text)
{
	char *line = mem_alloc(strlen(text) + 1), *to = line;

	for (; *text; text++) {
		bool space = isspace((unsigned char)*text);

		if (!space || (to > line && to[-1] != ' '))
			*to++ = space ? ' ' : *text;
	}
	*to = 0;
	return line;
}

/* "17,179" is a whole number, "1900,00" is not: a comma stands before every three digits, or for the point.
 */
static double read_digits(const char **at)
{
	const char *s = *at;
	char digits[40];
	size_t n = 0;

	for (; n < sizeof digits - 1 && (is_digit(*s) || ((*s == '.' || *s == ',') && is_digit(s[1]))); s++) {
		bool thousands =
		    *s == ',' && is_digit(s[1]) && is_digit(s[2]) && is_digit(s[3]) && !is_digit(s[4]);

		if (!thousands)
			digits[n++] = *s == ',' ? '.' : *s;
	}
	digits[n] = 0;
	*at = s;
	return strtod(digits, NULL);
}

bool scan_size(const char *s, uint64_t *out, const char **end)
{
	static const char unit[] = "KMGT";
	const char *u, *at;
	double v;

	if (!is_digit(*s))
		return false;
	v = read_digits(&s);
	*end = s;
	s += *s == ' ';
	u = *s ? strchr(unit, *s) : NULL;
	at = s + (u != NULL);
	at += u && *at == 'i';
	if (!u && !strncmp(at, "bytes", 5))
		at += 5;
	else
		at += *at == 'B';
	if (at > s && !isalpha((unsigned char)*at)) {
		*end = at;
		v *= (double)(u ? 1ull << (10 * (u - unit + 1)) : 1);
	}
	*out = v < 9e18 ? (uint64_t)v : UINT64_MAX - 1;
	return true;
}

/* "378.60M (396990720 bytes)" says it twice: the exact number counts. */
static uint64_t exactly(const char *s, uint64_t rounded)
{
	const char *end;
	uint64_t v;

	if (s[0] != ' ' || s[1] != '(' || !scan_size(s + 2, &v, &end) || *end != ')')
		return rounded;
	return v / 1.01 < (double)rounded && v > rounded / 1.01 ? v : rounded;
}

uint64_t scan_after(const char *text, const char *phrase)
{
	const char *at = text, *end;
	uint64_t v;

	for (; (at = strstr(at, phrase)) != NULL; at++)
		if (scan_size(at + strlen(phrase), &v, &end))
			return exactly(end, v);
	return MODEL_UNKNOWN;
}

uint64_t scan_before(const char *text, const char *phrase)
{
	const char *at = strstr(text, phrase), *s, *end;
	unsigned words = 0;
	uint64_t v;

	if (!at)
		return MODEL_UNKNOWN;
	for (s = at; s > text && words < 2; s--)
		words += s[-1] == ' ' && s < at;
	for (; s < at; s++)
		if (is_digit(*s) && (s == text || !is_digit(s[-1])) && scan_size(s, &v, &end) && end == at)
			return v;
	return MODEL_UNKNOWN;
}

int scan_number(const char *text, const char *phrase)
{
	const char *at = text;

	for (; (at = strstr(at, phrase)) != NULL; at++)
		if (is_digit(at[strlen(phrase)]))
			return (int)strtoul(at + strlen(phrase), NULL, 10) & 0xffff;
	return -1;
}

uint64_t scan_minus(uint64_t a, uint64_t b)
{
	return a == MODEL_UNKNOWN || b == MODEL_UNKNOWN ? MODEL_UNKNOWN : a > b ? a - b : 0;
}
