/* test_rmm.c: logs of RMM's logging adaptor. */
#include "base/mem.h"
#include "format/format.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#define HEADER "Thread,Time,Action,Pointer,Size,Stream\n"
#define SECOND 1000000000ll

/* The log lies at the end of its block. */
static struct model load_as(const char *name, const char *log, size_t n)
{
	char *copy = mem_alloc(n);
	struct input in = {.name = name, .data = (unsigned char *)copy, .n = n, .raw_n = n};
	struct err e = {0};
	struct model m;

	memcpy(copy, log, n);
	model_init(&m, name);
	if (n)
		rmm_probe(&in);
	assert_int_equal(rmm_read(&in, &m, &e), 0);
	model_link(&m);
	free(copy);
	return m;
}

static struct model load(const char *log)
{
	struct model m = load_as("rmm.csv", log, strlen(log));

	return m;
}

static void lines_become_rows(void **state)
{
	struct model m = load(HEADER "1979932,14:21:19.998533,allocate,0x30a000000,256,0x2\n"
	                             "1979932,14:21:20.000533,allocate failure,(nil),1048576,0\n"
	                             "1980043,14:21:32.661875,free,0x30a000000,256,0x2\r\n");
	const struct columns *c = &m.ev;

	(void)state;
	assert_int_equal(m.source, SOURCE_RMM);
	assert_int_equal(c->n, 3);
	assert_int_equal(c->op[0], GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC));
	assert_int_equal(c->addr[0], 0x30a000000);
	assert_int_equal(c->size[0], 256);
	assert_int_equal(m.streams[c->stream[0]].handle, 2);
	assert_int_equal(m.threads[c->thread[0]].tid, 1979932);
	assert_int_equal(c->op[1], GMS_OP(GMS_K_BLOCK, GMS_A_FAIL));
	assert_int_equal(c->size[1], 1048576);
	assert_int_equal(c->stream[1], 0);
	assert_int_equal(m.n_failures, 1);
	assert_int_equal(m.failures[0].event, 1);
	assert_int_equal(m.failures[0].error, 2);
	assert_true(m.failures[0].free == MODEL_UNKNOWN);
	assert_int_equal(c->op[2], GMS_OP(GMS_K_BLOCK, GMS_A_FREE));
	assert_int_equal(c->peer[2], 0);
	assert_int_equal(m.threads[c->thread[2]].tid, 1980043);
	assert_int_equal(c->t_ns[0], 0);
	assert_int_equal(c->t_ns[1], 2000000);
	assert_int_equal(c->t_ns[2], 12663342000);
	assert_int_equal(m.duration_ns, 12663342000);
	assert_int_equal(m.start_wall_ns, 0); /* of which day nobody knows */
	assert_int_equal(m.history, HISTORY_COMPLETE);
	assert_int_equal(m.n_notes, 0);
	model_free(&m);
}

static void times_may_be_seconds_since_1970(void **state)
{
	struct model m = load(HEADER "1,1634567890.123456,allocate,0x7f8a40000000,1024,0x7f8a38001020\n"
	                             "1,1634567891,deallocate,0x7f8a40000000,1024,0x7f8a38001020\n");

	(void)state;
	assert_int_equal(m.start_wall_ns, 1634567890123456000);
	assert_int_equal(m.ev.t_ns[1], SECOND - 123456000);
	assert_int_equal(m.ev.peer[0], 1);
	model_free(&m);
}

