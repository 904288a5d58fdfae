/* symbol.h: from an address in a program file to function, source file and line, inlined calls included.
 *
 * Debug information is looked for in the file itself, then by build-id and .gnu_debuglink in the usual
 * places, then from a debuginfod server if DEBUGINFOD_URLS names one. A file that is not the recorded one
 * any more (its build-id differs) is not used: no name is better than a wrong one.
 * Everything about a file is prepared when it is first asked for, so that a question costs microseconds.
 */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

struct symbol_place {
	const char *function, *file; /* NULL: not known */
	uint32_t line;		     /* 0: not known */
};

struct symbol_file;

/* Never NULL; a file that cannot be read has no names. build_id may be NULL (n = 0): not checked. */
struct symbol_file *symbol_open(const char *path, const unsigned char *build_id, size_t n);
void symbol_close(struct symbol_file *f);
/* What runs at this address (in the file's own terms), innermost inlined function first. Returns how many
 * of `out` were filled. The texts live until the next call for the same file. */
size_t symbol_find(struct symbol_file *f, uint64_t vaddr, struct symbol_place *out, size_t max);
/* The file on disk is not the one that was recorded. */
int symbol_changed(const struct symbol_file *f);

#endif
