/* test_pickle.c: the pickle machine against pickles of every protocol, and against hostile ones. */
#include "base/mem.h"
#include "base/text.h"
#include "format/pickle.h"
#include "pickles.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

/* --- a client that writes every container down as text --------------------------------- */

enum { IS_TEXT = PICKLE_CLIENT, IS_LIST };

struct scribe {
	char **text;
	size_t n, cap;
	bool eager; /* take lists as they come, so that they must be unfolded to grow */
	struct items {
		pickle_word v[64];
		size_t n;
	} lists[64];
	size_t n_lists;
};

static void write_value(const struct scribe *s, const struct pickle *p, pickle_word w, struct text *out)
{
	static const char *const atoms[] = {"None", "False", "True"};
	uint64_t u;
	int64_t i;
	double d;

	if (pickle_tag(w) == PICKLE_ATOM) {
		text_puts(out, atoms[pickle_index(w)]);
	} else if (pickle_tag(w) == PICKLE_STRING) {
		text_puts(out, "'");
		text_add(out, (const char *)p->strings[pickle_index(w)].s, p->strings[pickle_index(w)].n);
		text_puts(out, "'");
	} else if (pickle_double(p, w, &d)) {
		text_printf(out, "%g", d);
	} else if (pickle_i64(p, w, &i)) {
		text_i64(out, i);
	} else if (pickle_u64(p, w, &u)) {
		text_u64(out, u);
	} else if (pickle_tag(w) == PICKLE_OBJECT) {
		const struct pickle_object *o = pickle_object(p, w);
		size_t k;

		if (o->kind == IS_LIST) {
			text_puts(out, "[");
			for (k = 0; k < s->lists[o->at].n; k++) {
				text_puts(out, k ? ", " : "");
				write_value(s, p, s->lists[o->at].v[k], out);
			}
			text_puts(out, "]");
			return;
		}
		text_puts(out, o->kind == IS_TEXT             ? s->text[o->at]
			       : o->kind == PICKLE_EMPTY_LIST ? "[]"
			       : o->kind == PICKLE_EMPTY_DICT ? "{}"
							      : "?");
	} else {
		text_puts(out, "too large");
	}
}

static void keep_text(struct scribe *s, struct pickle_object *as, struct text *t)
{
	as->kind = IS_TEXT;
	as->at = (uint32_t)s->n & (PICKLE_MAX - 1);
	*VEC_PUSH(s->text, s->n, s->cap) = mem_strdup(t->s);
	text_free(t);
}

static int write_dict(void *arg, struct pickle *p, const pickle_word *pairs, size_t n, struct pickle_object *as)
{
	struct text t = {0};
	size_t i;

	text_puts(&t, "{");
	for (i = 0; i < n; i++) {
		text_puts(&t, i ? ", " : "");
		write_value(arg, p, pairs[2 * i], &t);
		text_puts(&t, ": ");
		write_value(arg, p, pairs[2 * i + 1], &t);
	}
	text_puts(&t, "}");
	keep_text(arg, as, &t);
	return 0;
}

static enum pickle_answer write_list(void *arg, struct pickle *p, struct pickle_object *list, const pickle_word *item,
				     size_t n, enum pickle_part part)
{
	struct scribe *s = arg;
	struct text t = {0};
	size_t i;

	if (list->kind != PICKLE_EMPTY_LIST || part == PICKLE_ONE || (part == PICKLE_BATCH && !s->eager))
		return PICKLE_KEEP;
	if (part == PICKLE_BATCH) {
		assert_true(s->n_lists < 64 && n <= 64);
		list->kind = IS_LIST;
		list->at = (uint32_t)s->n_lists & (PICKLE_MAX - 1);
		s->lists[s->n_lists].n = n;
		memcpy(s->lists[s->n_lists++].v, item, n * sizeof *item);
		return PICKLE_TAKEN;
	}
	text_puts(&t, "[");
	for (i = 0; i < n; i++) {
		text_puts(&t, i ? ", " : "");
		write_value(s, p, item[i], &t);
	}
	text_puts(&t, "]");
	keep_text(s, list, &t);
	return PICKLE_TAKEN;
}

