/* test_json.c: a model written as a snapshot and read again, in every form and in every state of damage. */
#include "base/mem.h"
#include "base/text.h"
#include "format/json.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

static uint64_t seed = 1;

static uint64_t rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return below ? seed % below : seed;
}

/* --- helpers: models to text and back --- */

static char *to_text(const struct model *m, size_t *n)
{
	char path[] = "/tmp/test_json.XXXXXX";
	struct err e = {0};
	struct output *o;
	struct input in;
	char *s;

	close(mkstemp(path));
	unlink(path);
	assert_non_null(o = output_open(path, &e));
	assert_int_equal(json_write(m, o, &e), 0);
	assert_int_equal(output_close(o, &e), 0);
	assert_int_equal(input_open(&in, path, &e), 0);
	s = mem_strndup((const char *)in.data, in.n);
	*n = in.n;
	input_close(&in);
	unlink(path);
	return s;
}

/* The text lies at the end of a block of its exact size, so that a checker sees any step beyond it. */
static int from_text(struct model *m, const char *s, size_t n, struct err *e)
{
	unsigned char *copy = mem_alloc(n);
	struct input in = {.name = "test", .data = copy, .n = n, .raw_n = n};
	int rc;

	memcpy(copy, s, n);
	*e = (struct err){0};
	model_init(m, "test");
	rc = json_probe(&in) ? json_read(&in, m, e) : err_set(e, ERR_INPUT, "test", -1, "not recognised");
	if (rc)
		model_free(m);
	free(copy);
	return rc;
}

static void assert_reads_as(const char *s, size_t n, const char *wanted, size_t n_wanted)
{
	struct model m;
	struct err e;
	char *again;
	size_t k;

	if (from_text(&m, s, n, &e))
		fail_msg("byte %" PRId64 ": %s", e.offset, e.msg);
	again = to_text(&m, &k);
	assert_int_equal(k, n_wanted);
	assert_memory_equal(again, wanted, k);
	free(again);
	model_free(&m);
}

static void assert_refused(const char *s, const char *word, int64_t offset)
{
	struct model m;
	struct err e;

	assert_int_equal(from_text(&m, s, strlen(s), &e), -1);
	assert_int_equal(e.kind, ERR_INPUT);
	if (!strstr(e.msg, word))
		fail_msg("'%s' does not say '%s'", e.msg, word);
	if (offset >= 0)
		assert_int_equal(e.offset, offset);
}

/* --- random models --- */

static uint64_t any_u64(void)
{
	switch (rnd(6)) {
	case 0:
		return rnd(10);
	case 1:
		return rnd(1000000);
	case 2:
		return UINT64_C(1) << rnd(64);
	case 3:
		return UINT64_MAX - 1 - rnd(3);
	case 4:
		return MODEL_UNKNOWN;
	default:
		return rnd(UINT64_C(1) << 57);
	}
}

static uint64_t known_u64(void)
{
	uint64_t v = any_u64();

	return v == MODEL_UNKNOWN ? 0 : v;
}

static int64_t any_time(void)
{
	return rnd(20) ? (int64_t)rnd(UINT64_C(1) << 60) : -(int64_t)rnd(UINT64_C(1) << 40);
}

static uint8_t any_device(void)
{
	return rnd(4) ? (uint8_t)rnd(3) : MODEL_NO_DEVICE;
}

static uint32_t any_string(struct model *m)
{
	static const char *const words[] = {
		"main", "void f<int>(a, b);c", "\xe6\xbc\xa2\xe5\xad\x97", "\xf0\x9f\xa6\x80 crab", "quote\"back\\slash",
		"line\nbreak\ttab\x01", "", "??", "/usr/lib/x86_64-linux-gnu/libc.so.6", "null",
	};
	char buf[64];

	if (rnd(2))
		return model_cstring(m, words[rnd(sizeof words / sizeof *words)]);
	snprintf(buf, sizeof buf, "name_%d", (int)rnd(500));
	return model_cstring(m, buf);
}

