/* plot.h: what every picture over time has: the time axis below and the bars of phases above. */
#ifndef RENDER_PLOT_H
#define RENDER_PLOT_H

#include "analyze/bands.h"
#include "analyze/cuts.h"
#include "render/look.h"

#define PLOT_TIME_AXIS 36 /* units: height of the time axis with its title */

struct plot {
	struct picture *p;
	const struct look *l;
	const struct model *m;
	struct bands_axis axis;  /* one column per pixel */
	int x;                   /* of its left edge */
	bool by_event;           /* the axis counts events though there are times */
	const char *since;       /* what times count from; NULL: the recording's beginning */
	const struct cuts *cuts; /* times are shown ones; NULL: they are real */
};
static inline int plot_x(const struct plot *g, int64_t t)
{
	return g->x + bands_column(&g->axis, t);
}

/* Ticks, labels and title below `bottom`; returns the y below them. */
int plot_time_axis(const struct plot *g, int bottom);

/* Where idle time was cut out of a plot, it is torn. */
void plot_cuts(const struct plot *g, int y, int h);

/* The phases of a device in the window, each in the first lane that is free when it begins. */
struct plot_phases {
	struct lane_phase {
		const struct phase *p;
		int lane;
	} * v;
	size_t n, cap;
	int lanes;
	uint64_t nested; /* in lanes that are not drawn */
};
void plot_phases_find(struct plot_phases *ph, const struct plot *g,
                      uint8_t device); /* {0} at first; may be reused */
void plot_phases_free(struct plot_phases *ph);
/* Bars with names from y on; returns the y below them. */
int plot_phases_draw(const struct plot_phases *ph, const struct plot *g, int y);

#endif
