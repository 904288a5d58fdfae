/* test_pprof.c: JAX device memory profiles, built here byte by byte as jaxlib writes them. */
#include "base/text.h"
#include "format/format.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- a small writer ---------------------------------------------------------------------- */
static void varint(struct text *t, uint64_t v)
{
	char c;

	for (; v > 127; v >>= 7) {
		c = (char)(v | 0x80);
		text_add(t, &c, 1);
	}
	c = (char)v;
	text_add(t, &c, 1);
}
static void number(struct text *t, uint64_t field, uint64_t v)
{
	varint(t, field << 3);
	varint(t, v);
}
static void bytes(struct text *t, uint64_t field, const char *s, size_t n)
{
	varint(t, field << 3 | 2);
	varint(t, n);
	text_add(t, s, n);
}
static void message(struct text *t, uint64_t field, struct text *inner)
{
	bytes(t, field, inner->s, inner->n);
	text_free(inner);
}

static const char *const strings[] = {"",       "allocations", "count",         "space",  "bytes",
                                      "kind",   "buffer",      "executable",    "device", "cuda:0",
                                      "cuda:1", "init_params", "/app/train.py", "step",   "main"};
enum {
	S_ALLOCATIONS = 1,
	S_COUNT,
	S_SPACE,
	S_BYTES,
	S_KIND,
	S_BUFFER,
	S_EXECUTABLE,
	S_DEVICE,
	S_CUDA0,
	S_CUDA1,
	S_INIT,
	S_FILE,
	S_STEP,
	S_MAIN
};

static void value_type(struct text *t, uint64_t type, uint64_t unit)
{
	struct text v = {0};

	number(&v, 1, type);
	number(&v, 2, unit);
	message(t, 1, &v);
}
static void label(struct text *sample, uint64_t key, uint64_t text)
{
	struct text l = {0};

	number(&l, 1, key);
	number(&l, 2, text);
	message(sample, 3, &l);
}
/* Places 1.. are functions 1.. of the same number, line 10 * number. */
static void sample(struct text *t, const char *places, uint64_t count, uint64_t space, uint64_t device)
{
	struct text s = {0}, packed = {0};

	bytes(&s, 1, places, strlen(places));
	varint(&packed, count);
	varint(&packed, space);
	message(&s, 2, &packed);
	label(&s, S_KIND, device ? S_BUFFER : S_EXECUTABLE);
	if (device)
		label(&s, S_DEVICE, device);
	message(t, 2, &s);
}
static void function(struct text *t, uint64_t id, uint64_t name)
{
	struct text f = {0}, loc = {0}, line = {0};

	number(&f, 1, id);
	number(&f, 2, name);
	number(&f, 4, S_FILE);
	message(t, 5, &f);
	number(&line, 1, id);
	number(&line, 2, id * 10);
	number(&loc, 1, id);
	message(&loc, 4, &line);
	message(t, 4, &loc);
}
static struct text profile(void)
{
	struct text t = {0};
	size_t i;

	value_type(&t, S_ALLOCATIONS, S_COUNT);
	value_type(&t, S_SPACE, S_BYTES);
	sample(&t, "\1\3", 3, 3000, S_CUDA0);
	sample(&t, "\2\3", 1, 1ull << 40, S_CUDA1);
	sample(&t, "\3", 2, 5120, 0);
	function(&t, 1, S_INIT);
	function(&t, 2, S_STEP);
	function(&t, 3, S_MAIN);
	for (i = 0; i < sizeof strings / sizeof *strings; i++)
		bytes(&t, 6, strings[i], strlen(strings[i]));
	return t;
}
static struct input input_of(const struct text *t)
{
	return (struct input){.name = "test", .data = (const unsigned char *)t->s, .n = t->n, .raw_n = t->n};
}

/* --- the tests ----------------------------------------------------------------------------- */
static void buffers_become_initial_blocks(void **state)
{
	struct text t = profile();
	struct input in = input_of(&t);
	struct err e = {0};
	struct model m;
	const uint32_t *stack;
	const struct frame *f;
	size_t n;

	(void)state;
	assert_true(pprof_probe(&in));
	model_init(&m, "test");
	assert_int_equal(pprof_read(&in, &m, &e), 0);
	model_link(&m);
	assert_int_equal(m.source, SOURCE_JAX);
	assert_int_equal(m.history, HISTORY_NONE);
	assert_int_equal(m.ev.n, 4);
	assert_int_equal(m.n_initial, 4);
	assert_int_equal(m.ev.size[0] + m.ev.size[1] + m.ev.size[2], 3000);
	assert_int_equal(m.ev.device[2], 0);
	assert_int_equal(m.ev.device[3], 1);
	assert_true(m.ev.size[3] == 1ull << 40);
	assert_string_equal(model_text(&m, m.device[1].name), "cuda:1");
	assert_int_equal(m.anomalies.alloc_live, 0);
	stack = model_stack_frames(&m, m.ev.stack[3], &n);
	assert_int_equal(n, 2);
	f = &m.frames.v[stack[0]];
	assert_string_equal(model_text(&m, f->function), "step");
	assert_string_equal(model_text(&m, f->file), "/app/train.py");
	assert_int_equal(f->line, 20);
	assert_int_equal(m.n_notes, 1);
	assert_non_null(strstr(m.notes[0].text, "2 compiled programs hold 5.00 KiB of code"));
	model_free(&m);
	text_free(&t);
}

