/* timeline.h: memory over time as a picture, one panel per device, of one recording or several.
 *
 * timeline_panel gathers what a panel shows, in as many columns as timeline_plot says the plot is
 * wide; timeline_layout draws the panels under each other on one time axis.
 */
#ifndef RENDER_TIMELINE_H
#define RENDER_TIMELINE_H

#include "analyze/bands.h"
#include "analyze/code.h"
#include "analyze/cuts.h"
#include "analyze/oom.h"
#include "analyze/rank.h"
#include "render/look.h"

enum timeline_view {
	TIMELINE_ACTIVE,   /* live blocks, by origin */
	TIMELINE_RESERVED, /* what is held from the device: in use, rounding, cached */
	TIMELINE_SEGMENTS, /* addresses (segmap.h): bands have names and colours, but no columns and no lines
	                    */
};

struct timeline_band {
	char *name, *brief; /* brief: for a label inside the band */
	uint32_t rgb;
	uint64_t at_peak;
	uint64_t *value; /* per column; borrowed */
};

struct timeline_panel {
	const struct model *m;
	struct bands_axis axis; /* in the recording's own time */
	int64_t begin, end;     /* of the recording, in its own time; both 0: as the axis */
	const char *file;       /* what its recording is called, where there are several */
	uint8_t device;
	struct timeline_band band[BANDS_MAX + 1];
	size_t n;
	uint64_t *high, *low; /* per column, of the stacked total; borrowed */
	uint64_t peak;
	int64_t peak_t; /* INT64_MIN: the state before the window */
	int64_t peak_event;
	int peak_column;
	uint64_t *reserved, *used; /* per column or NULL: highest reserved; used on the whole device */
	uint64_t reserved_peak, used_peak, limit; /* MODEL_UNKNOWN */
	struct ooms ooms;                         /* only those inside the window count */
	uint64_t events;                          /* of the device in the window */
	/* private */
	struct bands bands;
	struct code_memo codes;
	uint64_t *own[3], *own_high, *own_low;
};

struct timeline_picture {
	const struct model *m;
	const struct rank *rank;
	const char *title, *subtitle;
	enum timeline_view view;
	enum group_by by;
	bool dark;
	struct bands_axis axis;  /* columns: timeline_plot */
	bool by_event;           /* times are event numbers, though the recording has times */
	const char *since;       /* what times count from; NULL: the recording's beginning */
	const struct cuts *cuts; /* times are shown ones; NULL: they are real */
	bool own_scale;          /* every panel has a bytes axis of its own */
	struct map64 *names;     /* name of a band → its colour's number, the same in all panels */
	struct timeline_panel *panel;
	size_t n;
};

/* The real time of one on the picture's axis. */
static inline int64_t timeline_time(const struct timeline_picture *t, int64_t shown)
{
	return t->cuts ? cuts_real(t->cuts, shown) : shown;
}

/* The width of the plot in pixels, which is the number of columns to make; and how many bands a panel has
 * room for. */
int timeline_plot(const struct look_options *o);
/* So many panels have room in a picture. */
size_t timeline_most_panels(const struct look_options *o);
size_t timeline_bands(const struct look_options *o, size_t panels);

/* Of t's recording; t may differ from panel to panel in m, rank and axis. */
void timeline_panel(struct timeline_panel *p, const struct timeline_picture *t, uint8_t device,
                    size_t max_bands);
void timeline_panel_free(struct timeline_panel *p);

/* p is initialised here (picture_free when done). */
void timeline_layout(struct picture *p, const struct timeline_picture *t, const struct look_options *o,
                     struct font *font);

#endif
