/* test_symbol.c: names of this very program's code: inlined calls, C++, files without debug information. */
#include "base/mem.h"
#include "symbol/symbol.h"
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

static volatile uintptr_t sink;
static int leaf_line, middle_line, outer_line;

__attribute__((noinline)) static uintptr_t return_address(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

__attribute__((always_inline)) static inline void inlined_leaf(void)
{
	leaf_line = __LINE__ + 1;
	sink = return_address();
	sink++;
}

__attribute__((always_inline)) static inline void inlined_middle(void)
{
	middle_line = __LINE__ + 1;
	inlined_leaf();
}

__attribute__((noinline)) static uintptr_t outer(void)
{
	outer_line = __LINE__ + 1;
	inlined_middle();
	return sink - 1;
}

static int main_program_bias(struct dl_phdr_info *info, size_t n, void *bias)
{
	(void)n;
	*(uintptr_t *)bias = info->dlpi_addr;
	return 1; /* the first is the program */
}

static char *own_path(void)
{
	return realpath("/proc/self/exe", NULL);
}

static uintptr_t outer_vaddr(void)
{
	uintptr_t bias = 0;

	dl_iterate_phdr(main_program_bias, &bias);
	return outer() - 1 - bias;
}

static void inlined_calls_become_frames_with_their_lines(void **state)
{
	char *path = own_path();
	struct symbol_file *f = symbol_open(path, NULL, 0);
	struct symbol_place p[8];
	size_t n = symbol_find(f, outer_vaddr(), p, 8);

	(void)state;
	assert_int_equal(n, 3);
	assert_string_equal(p[0].function, "inlined_leaf");
	assert_int_equal(p[0].line, leaf_line);
	assert_string_equal(p[1].function, "inlined_middle");
	assert_int_equal(p[1].line, middle_line);
	assert_string_equal(p[2].function, "outer");
	assert_int_equal(p[2].line, outer_line);
	assert_string_equal(p[2].file, "./tests/unit/test_symbol.c"); /* the folder it was compiled in is mapped to . */
	assert_int_equal(symbol_find(f, outer_vaddr(), p, 2), 2); /* no more than there is room for */
	symbol_close(f);
	free(path);
}

static void another_file_under_the_same_name_gives_no_names(void **state)
{
	static const unsigned char build_id[20] = {1, 2, 3};
	char *path = own_path();
	struct symbol_file *f = symbol_open(path, build_id, sizeof build_id);
	struct symbol_place p[4];

	(void)state;
	assert_int_equal(symbol_find(f, outer_vaddr(), p, 4), 0);
	assert_true(symbol_changed(f));
	symbol_close(f);
	free(path);
}

static void files_that_cannot_be_read_give_no_names(void **state)
{
	static const char *const paths[] = {"/nonexistent", "/", "/etc/passwd", "", "[vdso]", "relative"};
	struct symbol_place p[4];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct symbol_file *f = symbol_open(paths[i], NULL, 0);

		assert_int_equal(symbol_find(f, 0x1000, p, 4), 0);
		symbol_close(f);
	}
}

static void libraries_without_debug_information_give_symbols(void **state)
{
	struct symbol_place p[4];
	struct symbol_file *f;
	struct link_map *map;
	Dl_info info;
	void *at = (void *)(uintptr_t)cmocka_set_message_output;

	(void)state;
	assert_true(dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP));
	f = symbol_open(info.dli_fname, NULL, 0);
	assert_int_equal(symbol_find(f, (uintptr_t)info.dli_saddr - map->l_addr + 1, p, 4), 1);
	assert_string_equal(p[0].function, "cmocka_set_message_output");
	symbol_close(f);
}

/* A C++ program that prints an address within grab<int>, in its file's terms. */
static const char source[] =
	"#include <cstdio>\n"
	"extern char __executable_start[];\n"
	"namespace pool {\n"
	"__attribute__((noinline)) void *here() { return __builtin_return_address(0); }\n"
	"template<class T> __attribute__((noinline)) void *grab(T) {\n"
	"	void *p = here();\n" /* line 6 */
	"	asm(\"\" : \"+r\"(p));\n"
	"	return p;\n"
	"}\n"
	"}\n"
	"int main() { printf(\"%lx\\n\", (long)((char *)pool::grab(1) - __executable_start - 1)); }\n";

static void assert_program(const char *build, const char *wanted, unsigned wanted_line)
{
	char dir[] = "/tmp/test_symbol.XXXXXX", line[64] = "";
	char *path, *command;
	struct symbol_place p[4];
	struct symbol_file *f;
	FILE *file;

	assert_non_null(mkdtemp(dir));
	path = mem_printf("%s/p.cc", dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(source, file);
	fclose(file);
	path[strlen(path) - 3] = 0;
	command = mem_printf("cd %s && %s && ./p", dir, build);
	file = popen(command, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof line, file));
	assert_int_equal(pclose(file), 0);
	f = symbol_open(path, NULL, 0);
	assert_true(symbol_find(f, strtoull(line, NULL, 16), p, 4) >= 1);
	assert_string_equal(p[0].function, wanted);
	assert_int_equal(p[0].line, wanted_line);
	symbol_close(f);
	free(command);
	command = mem_printf("rm -r %s", dir);
	assert_int_equal(system(command), 0);
	free(command);
	free(path);
}

static void cxx_names_are_demangled(void **state)
{
	(void)state;
	if (system("g++ --version >/dev/null 2>&1"))
		skip();
	assert_program("g++ -g -O1 -pie -fPIE -o p p.cc", "void* pool::grab<int>(int)", 6);
}

static void names_without_lines_come_from_the_symbol_table(void **state)
{
	(void)state;
	if (system("g++ --version >/dev/null 2>&1"))
		skip();
	assert_program("g++ -O1 -pie -fPIE -o p p.cc", "void* pool::grab<int>(int)", 0);
}

static void debug_information_may_be_in_a_file_of_its_own(void **state)
{
	(void)state;
	if (system("g++ --version >/dev/null 2>&1 && objcopy --version >/dev/null 2>&1"))
		skip();
	assert_program("g++ -g -O1 -pie -fPIE -o p p.cc && objcopy --only-keep-debug p p.debug && "
				  "strip -g p && objcopy --add-gnu-debuglink=p.debug p",
		       "void* pool::grab<int>(int)", 6);
}

int main(void)
{
	const struct CMUnitTest test_symbol[] = {
		cmocka_unit_test(inlined_calls_become_frames_with_their_lines),
		cmocka_unit_test(another_file_under_the_same_name_gives_no_names),
		cmocka_unit_test(files_that_cannot_be_read_give_no_names),
		cmocka_unit_test(libraries_without_debug_information_give_symbols),
		cmocka_unit_test(cxx_names_are_demangled),
		cmocka_unit_test(names_without_lines_come_from_the_symbol_table),
		cmocka_unit_test(debug_information_may_be_in_a_file_of_its_own),
	};
	return cmocka_run_group_tests(test_symbol, NULL, NULL);
}
