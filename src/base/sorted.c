/* sorted.c: see sorted.h. */
#include "base/sorted.h"
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

size_t sorted_make(uint64_t *v, size_t n)
{
	size_t kept = 0, i;

	if (n)
		qsort(v, n, sizeof *v, by_number);
	for (i = 0; i < n; i++)
		if (!kept || v[kept - 1] != v[i])
			v[kept++] = v[i];
	return kept;
}

size_t sorted_find(const uint64_t *v, size_t n, uint64_t x)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (v[mid] < x)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
