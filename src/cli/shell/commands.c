/* commands.c — the table of commands. */
#include "cli/shell/commands.h"

const cli_command *const cli_commands[] = {
#define CLI_COMMAND(name, heading) &cmd_##name,
#include "cli/shell/commands.def"
#undef CLI_COMMAND
    NULL,
};

const char *const cli_headings[] = {
#define CLI_COMMAND(name, heading) heading,
#include "cli/shell/commands.def"
#undef CLI_COMMAND
};