static void random_tables(struct model *m)
{
	size_t i, k;

	for (i = 0; i < 40; i++) {
		struct frame f = {any_string(m), any_string(m), any_string(m), (uint32_t)rnd(100000)};

		model_frame(m, &f);
	}
	for (i = 0; i < 30; i++) {
		uint32_t frames[20];
		size_t depth = rnd(20);

		for (k = 0; k < depth; k++)
			frames[k] = (uint32_t)rnd(m->frames.n);
		model_stack(m, frames, depth);
	}
	for (i = 0; i < 5; i++) {
		struct pool_info p = {known_u64(), {known_u64(), known_u64()}, any_device(), (uint8_t)rnd(3)};

		model_pool(m, &p);
		model_stream(m, known_u64(), any_device());
		model_thread(m, known_u64(), any_string(m));
		model_setting(m, "key", "a \"value\"");
		model_note(m, (enum note_kind)rnd(3), "note %d", (int)i);
	}
	for (i = 0; i < rnd(6); i++)
		*VEC_PUSH(m->phases, m->n_phases, m->cap_phases) =
			(struct phase){any_string(m), any_string(m), (uint16_t)rnd(m->n_threads), any_device(),
				       any_time(), rnd(3) ? any_time() : INT64_MAX};
	for (i = 0; i < rnd(20); i++)
		*VEC_PUSH(m->blocks, m->n_blocks, m->cap_blocks) =
			(struct final_block){any_u64(), any_u64(), any_u64(), (uint32_t)rnd(m->stacks.n), (uint8_t)rnd(3)};
	for (i = 0; i < rnd(6); i++) {
		struct final_segment s = {.addr = any_u64(), .size = any_u64(), .requested = any_u64(),
					  .stack = (uint32_t)rnd(m->stacks.n), .stream = (uint16_t)rnd(m->n_streams),
					  .pool = (uint16_t)rnd(m->n_pools), .device = any_device(),
					  .small = (uint8_t)rnd(3), .expandable = (uint8_t)rnd(2)};

		s.first_block = (uint32_t)rnd(m->n_blocks + 1);
		s.n_blocks = (uint32_t)rnd(m->n_blocks - s.first_block + 1);
		*VEC_PUSH(m->segments, m->n_segments, m->cap_segments) = s;
	}
}

static void random_meta(struct model *m)
{
	m->source = (enum source)rnd(4);
	m->history = (enum history)rnd(3);
	m->complete = rnd(2);
	m->has_time = rnd(2);
	m->frees_left_out = rnd(2);
	m->why_incomplete = rnd(2) ? mem_strdup("killed by \"signal\" 9") : NULL;
	m->command = rnd(2) ? mem_strdup("./app \xe2\x82\xac") : NULL;
	m->host = rnd(2) ? mem_strdup("") : NULL;
	m->driver = rnd(2) ? mem_strdup("580.95") : NULL;
	m->version = rnd(2) ? mem_strdup("2.11.0") : NULL;
	m->start_wall_ns = rnd(2) ? INT64_C(1764412800123456789) : 0;
	m->duration_ns = any_time();
	m->dropped_events = known_u64();
	m->unknown_entries = known_u64();
	m->pid = (uint32_t)rnd(100000);
	m->rank = (int32_t)rnd(9) - 1;
	m->device[1].name = model_cstring(m, "NVIDIA H200");
	m->device[3].total = known_u64();
}

static void random_model(struct model *m, size_t events, bool blocks)
{
	size_t i;

	model_init(m, "random");
	random_meta(m);
	random_tables(m);
	for (i = 0; i < events; i++) {
		struct event ev = {.t_ns = any_time(), .addr = any_u64(), .size = rnd(3) ? rnd(1 << 20) : any_u64(),
				   .block = MODEL_UNKNOWN, .stack = (uint32_t)rnd(m->stacks.n),
				   .stream = (uint16_t)rnd(m->n_streams), .thread = (uint16_t)rnd(m->n_threads),
				   .pool = (uint16_t)rnd(m->n_pools), .device = any_device(),
				   .op = GMS_OP(rnd(GMS_KINDS), rnd(GMS_ACTIONS))};

		if (blocks && rnd(2) && ev.size < 1 << 20)
			ev.block = ev.size + rnd(512);
		model_add(m, &ev);
		if (GMS_OP_ACTION(ev.op) == GMS_A_FAIL)
			model_fail(m, i, (int)rnd(1000) - 10, any_u64(), any_u64());
	}
	m->n_initial = rnd(events + 1);
}

