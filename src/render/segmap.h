/* segmap.h: where blocks lie: addresses against time, or the state of all segments at one instant.
 *
 * Both use the bands of a timeline panel (timeline.h) for colours and names: a block of the seventh band's
 * stack has the seventh band's colour; all others share one.
 */
#ifndef RENDER_SEGMAP_H
#define RENDER_SEGMAP_H

#include "analyze/lives.h"
#include "analyze/space.h"
#include "render/timeline.h"

struct segmap {
	struct lives held, blocks; /* held is empty where the recording knows no segments */
	struct ranges ranges;      /* of addresses that were ever held */
};
void segmap_make(struct segmap *s, const struct model *m, uint8_t device);
void segmap_free(struct segmap *s);

/* t: with one panel, whose axis has segmap_plot columns. */
int segmap_plot(const struct look_options *o);
void segmap_layout(struct picture *p, const struct timeline_picture *t, const struct segmap *s,
                   const struct look_options *o, struct font *font);

/* The state after a row: space as space.h gives it (for a recording without segments: filled by
 * segmap_blocks_as_segments). */
void segmap_blocks_as_segments(struct space *s, const struct model *m, uint8_t device, size_t row);
void segstate_layout(struct picture *p, const struct timeline_picture *t, const struct space *s,
                     const struct look_options *o, struct font *font);

/* The colour of a row's block: its band's. */
struct segmap_colours {
	struct group_keys keys;
	uint32_t *rgb; /* per key */
};
void segmap_colours_make(struct segmap_colours *c, const struct timeline_picture *t,
                         const struct palette *pal);
void segmap_colours_free(struct segmap_colours *c);

#endif