static size_t unfold(void *arg, const struct pickle_object *list, pickle_word *out)
{
	const struct scribe *s = arg;

	if (list->kind != IS_LIST)
		return 0;
	if (out)
		memcpy(out, s->lists[list->at].v, s->lists[list->at].n * sizeof *out);
	return s->lists[list->at].n;
}

/* The pickle as text, or "error at OFFSET: MESSAGE". The bytes lie at the end of their block. */
static char *run(const void *bytes, size_t n, bool eager)
{
	struct scribe *s = mem_zalloc(1, sizeof *s);
	struct pickle_client client = {.dict = write_dict, .list = write_list, .unfold = unfold, .arg = s};
	unsigned char *copy = mem_alloc(n);
	struct input in = {.name = "test", .data = copy, .n = n, .raw_n = n};
	struct err e = {0};
	struct pickle p;
	struct text t = {0};
	pickle_word top;
	size_t i;

	s->eager = eager;
	memcpy(copy, bytes, n);
	pickle_open(&p, &in, &client, &e);
	if (pickle_run(&p, &top))
		text_printf(&t, "error at %lld: %s", (long long)e.offset, e.msg);
	else
		write_value(s, &p, top, &t);
	pickle_close(&p);
	for (i = 0; i < s->n; i++)
		free(s->text[i]);
	free(s->text);
	free(s);
	free(copy);
	return t.s;
}

static void expect_n(const void *bytes, size_t n, const char *want)
{
	char *got = run(bytes, n, false), *eager = run(bytes, n, true);

	assert_string_equal(got, want);
	assert_string_equal(eager, want);
	free(got);
	free(eager);
}
#define expect(bytes, want) expect_n(bytes, sizeof bytes - 1, want)

static void expect_error(const void *bytes, size_t n, long long offset, const char *part)
{
	char *got = run(bytes, n, false), begin[40];

	snprintf(begin, sizeof begin, "error at %lld: ", offset);
	assert_memory_equal(got, begin, strlen(begin));
	if (!strstr(got, part))
		fail_msg("\"%s\" does not say \"%s\"", got, part);
	free(got);
}
#define refused(bytes, offset, part) expect_error(bytes, sizeof bytes - 1, offset, part)

/* --- values ---------------------------------------------------------------------------- */

/* {'a': [1, -2, 300, 70000, -70000, 2**31, 2**63, 2**64-1, -(2**63), 2**64], 'b': (None, True, False, 1.5),
 *  'é\n': {}, 'l': []} with x = [7] twice, written by Python's own pickler. */
#define OBJECT                                                                                                \
	"{'a': [1, -2, 300, 70000, -70000, 2147483648, 9223372036854775808, 18446744073709551615, "          \
	"-9223372036854775808, too large], 'b': [None, True, False, 1.5], '\u00e9\n': {}, 'l': [], "          \
	"'x': [[7], [7]]}"

