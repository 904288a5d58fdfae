/* recording.h: a spool with the names of its code, as a model; and a model as a snapshot file. */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include "base/err.h"
#include "format/spool.h"
#include "model/model.h"

/* Like spool_read, with functions and lines looked up in the program's files, and with PyTorch's history if
 * there is one beside the spool. Not linked yet. */
int recording_read(struct model *m, const char *spool, int64_t until_ns, struct spool_info *info, struct err *e);
/* The spool alone, for who reads again and again: the program files stay open in `names`. */
struct recording_names *recording_names_new(void);
void recording_names_free(struct recording_names *names);
struct spool_finder recording_finder(struct recording_names *names);
int recording_read_with(struct recording_names *names, struct model *m, const char *spool, int64_t until_ns,
			struct spool_info *info, struct err *e);
/* Is this file a spool? (Standard input is not looked at.) */
bool recording_is_spool(const char *path);
/* The model as a snapshot under this name; an older file is kept as FILE.old. */
int recording_write(const struct model *m, const char *path, struct err *e);

#endif
