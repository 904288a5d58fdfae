/* pickle.c: the machine that runs a pickle. See pickle.h for what always holds.
 *
 * pickle_run has the opcodes that make up nearly all of a snapshot, with the top of the stack and
 * the place in the input in local variables; pickle_rare.c has all others.
 */
#include "format/pickle_machine.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RELEASE_STEP = 1 << 20 };

int pickle_fail(struct pickle *p, const char *fmt, ...)
{
	char msg[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	return err_set(p->e, ERR_INPUT, p->in->name, p->at - p->in->data, "%s", msg);
}

int pickle_cut(struct pickle *p)
{
	p->at = p->end;
	return pickle_fail(p, "the pickle ends in the middle: the file was cut short");
}

/* --- numbers --------------------------------------------------------------------------- */

static uint32_t box(struct pickle *p, uint64_t v)
{
	*VEC_PUSH(p->boxes, p->n_boxes, p->cap_boxes) = v;
	return (uint32_t)p->n_boxes - 1;
}

pickle_word pickle_integer(struct pickle *p, uint64_t magnitude, bool negative, bool too_large)
{
	if (!too_large && magnitude < 1ull << 60)
		return pickle_make(PICKLE_INT, negative ? -magnitude : magnitude);
	box(p, magnitude);
	return pickle_make(PICKLE_BIG, box(p, (uint64_t)negative | (uint64_t)too_large << 1) - 1);
}

pickle_word pickle_float(struct pickle *p, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	return pickle_make(PICKLE_FLOAT, box(p, bits));
}

bool pickle_double(const struct pickle *p, pickle_word w, double *out)
{
	if (pickle_tag(w) != PICKLE_FLOAT)
		return false;
	memcpy(out, &p->boxes[pickle_index(w)], sizeof *out);
	return true;
}

bool pickle_large_u64(const struct pickle *p, pickle_word w, uint64_t *out)
{
	double v;

	if (pickle_tag(w) == PICKLE_BIG) {
		*out = p->boxes[pickle_index(w)];
		return !p->boxes[pickle_index(w) + 1];
	}
	if (!pickle_double(p, w, &v) || !(v >= 0 && v < 0x1p64))
		return false;
	*out = (uint64_t)v;
	return true;
}

bool pickle_i64(const struct pickle *p, pickle_word w, int64_t *out)
{
	uint64_t v;

	if (pickle_tag(w) == PICKLE_INT) {
		*out = (int64_t)w >> 3;
		return true;
	}
	if (pickle_tag(w) == PICKLE_BIG && p->boxes[pickle_index(w) + 1] == 1 &&
	    p->boxes[pickle_index(w)] <= 1ull << 63) {
		*out = (int64_t)-p->boxes[pickle_index(w)];
		return true;
	}
	if (!pickle_u64(p, w, &v) || v > INT64_MAX)
		return false;
	*out = (int64_t)v;
	return true;
}

/* --- strings --------------------------------------------------------------------------- */

static void strings_grow(struct pickle *p)
{
	size_t i, mask = p->string_slot ? p->string_mask * 2 + 1 : 1023;
	uint32_t *slot = mem_zalloc(mask + 1, sizeof *slot), id;

	for (id = 0; id < p->n_strings; id++) {
		for (i = hash_bytes(p->strings[id].s, p->strings[id].n) & mask; slot[i]; i = (i + 1) & mask)
			;
		slot[i] = id + 1;
	}
	free(p->string_slot);
	p->string_slot = slot;
	p->string_mask = mask;
}

uint32_t pickle_intern(struct pickle *p, const void *s, size_t n)
{
	size_t i;

	if ((p->n_strings + 1) * 2 > p->string_mask)
		strings_grow(p);
	for (i = hash_bytes(s, n) & p->string_mask; p->string_slot[i]; i = (i + 1) & p->string_mask) {
		const struct pickle_string *have = &p->strings[p->string_slot[i] - 1];

		if (have->n == n && !memcmp(have->s, s, n))
			return p->string_slot[i] - 1;
	}
	*VEC_PUSH(p->strings, p->n_strings, p->cap_strings) =
	    (struct pickle_string){.s = s, .n = (uint32_t)n};
	p->string_slot[i] = (uint32_t)p->n_strings;
	return (uint32_t)p->n_strings - 1;
}

/* --- memo ------------------------------------------------------------------------------ */

int pickle_memo_put(struct pickle *p, uint64_t index)
{
	pickle_word w;
	uint32_t *place;
	bool fresh;

	if (p->n == pickle_floor(p))
		return pickle_fail(p, "the pickle stores a value where there is none");
	w = p->stack[p->n - 1];
	if (w >> 32)
		w = pickle_make(PICKLE_BOXED, box(p, w));
	if (index > p->n_memo + MEMO_GAP) { /* a lone large index must not cost memory */
		place = map64_put(&p->far_memo, index, &fresh);
	} else {
		while (p->n_memo <= index)
			*VEC_PUSH(p->memo, p->n_memo, p->cap_memo) = MEMO_UNSET;
		place = &p->memo[index];
		fresh = *place == MEMO_UNSET;
	}
	p->n_stored += fresh;
	*place = (uint32_t)w;
	return 0;
}

int pickle_memo_get(struct pickle *p, uint64_t index, pickle_word *out)
{
	const uint32_t *place = index < p->n_memo ? &p->memo[index] : NULL;

	if (!place || *place == MEMO_UNSET)
		place = map64_find(&p->far_memo, index);
	if (!place)
		return pickle_fail(p, "the pickle uses value %llu before storing it",
		                   (unsigned long long)index);
	*out = pickle_tag(*place) == PICKLE_BOXED ? p->boxes[pickle_index(*place)] : *place;
	return 0;
}

/* --- the loop -------------------------------------------------------------------------- */

/* Numbers of objects, strings and boxes must fit into a word of the memo. */
static int check_limits(struct pickle *p)
{
	if (p->n_objects < PICKLE_MAX && p->n_strings < PICKLE_MAX && p->n_boxes < PICKLE_MAX)
		return 0;
	return pickle_fail(p, "the pickle has more than %u values: too many for this reader", PICKLE_MAX);
}

static int stack_grow(struct pickle *p)
{
	p->stack = mem_resize(p->stack, p->cap = p->cap * 2 + 4096, sizeof *p->stack);
	return check_limits(p);
}

static inline uint32_t load32(const unsigned char *s)
{
	uint32_t v;

	memcpy(&v, s, sizeof v);
	return v;
}

/* LONG1 of up to eight bytes, little-endian two's complement; `room`: eight bytes may be read. */
static inline pickle_word small_long(struct pickle *p, const unsigned char *s, unsigned n, bool room)
{
	unsigned unused = 64 - 8 * n;
	uint64_t v = 0;
	int64_t i;

	if (!n)
		return pickle_make(PICKLE_INT, 0);
	if (room)
		memcpy(&v, s, 8);
	else
		memcpy(&v, s, n);
	i = (int64_t)(v << unused) >> unused;
	if (i >= 0 && i < 1ll << 60)
		return pickle_make(PICKLE_INT, (uint64_t)i);
	return pickle_integer(p, i < 0 ? -(uint64_t)i : (uint64_t)i, i < 0, false);
}

/* A word of the memo by a small index, 0 if it needs a closer look (0 is the integer 0: never stored so). */
static inline pickle_word memo_word(const struct pickle *p, size_t index)
{
	uint32_t w;

	if (index >= p->n_memo)
		return 0;
	w = p->memo[index];
	return pickle_tag(w) == PICKLE_BOXED ? 0 : w;
}

/* As many LONG_BINGETs as follow each other from *from on, up to one that needs a closer look: frames come in
 * long rows of them. Returns the new top of the stack. */
static inline pickle_word *get_row(const struct pickle *p, const unsigned char **from, pickle_word *top)
{
	const unsigned char *at = *from;
	const uint32_t *memo = p->memo;
	size_t n_memo = p->n_memo, room = (size_t)(p->stack + p->cap - top), left = (size_t)(p->end - at) / 5;
	uint32_t w;

	for (left = left < room ? left : room; left && *at == 'j'; left--, at += 5) {
		uint32_t index = load32(at + 1);

		if (index >= n_memo || pickle_tag(w = memo[index]) == PICKLE_BOXED || !w)
			break;
		*top++ = w;
	}
	*from = at;
	return top;
}

/* MEMOIZE where the memo has no gaps, as nearly always. */
static inline bool memoize(struct pickle *p, const pickle_word *top)
{
	if (p->n_memo == p->cap_memo || p->n_memo != p->n_stored ||
	    (size_t)(top - p->stack) <= pickle_floor(p) || top[-1] >> 32)
		return false;
	p->memo[p->n_memo++] = (uint32_t)top[-1];
	p->n_stored++;
	return true;
}

/* Now and then: give back pages that were read. */
static int rest(struct pickle *p)
{
	p->released = (size_t)(p->at - p->in->data);
	input_done_until(p->in, p->released);
	return check_limits(p);
}

#define NEED(bytes)                                                                                          \
	if ((size_t)(end - at) < (bytes))                                                                    \
	return pickle_cut(p)
/* The value of the memo at `index` goes onto the stack. */
#define GET(index)                                                                                           \
	w = memo_word(p, index);                                                                             \
	if (!w) {                                                                                            \
		LEAVE();                                                                                     \
		if (pickle_memo_get(p, index, &w))                                                           \
			return -1;                                                                           \
	}                                                                                                    \
	*top++ = w
#define LEAVE() (p->at = at, p->n = (size_t)(top - p->stack))
#define ENTER() (at = p->at, top = p->stack + p->n, last = p->stack + p->cap)

int pickle_run(struct pickle *p, pickle_word *result)
{
	const unsigned char *at = p->at, *const end = p->end;
	pickle_word *top = p->stack, *last = top, w;
	unsigned op, n;

	for (;;) {
		NEED(1);
		if (top == last) {
			LEAVE();
			if (stack_grow(p))
				return -1;
			ENTER();
		}
		switch (op = *at++) {
		case 'h': /* BINGET */
			NEED(1);
			GET(*at);
			at += 1;
			break;
		case 'j': /* LONG_BINGET, in long rows */
			NEED(4);
			GET(load32(at));
			at += 4;
			top = get_row(p, &at, top);
			break;
		case 'J': /* BININT */
			NEED(4);
			*top++ = pickle_make(PICKLE_INT, (uint64_t)(int64_t)(int32_t)load32(at));
			at += 4;
			break;
		case 'K': /* BININT1 */
			NEED(1);
			*top++ = pickle_make(PICKLE_INT, *at++);
			break;
		case 'M': /* BININT2 */
			NEED(2);
			*top++ = pickle_make(PICKLE_INT, (uint64_t)(at[0] | at[1] << 8));
			at += 2;
			break;
		case 0x8a: /* LONG1 */
			NEED(1);
			n = *at++;
			NEED(n);
			p->at = at;
			*top++ = n <= 8 ? small_long(p, at, n, end - at >= 8) : pickle_long(p, at, n);
			at += n;
			break;
		case 0x8c: /* SHORT_BINUNICODE */
			NEED(1);
			n = *at++;
			NEED(n);
			*top++ = pickle_make(PICKLE_STRING, pickle_intern(p, at, n));
			at += n;
			break;
		case '}': /* EMPTY_DICT */
		case ']': /* EMPTY_LIST */
			*top++ = pickle_new(p, op == '}' ? PICKLE_EMPTY_DICT : PICKLE_EMPTY_LIST);
			break;
		case 0x94: /* MEMOIZE */
			if (memoize(p, top))
				break;
			LEAVE();
			if (pickle_memo_put(p, p->n_stored))
				return -1;
			break;
		case '(': /* MARK */
			*VEC_PUSH(p->marks, p->n_marks, p->cap_marks) = (uint32_t)(top - p->stack);
			break;
		default:
			LEAVE();
			if (op == '.')
				return pickle_stop(p, result);
			if (op == 'u' || op == 'e' ? pickle_items(p, op) : pickle_rare(p, op))
				return -1;
			if ((size_t)(p->at - p->in->data) - p->released >= RELEASE_STEP && rest(p))
				return -1;
			ENTER();
		}
	}
}

void pickle_open(struct pickle *p, const struct input *in, const struct pickle_client *client, struct err *e)
{
	size_t many = in->n / 56; /* an entry of a trace: two objects in about 127 bytes */

	*p = (struct pickle){.in = in, .client = *client, .e = e, .at = in->data, .end = in->data + in->n};
	p->cap_objects = p->cap_memo = many + 64;
	p->objects = mem_alloc(p->cap_objects * sizeof *p->objects);
	p->memo = mem_alloc(p->cap_memo * sizeof *p->memo);
}

void pickle_close(struct pickle *p)
{
	size_t i;

	for (i = 0; i < p->n_held; i++)
		free(p->held[i].v);
	for (i = 0; i < p->n_decoded; i++)
		free(p->decoded[i]);
	free(p->held);
	free(p->spare_held);
	free(p->decoded);
	free(p->stack);
	free(p->marks);
	free(p->memo);
	map64_free(&p->far_memo);
	free(p->objects);
	free(p->strings);
	free(p->string_slot);
	free(p->boxes);
	*p = (struct pickle){0};
}

/* Protocol 2 and later say so; before, a snapshot begins with its dict or list. */
bool pickle_probe(const unsigned char *s, size_t n)
{
	if (n < 2)
		return false;
	if (s[0] == 0x80)
		return s[1] >= 2 && s[1] < 16;
	if (s[0] == '(')
		return s[1] == 'd' || s[1] == 'l';
	return (s[0] == '}' || s[0] == ']') && (s[1] == 'q' || s[1] == '(' || s[1] == '.');
}
