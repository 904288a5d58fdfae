/* mem.c: allocation that ends the program with status 4 when there is no memory. */
#include "base/mem.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *p, size_t bytes)
{
	if (p || !bytes)
		return p;
	fprintf(stderr, "gpumemsnap: out of memory: %zu bytes refused\n", bytes);
	exit(4);
}

static size_t product(size_t count, size_t each)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, each, &bytes))
		checked(NULL, SIZE_MAX);
	return bytes;
}

void *mem_alloc(size_t bytes)
{
	return checked(malloc(bytes ? bytes : 1), bytes);
}

void *mem_zalloc(size_t count, size_t each)
{
	size_t bytes = product(count, each);

	return checked(calloc(1, bytes ? bytes : 1), bytes);
}

void *mem_resize(void *p, size_t count, size_t each)
{
	size_t bytes = product(count, each);

	return checked(realloc(p, bytes ? bytes : 1), bytes);
}

char *mem_strndup(const char *s, size_t n)
{
	char *copy = mem_alloc(n + 1);

	memcpy(copy, s, n);
	copy[n] = 0;
	return copy;
}

char *mem_strdup(const char *s)
{
	return mem_strndup(s, strlen(s));
}

char *mem_printf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return checked(n < 0 ? NULL : s, 1);
}