static void what_is_written_and_read_is_written_the_same(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 60; i++) {
		struct model m;
		char *s;
		size_t n;

		random_model(&m, rnd(200), i % 2);
		s = to_text(&m, &n);
		assert_reads_as(s, n, s, n);
		free(s);
		model_free(&m);
	}
}

static void every_part_of_the_model_comes_back(void **state)
{
	struct model a, b;
	struct err e;
	char *s;
	size_t n, i;

	(void)state;
	random_model(&a, 500, true);
	s = to_text(&a, &n);
	assert_int_equal(from_text(&b, s, n, &e), 0);
	assert_int_equal(a.ev.n, b.ev.n);
	for (i = 0; i < a.ev.n; i++) {
		struct event x = model_event(&a, i), y = model_event(&b, i);

		assert_int_equal(x.t_ns, y.t_ns);
		assert_int_equal(x.addr, y.addr);
		assert_int_equal(x.size, y.size);
		assert_int_equal(x.block, y.block);
		assert_int_equal(x.stack, y.stack);
		assert_int_equal(x.stream, y.stream);
		assert_int_equal(x.thread, y.thread);
		assert_int_equal(x.pool, y.pool);
		assert_int_equal(x.op, y.op);
		assert_int_equal(x.device, y.device);
	}
	assert_int_equal(a.n_initial, b.n_initial);
	assert_int_equal(a.strings.n, b.strings.n);
	assert_memory_equal(a.strings.bytes, b.strings.bytes, a.strings.n_bytes);
	assert_memory_equal(a.frames.v, b.frames.v, a.frames.n * sizeof *a.frames.v);
	assert_memory_equal(a.stacks.flat, b.stacks.flat, a.stacks.n_flat * sizeof *a.stacks.flat);
	assert_int_equal(a.n_phases, b.n_phases);
	assert_int_equal(a.n_failures, b.n_failures);
	assert_memory_equal(a.failures, b.failures, a.n_failures * sizeof *a.failures);
	assert_int_equal(a.n_segments, b.n_segments);
	assert_int_equal(a.n_blocks, b.n_blocks);
	assert_int_equal(a.n_notes, b.n_notes);
	assert_int_equal(a.start_wall_ns, b.start_wall_ns);
	assert_int_equal(a.device[3].total, b.device[3].total);
	assert_string_equal(model_text(&b, b.device[1].name), "NVIDIA H200");
	free(s);
	model_free(&a);
	model_free(&b);
}

/* --- a small snapshot that a person could have typed --- */

#define HEAD                                                                                                   \
	"{\"format\":\"gpumemsnap\",\"version\":1,\"event_fields\":[\"t_ns\",\"op\",\"device\",\"addr\",\"size\"," \
	"\"stream\",\"stack\",\"thread\",\"pool\"],\"ops\":[\"device.alloc\",\"device.free\",\"device.fail\"],"    \
	"\"strings\":[\"\",\"main\"],\"frames\":[[0,0,0,0],[1,0,7,0]],\"stacks\":[[],[1]],"

static size_t events_in(const char *s)
{
	struct model m;
	struct err e;
	size_t n;

	if (from_text(&m, s, strlen(s), &e))
		fail_msg("byte %" PRId64 ": %s", e.offset, e.msg);
	n = m.ev.n;
	model_free(&m);
	return n;
}

