/* snapshot.h: the words SNAP, --device and TIME of a command line, for every command that has them. */
#ifndef CLI_SNAPSHOT_H
#define CLI_SNAPSHOT_H

#include "base/err.h"
#include "model/model.h"

/* The one SNAP of a command: its only word, else standard input if that is a pipe, else
 * "snapshot.json". NULL with e filled if there are more words, or nothing at all. */
const char *snapshot_path(const char *command, int argc, char **argv, struct err *e);

/* Read and link it, whatever it is; a spool with the names of its code. On error m is freed. */
int snapshot_read(struct model *m, const char *path, struct err *e);

/* For commands that take several files: their names (or the one that snapshot_path finds where none is given), a
 * set of snapshots taken apart into FILE#0, FILE#1 … To be freed in any case. */
struct snapshot_parts {
	char **v;
	size_t n, cap;
};
int snapshot_parts(struct snapshot_parts *p, const char *command, int argc, char **argv, struct err *e);
void snapshot_parts_free(struct snapshot_parts *p);

/* "2" → 2, NULL → the device whose live bytes were highest. -1 with e filled if the recording has no
 * such device. A recording of nothing has device 0. */
int snapshot_device(const struct model *m, const char *word, struct err *e);

/* "1.5s" after the recording began, or an event number where the recording has no times; false with e filled.
 */
bool snapshot_time(const struct model *m, const char *option, const char *word, int64_t *t, struct err *e);

/* The last row of the device at or before t; n_initial - 1 if there is none. */
size_t snapshot_row_at(const struct model *m, uint8_t device, int64_t t);

#endif