static void every_protocol_of_one_object_gives_the_same(void **state)
{
	static const char p0[] =
		"(dp0\012Va\012p1\012(lp2\012I1\012aI-2\012aI300\012aI70000\012aI-70000\012aL2147483648L\012a"
		"L9223372036854775808L\012aL18446744073709551615L\012aL-9223372036854775808L\012aL18446744073"
		"709551616L\012asVb\012p3\012(NI01\012I00\012F1.5\012tp4\012sV\351\134u000a\012p5\012(dp6\012"
		"sVl\012p7\012(lp8\012sVx\012p9\012(lp10\012(lp11\012I7\012aag11\012as.";
	static const char p1[] =
		"}q\000(X\001\000\000\000aq\001]q\002(K\001J\376\377\377\377M,\001Jp\021\001\000J\220\356\376"
		"\377L2147483648L\012L9223372036854775808L\012L18446744073709551615L\012L-9223372036854775808"
		"L\012L18446744073709551616L\012eX\001\000\000\000bq\003(NI01\012I00\012G\077\370\000\000\000"
		"\000\000\000tq\004X\003\000\000\000\303\251\012q\005}q\006X\001\000\000\000lq\007]q\010X\001"
		"\000\000\000xq\011]q\012(]q\013K\007ah\013eu.";
	static const char p2[] =
		"\200\002}q\000(X\001\000\000\000aq\001]q\002(K\001J\376\377\377\377M,\001Jp\021\001\000J\220"
		"\356\376\377\212\005\000\000\000\200\000\212\011\000\000\000\000\000\000\000\200\000\212\011"
		"\377\377\377\377\377\377\377\377\000\212\010\000\000\000\000\000\000\000\200\212\011\000\000"
		"\000\000\000\000\000\000\001eX\001\000\000\000bq\003(N\210\211G\077\370\000\000\000\000\000\000"
		"tq\004X\003\000\000\000\303\251\012q\005}q\006X\001\000\000\000lq\007]q\010X\001\000\000\000"
		"xq\011]q\012(]q\013K\007ah\013eu.";
	static const char p3[] =
		"\200\003}q\000(X\001\000\000\000aq\001]q\002(K\001J\376\377\377\377M,\001Jp\021\001\000J\220"
		"\356\376\377\212\005\000\000\000\200\000\212\011\000\000\000\000\000\000\000\200\000\212\011"
		"\377\377\377\377\377\377\377\377\000\212\010\000\000\000\000\000\000\000\200\212\011\000\000"
		"\000\000\000\000\000\000\001eX\001\000\000\000bq\003(N\210\211G\077\370\000\000\000\000\000\000"
		"tq\004X\003\000\000\000\303\251\012q\005}q\006X\001\000\000\000lq\007]q\010X\001\000\000\000"
		"xq\011]q\012(]q\013K\007ah\013eu.";
	static const char p4[] =
		"\200\004\225\203\000\000\000\000\000\000\000}\224(\214\001a\224]\224(K\001J\376\377\377\377M"
		",\001Jp\021\001\000J\220\356\376\377\212\005\000\000\000\200\000\212\011\000\000\000\000\000"
		"\000\000\200\000\212\011\377\377\377\377\377\377\377\377\000\212\010\000\000\000\000\000\000"
		"\000\200\212\011\000\000\000\000\000\000\000\000\001e\214\001b\224(N\210\211G\077\370\000\000"
		"\000\000\000\000t\224\214\003\303\251\012\224}\224\214\001l\224]\224\214\001x\224]\224(]\224"
		"K\007ah\013eu.";
	static const char p5[] =
		"\200\005\225\203\000\000\000\000\000\000\000}\224(\214\001a\224]\224(K\001J\376\377\377\377M"
		",\001Jp\021\001\000J\220\356\376\377\212\005\000\000\000\200\000\212\011\000\000\000\000\000"
		"\000\000\200\000\212\011\377\377\377\377\377\377\377\377\000\212\010\000\000\000\000\000\000"
		"\000\200\212\011\000\000\000\000\000\000\000\000\001e\214\001b\224(N\210\211G\077\370\000\000"
		"\000\000\000\000t\224\214\003\303\251\012\224}\224\214\001l\224]\224\214\001x\224]\224(]\224"
		"K\007ah\013eu.";

	(void)state;
	expect(p0, OBJECT);
	expect(p1, OBJECT);
	expect(p2, OBJECT);
	expect(p3, OBJECT);
	expect(p4, OBJECT);
	expect(p5, OBJECT);
}

