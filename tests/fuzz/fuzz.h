/* fuzz.h: what every fuzz target shares.
 *
 * A target is one file with LLVMFuzzerTestOneInput. Built with -DLIBFUZZER (make fuzz-smoke) libFuzzer
 * drives it; else the main below runs it over the files and folders it is given, so that any compiler
 * and any checker can go through the corpus.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "base/mem.h"
#include "format/format.h"
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Read the bytes as `name` with one reader and link the model, as format_read does. */
static inline void fuzz_read(const struct format *f, const char *name, const uint8_t *data, size_t n)
{
	struct input in = {.name = name, .data = data, .n = n, .raw_n = n};
	struct err e = {0};
	struct model m;

	if (!n || !f->probe(&in))
		return;
	model_init(&m, name);
	if (!f->read(&in, &m, &e))
		model_link(&m);
	else if (!*e.msg)
		abort(); /* an error must say what it is */
	model_free(&m);
}

#ifndef LIBFUZZER
static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t n = 0, cap = 0, got = 1;

	if (!f) {
		perror(path);
		return -1;
	}
	for (; got; n += got) {
		if (n == cap)
			data = mem_resize(data, cap = cap * 2 + 4096, 1);
		got = fread(data + n, 1, cap - n, f);
	}
	fclose(f);
	data = mem_resize(data, n ? n : 1, 1); /* of its exact size: a checker sees any step beyond */
	LLVMFuzzerTestOneInput(data, n);
	free(data);
	return 0;
}

static int run_path(const char *path, size_t *count)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int rc = 0;

	if (!dir) {
		++*count;
		return run_file(path);
	}
	while (!rc && (entry = readdir(dir))) {
		char *inside = mem_printf("%s/%s", path, entry->d_name);

		if (*entry->d_name != '.')
			rc = run_path(inside, count);
		free(inside);
	}
	closedir(dir);
	return rc;
}

int main(int argc, char **argv)
{
	size_t count = 0;
	int i, rc = 0;

	for (i = 1; i < argc; i++)
		rc |= run_path(argv[i], &count);
	printf("%zu inputs\n", count);
	return rc ? 1 : 0;
}
#endif

#endif
