/* program.h: the program that `record` is to start: where it is, and whether it can be recorded at all. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include "base/err.h"

/* Where a shell would find it. NULL with e filled (kinds ERR_NOT_FOUND, ERR_NOT_RUNNABLE); free the result. */
char *program_find(const char *name, struct err *e);
/* Why the loader will not preload into this file, as half a sentence ("is statically linked, …");
 * NULL if nothing speaks against it. */
const char *program_obstacle(const char *path);
/* Can libcuda.so.1 be loaded here? */
int program_driver_present(void);
/* DIR/../lib/gpumemsnap/NAME beside our own executable, however it was installed. NULL with e filled if
 * there is no such file; free the result. */
char *program_neighbour(const char *name, struct err *e);

#endif
