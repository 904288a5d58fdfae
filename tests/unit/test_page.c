/* test_page.c: text that fits its page: widths, elision, wrapping, tables. */
#include "models.h"
#include "render/table.h"
#include <stdio.h>

static struct page page_on(FILE *f, size_t width, bool unicode)
{
	return (struct page){.f = f, .width = width, .unicode = unicode};
}

static const char *elided(const char *s, size_t columns, bool unicode, bool steps)
{
	static struct text t;
	struct page p = page_on(NULL, 80, unicode);

	text_free(&t);
	text_puts(&t, "");
	if (steps)
		page_elide_steps(&t, &p, s, columns);
	else
		page_elide(&t, &p, s, columns);
	return t.s;
}

static void wide_characters_count_as_two_columns(void **state)
{
	(void)state;
	assert_int_equal(page_columns("abc"), 3);
	assert_int_equal(page_columns("\xe6\x97\xa5\xe6\x9c\xac"), 4);
	assert_int_equal(page_columns("\xf0\x9f\x9a\x80"), 2);
	assert_int_equal(page_columns("\xff"), 1);
}

static void long_text_loses_its_middle_at_a_character_border(void **state)
{
	(void)state;
	assert_string_equal(elided("abcdefghij", 10, true, false), "abcdefghij");
	assert_string_equal(elided("abcdefghij", 5, true, false), "ab\xe2\x80\xa6ij");
	assert_string_equal(elided("abcdefghij", 7, false, false), "ab...ij");
	assert_string_equal(elided("\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac", 5, true, false),
	                    "\xe6\x97\xa5\xe2\x80\xa6\xe6\x9c\xac");
}

static void what_a_terminal_must_not_see_is_replaced(void **state)
{
	(void)state;
	assert_string_equal(elided("a\033[31mb", 20, true, false), "a [31mb");
	assert_string_equal(elided("a\xff", 20, true, false), "a\xef\xbf\xbd");
	assert_string_equal(elided("\xe6\x97\xa5", 20, false, false), "??");
}

static void steps_are_left_out_whole(void **state)
{
	(void)state;
	assert_string_equal(elided("one <- two <- three", 19, false, true), "one <- two <- three");
	assert_string_equal(elided("one <- two <- three", 18, false, true), "one <- two <- ...");
	assert_string_equal(elided("one <- two <- three", 16, false, true), "one <- ...");
	assert_string_equal(elided("averylongfirststep <- two", 10, false, true), "aver...tep");
}

static char *printed(void (*print)(struct page *), size_t width)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	struct page p = page_on(f, width, false);

	print(&p);
	fclose(f);
	return text;
}

static void print_paragraph(struct page *p)
{
	page_paragraph(
	    p, INK_PLAIN, "! ",
	    "There are 12.50 MiB in use, and a_word_that_is_longer_than_any_line_of_this_page follows.");
}

static void paragraphs_break_at_spaces_but_keep_a_number_with_its_unit(void **state)
{
	char *text = printed(print_paragraph, 42), *line, *rest = NULL;

	(void)state;
	assert_non_null(strstr(text, "12.50 MiB"));
	assert_true(!strncmp(text, "! There", 7));
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		assert_true(strlen(line) <= 42);
		assert_true(line[0] == '!' || line[0] == ' ');
	}
	free(text);
	text = printed(print_paragraph, 22);
	assert_non_null(strstr(text, "12.50 MiB"));
	free(text);
}

static void print_table(struct page *p)
{
	struct table t;

	table_begin(&t, "rrl", "BYTES", "SHARE", "WHERE");
	table_bytes(&t, 1536);
	table_share(&t, 1, 3);
	table_cell(&t, "f a.c:1 <- main b.c:22");
	table_bytes(&t, UINT64_MAX);
	table_share(&t, 1, 0);
	table_cell(&t, "g");
	table_end(&t, p);
}

static void tables_line_up_and_unknown_is_a_dash(void **state)
{
	char *text = printed(print_table, 40);

	(void)state;
	assert_string_equal(text, "     BYTES   SHARE  WHERE\n"
	                          "  1.50 KiB  33.3 %  f a.c:1 <- ...\n"
	                          "         -       -  g\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(wide_characters_count_as_two_columns),
	    cmocka_unit_test(long_text_loses_its_middle_at_a_character_border),
	    cmocka_unit_test(what_a_terminal_must_not_see_is_replaced),
	    cmocka_unit_test(steps_are_left_out_whole),
	    cmocka_unit_test(paragraphs_break_at_spaces_but_keep_a_number_with_its_unit),
	    cmocka_unit_test(tables_line_up_and_unknown_is_a_dash),
	};

	return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
