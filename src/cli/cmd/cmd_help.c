/* cmd_help.c — roformer help [COMMAND], roformer completion SHELL. */
#include "cli/shell/commands.h"
#include "cli/help/help.h"
#include "cli/io/io.h"

struct args { cli_list word; int markdown, man; };

static int help(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    if (a->markdown) {
        (a->markdown == 1 ? cli_options_page : cli_commands_page)(stdout);
        return CLI_DONE;
    }
    if (!a->word.n) {
        (a->man ? cli_manual : cli_help_all)(stdout);
        return CLI_DONE;
    }
    const cli_command *c = cli_find_command(a->word.item[0]);
    if (c) {
        if (a->man) cli_manual_command(stdout, c);
        else cli_help_command(stdout, c, true);
        return CLI_DONE;
    }
    cli_nearest near = {a->word.item[0], NULL, 0};
    for (int i = 0; cli_commands[i]; i++) cli_consider(&near, cli_commands[i]->name);
    rf_fail(&io->why, RF_EARG, "unknown command %.60s%s%s%s", a->word.item[0], near.best ? "; did you mean " : "",
            near.best ? near.best : "", near.best ? "?" : "");
    return cli_exit(io);
}

static int completion(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    if (!cli_completion(stdout, a->word.item[0]))
        rf_fail(&io->why, RF_EARG, "completion: expected bash, zsh or fish, got '%.60s'", a->word.item[0]);
    return cli_exit(io);
}

static const cli_option help_options[] = {
    {"markdown", 0, CLI_CHOICE, offsetof(struct args, markdown), "no|options|commands", "no", 0, 0, NULL,
     "print a page of the documentation: training options (docs/options.md) or commands (docs/commands.md)", NULL},
    {"man", 0, CLI_FLAG, offsetof(struct args, man), NULL, NULL, 0, 0, NULL,
     "print the man page of the command; without COMMAND, roformer(1)", NULL},
    {"COMMAND", 0, CLI_OPERANDS, offsetof(struct args, word), NULL, NULL, 0, 1, NULL, "", NULL},
    {0},
};

static const cli_option completion_options[] = {
    {"SHELL", 0, CLI_OPERANDS, offsetof(struct args, word), NULL, NULL, 1, 1, NULL, "", NULL},
    {0},
};

static const char *const help_examples[] = {"roformer help embed", "roformer help --man embed | man -l -", NULL};

static const char *const completion_examples[] = {
    "source <(roformer completion bash)",
    "roformer completion zsh > ~/.zfunc/_roformer",
    "roformer completion fish > ~/.config/fish/completions/roformer.fish",
    NULL,
};

const cli_command cmd_help = {
    "help", "[COMMAND]", "show the help of a command",
    "Prints the description, options and examples of a command; without COMMAND, the list of commands.",
    help_examples, help_options, sizeof(struct args), NULL, help,
};

const cli_command cmd_completion = {
    "completion", "bash|zsh|fish", "print a completion script for a shell",
    "The script completes commands, options, the values of options, and file names.",
    completion_examples, completion_options, sizeof(struct args), NULL, completion,
};
