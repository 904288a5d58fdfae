/* commands.c: see commands.h. */
#include "cli/commands.h"
#include <string.h>

#define COMMAND(name) extern const struct command cmd_##name;
#include "cli/cmds.def"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(name) &cmd_##name,
#include "cli/cmds.def"
#undef COMMAND
	NULL,
};

const struct command *command_find(const char *name)
{
	const struct command *const *c;

	for (c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}