static void the_time_of_day_goes_on_after_midnight(void **state)
{
	struct model m = load(HEADER "1,23:59:59.500000,allocate,0x1,1,0\n"
	                             "1,00:00:01.500000,allocate,0x2,1,0\n"
	                             "2,23:59:59.900000,allocate,0x3,1,0\n" /* another thread, written late */
	                             "1,00:00:02:000000,allocate,0x4,1,0\n"
	                             "1,12:30:00,allocate,0x5,1,0\n"
	                             "1,00:00:00.000000,allocate,0x6,1,0\n"
	                             "1,11:00:00.000000,allocate,0x7,1,0\n"
	                             "1,10:59:59.000000,allocate,0x8,1,0\n"); /* no midnight */
	static const int64_t want[] = {0,
	                               2 * SECOND,
	                               SECOND * 4 / 10,
	                               SECOND * 5 / 2,
	                               SECOND / 2 + 45000 * SECOND,
	                               SECOND / 2 + 86400 * SECOND,
	                               SECOND / 2 + (86400 + 39600) * SECOND,
	                               SECOND / 2 + (86400 + 39599) * SECOND};
	size_t i;

	(void)state;
	assert_int_equal(m.ev.n, 8);
	for (i = 0; i < 8; i++)
		assert_true(m.ev.t_ns[i] == want[i]);
	model_free(&m);
}

static void the_device_is_in_the_file_name(void **state)
{
	static const struct {
		const char *name;
		unsigned device;
	} names[] = {{"log", 0},          {"log.dev0", 0},   {"log.dev3", 3},  {"a.dev1/rmm.dev12.csv", 12},
	             {"log.dev1.txt", 1}, {"log.device", 0}, {"log.dev1x", 0}, {"log.dev999", 0},
	             {"log.dev", 0}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof names / sizeof *names; i++) {
		static const char log[] = HEADER "1,1.5,allocate,0x10,1,0x5\n";
		struct model m = load_as(names[i].name, log, sizeof log - 1);

		assert_int_equal(m.ev.device[0], names[i].device);
		assert_int_equal(m.streams[m.ev.stream[0]].device, names[i].device);
		assert_true(m.device[names[i].device].present);
		model_free(&m);
	}
}

static void headers_may_be_repeated_and_lines_odd(void **state)
{
	struct model m = load(HEADER "1,1.0,allocate,0x10,1,0\n" HEADER "\n"
	                             "WARN something else, with commas, and more, of it, here, and there\n"
	                             "1,2.0,allocate,0x20\n"
	                             "1,2.0,resize,0x20,5,0\n"
	                             "1,x,allocate,0x20,5,0\n"
	                             "1,2.0,allocate,zz,5,0\n"
	                             "1,2.0,allocate,0x20,99999999999999999999999,0\n"
	                             "1,25:00:00,allocate,0x20,5,0\n"
	                             "1,3.0,allocate,0x30,7\n");

	(void)state;
	assert_int_equal(m.ev.n, 3);
	assert_int_equal(m.ev.op[1], GMS_OP(GMS_K_TRACE, GMS_A_OTHER));
	assert_int_equal(m.unknown_entries, 1);
	assert_int_equal(m.ev.size[2], 7);
	assert_int_equal(m.n_notes, 1);
	assert_non_null(strstr(m.notes[0].text, "6 lines"));
	assert_non_null(strstr(m.notes[0].text, "line 5"));
	model_free(&m);
}

static void fields_may_be_quoted_and_a_mark_before_them(void **state)
{
	const char *log = "\xef\xbb\xbf\"Thread\",\"Time\",\"Action\",\"Pointer\",\"Size\",\"Stream\"\r\n"
			  "\"1\",\"10.5\",\"allocate\",\"0x7f00\",\"512\",\"0x0\"\r\n";
	struct input in = {.name = "a.csv", .data = (const unsigned char *)log, .n = strlen(log)};
	struct model m = load(log);

	(void)state;
	assert_true(rmm_probe(&in));
	assert_int_equal(m.ev.n, 1);
	assert_true(m.ev.addr[0] == 0x7f00 && m.ev.size[0] == 512);
	assert_int_equal(m.n_notes, 0);
	model_free(&m);
}

