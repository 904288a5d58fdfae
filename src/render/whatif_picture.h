/* whatif_picture.h: reserved memory over time under several settings, one panel per device. */
#ifndef RENDER_WHATIF_PICTURE_H
#define RENDER_WHATIF_PICTURE_H

#include "analyze/whatif.h"
#include "render/look.h"

struct whatif_picture {
	const struct whatif *w; /* made with this axis */
	const struct model *m;
	bool asked;             /* the settings were given, not chosen from a grid */
	struct bands_axis axis; /* columns: timeline_plot */
};

/* p is initialised here (picture_free when done). */
void whatif_layout(struct picture *p, const struct whatif_picture *t, const struct look_options *o, struct font *font);

#endif
