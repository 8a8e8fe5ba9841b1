/* help.h — help, man pages and shell completion, generated from the option tables. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/options/options.h"

void cli_help_all(FILE *to);                                            /* the list of commands                       */
void cli_help_command(FILE *to, const cli_command *c, bool whole);      /* whole: with description and examples       */
void cli_manual(FILE *to);                                              /* roformer(1) in man(7) macros               */
void cli_manual_command(FILE *to, const cli_command *c);                /* roformer-COMMAND(1)                        */
bool cli_completion(FILE *to, const char *shell);                       /* false: no such shell                       */

/* The help of an option with its default, environment variable and alias. */
void cli_option_notes(const cli_command *c, const cli_option *o, char *out, size_t size);

/* " (--optim adamw, lamb)": the settings that an option requires to have an effect; "" for others. */
void cli_depends(const char *name, char *out, size_t size);

void cli_options_page(FILE *to);                                        /* docs/options.md                            */
void cli_commands_page(FILE *to);                                       /* docs/commands.md                           */

typedef struct cli_exit_row { const char *code, *meaning; } cli_exit_row;
extern const cli_exit_row cli_exit_codes[];                            /* code is NULL at the end                    */

#endif
