/* json_events.c: the events of a snapshot into the model's columns; json_read.c calls it.
 *
 * An event in the form that we write, "[12,0,0,139637976727552,…],\n", takes a short cut: the
 * ends of all numbers are found at once, digits are taken eight at a time. Anything else that means the same (spaces, line breaks,
 * 1.0 for 1, fields in another order) takes the scanner. Both end in add_event, which checks.
 */
#include "format/json_reader.h"
#include <string.h>

#define DROP_EVERY (1u << 20) /* bytes of the file after which its pages are let go */

/* --- the short cut --- */

static inline uint64_t load8(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

/* One bit for each of 64 characters that is no digit. */
static inline uint64_t mark_others(const unsigned char *p)
{
	uint64_t marks = 0;
	int i;

	for (i = 0; i < 8; i++) {
		uint64_t word = load8(p + 8 * i) ^ 0x3030303030303030u; /* a digit is now 0..9 */
		uint64_t high = word & 0x8080808080808080u, low = word & 0x7f7f7f7f7f7f7f7fu;
		uint64_t other = ((low + 0x7676767676767676u) | high) & 0x8080808080808080u;

		marks |= ((other >> 7) * 0x0102040810204080u >> 56) << 8 * i;
	}
	return marks;
}

/* Steps from one character that is no digit to the next. */
struct marks {
	const unsigned char *base;
	uint64_t bits;
};

static inline const unsigned char *next_mark(struct marks *m)
{
	const unsigned char *p;

	while (!m->bits) {
		m->base += 64;
		m->bits = mark_others(m->base);
	}
	p = m->base + __builtin_ctzll(m->bits);
	m->bits &= m->bits - 1;
	return p;
}

/* The value of the first n (1..8) characters at p, which are digits. */
static inline uint64_t eight_digits(const unsigned char *p, size_t n)
{
	uint64_t word = (load8(p) ^ 0x3030303030303030u) << (64 - 8 * n);

	word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffu;
	word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffu;
	return (word * 10000 + (word >> 32)) & 0xffffffffu;
}

/* The digits from p to end (at most 19), without a branch for how many there are up to 8. */
static inline uint64_t digits(const unsigned char *p, const unsigned char *end)
{
	size_t n = (size_t)(end - p);
	uint64_t v;

	if (n <= 8)
		return eight_digits(p, n);
	v = n <= 16 ? eight_digits(p, n - 8) : eight_digits(p, n - 16) * 100000000 + eight_digits(end - 16, 8);
	return v * 100000000 + eight_digits(end - 8, 8);
}

/* Characters that must follow for the short cut, so that it need not look for the end. */
#define FAST_MARGIN (JSON_N_EVENT_FIELDS * 32 + 64)

/* A row in the form that we write: where it ends, or NULL if it is not. */
static inline const unsigned char *fast_row(const unsigned char *p, size_t fields, uint64_t *v)
{
	struct marks m = {p + 1, mark_others(p + 1)};
	size_t i;

	if (*p++ != '[' || *p == 'n')
		return NULL;
	for (i = 0; i < fields; i++) {
		const unsigned char *end = next_mark(&m);

		if (end == p) { /* no number */
			if (memcmp(p, "null", 4))
				return NULL;
			v[i] = MODEL_UNKNOWN;
			next_mark(&m);
			next_mark(&m);
			next_mark(&m);
			end = next_mark(&m);
		} else {
			if (end - p > 19 || (*p == '0' && end - p > 1))
				return NULL;
			v[i] = digits(p, end);
		}
		if (*end != (i + 1 < fields ? ',' : ']'))
			return NULL;
		p = end + 1;
	}
	return v[F_T] <= INT64_MAX ? p : NULL;
}

/* --- both ways --- */

static bool slow_row(struct json_reader *r, uint64_t *v)
{
	struct json_cell cell[JSON_N_EVENT_FIELDS];
	const unsigned char *at = r->s.p;
	size_t i;

	if (!json_read_row(r, &r->events, cell, JSON_N_EVENT_FIELDS))
		return json_settle(r); /* the caller sees the scanner's state */
	for (i = 0; i < JSON_N_EVENT_FIELDS; i++) {
		if (cell[i].kind == JSON_NEGATIVE && i != F_T)
			return json_bad(r, at, "a negative number");
		v[i] = cell[i].v;
	}
	if (cell[F_T].kind == JSON_NULL || (cell[F_T].kind == JSON_POSITIVE && v[F_T] > INT64_MAX))
		return json_bad(r, at, "an event without a time");
	return true;
}

static inline bool lookup(uint64_t *v, const struct ids *ids)
{
	if (*v < ids->n) {
		*v = ids->v[*v];
		return true;
	}
	if (*v && *v != MODEL_UNKNOWN)
		return false;
	*v = 0;
	return true;
}

static bool add_event(struct json_reader *r, const unsigned char *at, uint64_t *v)
{
	if (v[F_OP] >= r->n_ops)
		return json_bad(r, at, "an event's op is not in \"ops\"");
	if (v[F_DEVICE] >= MODEL_NO_DEVICE && v[F_DEVICE] != MODEL_UNKNOWN)
		return json_bad(r, at, "an event's device is out of range");
	if (!lookup(&v[F_STREAM], &r->streams))
		return json_bad(r, at, "an event names a stream that does not exist");
	if (!lookup(&v[F_STACK], &r->stacks))
		return json_bad(r, at, "an event names a stack that does not exist");
	if (!lookup(&v[F_THREAD], &r->threads))
		return json_bad(r, at, "an event names a thread that does not exist");
	if (!lookup(&v[F_POOL], &r->pools))
		return json_bad(r, at, "an event names a pool that does not exist");
	if (r->m->ev.n >= UINT32_MAX)
		return json_bad(r, at, "more than 4,294,967,294 events");
	r->m->unknown_entries += !r->op_known[v[F_OP]];
	model_add(r->m, &(struct event){.t_ns = (int64_t)v[F_T],
					.addr = v[F_ADDR],
					.size = v[F_SIZE],
					.block = v[F_BLOCK],
					.stack = (uint32_t)v[F_STACK],
					.stream = (uint16_t)v[F_STREAM],
					.thread = (uint16_t)v[F_THREAD],
					.pool = (uint16_t)v[F_POOL],
					.op = r->op[v[F_OP]],
					.device = v[F_DEVICE] == MODEL_UNKNOWN ? MODEL_NO_DEVICE
										: (uint8_t)v[F_DEVICE]});
	return true;
}

/* The fields are ours, in our order, with or without the last. */
static size_t canonical_fields(const struct row_shape *shape)
{
	size_t i;

	for (i = 0; i < shape->n; i++)
		if (shape->field[i] != (int)i)
			return 0;
	return shape->n >= JSON_N_EVENT_FIELDS - 1 ? shape->n : 0;
}

bool json_read_events(struct json_reader *r)
{
	struct json_scan *s = &r->s;
	uint64_t v[JSON_N_EVENT_FIELDS] = {[F_BLOCK] = MODEL_UNKNOWN};
	size_t fields = canonical_fields(&r->events);
	const unsigned char *at, *after, *dropped = s->p;
	bool first = true;

	model_reserve(r->m, (size_t)(s->end - s->p) / 40);
	if (!json_open(s, '['))
		return json_settle(r);
	while (json_next(s, ']', &first)) {
		at = s->p;
		after = fields && s->end - at > FAST_MARGIN ? fast_row(at, fields, v) : NULL;
		if (after)
			s->p = after;
		else if (!slow_row(r, v))
			return false;
		if (s->state != JSON_OK)
			break;
		if (!add_event(r, at, v))
			return false;
		if (s->p - dropped > DROP_EVERY) {
			dropped = s->p;
			input_done_until(r->in, (size_t)(s->p - s->begin));
		}
	}
	return json_settle(r);
}