static void seldom_opcodes_are_read_too(void **state)
{
	(void)state;
	expect("\x80\2\x8b\2\0\0\0\x2c\1.", "300");                         /* LONG4 */
	expect("\x80\2\x8b\0\0\0\0.", "0");                                 /* of no bytes */
	expect("\x80\2\x8a\x14\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff.", "-1");
	expect("\x80\4\x8d\2\0\0\0\0\0\0\0hi.", "'hi'");                    /* BINUNICODE8 */
	expect("\x80\4\x8e\2\0\0\0\0\0\0\0hi.", "'hi'");                    /* BINBYTES8 */
	expect("\x80\5\x96\2\0\0\0\0\0\0\0hi.", "'hi'");                    /* BYTEARRAY8 */
	expect("\x80\3(U\1aT\1\0\0\0bC\1cB\1\0\0\0dt.", "['a', 'b', 'c', 'd']");
	expect("\x80\2)\x85.", "[[]]");                                     /* EMPTY_TUPLE, TUPLE1 */
	expect("\x80\2K\1K\2K\3\x87K\4\x86.", "[[1, 2, 3], 4]");            /* TUPLE3, TUPLE2 */
	expect("\x80\4\x8f(K\1K\2\x90.", "[1, 2]");                         /* EMPTY_SET, ADDITEMS */
	expect("\x80\4(K\1\x91.", "[1]");                                   /* FROZENSET */
	expect("(K\1K\2l.", "[1, 2]");                                      /* LIST */
	expect("(X\1\0\0\0aK\2d.", "{'a': 2}");                             /* DICT */
	expect("K\1K\2" "0.", "1");                                         /* POP */
	expect("K\1(0.", "1");                                              /* POP drops a mark */
	expect("K\1(K\2K\3" "1.", "1");                                     /* POP_MARK */
	expect("K\1" "2\x86.", "[1, 1]");                                   /* DUP */
	expect("S'a\\'\\x41\\n\\101\\\\'\n.", "'a'A\nA\\'");                /* STRING */
	expect("S\"\"\n.", "''");
	expect("V\\ud\\U0001f600\\\n.", "'\\ud\U0001f600\\'");              /* UNICODE */
	expect("(F-2.5e3\nL7\nI+9\nI-0\nt.", "[-2500, 7, 9, 0]");
}

static void the_memo_may_be_used_in_any_order(void **state)
{
	(void)state;
	expect("K\7r\xff\xff\xff\xff" "0j\xff\xff\xff\xff.", "7"); /* a lone huge index costs nothing */
	expect("(K\7q\5K\10q\2" "1h\5h\2\206.", "[7, 8]");
	expect("G?\370\0\0\0\0\0\0q\0" "0h\0.", "1.5"); /* numbers, too */
	expect("J\xff\xff\xff\xffq\0" "0h\0.", "-1");
	expect("K\0q\0" "0h\0.", "0");
	expect("K\1q\0" "0K\2q\0" "0h\0.", "2"); /* stored anew */
	expect("(K\1\x94K\2\x94K\3\x94h\2h\1h\0t.", "[1, 2, 3, 3, 2, 1]");
	expect("(K\1q\1K\2\x94h\1t.", "[1, 2, 2]"); /* MEMOIZE counts what is stored */
	refused("h\0.", 1, "uses value 0 before storing it");
	refused("K\1q\1h\0.", 5, "uses value 0 before storing it");
	refused("q\0.", 2, "stores a value where there is none");
	refused("K\1(\x94.", 4, "stores a value where there is none");
	refused("K\1p18446744073709551616\n.", 24, "memo number");
}

static void containers_may_grow_in_any_steps(void **state)
{
	(void)state;
	expect("](K\1K\2e(K\3eK\4a.", "[1, 2, 3, 4]");
	expect("]K\1aK\2a(K\3e.", "[1, 2, 3]");
	expect("}(X\1\0\0\0aK\1X\1\0\0\0bK\2u.", "{'a': 1, 'b': 2}");
	expect("}X\1\0\0\0aK\1sX\1\0\0\0bK\2s(X\1\0\0\0cK\3u.", "{'a': 1, 'b': 2, 'c': 3}");
	expect("](e.", "[]");
	expect("}(u.", "{}");
}

/* --- what is refused -------------------------------------------------------------------- */

static void nothing_is_imported_called_or_built(void **state)
{
	(void)state;
	refused("\x80\2cos\nsystem\n.", 2, "opcode GLOBAL would import or call code");
	refused("\x80\4\x8c\2os\x8c\6system\x93.", 14, "opcode STACK_GLOBAL");
	refused("\x80\2K\1)R.", 5, "opcode REDUCE");
	refused("}}b.", 2, "opcode BUILD");
	refused("(ios\nsystem\n.", 1, "opcode INST");
	refused("(o.", 1, "opcode OBJ");
	refused(")\x81.", 1, "opcode NEWOBJ");
	refused(")\x92.", 1, "opcode NEWOBJ_EX");
	refused("\x82\1.", 0, "opcode EXT1");
	refused("\x83\1\0.", 0, "opcode EXT2");
	refused("\x84\1\0\0\0.", 0, "opcode EXT4");
	refused("P1\n.", 0, "opcode PERSID");
	refused("K\1Q.", 2, "opcode BINPERSID");
	refused("\x80\5\x97.", 2, "opcode NEXT_BUFFER");
	refused("\x80\5\x98.", 2, "opcode READONLY_BUFFER");
	refused("\x80\6.", 1, "protocol 6");
	refused("\xff.", 0, "0xff is no pickle opcode");
}

