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

/* Open path ("-" = standard input), recognise, read and model_link. On error m is freed. Of a file that holds
 * several snapshots (set.h, or a pickle of them) one has to be named: "FILE#2", counted from 0. */
int format_read(struct model *m, const char *path, struct err *e);
/* The names to give to format_read for everything that is in a file: itself, or FILE#0, FILE#1 … Returns how
 * many, -1 on error; free each and the array. */
int format_parts(const char *path, char ***names, struct err *e);

/* torch.c: how many snapshots a pickle holds; 1 if it cannot be told. Takes as long as reading it. */
unsigned torch_count(const struct input *in);

#endif
