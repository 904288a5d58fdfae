/* format.h: the one door for reading a recording, whatever wrote it.
 *
 * formats.def has a row per format: a probe that recognises it by content and a reader that
 * fills a model. A new format is one file here and one row there.
 */
#ifndef FORMAT_FORMAT_H
#define FORMAT_FORMAT_H

#include "base/err.h"
#include "base/input.h"
#include "model/model.h"

struct format {
	const char *name;
	bool (*probe)(const struct input *in);
	int (*read)(const struct input *in, struct model *m, struct err *e);
};
extern const struct format format_table[]; /* ends with a NULL name */

/* The functions of every row: a reader's file needs no header of its own. */
#define FORMAT(name, probe, read)            \
	bool probe(const struct input *in); \
	int read(const struct input *in, struct model *m, struct err *e);
#include "format/formats.def"
#undef FORMAT

/* Open path ("-" = standard input), recognise, read and model_link. On error m is freed. */
int format_read(struct model *m, const char *path, struct err *e);

#endif