static void a_log_without_rows_says_so(void **state)
{
	struct model m = load(HEADER);

	(void)state;
	assert_int_equal(m.ev.n, 0);
	assert_int_equal(m.n_notes, 1);
	assert_non_null(strstr(m.notes[0].text, "has no rows"));
	model_free(&m);
}

static void an_unknown_pointer_freed_is_an_anomaly(void **state)
{
	struct model m =
	    load(HEADER
	         "1,1.0,free,0x10,64,0\n1,2.0,allocate,0x10,1,0\n1,3.0,free,0x10,1,0\n1,3.0,free,0x10,1,0\n");

	(void)state;
	assert_int_equal(m.anomalies.free_unknown, 1);
	assert_int_equal(m.anomalies.double_free, 1);
	assert_int_equal(m.history, HISTORY_PARTIAL);
	model_free(&m);
}

static void a_cut_log_is_read_up_to_the_cut(void **state)
{
	static const char log[] = HEADER "1,1.0,allocate,0x10,64,0x7\n1,2.0,free,0x10,64,0x7\n";
	size_t n, first = strlen(HEADER "1,1.0,allocate,0x10,64,0x7");

	(void)state;
	for (n = 0; n < sizeof log; n++) {
		struct model m = load_as("log", log, n);

		assert_int_equal(m.ev.n, n < first - 2 ? 0 : n < sizeof log - 1 - 3 ? 1 : 2);
		model_free(&m);
	}
	struct model m = load(HEADER "1,1.0,allocate,0x10,6");
	assert_int_equal(m.ev.n, 0);
	assert_false(m.complete);
	assert_non_null(m.why_incomplete);
	model_free(&m);
}

static bool probes(const char *text)
{
	struct input in = {.name = "test", .data = (const unsigned char *)text, .n = strlen(text)};

	return rmm_probe(&in);
}

static void logs_are_told_from_other_files(void **state)
{
	(void)state;
	assert_true(probes(HEADER));
	assert_true(probes("1979932,14:21:19.998533,allocate,0x30a000000,256,0x2\n")); /* no header */
	assert_true(probes("1,2.0,free,0x1,2,0\nrest"));
	assert_true(probes("Jan 1 INFO start, more\n" HEADER "\n1,2.0,allocate,0x1,2,0\n"));
	assert_false(probes("1,2.0,free,0x1,2,0"));
	assert_false(probes("1,2,3,4,5,6\n"));
	assert_false(probes("name,size\n"));
	assert_false(probes("{\"format\":\"gumemsnap\"}\n"));
	assert_false(probes("\n"));
}

static void flipped_bits_are_survived(void **state)
{
	static const char log[] = HEADER "1,23:00:01.25,allocate,0x10,64,0x7\n1,00:00:00,free,0x10,64,0x7\n2,"
	                                 "3.0,allocate failure,(nil),9,0\n";
	size_t bit, n = sizeof log - 1;
	char bytes[sizeof log];

	(void)state;
	for (bit = 0; bit < n * 8; bit++) {
		struct model m;

		memcpy(bytes, log, n);
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		m = load_as("log", bytes, n);
		assert_true(m.ev.n <= 5);
		model_free(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_become_rows),
	    cmocka_unit_test(times_may_be_seconds_since_1970),
	    cmocka_unit_test(the_time_of_day_goes_on_after_midnight),
	    cmocka_unit_test(the_device_is_in_the_file_name),
	    cmocka_unit_test(headers_may_be_repeated_and_lines_odd),
	    cmocka_unit_test(fields_may_be_quoted_and_a_mark_before_them),
	    cmocka_unit_test(a_log_without_rows_says_so),
	    cmocka_unit_test(an_unknown_pointer_freed_is_an_anomaly),
	    cmocka_unit_test(a_cut_log_is_read_up_to_the_cut),
	    cmocka_unit_test(logs_are_told_from_other_files),
	    cmocka_unit_test(flipped_bits_are_survived),
	};

	return cmocka_run_group_tests_name("rmm", tests, NULL, NULL);
}
