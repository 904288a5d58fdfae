/* core_conf.c: the configuration text, and the two rounding rules that depend on it.
 *
 * One table row per key. Reading stops at the first mistake and says where it is. Keys of
 * PyTorch that concern other allocators (pinned memory) or what this one does not do are checked
 * and then have no effect.
 */
#include "alloc/conf.h"
#include <string.h>

enum value_type {
	V_BOOL,	     /* True or False, exactly */
	V_MIB,	     /* whole MiB, at least 20 */
	V_SIZE,	     /* bytes, or a number with KiB, MiB, GiB, K, M, G */
	V_OPEN_01,   /* a number between 0 and 1, both excluded */
	V_CLOSED_01, /* a number from 0 to 1 */
	V_DIVISIONS, /* a power of two, or [MIB:DIVISIONS,...,>:DIVISIONS] */
	V_BACKEND,   /* native or cudaMallocAsync */
	V_POWER2,    /* a power of two up to 128, no effect here */
	V_NUMBER,    /* any number, no effect here */
};

static const struct key {
	const char *name;
	enum value_type type;
	size_t at; /* in struct gma_conf; 0: checked, no effect */
} keys[] = {
	{"max_split_size_mb", V_MIB, offsetof(struct gma_conf, max_split_size)},
	{"max_non_split_rounding_mb", V_MIB, offsetof(struct gma_conf, max_non_split_rounding)},
	{"large_segment_size_mb", V_MIB, offsetof(struct gma_conf, large_segment_size)},
	{"garbage_collection_threshold", V_OPEN_01, offsetof(struct gma_conf, gc_threshold)},
	{"roundup_power2_divisions", V_DIVISIONS, offsetof(struct gma_conf, divisions)},
	{"expandable_segments", V_BOOL, offsetof(struct gma_conf, expandable)},
	{"per_process_memory_fraction", V_CLOSED_01, offsetof(struct gma_conf, memory_fraction)},
	{"backend", V_BACKEND, offsetof(struct gma_conf, async)},
	{"release_lock_on_cudamalloc", V_BOOL, offsetof(struct gma_conf, release_lock)},
	{"memory_limit", V_SIZE, offsetof(struct gma_conf, memory_limit)},
	{"growth", V_BOOL, offsetof(struct gma_conf, growth)},
	{"graph_capture_record_stream_reuse", V_BOOL, 0},
	{"throw_on_cudamalloc_oom", V_BOOL, 0},
	{"pinned_use_cuda_host_register", V_BOOL, 0},
	{"pinned_use_background_threads", V_BOOL, 0},
	{"pinned_num_register_threads", V_POWER2, 0},
	{"pinned_reserve_segment_size_mb", V_NUMBER, 0},
};

struct reader {
	const char *start, *p; /* p: the next character */
	struct gma_conf_error *e;
};

static void put(struct gma_conf_error *e, const char *s, size_t n)
{
	size_t have = strlen(e->text), room = sizeof e->text - 1 - have;

	if (n > room)
		n = room;
	memcpy(e->text + have, s, n);
	e->text[have + n] = '\0';
}

/* "key 'NAME' WHAT", and where. */
static bool fail(struct reader *r, const char *at, size_t n, const char *kind, const char *what)
{
	if (r->e) {
		r->e->at = (size_t)(at - r->start);
		r->e->text[0] = '\0';
		put(r->e, kind, strlen(kind));
		put(r->e, " '", 2);
		put(r->e, at, n < 64 ? n : 64);
		put(r->e, "' ", 2);
		put(r->e, what, strlen(what));
	}
	return false;
}

static void skip_space(struct reader *r)
{
	while (*r->p == ' ' || *r->p == '\t' || *r->p == '\n')
		r->p++;
}

/* The next word: up to a character that means something. */
static size_t word(struct reader *r, const char **at)
{
	size_t n;

	skip_space(r);
	*at = r->p;
	n = strcspn(r->p, ":,[] \t\n");
	r->p += n;
	skip_space(r);
	return n;
}

static bool equal(const char *at, size_t n, const char *s)
{
	return strlen(s) == n && !memcmp(at, s, n);
}

/* Decimal, without locale: mantissa / 10^k, both exact, so that the quotient is the nearest double. */
static bool to_real(const char *s, size_t n, double *out)
{
	uint64_t mantissa = 0;
	double scale = 1;
	bool point = false, digit = false;
	size_t i;

	for (i = 0; i < n; i++) {
		if (s[i] == '.' && !point) {
			point = true;
		} else if (s[i] >= '0' && s[i] <= '9' && mantissa < (1ull << 53) / 10) {
			mantissa = mantissa * 10 + (uint64_t)(s[i] - '0');
			scale *= point ? 10 : 1;
			digit = true;
		} else if (s[i] < '0' || s[i] > '9' || !point) {
			return false; /* digits behind the 15th after the point do not matter */
		}
	}
	*out = (double)mantissa / scale;
	return digit;
}

