/* bands.h: memory over time, cut into columns of equal time and into bands of equal origin.
 *
 * For each column: the highest and the lowest total reached in it, and how the highest was made up.
 * Nothing between columns is lost: the state a column begins with counts too, so the highest of all
 * columns is the highest of all rows. Bands are the most important origins (stack, stream, …) of the
 * window; all others together are the last band.
 */
#ifndef ANALYZE_BANDS_H
#define ANALYZE_BANDS_H

#include "analyze/group.h"

#define BANDS_MAX  12
#define BANDS_REST UINT32_MAX

/* The columns: of equal width from `from` to `to`. */
struct bands_axis {
	int64_t from, to; /* ns; from < to */
	int columns;
};
/* The column of an instant: 0 … columns - 1, clamped. */
int bands_column(const struct bands_axis *x, int64_t t);
/* The same for one instant after another: as long as they fall in one column nothing is divided. Start with
 * {.axis = x}. */
struct bands_cursor {
	const struct bands_axis *axis;
	int column;
	int64_t from, to; /* instants from ≤ t < to are in it */
};
int bands_seek(struct bands_cursor *k, int64_t t);
static inline int bands_next(struct bands_cursor *k, int64_t t)
{
	return t >= k->from && t < k->to ? k->column : bands_seek(k, t);
}

struct band {
	uint32_t key;     /* as group.h has it, or BANDS_REST */
	uint32_t members; /* origins in it: 1, or how many make up the rest */
	uint64_t at_peak; /* bytes when the total is highest */
	uint64_t *value;  /* per column: bytes when the column's total is highest */
};

struct bands {
	int columns;
	struct band band[BANDS_MAX + 1]; /* the most persistent first, the rest last */
	size_t n;
	uint64_t *high, *low; /* per column */
	uint64_t peak;        /* of the window */
	size_t peak_row; /* the row after which it is reached first; SIZE_MAX: before the window's first */
	int peak_column;
};
/* The live blocks of a device (live.h), at most max ≤ BANDS_MAX bands besides the rest. */
void bands_make(struct bands *b, const struct model *m, uint8_t device, enum group_by by,
                const struct bands_axis *x, size_t max);
/* The same without columns: values, high and low are NULL. */
void bands_choose(struct bands *b, const struct model *m, uint8_t device, enum group_by by,
                  const struct bands_axis *x, size_t max);
void bands_free(struct bands *b);

/* A series (series.h: a value after each row) by columns: highest, lowest, and the row of the highest
 * (SIZE_MAX: none). Unknown values do not count; a column without any is MODEL_UNKNOWN. Any of the three may
 * be NULL. */
void bands_of_series(const struct model *m, uint8_t device, const struct bands_axis *x, const uint64_t *value,
                     uint64_t *high, uint64_t *low, size_t *row);

#endif
