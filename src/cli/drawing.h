/* drawing.h: what all commands that make pictures have in common: options and where the PNG goes. */
#ifndef CLI_DRAWING_H
#define CLI_DRAWING_H

#include "cli/options.h"
#include "model/model.h"
#include "render/look.h"

struct drawing {
	const char *output, *theme, *title;
	uint64_t width, height;
	double scale;
	bool layout; /* print the layout text instead of drawing */
	struct look_options look;
};

/* Rows for a command whose struct keeps a `struct drawing` at this offset: where to, and how it looks. */
#define DRAWING_OPTIONS(at)                                                                                  \
	{"output",   'o',                                                                                    \
	 OPT_STRING, (at) + offsetof(struct drawing, output),                                                \
	 "FILE",     "write the PNG here (default: standard output)"},                                       \
	    DRAWING_LOOKS(at)
#define DRAWING_LOOKS(at)                                                                                    \
	{"width",  0,                                                                                        \
	 OPT_U64,  (at) + offsetof(struct drawing, width),                                                   \
	 "PIXELS", "width of the picture (default 2400)"},                                                   \
	    {"height", 0,                                                                                    \
	     OPT_U64,  (at) + offsetof(struct drawing, height),                                              \
	     "PIXELS", "height of the picture (default: as needed)"},                                        \
	    {"scale",  0,                                                                                    \
	     OPT_REAL, (at) + offsetof(struct drawing, scale),                                               \
	     "FACTOR", "size of text and lines (default: width / 1200)"},                                    \
	    {"theme",      0,                                                                                \
	     OPT_CHOICE,   (at) + offsetof(struct drawing, theme),                                           \
	     "light|dark", "colours (default light)"},                                                       \
	    {"title",    0,                                                                                  \
	     OPT_STRING, (at) + offsetof(struct drawing, title),                                             \
	     "TEXT",     "heading of the picture"},                                                          \
	{                                                                                                    \
		"layout", 0, OPT_FLAG, (at) + offsetof(struct drawing, layout), NULL,                        \
		    "print what is drawn where as text, no PNG"                                              \
	}

/* Before any work: are the sizes possible, may the picture go where it should? */
int drawing_check(struct drawing *d, const char *command, struct err *e);
/* Which recording a picture is of: its file, command, digest (model_digest, taken before anything was added to its
 * tables) and time. */
void drawing_source(struct picture *p, const struct model *m, uint64_t digest);
/* Meta lines that every picture has, then the PNG (or text) to its place. */
int drawing_save(const struct drawing *d, struct picture *p, struct err *e);

#endif
