/* legend.h: the column beside a plot that names what is drawn: a chip, a name, and how much below it. */
#ifndef RENDER_LEGEND_H
#define RENDER_LEGEND_H

#include "render/look.h"

#define LEGEND_ENTRY 29 /* units: height of an entry */

struct legend {
	struct picture *p;
	const struct look *l;
	int x, y, room; /* y moves on with every entry */
};

/* The chip is a square or a line. Of a name of two parts, "a ← b", the first has precedence. */
void legend_entry(struct legend *at, const char *role, int64_t ref, uint32_t rgb, bool line, const char *name,
                  const char *amount);

#endif
