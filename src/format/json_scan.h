/* json_scan.h: a pull scanner over JSON text in memory.
 *
 * It never copies what it need not, keeps every integer exact to 64 bits (cJSON has doubles), and
 * tells text that merely ends too early (JSON_CUT) from text that is wrong (JSON_BAD). The first
 * trouble sticks: after it every call returns false and p stays where it happened.
 *
 *	if (json_open(s, '['))
 *		for (bool first = true; json_next(s, ']', &first);)
 *			json_cell(s, &cell);
 */
#ifndef FORMAT_JSON_SCAN_H
#define FORMAT_JSON_SCAN_H

#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_state { JSON_OK, JSON_CUT, JSON_BAD };

struct json_scan {
	const unsigned char *begin, *p, *end;
	enum json_state state;
	const char *wanted; /* what should have stood at p, when state is JSON_BAD */
	struct text scratch; /* a decoded string; the caller frees it at the end */
};

/* A number, or null. */
struct json_cell {
	uint64_t v; /* negative numbers in two's complement */
	enum { JSON_NULL, JSON_POSITIVE, JSON_NEGATIVE } kind;
};

/* A string: into the text itself where it has no escapes, else into s->scratch. */
struct json_str {
	const char *s;
	size_t n;
};

bool json_fail(struct json_scan *s, const char *wanted); /* at p; JSON_CUT if p is the end */

static inline bool json_space(struct json_scan *s)
{
	while (s->p < s->end && (*s->p == '\n' || *s->p == ' ' || *s->p == '\t' || *s->p == '\r'))
		s->p++;
	return s->p < s->end;
}

static inline bool json_expect(struct json_scan *s, char c, const char *wanted)
{
	if (s->state != JSON_OK || !json_space(s) || *s->p != (unsigned char)c)
		return json_fail(s, wanted);
	s->p++;
	return true;
}

/* '[' or '{' */
static inline bool json_open(struct json_scan *s, char bracket)
{
	return json_expect(s, bracket, bracket == '[' ? "an array" : "an object");
}

/* Is there another element before the closing bracket? Steps over the comma or the bracket. */
static inline bool json_next(struct json_scan *s, char closing, bool *first)
{
	if (s->state != JSON_OK || !json_space(s))
		return json_fail(s, NULL);
	if (*s->p == (unsigned char)closing) {
		s->p++;
		return false;
	}
	if (!*first && !json_expect(s, ',', "a comma or the closing bracket"))
		return false;
	*first = false;
	return json_space(s) || json_fail(s, NULL);
}

bool json_string(struct json_scan *s, struct json_str *out);
bool json_key(struct json_scan *s, struct json_str *out); /* a string and its colon */
bool json_cell(struct json_scan *s, struct json_cell *out); /* a whole number within 64 bits, or null */
bool json_bool(struct json_scan *s, bool *out);
bool json_skip(struct json_scan *s); /* any value; its inside is not judged */
bool json_is(const struct json_str *str, const char *text);
/* The place of a string in a NULL-terminated list; -1 if it is not there. */
int json_word(const struct json_str *str, const char *const *list);
/* The next value begins so. */
static inline bool json_at(struct json_scan *s, char c)
{
	return s->state == JSON_OK && json_space(s) && *s->p == (unsigned char)c;
}

#endif
