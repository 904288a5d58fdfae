/* spools.h: the private directory in which recorded processes leave their spools.
 *
 * It is made beside the output, so that the space both need is one disk's, and its name is made from the
 * output's: whoever holds the directory's lock owns the output's name. Used by record and dump.
 */
#ifndef CLI_SPOOLS_H
#define CLI_SPOOLS_H

#include "base/err.h"
#include "format/spool.h"
#include <stdbool.h>
#include <stddef.h>

struct spools {
	char *dir; /* absolute */
	int lock;  /* the directory, open and locked; -1 */
	bool name_taken; /* another recording that is going on will write this output */
	char *leftover;	 /* the directory of one that was killed; NULL */
};

struct spools_entry {
	char *path;
	int pid, image; /* PID.N.spool */
	struct spool_info info;
};

/* Fails if the output could not be written later. */
int spools_create(struct spools *s, const char *output, struct err *e);
/* The spools of a directory by process and image. Files that are no spools (yet) are left out. */
size_t spools_list(const char *dir, struct spools_entry **out);
void spools_list_free(struct spools_entry *v, size_t n);
void spools_remove(struct spools *s);
/* Give up the directory without removing it: what is in it could not be turned into a snapshot. */
void spools_keep(struct spools *s);

#endif
