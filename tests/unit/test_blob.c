/* test_blob.c: columns of numbers become sections of the least width, which read back are the same numbers.
 */
#include "render/html_blob.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* As the page's script reads them. */
static uint64_t number(const struct blob *b, unsigned width, uint32_t first, size_t large_at, size_t i,
                       size_t *k)
{
	uint32_t x = 0;
	double d;

	if (width)
		memcpy(&x, b->v + i * width, width);
	else
		x = first;
	if (x != BLOB_LARGE)
		return x;
	memcpy(&d, b->v + large_at + 8 * (*k)++, 8);
	return (uint64_t)d;
}

static void expect(const uint64_t *v, size_t n, unsigned want_width, size_t want_large)
{
	struct blob b = {0};
	struct blob_column c = {0};
	size_t got, bytes, large, k = 0;
	unsigned width;
	uint32_t first;

	for (size_t i = 0; i < n; i++)
		blob_put(&c, v[i]);
	blob_add(&b, "x", &c);
	assert_int_equal(
	    sscanf(b.index.s, "\"x\":[%zu,%zu,%u,%" SCNu32 ",%zu]", &got, &bytes, &width, &first, &large), 5);
	assert_int_equal(got, n);
	assert_int_equal(bytes, b.n);
	assert_int_equal(bytes % 8, 0);
	assert_int_equal(width, want_width);
	assert_int_equal(large, want_large);
	for (size_t i = 0; i < n; i++)
		assert_true(number(&b, width, first, bytes - 8 * large, i, &k) == v[i]);
	assert_int_equal(k, large);
	free(b.v);
	text_free(&b.index);
}
#define EXPECT(width, large, ...)                                                                            \
	do {                                                                                                 \
		const uint64_t v_[] = {__VA_ARGS__};                                                         \
		expect(v_, sizeof v_ / sizeof *v_, width, large);                                            \
	} while (0)

static void equal_numbers_take_no_bytes(void **state)
{
	(void)state;
	EXPECT(0, 0, 7, 7, 7);
	EXPECT(0, 0, 70000);
	expect(NULL, 0, 0, 0);
}

static void a_column_is_as_wide_as_its_largest_number(void **state)
{
	(void)state;
	EXPECT(1, 0, 0, 255, 1);
	EXPECT(2, 0, 256, 0, 65535);
	EXPECT(4, 0, 1, 300, 65536, 4294967294);
	EXPECT(2, 0, 300, 1);
}

static void numbers_of_more_than_four_bytes_are_kept_apart(void **state)
{
	(void)state;
	EXPECT(4, 2, 1, 4294967295, 2, 1ull << 52);
	EXPECT(4, 1, 1ull << 40, 3);
	EXPECT(0, 3, 1ull << 40, 1ull << 41, 1ull << 52);
}

static void long_columns_grow_and_lie_at_multiples_of_eight(void **state)
{
	struct blob b = {0};
	struct blob_column c = {0};

	(void)state;
	for (unsigned i = 0; i < 1001; i++)
		blob_put_signed(&c, i % 2 ? -(int64_t)i : i);
	blob_add(&b, "a", &c);
	blob_put(&c, 1);
	blob_put(&c, 2);
	blob_add(&b, "b", &c);
	assert_string_equal(b.index.s, "\"a\":[1001,2008,2,0,0],\"b\":[2,8,1,1,0]");
	for (unsigned i = 0; i < 1001; i++) {
		uint16_t x;
		memcpy(&x, b.v + 2 * (size_t)i, 2);
		assert_int_equal(x, i % 2 ? 2 * i - 1 : 2 * i);
	}
	assert_int_equal(b.v[2008], 1);
	assert_int_equal(b.v[2009], 2);
	free(b.v);
	text_free(&b.index);
}

int main(void)
{
	const struct CMUnitTest blob[] = {
	    cmocka_unit_test(equal_numbers_take_no_bytes),
	    cmocka_unit_test(a_column_is_as_wide_as_its_largest_number),
	    cmocka_unit_test(numbers_of_more_than_four_bytes_are_kept_apart),
	    cmocka_unit_test(long_columns_grow_and_lie_at_multiples_of_eight),
	};

	return cmocka_run_group_tests(blob, NULL, NULL);
}
