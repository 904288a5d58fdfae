/* cuts.h: a time axis on which the long idle times of recordings are short.
 *
 * Idle is when nothing is allocated or freed in any of them. "Shown" times are real ones less what was cut
 * before them; inside a cut they run fast, so that every instant has its place and nothing is lost.
 */
#ifndef ANALYZE_CUTS_H
#define ANALYZE_CUTS_H

#include "model/model.h"

#define CUTS_MAX 20
#define CUTS_FAR (INT64_MAX / 4) /* times beyond make no sense, and sums of them must not overflow */

struct cuts {
	struct cut {
		int64_t from, to; /* real times */
		int64_t at;       /* shown: where it begins */
	} v[CUTS_MAX];
	size_t n;
	int64_t width; /* shown, of each */
};
/* Of n recordings, whose times become those of the window with shift added; none if less than half of the
 * window is idle. */
void cuts_find(struct cuts *c, const struct model *m, const int64_t *shift, size_t n, int64_t from,
               int64_t to);
int64_t cuts_shown(const struct cuts *c, int64_t real);
int64_t cuts_real(const struct cuts *c, int64_t shown);

#endif
