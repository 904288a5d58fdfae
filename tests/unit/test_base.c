/* test_base.c: text, hashing, input and output. */
#include "base/hash.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/sorted.h"
#include "base/text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

static void sorted_numbers_stand_once_and_are_found(void **state)
{
	uint64_t v[] = {7, 3, UINT64_MAX, 3, 0, 7}, none[1];

	(void)state;
	assert_int_equal(sorted_make(none, 0), 0);
	assert_int_equal(sorted_find(none, 0, 5), 0);
	assert_int_equal(sorted_make(v, 6), 4); /* 0 3 7 max */
	assert_int_equal(sorted_find(v, 4, 0), 0);
	assert_int_equal(sorted_find(v, 4, 1), 1);
	assert_int_equal(sorted_find(v, 4, 7), 2);
	assert_int_equal(sorted_find(v, 4, UINT64_MAX), 3);
	assert_int_equal(sorted_find(v, 3, UINT64_MAX), 3);
}

static void sizes_print_in_iec_units(void **state)
{
	char buf[TEXT_SIZE_MAX];

	(void)state;
	assert_string_equal(text_bytes(buf, 0), "0 B");
	assert_string_equal(text_bytes(buf, 1023), "1023 B");
	assert_string_equal(text_bytes(buf, 1024), "1.00 KiB");
	assert_string_equal(text_bytes(buf, 1048575), "1.00 MiB"); /* never "1024.00 KiB" */
	assert_string_equal(text_bytes(buf, UINT64_C(12884901888)), "12.00 GiB");
	assert_string_equal(text_bytes(buf, UINT64_MAX), "16.00 EiB");
}

static void sizes_are_read_back(void **state)
{
	uint64_t v;

	(void)state;
	assert_true(text_parse_bytes("12GiB", &v) && v == UINT64_C(12884901888));
	assert_true(text_parse_bytes("1.5k", &v) && v == 1536);
	assert_true(text_parse_bytes("20MB", &v) && v == 20000000);
	assert_true(text_parse_bytes("9007199254740993", &v) && v == UINT64_C(9007199254740993)); /* 2^53 + 1 */
	assert_false(text_parse_bytes("", &v));
	assert_false(text_parse_bytes("-1", &v));
	assert_false(text_parse_bytes("12 parsecs", &v));
	assert_false(text_parse_bytes("1e300", &v));
}

static void times_read_and_print(void **state)
{
	char buf[TEXT_SIZE_MAX];
	int64_t v;

	(void)state;
	assert_true(text_parse_ns("250ms", &v) && v == 250000000);
	assert_true(text_parse_ns("1.5s", &v) && v == 1500000000);
	assert_true(text_parse_ns("100", &v) && v == 100);
	assert_false(text_parse_ns("soon", &v));
	assert_string_equal(text_ns(buf, 999), "999 ns");
	assert_string_equal(text_ns(buf, 4500), "4.50 us");
	assert_string_equal(text_ns(buf, 125000000000), "2m 05s");
}