static void what_contains_itself_ends(void **state)
{
	char *got;

	(void)state;
	got = run("]\x94h\0a.", 6, false); /* a list in itself, item by item */
	free(got);
	got = run("]\x94(h\0e.", 7, false);
	free(got);
	got = run("}\x94K\1h\0s.", 8, false);
	free(got);
	got = run("}\x94(K\1h\0u.", 9, false);
	free(got);
	refused("}\x94K\1K\1sK\2h\0s.", 12, "changed after it was complete");
}

static void values_must_be_where_they_are_taken(void **state)
{
	(void)state;
	refused(".", 1, "ends with 0 values");
	refused("K\1K\2.", 5, "ends with 2 values");
	refused("(K\1.", 4, "values instead of one");
	refused("e.", 1, "ends a group that never began");
	refused("(e.", 2, "adds to a container where there is none");
	refused("](((e.", 5, "adds to a container where there is none");
	refused("a.", 1, "takes a value where there is none");
	refused("K\1a.", 3, "adds to a container where there is none");
	refused("]s.", 2, "takes a value where there is none");
	refused("K\1K\2a.", 5, "cannot hold");
	refused("](K\1u.", 5, "cannot hold");
	refused("](K\1K\2u.", 7, "cannot hold");
	refused("}(K\1u.", 5, "cannot hold");
	refused("}(K\1e.", 5, "cannot hold");
	refused("(K\1d.", 4, "key without a value");
	refused("\x85.", 1, "takes a value where there is none");
	refused("K\1(\x85.", 4, "takes a value where there is none");
	refused("0.", 1, "takes a value where there is none");
	refused("1.", 1, "ends a group that never began");
	refused("2.", 1, "takes a value where there is none");
	refused("Ix\n.", 3, "number");
	refused("I\n.", 2, "number");
	refused("F1.x\n.", 5, "number");
	refused("Sa\n.", 3, "string");
	refused("S'\n.", 3, "string");
	refused("g-1\n.", 4, "memo number");
}

static void lengths_beyond_the_end_are_refused(void **state)
{
	(void)state;
	refused("X\xff\xff\xff\xff", 1, "length of 4294967295 bytes goes past the end");
	refused("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", 1, "goes past the end");
	refused("\x8d\xf8\xff\xff\xff\xff\xff\xff\xff.", 1, "goes past the end");
	refused("\x8b\xff\xff\xff\x7f.", 1, "goes past the end");
	refused("U\2a", 1, "goes past the end");
	refused("\x8c\5ab", 4, "cut short");
	refused("\x8a\5ab", 4, "cut short");
	refused("Vabc", 4, "cut short");
	refused("", 0, "cut short");
	refused("K", 1, "cut short");
	refused("M\1", 2, "cut short");
	refused("J\1\1\1", 4, "cut short");
	refused("G\1\1\1\1\1\1\1", 8, "cut short");
	refused("\x95\1\1", 3, "cut short");
	refused("\x80", 1, "cut short");
	refused("K\1q", 3, "cut short");
	refused("K\1r\1\1\1", 6, "cut short");
	refused("h", 1, "cut short");
	refused("j\1\1\1", 4, "cut short");
}

/* n times `opening`, then `closing` */
static char *nested(const char *opening, const char *closing, size_t n, size_t *length)
{
	size_t a = strlen(opening), b = strlen(closing), i;
	char *s = mem_alloc(n * (a + b) + 2);

	for (i = 0; i < n; i++)
		memcpy(s + i * a, opening, a);
	for (i = 0; i < n; i++)
		memcpy(s + n * a + i * b, closing, b);
	*length = n * (a + b);
	s[(*length)++] = '.';
	return s;
}

