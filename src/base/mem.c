/* mem.c: allocation that ends the program with status 4 when there is no memory. */
#include "base/mem.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A large array in large pages: the first touch of 2 MiB is one fault instead of 512, and on a
 * virtual machine faults can cost more than everything that is then done with the memory. */
#define LARGE	   (2u << 20)
#define LARGE_PAGE (2u << 20)
#define PAGE	   4096u

static void *large(void *p, size_t bytes)
{
	uintptr_t begin = (uintptr_t)p & ~(uintptr_t)(PAGE - 1); /* malloc's header too: or it could not be moved whole */

	if (p && bytes >= LARGE)
		madvise((void *)begin, (size_t)((uintptr_t)p + bytes - begin), MADV_HUGEPAGE); /* may be refused */
	return p;
}

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
	size_t whole = (bytes + LARGE_PAGE - 1) & ~(size_t)(LARGE_PAGE - 1);

	if (bytes < LARGE || whole < bytes)
		return checked(malloc(bytes ? bytes : 1), bytes);
	return large(checked(aligned_alloc(LARGE_PAGE, whole), bytes), whole);
}

/* Zeroing large pages again costs less than the faults of the small ones that calloc's place is made of. */
void *mem_zalloc(size_t count, size_t each)
{
	size_t bytes = product(count, each);

	if (bytes >= LARGE)
		return memset(mem_alloc(bytes), 0, bytes);
	return checked(calloc(1, bytes ? bytes : 1), bytes);
}

void *mem_resize(void *p, size_t count, size_t each)
{
	size_t bytes = product(count, each);

	if (!p)
		return mem_alloc(bytes);
	return large(checked(realloc(p, bytes ? bytes : 1), bytes), bytes);
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
