/* guess.c: see guess.h. Words are alike if few edits make one of the other: insert a letter, delete
 * one, replace one, swap two neighbours. */
#include "cli/guess.h"
#include <string.h>

#define LONGEST 30

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t d[LONGEST + 1][LONGEST + 1], i, j;

	for (i = 0; i <= n; i++)
		d[i][0] = i;
	for (j = 0; j <= m; j++)
		d[0][j] = j;
	for (i = 1; i <= n; i++)
		for (j = 1; j <= m; j++) {
			d[i][j] = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), least(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[n][m];
}

struct guess guess_begin(const char *word, size_t n)
{
	/* Two edits at most, and never as many as there are letters. */
	return (struct guess){.word = word, .n = n, .distance = n > LONGEST ? 0 : least(n, 3)};
}

void guess_try(struct guess *g, const char *known)
{
	size_t m = strlen(known), d;

	if (!g->distance || m > LONGEST)
		return;
	d = distance(g->word, g->n, known, m);
	if (d < g->distance) {
		g->best = known;
		g->distance = d;
	}
}