static void numbers_are_exact_to_64_bits(void **state)
{
	const char *s = HEAD "\"events\":[[1152921504606846977,0,0,144115188075855873,9223372036854775809,0,1,0,0],\n"
			     "[-9223372036854775808,0,0,18446744073709551614,null,0,1,0,0]]}";
	struct model m;
	struct err e;

	(void)state;
	assert_int_equal(from_text(&m, s, strlen(s), &e), 0);
	assert_int_equal(m.ev.t_ns[0], (INT64_C(1) << 60) + 1);
	assert_int_equal(m.ev.t_ns[1], INT64_MIN / 4); /* no times whose difference would not fit */
	assert_true(m.ev.addr[0] == (UINT64_C(1) << 57) + 1 && m.ev.addr[1] == UINT64_MAX - 1);
	assert_true(m.ev.size[0] == (UINT64_C(1) << 63) + 1 && m.ev.size[1] == MODEL_UNKNOWN);
	model_free(&m);
	assert_refused(HEAD "\"events\":[[1,0,0,18446744073709551616,1,0,1,0,0]]}", "64 bits", -1);
	assert_refused(HEAD "\"events\":[[9223372036854775808,0,0,1,1,0,1,0,0]]}", "time", -1);
}

/* Spaces and line breaks wherever JSON allows them. */
static char *spread(const char *s, size_t n, size_t *out_n)
{
	struct text t = {0};
	bool in_string = false;
	size_t i;

	for (i = 0; i < n; i++) {
		text_add(&t, s + i, 1);
		if (in_string && s[i] == '\\')
			text_add(&t, s + ++i, 1);
		else if (s[i] == '"')
			in_string = !in_string;
		if (!in_string && strchr(",:[{", s[i]))
			text_puts(&t, " \n\t");
	}
	*out_n = t.n;
	return t.s;
}

static void a_reformatted_snapshot_means_the_same(void **state)
{
	struct model m;
	char *s, *wide;
	size_t n, n_wide;

	(void)state;
	random_model(&m, 300, true);
	s = to_text(&m, &n);
	wide = spread(s, n, &n_wide);
	assert_reads_as(wide, n_wide, s, n);
	free(s);
	free(wide);
	model_free(&m);
}

static void whole_numbers_written_as_floats_are_read(void **state)
{
	const char *s = HEAD "\"events\":[[1.0,0,0,1.39637976727552e+14,1e3,0,1,0,0.0]]}";
	struct model m;
	struct err e;

	(void)state;
	assert_int_equal(from_text(&m, s, strlen(s), &e), 0);
	assert_true(m.ev.t_ns[0] == 1 && m.ev.addr[0] == UINT64_C(139637976727552) && m.ev.size[0] == 1000);
	model_free(&m);
	assert_refused(HEAD "\"events\":[[1,0,0,1,1.5,0,1,0,0]]}", "whole number", -1);
	assert_refused(HEAD "\"events\":[[1,0,0,1,1e30,0,1,0,0]]}", "64 bits", -1);
}

static void keys_may_come_in_any_order(void **state)
{
	const char *s = "{\"ops\":[\"device.free\",\"device.alloc\"],\"events\":[[64,1,5],[64,0,6]],"
			"\"stacks\":[[],[0]],\"frames\":[[1,\"x\"]],\"strings\":[\"main\",\"a.c\"],"
			"\"table_fields\":{\"frames\":[\"file\",\"colour\"]},"
			"\"event_fields\":[\"addr\",\"op\",\"t_ns\"],\"version\":1,\"format\":\"gpumemsnap\"}";
	struct model m;
	struct err e;

	(void)state;
	assert_int_equal(from_text(&m, s, strlen(s), &e), 0);
	assert_int_equal(m.ev.n, 2);
	assert_int_equal(m.ev.op[0], GMS_OP(GMS_K_DEVICE, GMS_A_ALLOC));
	assert_int_equal(m.ev.op[1], GMS_OP(GMS_K_DEVICE, GMS_A_FREE));
	assert_true(m.ev.t_ns[1] == 6 && m.ev.addr[1] == 64 && m.ev.size[1] == MODEL_UNKNOWN);
	assert_int_equal(m.ev.device[0], MODEL_NO_DEVICE);
	assert_string_equal(model_text(&m, m.frames.v[1].file), "a.c");
	model_free(&m);
}

