/* timeline_opts.h: what cmd_timeline.c and timeline_segments.c share. */
#ifndef CLI_TIMELINE_OPTS_H
#define CLI_TIMELINE_OPTS_H

#include "cli/drawing.h"
#include "render/timeline.h"

struct timeline_opts {
	const char *view, *group, *axis, *from, *to, *at, *device;
	bool own_scale;
	struct drawing drawing;
	const struct model *recorded; /* the recordings as read */
	const struct model *drawn;    /* and as drawn: maybe by event number, or on shown times (cuts.h) */
	const struct cuts *cuts;      /* what was cut out of the times of those drawn, or NULL */
};

/* One device of pic's recording: all lives, or with --at the state at an instant. */
int timeline_segments(const struct timeline_opts *o, struct timeline_picture *pic, struct font *font,
                      struct err *e);

void timeline_subtitle(struct text *t, const struct timeline_picture *pic);
int timeline_save(const struct timeline_opts *o, const struct timeline_picture *pic, struct picture *p,
                  struct err *e);

#endif