static bool to_u64(const char *s, size_t n, uint64_t *out)
{
	size_t i;

	*out = 0;
	for (i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || *out > (UINT64_MAX - 9) / 10)
			return false;
		*out = *out * 10 + (uint64_t)(s[i] - '0');
	}
	return n > 0;
}

static bool to_bytes(const char *s, size_t n, uint64_t *out)
{
	static const struct {
		const char *unit;
		uint64_t bytes;
	} units[] = {{"KiB", GMA_KIB}, {"MiB", GMA_MIB}, {"GiB", GMA_GIB}, {"K", GMA_KIB}, {"M", GMA_MIB}, {"G", GMA_GIB}, {"", 1}};
	size_t i, digits = 0;
	double v;

	while (digits < n && ((s[digits] >= '0' && s[digits] <= '9') || s[digits] == '.'))
		digits++;
	for (i = 0; i < sizeof units / sizeof *units; i++) {
		if (!equal(s + digits, n - digits, units[i].unit))
			continue;
		if (units[i].bytes == 1)
			return to_u64(s, digits, out);
		if (!to_real(s, digits, &v) || v * (double)units[i].bytes >= 0x1p62)
			return false;
		*out = (uint64_t)(v * (double)units[i].bytes);
		return true;
	}
	return false;
}

static bool power2(uint64_t v)
{
	return v && !(v & (v - 1));
}

static unsigned log2_of(uint64_t v)
{
	return 63u - (unsigned)__builtin_clzll(v);
}

/* One "MIB:DIVISIONS" of a list. *last: index of the interval named before, -1 at first. */
static bool read_interval(struct reader *r, struct gma_conf *c, int *last)
{
	const char *key, *value;
	size_t n_key = word(r, &key), n_value;
	uint64_t mib = 0, divisions;
	int from, to, i;

	if (!equal(key, n_key, ">") && (!to_u64(key, n_key, &mib) || !power2(mib)))
		return fail(r, key, n_key, "interval", "is not a power of two (MiB) or '>'");
	if (*r->p != ':')
		return fail(r, key, n_key, "interval", "needs ':' and a number behind it");
	r->p++;
	n_value = word(r, &value);
	if (!to_u64(value, n_value, &divisions) || divisions > 32768 || (divisions && !power2(divisions)))
		return fail(r, value, n_value, "divisions", "is not 0 or a power of two up to 32768");
	if (mib) {
		to = (int)log2_of(mib) < GMA_DIVISION_INTERVALS ? (int)log2_of(mib) : GMA_DIVISION_INTERVALS - 1;
		from = *last < 0 ? 0 : to; /* the first also rules everything below it */
		*last = to;
	} else {
		from = *last + 1; /* PyTorch before 2.10 overwrote the interval named last, too */
		to = GMA_DIVISION_INTERVALS - 1;
	}
	for (i = from; i <= to; i++)
		c->divisions[i] = (uint16_t)divisions;
	return true;
}

static bool read_divisions(struct reader *r, struct gma_conf *c)
{
	const char *at;
	uint64_t v;
	size_t n, i;
	int last = -1;

	if (*r->p != '[') {
		n = word(r, &at);
		if (!to_u64(at, n, &v) || !power2(v) || v > 32768)
			return fail(r, at, n, "value", "is not a power of two up to 32768 or a list in []");
		for (i = 0; i < GMA_DIVISION_INTERVALS; i++)
			c->divisions[i] = (uint16_t)v;
		return true;
	}
	do {
		r->p++; /* '[' or ',' */
		if (!read_interval(r, c, &last))
			return false;
	} while (*r->p == ',');
	if (*r->p != ']')
		return fail(r, r->p, *r->p ? 1 : 0, "text", "found where the list should end with ']'");
	r->p++;
	return true;
}