/* Every part once at the very end and once at the very beginning: the model must be the same. */
static void a_part_may_come_before_or_after_all_others(void **state)
{
	static const char *const part[] = {
	    "\"format\":\"gpumemsnap\"", "\"version\":1", "\"strings\":[\"\",\"main\",\"a.c\",\"late\"]",
	    "\"table_fields\":{\"frames\":[\"file\",\"function\"]}", ("\"event_fields\":[\"t_ns\",\"op\",\"device\","
	    "\"addr\",\"size\",\"stream\",\"stack\",\"thread\",\"pool\"]"), "\"ops\":[\"device.alloc\",\"device.free\"]",
	    "\"frames\":[[0,0],[2,1]]", "\"stacks\":[[],[1]]", "\"threads\":[[0,0],[77,3]]",
	    "\"streams\":[[0,null],[9,0]]", "\"pools\":[[0,0,0,null,0],[5,0,0,0,0]]",
	    "\"phases\":[[3,0,1,0,1,9]]", "\"initial\":1",
	    "\"events\":[[0,0,0,4096,512,1,1,1,1],[1,0,0,8192,256,0,0,0,0],[2,1,0,4096,0,0,0,0,0]]"};
	enum { N = sizeof part / sizeof *part };
	char *first = NULL, *again;
	size_t i, k, n_first = 0, n;
	struct model m;
	struct err e;

	(void)state;
	for (i = 0; i < 2 * N + 1; i++) {
		struct text t = {0};

		text_printf(&t, "{%s", i % 2 ? part[i / 2] : "");
		for (k = 0; k < N; k++)
			if (i == 2 * N || k != i / 2)
				text_printf(&t, "%s%s", t.n > 1 ? "," : "", part[k]);
		text_printf(&t, "%s%s}", i % 2 || i == 2 * N ? "" : ",", i % 2 || i == 2 * N ? "" : part[i / 2]);
		assert_int_equal(from_text(&m, t.s, t.n, &e), 0);
		again = to_text(&m, &n);
		if (!first) {
			first = again;
			n_first = n;
			assert_true(m.ev.n == 3 && m.n_initial == 1 && m.threads[m.ev.thread[0]].tid == 77);
		} else {
			assert_int_equal(n, n_first);
			assert_memory_equal(first, again, n);
			free(again);
		}
		model_free(&m);
		text_free(&t);
	}
	free(first);
}

static void unknown_ops_fields_and_parts_are_kept_apart(void **state)
{
	const char *s = "{\"format\":\"gpumemsnap\",\"future\":{\"a\":[1,{\"]\":2}]},\"event_fields\":"
			"[\"t_ns\",\"op\",\"mood\",\"addr\"],\"ops\":[\"device.teleport\"],\"events\":[[1,0,{\"x\":[]},3]]}";
	struct model m;
	struct err e;

	(void)state;
	assert_int_equal(from_text(&m, s, strlen(s), &e), 0);
	assert_int_equal(m.ev.op[0], GMS_OP(GMS_K_TRACE, GMS_A_OTHER));
	assert_int_equal(m.ev.addr[0], 3);
	assert_int_equal(m.unknown_entries, 1);
	assert_int_equal(m.n_notes, 2);
	model_free(&m);
}