static void numbers_one_by_one(void **state)
{
	struct text t = profile(), s = {0};
	struct input in;
	struct err e = {0};
	struct model m;

	(void)state;
	number(&s, 1, 2); /* neither locations nor values packed */
	number(&s, 1, 3);
	number(&s, 2, 1);
	number(&s, 2, 77);
	message(&t, 2, &s);
	in = input_of(&t);
	model_init(&m, "test");
	assert_int_equal(pprof_read(&in, &m, &e), 0);
	assert_int_equal(m.ev.n, 5);
	assert_int_equal(m.ev.size[4], 77);
	assert_int_equal(m.ev.stack[4], m.ev.stack[3]);
	assert_int_equal(m.ev.device[4], 0); /* no device label: the only one there is */
	model_free(&m);
	text_free(&t);
}

static void every_cut_is_an_error_or_a_shorter_profile(void **state)
{
	struct text t = profile();
	struct input in;
	struct err e;
	struct model m;
	size_t n, errors = 0;

	(void)state;
	for (n = 0; n < t.n; n++) {
		in = input_of(&t);
		in.n = n;
		e = (struct err){0};
		model_init(&m, "test");
		if (pprof_read(&in, &m, &e)) {
			errors++;
			assert_int_equal(e.kind, ERR_INPUT);
			assert_true(e.msg[0]);
		}
		model_free(&m);
	}
	assert_true(errors > t.n / 2);
	text_free(&t);
}

static void flipped_bits_do_no_harm(void **state)
{
	struct text t = profile();
	struct input in = input_of(&t);
	struct err e;
	struct model m;
	size_t i;
	int bit;

	(void)state;
	for (i = 0; i < t.n; i++)
		for (bit = 0; bit < 8; bit++) {
			t.s[i] ^= (char)(1 << bit);
			e = (struct err){0};
			model_init(&m, "test");
			if (!pprof_read(&in, &m, &e)) {
				model_link(&m);
				assert_true(m.ev.n <= 4096 * 4);
			}
			model_free(&m);
			t.s[i] ^= (char)(1 << bit);
		}
	text_free(&t);
}

static void a_bomb_of_stacks_is_refused(void **state)
{
	struct text t = profile(), loc = {0}, line = {0};
	struct input in;
	struct err e = {0};
	struct model m;
	char places[6];
	int i;

	(void)state;
	number(&line, 1, 1);
	number(&loc, 1, 9); /* place 9 is a thousand frames */
	for (i = 0; i < 1000; i++)
		bytes(&loc, 4, line.s, line.n);
	text_free(&line);
	message(&t, 4, &loc);
	memset(places, 9, sizeof places - 1);
	places[sizeof places - 1] = 0;
	for (i = 0; i < 1000; i++)
		sample(&t, places, 1, 8, S_CUDA0);
	in = input_of(&t);
	model_init(&m, "test");
	assert_int_equal(pprof_read(&in, &m, &e), -1);
	assert_non_null(strstr(e.msg, "unfold to far more"));
	model_free(&m);
	text_free(&t);
}

static void a_million_buffers_are_one_block(void **state)
{
	struct text t = profile();
	struct input in;
	struct err e = {0};
	struct model m;

	(void)state;
	sample(&t, "\1", 1000000, 8000000, S_CUDA0);
	in = input_of(&t);
	model_init(&m, "test");
	assert_int_equal(pprof_read(&in, &m, &e), 0);
	assert_int_equal(m.ev.n, 5);
	assert_int_equal(m.ev.size[4], 8000000);
	assert_non_null(strstr(m.notes[1].text, "1000000 small buffers"));
	model_free(&m);
	text_free(&t);
}

static void other_files_are_not_taken_for_profiles(void **state)
{
	static const char *const others[] = {"{\"format\":\"gpumemsnap\"}",
	                                     "\n{}\n",
	                                     "Thread,Time,Action\n",
	                                     "\x80\x04\x95",
	                                     "GMSSPOOL",
	                                     "",
	                                     "\n\0\n\0"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(
		    pprof_probe(&(struct input){.data = (const void *)others[i], .n = strlen(others[i])}));
}

static void a_profile_of_time_is_refused(void **state)
{
	struct text t = {0};
	struct input in;
	struct err e = {0};
	struct model m;
	size_t i;

	(void)state;
	value_type(&t, S_ALLOCATIONS, S_COUNT);
	for (i = 0; i < sizeof strings / sizeof *strings; i++)
		bytes(&t, 6, strings[i], strlen(strings[i]));
	in = input_of(&t);
	model_init(&m, "test");
	assert_int_equal(pprof_read(&in, &m, &e), -1);
	assert_non_null(strstr(e.msg, "none of its values are bytes"));
	model_free(&m);
	text_free(&t);
}

int main(void)
{
	const struct CMUnitTest pprof[] = {
	    cmocka_unit_test(buffers_become_initial_blocks),
	    cmocka_unit_test(numbers_one_by_one),
	    cmocka_unit_test(every_cut_is_an_error_or_a_shorter_profile),
	    cmocka_unit_test(flipped_bits_do_no_harm),
	    cmocka_unit_test(a_bomb_of_stacks_is_refused),
	    cmocka_unit_test(a_million_buffers_are_one_block),
	    cmocka_unit_test(other_files_are_not_taken_for_profiles),
	    cmocka_unit_test(a_profile_of_time_is_refused),
	};
	return cmocka_run_group_tests(pprof, NULL, NULL);
}