static int drop_dict(void *arg, struct pickle *p, const pickle_word *pairs, size_t n, struct pickle_object *as)
{
	(void)arg, (void)p, (void)pairs, (void)n, (void)as;
	return 0;
}

static enum pickle_answer drop_list(void *arg, struct pickle *p, struct pickle_object *list, const pickle_word *item,
				    size_t n, enum pickle_part part)
{
	(void)arg, (void)p, (void)item, (void)n;
	if (part == PICKLE_ONE)
		return PICKLE_KEEP;
	list->kind = PICKLE_OPAQUE;
	return PICKLE_TAKEN;
}

static void deep_nesting_takes_no_stack(void **state)
{
	static const struct pickle_client client = {.dict = drop_dict, .list = drop_list};
	static const char *const forms[][2] = {{"](", "e"}, {"]", "a"}, {"(", "t"}, {"", "\x85"}, {"(", "1"}, {"}(K\1", "u"}};
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof forms / sizeof *forms; i++) {
		char *s = nested(forms[i][0], forms[i][1], 300000, &n);
		struct input in = {.name = "test", .data = (unsigned char *)s, .n = n, .raw_n = n};
		struct err e = {0};
		struct pickle p;
		pickle_word top;

		pickle_open(&p, &in, &client, &e);
		pickle_run(&p, &top); /* not all forms leave one value; none may crash or take long */
		pickle_close(&p);
		free(s);
	}
}

/* --- damage ----------------------------------------------------------------------------- */

#define SAMPLE                                                                                                \
	"{'a': [1, -5000000000, 1.25, 'text'], 'b': {'c': (1, 2), 'd': [[], {}, [None, True]]}, 'again': *1, 'e': *2}"

static void every_cut_is_a_clean_error(void **state)
{
	size_t n, cut;
	unsigned char *whole = pickle_of(SAMPLE, &n);

	(void)state;
	for (cut = 0; cut < n; cut++) {
		char *got = run(whole, cut, cut & 1);

		assert_memory_equal(got, "error at ", 9);
		free(got);
	}
	free(whole);
}

static void every_flipped_bit_is_survived(void **state)
{
	size_t n, bit;
	unsigned char *bytes = pickle_of(SAMPLE, &n);

	(void)state;
	for (bit = 0; bit < n * 8; bit++) {
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		free(run(bytes, n, bit & 1));
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	free(bytes);
}

static void pickles_are_told_from_other_files(void **state)
{
	(void)state;
	assert_true(pickle_probe((const unsigned char *)"\x80\4\x95", 3));
	assert_true(pickle_probe((const unsigned char *)"(dp0\n", 5));
	assert_true(pickle_probe((const unsigned char *)"(lp0\n", 5));
	assert_true(pickle_probe((const unsigned char *)"}q\0(", 4));
	assert_true(pickle_probe((const unsigned char *)"]q\0(", 4));
	assert_false(pickle_probe((const unsigned char *)"\x80", 1));
	assert_false(pickle_probe((const unsigned char *)"{\"format\"", 9));
	assert_false(pickle_probe((const unsigned char *)"[]", 2));
	assert_false(pickle_probe((const unsigned char *)"Thread,Time", 11));
	assert_false(pickle_probe((const unsigned char *)"\x80\xff", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_protocol_of_one_object_gives_the_same),
		cmocka_unit_test(seldom_opcodes_are_read_too),
		cmocka_unit_test(the_memo_may_be_used_in_any_order),
		cmocka_unit_test(containers_may_grow_in_any_steps),
		cmocka_unit_test(nothing_is_imported_called_or_built),
		cmocka_unit_test(what_contains_itself_ends),
		cmocka_unit_test(values_must_be_where_they_are_taken),
		cmocka_unit_test(lengths_beyond_the_end_are_refused),
		cmocka_unit_test(deep_nesting_takes_no_stack),
		cmocka_unit_test(every_cut_is_a_clean_error),
		cmocka_unit_test(every_flipped_bit_is_survived),
		cmocka_unit_test(pickles_are_told_from_other_files),
	};

	return cmocka_run_group_tests_name("pickle", tests, NULL, NULL);
}
