/* guess.h: which of the known words a mistyped one was meant to be. */
#ifndef CLI_GUESS_H
#define CLI_GUESS_H

#include <stddef.h>

struct guess {
	const char *word; /* what was typed */
	size_t n;
	const char *best; /* the most alike so far; NULL: none is alike */
	size_t distance;
};
/* Start with guess_begin, show it every known word, read `best`. */
struct guess guess_begin(const char *word, size_t n);
void guess_try(struct guess *g, const char *known);

#endif