static void counts_have_thousands_separators(void **state)
{
	char buf[TEXT_SIZE_MAX];

	(void)state;
	assert_string_equal(text_count(buf, 0), "0");
	assert_string_equal(text_count(buf, 999), "999");
	assert_string_equal(text_count(buf, 1000), "1,000");
	assert_string_equal(text_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void json_text_is_always_valid_utf8(void **state)
{
	struct text t = {0};

	(void)state;
	text_json(&t, "a\"b\\c\n\x01\xff\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xed\xa0\x80");
	assert_string_equal(t.s, "\"a\\\"b\\\\c\\u000a\\u0001\xef\xbf\xbd\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"
				 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	text_free(&t);
}

static void printf_grows_the_buffer(void **state)
{
	struct text t = {0};

	(void)state;
	text_printf(&t, "%0500d|", 7);
	text_i64(&t, INT64_MIN);
	assert_int_equal(t.n, 501 + 20);
	assert_string_equal(t.s + 500, "|-9223372036854775808");
	text_free(&t);
}

/* The map against an array that knows the truth: 4096 keys in few home slots, random puts and takes. */
static void map_agrees_with_a_plain_array(void **state)
{
	struct map64 m = {0};
	uint32_t truth[4096] = {0}, v;
	unsigned seed = 1, i;
	size_t live = 0;
	bool fresh;

	(void)state;
	for (i = 0; i < 200000; i++) {
		unsigned k = (unsigned)rand_r(&seed) % 4096;
		uint64_t key = (uint64_t)k << 21;

		if (rand_r(&seed) % 2) {
			*map64_put(&m, key, &fresh) = i + 1;
			assert_int_equal(fresh, truth[k] == 0);
			live += fresh;
			truth[k] = i + 1;
		} else {
			assert_int_equal(map64_take(&m, key, &v), truth[k] != 0);
			if (truth[k])
				assert_int_equal(v, truth[k]);
			live -= truth[k] != 0;
			truth[k] = 0;
		}
		assert_int_equal(m.n, live);
	}
	for (i = 0; i < 4096; i++)
		assert_int_equal(map64_find(&m, (uint64_t)i << 21) != NULL, truth[i] != 0);
	map64_free(&m);
}

static char *temp_path(const char *name)
{
	const char *dir = getenv("TMPDIR");

	return mem_printf("%s/gpumemsnap-test-%d-%s", dir ? dir : "/tmp", (int)getpid(), name);
}

static void write_file(const char *path, const void *p, size_t n)
{
	struct err e = {0};
	struct output *o = output_open(path, &e);

	assert_non_null(o);
	assert_int_equal(output_write(o, p, n, &e), 0);
	assert_int_equal(output_close(o, &e), 0);
}

static void assert_holds(const char *path, const char *text)
{
	struct err e = {0};
	struct input in;

	assert_int_equal(input_open(&in, path, &e), 0);
	assert_int_equal(in.n, strlen(text));
	assert_memory_equal(in.data, text, in.n);
	input_close(&in);
}

/* The program's renames come by here: each must find a file under the name that is to be replaced. */
static const char *watched;
static int renames, gaps;

int rename(const char *from, const char *to)
{
	if (watched && !strcmp(to, watched)) {
		renames++;
		gaps += access(to, F_OK) != 0;
	}
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static void a_file_is_under_the_name_all_the_while_it_is_replaced(void **state)
{
	char *path = temp_path("whole"), *old = mem_printf("%s.old", path);

	(void)state;
	write_file(path, "one", 3);
	watched = path;
	write_file(path, "two", 3);
	write_file(path, "three", 5);
	watched = NULL;
	assert_int_equal(renames, 2);
	assert_int_equal(gaps, 0);
	assert_holds(path, "three");
	assert_holds(old, "two");
	unlink(path);
	unlink(old);
	free(path);
	free(old);
}

static void a_link_in_the_place_of_the_output_is_replaced_and_not_followed(void **state)
{
	char *path = temp_path("link"), *target = temp_path("target"), *old = mem_printf("%s.old", path);
	struct stat st;

	(void)state;
	write_file(target, "precious", 8);
	assert_int_equal(symlink(target, path), 0);
	write_file(path, "new", 3);
	assert_holds(target, "precious");
	assert_holds(path, "new");
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	unlink(path);
	unlink(target);
	unlink(old);
	free(path);
	free(target);
	free(old);
}

static void an_old_output_is_kept_and_an_abandoned_one_leaves_nothing(void **state)
{
	char *path = temp_path("out"), *old = mem_printf("%s.old", path);
	struct err e = {0};
	struct output *o;

	(void)state;
	write_file(path, "one", 3);
	write_file(path, "two", 3);
	assert_holds(path, "two");
	assert_holds(old, "one");
	o = output_open(path, &e);
	assert_int_equal(output_write(o, "three", 5, &e), 0);
	output_abandon(o);
	assert_holds(path, "two");
	unlink(path);
	unlink(old);
	free(path);
	free(old);
}

static void gzip_is_transparent_even_in_several_members_or_cut(void **state)
{
	char *path = temp_path("a.gz"), *plain = mem_alloc(300000);
	struct err e = {0};
	struct input in;
	unsigned char member[512];
	size_t i, n;
	FILE *f;

	(void)state;
	for (i = 0; i < 300000; i++)
		plain[i] = (char)('a' + i * 7919 % 26);
	write_file(path, plain, 300000);
	assert_int_equal(input_open(&in, path, &e), 0);
	assert_true(in.gz && in.n == 300000 && in.raw_n < 300000 && !memcmp(in.data, plain, in.n));
	n = in.raw_n;
	input_close(&in);

	f = fopen(path, "rb");
	assert_non_null(f);
	i = fread(member, 1, sizeof member, f);
	fclose(f);
	assert_true(n > i / 2);
	f = fopen(path, "wb");
	assert_non_null(f);
	fwrite(member, 1, i / 2, f); /* cut in the middle: what can be read is read */
	fclose(f);
	assert_int_equal(input_open(&in, path, &e), 0);
	assert_true(in.n > 0 && in.n < 300000 && !memcmp(in.data, plain, in.n));
	input_close(&in);
	unlink(path);
	free(path);
	free(plain);
}

static void a_large_file_can_be_reached_anywhere_while_it_is_read(void **state)
{
	const size_t n = (11u << 20) + 12345;
	char *path = temp_path("large"), *plain = mem_alloc(n);
	struct err e = {0};
	struct input in;
	FILE *f;
	size_t i, at;

	(void)state;
	for (i = 0; i < n; i++)
		plain[i] = (char)(i * 2654435761u >> 13);
	f = fopen(path, "wb");
	assert_non_null(f);
	fwrite(plain, 1, n, f);
	fclose(f);
	assert_int_equal(input_open(&in, path, &e), 0);
	assert_int_equal(in.n, n);
	for (at = 0; at < n; at += at / 2 + 700000) { /* in growing steps, so that some chunks are skipped */
		input_done_until(&in, at);
		assert_memory_equal(in.data + at, plain + at, n - at < 1 << 20 ? n - at : 1 << 20);
		assert_memory_equal(in.data + at / 2, plain + at / 2, 5000);
		assert_memory_equal(in.data + n - 5000, plain + n - 5000, 5000);
	}
	input_done_until(&in, n);
	assert_memory_equal(in.data, plain, n);
	input_close(&in);
	unlink(path);
	free(path);
	free(plain);
}

static void errors_name_the_file(void **state)
{
	struct err e = {0};
	struct input in;

	(void)state;
	assert_int_equal(input_open(&in, "/nonexistent/x", &e), -1);
	assert_int_equal(e.kind, ERR_INPUT);
	assert_string_equal(e.file, "/nonexistent/x");
	assert_non_null(strstr(e.msg, "No such file"));
	assert_int_equal(err_set(&e, ERR_SYSTEM, "other", 1, "second"), -1); /* the first error wins */
	assert_string_equal(e.file, "/nonexistent/x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_print_in_iec_units),
		cmocka_unit_test(sizes_are_read_back),
		cmocka_unit_test(times_read_and_print),
		cmocka_unit_test(counts_have_thousands_separators),
		cmocka_unit_test(json_text_is_always_valid_utf8),
		cmocka_unit_test(printf_grows_the_buffer),
		cmocka_unit_test(map_agrees_with_a_plain_array),
		cmocka_unit_test(sorted_numbers_stand_once_and_are_found),
		cmocka_unit_test(a_file_is_under_the_name_all_the_while_it_is_replaced),
		cmocka_unit_test(a_link_in_the_place_of_the_output_is_replaced_and_not_followed),
		cmocka_unit_test(an_old_output_is_kept_and_an_abandoned_one_leaves_nothing),
		cmocka_unit_test(gzip_is_transparent_even_in_several_members_or_cut),
		cmocka_unit_test(a_large_file_can_be_reached_anywhere_while_it_is_read),
		cmocka_unit_test(errors_name_the_file),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
