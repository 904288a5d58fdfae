/* outname.h: the names of output files: %p, %h, %r, %q{ENV} and what tells several processes apart. */
#ifndef CLI_OUTNAME_H
#define CLI_OUTNAME_H

#include "base/err.h"
#include <stdbool.h>

struct outname {
	int pid;
	int rank;	  /* -1: none; %r is then 0 */
	const char *host; /* NULL: this one */
};

/* %p process id, %h host, %r rank, %q{NAME} an environment variable, %% a percent sign; anything else
 * behind % is an error. NULL on error; free the result. */
char *outname_expand(const char *pattern, const struct outname *who, struct err *e);
/* Does the pattern tell processes apart by itself? */
bool outname_is_pattern(const char *pattern);
/* "dir/snapshot.json.gz", "7" → "dir/snapshot.7.json.gz"; free the result. */
char *outname_with(const char *path, const char *word);
/* RANK, OMPI_COMM_WORLD_RANK, PMI_RANK or SLURM_PROCID of this process; -1 if it is not one of several. */
int outname_rank(void);

#endif
