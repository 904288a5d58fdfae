/* legend.h: the column beside a plot that names what is drawn: a chip, a name, and how much below it. */
#ifndef RENDER_LEGEND_H
#define RENDER_LEGEND_H

#include "render/look.h"

#define LEGEND_ENTRY 29 /* units: height of an entry */
#define LEGEND_LINE  12 /* and of one line more */

struct legend {
	struct picture *p;
	const struct look *l;
	int x, y, room; /* y moves on with every entry */
	int left;       /* entries that are to come; counted down */
	int bottom;     /* what is not needed for them down to here is for long names */
};

/* The chip is a square or a line. A name of two parts, "a ← b", that is too long has two lines where there is
 * room for them; else the first part has precedence. */
void legend_entry(struct legend *at, const char *role, int64_t ref, uint32_t rgb, bool line, const char *name,
                  const char *amount);

#endif
