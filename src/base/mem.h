/* mem.h: memory that is never NULL, and growable arrays.
 *
 * The tool is a short-lived program: when memory is exhausted it says so and exits
 * with status 4. Sizes taken from input must be checked against the input's own
 * length before they come here.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t bytes);              /* uninitialised */
void *mem_zalloc(size_t count, size_t each); /* zeroed; overflow checked */
void *mem_resize(void *p, size_t count, size_t each);
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* VEC_PUSH(v, n, cap): make room for one more element of the array v and yield a pointer to it. */
#define VEC_PUSH(v, n, cap)                                                                   \
	((n) == (cap) ? ((v) = mem_resize((v), (cap) = (cap) ? (cap)*2 : 16, sizeof *(v))) : (v), \
	 &(v)[(n)++])

#endif