static void references_to_nowhere_are_refused_with_their_place(void **state)
{
	const char *head = HEAD;
	int64_t at = (int64_t)strlen(head) + 10;

	(void)state;
	assert_int_equal(events_in(HEAD "\"events\":[[1,0,0,1,1,0,1,0,0]]}"), 1);
	assert_refused(HEAD "\"events\":[[1,3,0,1,1,0,1,0,0]]}", "op", at);
	assert_refused(HEAD "\"events\":[[1,0,0,1,1,0,2,0,0]]}", "stack", at);
	assert_refused(HEAD "\"events\":[[1,0,0,1,1,1,1,0,0]]}", "stream", at);
	assert_refused(HEAD "\"events\":[[1,0,0,1,1,0,1,1,0]]}", "thread", at);
	assert_refused(HEAD "\"events\":[[1,0,0,1,1,0,1,0,9]]}", "pool", at);
	assert_refused(HEAD "\"events\":[[1,0,255,1,1,0,1,0,0]]}", "device", at);
	assert_refused(HEAD "\"events\":[[1,0,0,-1,1,0,1,0,0]]}", "negative", at);
	assert_refused(HEAD "\"events\":[[1,0,0,1,1,0,4294967297,0,0]]}", "stack", at);
	assert_refused(HEAD "\"initial\":2,\"events\":[[1,0,0,1,1,0,1,0,0]]}", "initial", -1);
	assert_refused(HEAD "\"failures\":[[0,2,null,null]],\"events\":[[1,0,0,1,1,0,1,0,0]]}", "failed", -1);
	assert_refused(HEAD "\"failures\":[[1,2,null,null]],\"events\":[[1,0,0,1,1,0,1,0,0]]}", "exist", -1);
	assert_refused(HEAD "\"blocks\":[[1,1,1,0,0]],\"segments\":[[1,1,1,0,0,0,0,0,0,1,1]],\"events\":[]}", "large", -1);
	assert_refused(HEAD "\"blocks\":[[1,1,1,0,3]],\"events\":[]}", "state", -1);
	assert_refused(HEAD "\"phases\":[[5,0,0,0,0,0]],\"events\":[]}", "name", -1);
	assert_refused("{\"format\":\"gpumemsnap\",\"strings\":[],\"frames\":[[1]],\"events\":[]}", "function", -1);
	assert_refused("{\"format\":\"gpumemsnap\",\"frames\":[[0]],\"stacks\":[[0,1]],\"events\":[]}", "frame", -1);
}

static void damage_is_named_with_its_place(void **state)
{
	(void)state;
	assert_refused(HEAD "\"events\":[[1,0,0,1,1,0,1,0,0],x]}", "an array", (int64_t)strlen(HEAD) + 30);
	assert_refused(HEAD "\"events\":[[1,0,0,1 1]]}", "comma", -1);
	assert_refused(HEAD "\"events\":[[1,0,0,1,01,0,1,0,0]]}", "number", -1);
	assert_refused(HEAD "\"events\":[[1,0,0,1,\"1\",0,1,0,0]]}", "number", -1);
	assert_refused(HEAD "\"events\":[[null,0,0,1,1,0,1,0,0]]}", "time", -1);
	assert_refused(HEAD "\"events\":[]} x", "behind its end", -1);
	assert_refused(HEAD "\"events\":[],\"events\":[]}", "twice", -1);
	assert_refused(HEAD "\"notes\":[[\"loud\",\"x\"]],\"events\":[]}", "pair", -1);
	assert_refused(HEAD "\"notes\":[[\"info\"]],\"events\":[]}", "pair", -1);
	assert_refused("{\"format\":\"gpumemsnap\",\"strings\":[\"\\q\"],\"events\":[]}", "escapes", -1);
	assert_refused("{\"format\":\"gpumemsnap\",\"meta\":{\"history\":\"vague\"},\"events\":[]}", "vague", -1);
	assert_refused("{\"format\":\"gpumemsnap\",\"version\":1}", "events", -1);
}

static void other_documents_and_newer_versions_are_told_apart(void **state)
{
	(void)state;
	assert_refused("{\"format\":\"gpumemsnap-report\",\"version\":1,\"snapshots\":[]}", "gpumemsnap-report", -1);
	assert_refused("{\"format\":\"gpumemsnap\",\"version\":2,\"rows\":[]}", "version 2", -1);
	assert_refused("{\"format\":\"elsewhere\"}", "not recognised", -1);
	assert_refused("[1,2]", "not recognised", -1);
}

static void a_file_cut_anywhere_is_read_up_to_the_cut(void **state)
{
	struct model m, cut;
	struct err e;
	char *s;
	size_t n, at, before = 0, most = 0;

	(void)state;
	random_model(&m, 60, true);
	s = to_text(&m, &n);
	for (at = 24; at < n - 2; at++) {
		if (from_text(&cut, s, at, &e))
			fail_msg("cut at %zu: byte %" PRId64 ": %s", at, e.offset, e.msg);
		assert_false(cut.complete);
		assert_non_null(strstr(cut.why_incomplete, "cut"));
		assert_true(cut.n_initial <= cut.ev.n);
		assert_true(cut.ev.n >= before && cut.ev.n <= before + 1);
		before = cut.ev.n;
		most = before > most ? before : most;
		model_free(&cut);
	}
	assert_int_equal(most, 60);
	free(s);
	model_free(&m);
}

