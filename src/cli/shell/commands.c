/* commands.c — the table of commands. */
#include "cli/shell/commands.h"

const cli_command *const cli_commands[] = {
#define CLI_COMMAND(name) &cmd_##name,
#include "cli/shell/commands.def"
#undef CLI_COMMAND
    NULL,
};
