/* cmd_version.c: gpumemsnap version. */
#include "cli/options.h"
#include <stdio.h>

static int version_run(void *options, int argc, char **argv, struct err *e)
{
	(void)options, (void)argc, (void)argv, (void)e;
	printf("gpumemsnap %s\n", GPUMEMSNAP_VERSION);
	return 0;
}

extern const struct command cmd_version;
const struct command cmd_version = {
	.name = "version",
	.usage = "",
	.summary = "print the version",
	.run = version_run,
};