static bool read_number(struct reader *r, const struct key *k, void *into, const char *at, size_t n)
{
	uint64_t whole = 0;
	double real = 0;

	switch (k->type) {
	case V_MIB:
		if (!to_u64(at, n, &whole) || whole < 20)
			return fail(r, at, n, "value", "must be a whole number of MiB, at least 20");
		*(uint64_t *)into = whole < UINT64_MAX / GMA_MIB ? whole * GMA_MIB : GMA_UNLIMITED;
		return true;
	case V_SIZE:
		if (!to_bytes(at, n, &whole) || !whole)
			return fail(r, at, n, "value", "is not a size like 12GiB");
		*(uint64_t *)into = whole;
		return true;
	case V_OPEN_01:
		if (!to_real(at, n, &real) || !(real > 0 && real < 1))
			return fail(r, at, n, "value", "must be a number between 0 and 1");
		break;
	case V_CLOSED_01:
		if (!to_real(at, n, &real) || real > 1)
			return fail(r, at, n, "value", "must be a number from 0 to 1");
		break;
	case V_POWER2:
		if (!to_u64(at, n, &whole) || !power2(whole) || whole > 128)
			return fail(r, at, n, "value", "must be a power of two up to 128");
		return true;
	default:
		return to_u64(at, n, &whole) || fail(r, at, n, "value", "must be a number");
	}
	*(double *)into = real;
	return true;
}

static bool read_value(struct reader *r, struct gma_conf *c, const struct key *k)
{
	void *into = (char *)c + k->at;
	const char *at;
	size_t n;

	skip_space(r);
	if (k->type == V_DIVISIONS)
		return read_divisions(r, c);
	n = word(r, &at);
	if (k->type == V_BOOL || k->type == V_BACKEND) {
		const char *yes = k->type == V_BOOL ? "True" : "cudaMallocAsync";
		const char *no = k->type == V_BOOL ? "False" : "native";

		if (!equal(at, n, yes) && !equal(at, n, no))
			return fail(r, at, n, "value", k->type == V_BOOL ? "must be True or False" : "must be native or cudaMallocAsync");
		if (k->at)
			*(bool *)into = equal(at, n, yes);
		return true;
	}
	if (!read_number(r, k, into, at, n))
		return false;
	if (into == &c->memory_fraction)
		c->has_fraction = true;
	return true;
}

void gma_conf_default(struct gma_conf *c)
{
	memset(c, 0, sizeof *c);
	c->max_split_size = GMA_UNLIMITED;
	c->max_non_split_rounding = GMA_LARGE_SEGMENT;
	c->large_segment_size = GMA_LARGE_SEGMENT;
	c->memory_limit = GMA_UNLIMITED;
	c->memory_fraction = 1;
	c->growth = true;
}

bool gma_conf_parse(struct gma_conf *c, const char *text, struct gma_conf_error *e)
{
	struct reader r = {text ? text : "", text ? text : "", e};
	const char *at;
	size_t n, i;

	gma_conf_default(c);
	skip_space(&r);
	while (*r.p) {
		n = word(&r, &at);
		for (i = 0; i < sizeof keys / sizeof *keys && !equal(at, n, keys[i].name); i++)
			;
		if (i == sizeof keys / sizeof *keys)
			return fail(&r, at, n, "key", "is not known");
		if (*r.p != ':')
			return fail(&r, at, n, "key", "needs ':' and a value behind it");
		r.p++;
		if (!read_value(&r, c, &keys[i]))
			return false;
		if (!keys[i].at && !c->idle)
			c->idle = keys[i].name;
		skip_space(&r);
		if (!*r.p)
			break;
		if (*r.p != ',')
			return fail(&r, r.p, 1, "character", "found where ',' or the end should be");
		r.p++;
	}
	return true;
}

/* Up to the next of `divisions` equal steps between two powers of two. */
static uint64_t round_to_division(uint64_t size, uint64_t divisions)
{
	uint64_t step;

	if (power2(size))
		return size;
	step = (1ull << log2_of(size)) / divisions;
	return (size + step - 1) & ~(step - 1);
}

uint64_t gma_round_size(const struct gma_conf *c, uint64_t size)
{
	unsigned log2, i;
	uint64_t divisions;

	if (size < GMA_MIN_BLOCK)
		return GMA_MIN_BLOCK;
	log2 = log2_of(size);
	i = log2 < 20 ? 0 : log2 - 20 < GMA_DIVISION_INTERVALS ? log2 - 20 : GMA_DIVISION_INTERVALS - 1;
	divisions = c->divisions[i];
	if (divisions > 1 && size > divisions * GMA_MIN_BLOCK)
		return round_to_division(size, divisions);
	return (size + GMA_MIN_BLOCK - 1) & ~(uint64_t)(GMA_MIN_BLOCK - 1);
}

uint64_t gma_segment_size(const struct gma_conf *c, uint64_t rounded)
{
	if (rounded <= GMA_SMALL_MAX)
		return GMA_SMALL_SEGMENT;
	if (rounded < GMA_OWN_SEGMENT)
		return c->large_segment_size;
	return (rounded + GMA_SEGMENT_ROUND - 1) & ~(GMA_SEGMENT_ROUND - 1);
}
