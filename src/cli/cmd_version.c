/* cmd_version.c: gpumemsnap version. */
#include "cli/options.h"
#include <stdio.h>

static int version_run(const struct command *self, int argc, char **argv, struct err *e)
{
	bool helped;

	if (options_parse(self, NULL, &argc, argv, false, &helped, e))
		return -1;
	if (!helped)
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
