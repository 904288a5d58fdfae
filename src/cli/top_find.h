/* top_find.h: the recorded processes of this machine, told by their environment, and what /proc says. */
#ifndef CLI_TOP_FIND_H
#define CLI_TOP_FIND_H

#include <stddef.h>

struct top_found {
	int pid;     /* as we see it; inside a container the process may know another */
	char *spool; /* of the program it runs now */
};
/* Those whose spool we may read. */
size_t top_find(struct top_found **out);
void top_found_free(struct top_found *found, size_t n);
/* The spool that a process writes now, if it is recorded and we may read it; NULL. In a container, too. */
char *top_spool(int pid);
/* What the process runs, as one line; NULL if it is gone. */
char *top_command(int pid);

#endif
