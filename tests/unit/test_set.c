/* test_set.c: taking a set of snapshots apart, whatever its bytes are. */
#include "format/set.h"
#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct input input_of(const char *s)
{
	return (struct input){.name = "set", .data = (const unsigned char *)s, .n = strlen(s)};
}

#define HEADER "{\"format\":\"gpumemsnap-set\",\"version\":1,\"names\":[\"a\",\"b/c\"]}\n"

static void documents_are_found_whatever_their_strings_hold(void **state)
{
	struct input in = input_of(HEADER "{\"x\":\"}]\\\"{\",\"y\":[{}]}\n\n {\"z\":1}"), part;
	struct err e = {0};

	(void)state;
	assert_true(set_probe(&in));
	assert_int_equal(set_part(&in, 0, "set#0", &part, &e), 0);
	assert_memory_equal(part.data, "{\"x\":\"}]\\\"{\",\"y\":[{}]}", part.n);
	assert_int_equal(part.n, 22);
	assert_string_equal(part.name, "set#0");
	assert_int_equal(set_part(&in, 1, "set#1", &part, &e), 0);
	assert_int_equal(part.n, 7);
	assert_int_equal(set_part(&in, 2, "set#2", &part, &e), -1);
	assert_int_equal(e.kind, ERR_INPUT);
}

static void names_are_listed(void **state)
{
	struct input in = input_of(HEADER "{}");
	struct err e = {0};
	char **names;

	(void)state;
	assert_int_equal(set_names(&in, &names, &e), 2);
	assert_string_equal(names[0], "a");
	assert_string_equal(names[1], "b/c");
	free(names[0]);
	free(names[1]);
	free(names);
}

static void damage_is_an_error_or_ends_the_last_document(void **state)
{
	static const char *const damaged[] = {"{\"format\":\"gpumemsnap-set\"", "{\"format\":\"gpumemsnap-set\"}\n",
					      "{\"format\":\"gpumemsnap-set\",\"names\":3}\n", "{\"format\":\"gpumemsnap-set\",[\n{"};
	struct input in, part;
	struct err e;
	char **names;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof damaged / sizeof *damaged; i++) {
		in = input_of(damaged[i]);
		e = (struct err){0};
		assert_true(set_probe(&in));
		assert_int_equal(set_names(&in, &names, &e), -1);
		assert_int_equal(e.kind, ERR_INPUT);
	}
	in = input_of(HEADER "{\"a\":\"\\");
	assert_int_equal(set_part(&in, 0, "set#0", &part, &e), 0);
	assert_int_equal(part.n, 7);
	in = input_of(HEADER "]]]{}");
	assert_int_equal(set_part(&in, 0, "set#0", &part, &e), 0);
	assert_int_equal(part.n, 2);
}

int main(void)
{
	const struct CMUnitTest set[] = {
		cmocka_unit_test(documents_are_found_whatever_their_strings_hold),
		cmocka_unit_test(names_are_listed),
		cmocka_unit_test(damage_is_an_error_or_ends_the_last_document),
	};
	return cmocka_run_group_tests(set, NULL, NULL);
}
