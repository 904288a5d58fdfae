/* commands.h: the table of commands, made from cmds.def. For main and for completion. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"

extern const struct command *const commands[]; /* ends with NULL */
const struct command *command_find(const char *name); /* NULL: no such command */

#endif