/* Whatever was read can be written and read. (The first writing may join strings that were invalid UTF-8.) */
static void assert_survives(struct model *m)
{
	struct err e;
	char *s;
	size_t n;

	model_link(m);
	s = to_text(m, &n);
	model_free(m);
	assert_int_equal(from_text(m, s, n, &e), 0);
	free(s);
	s = to_text(m, &n);
	model_free(m);
	assert_reads_as(s, n, s, n);
	free(s);
}

static void flipped_bits_never_crash_the_reader(void **state)
{
	struct model m, damaged;
	struct err e;
	size_t n, i, refused = 0;
	char *s;

	(void)state;
	random_model(&m, 40, true);
	s = to_text(&m, &n);
	for (i = 0; i < 4000; i++) {
		size_t at = rnd(n), bit = rnd(8), at2 = rnd(n);
		char old = s[at], old2 = s[at2];

		s[at] = (char)(s[at] ^ 1 << bit);
		if (i % 3 == 0)
			s[at2] = "[]{},:\"0-n"[rnd(10)];
		if (from_text(&damaged, s, n, &e)) {
			refused++;
			assert_int_equal(e.kind, ERR_INPUT);
		} else {
			assert_survives(&damaged);
		}
		s[at2] = old2;
		s[at] = old;
	}
	assert_true(refused > 1000);
	free(s);
	model_free(&m);
}

static void invalid_utf8_is_replaced_and_stays_apart(void **state)
{
	struct model m;
	struct frame f;
	struct err e;
	char *s;
	size_t n;
	uint32_t stack[1];

	(void)state;
	model_init(&m, "test");
	f = (struct frame){.function = model_cstring(&m, "a\xff")};
	stack[0] = model_frame(&m, &f);
	model_stack(&m, stack, 1);
	f.function = model_cstring(&m, "a\xfe"); /* both become a + U+FFFD: the file's numbers are not ours */
	stack[0] = model_frame(&m, &f);
	model_add(&m, &(struct event){.stack = model_stack(&m, stack, 1), .block = MODEL_UNKNOWN});
	s = to_text(&m, &n);
	model_free(&m);
	assert_int_equal(from_text(&m, s, n, &e), 0);
	assert_int_equal(m.ev.stack[0], 1);
	assert_string_equal(model_text(&m, m.frames.v[1].function), "a\xef\xbf\xbd");
	model_free(&m);
	free(s);
}

int main(void)
{
	const struct CMUnitTest test_json[] = {
		cmocka_unit_test(what_is_written_and_read_is_written_the_same),
		cmocka_unit_test(every_part_of_the_model_comes_back),
		cmocka_unit_test(numbers_are_exact_to_64_bits),
		cmocka_unit_test(a_reformatted_snapshot_means_the_same),
		cmocka_unit_test(whole_numbers_written_as_floats_are_read),
		cmocka_unit_test(keys_may_come_in_any_order),
		cmocka_unit_test(a_part_may_come_before_or_after_all_others),
		cmocka_unit_test(unknown_ops_fields_and_parts_are_kept_apart),
		cmocka_unit_test(references_to_nowhere_are_refused_with_their_place),
		cmocka_unit_test(damage_is_named_with_its_place),
		cmocka_unit_test(other_documents_and_newer_versions_are_told_apart),
		cmocka_unit_test(a_file_cut_anywhere_is_read_up_to_the_cut),
		cmocka_unit_test(flipped_bits_never_crash_the_reader),
		cmocka_unit_test(invalid_utf8_is_replaced_and_stays_apart),
	};
	return cmocka_run_group_tests(test_json, NULL, NULL);
}
