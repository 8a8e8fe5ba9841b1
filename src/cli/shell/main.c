/* main.c — selects the command, creates the context, maps errors to exit codes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/shell/comm.h"
#include "cli/shell/commands.h"
#include "cli/shell/profile.h"
#include "cli/help/help.h"
#include "cli/io/io.h"
#include "cli/os/program.h"

static int use_color(const cli_common *c, int fd)
{
    const char *no = cli_os_variable("NO_COLOR"), *term = cli_os_terminal_name();
    if (c->color != CLI_COLOR_AUTO) return c->color == CLI_COLOR_ALWAYS;
    return rf__os_terminal(fd) && !(no && *no) && term && strcmp(term, "dumb");
}

/* If several processes would print the same message, only the first one prints it. */
static int is_first(void) { return !cli_comm() || !cli_comm()->rank; }

static int usage(const char *command, const rf_error *why)
{
    if (!is_first()) return cli_exit_code(why->code);
    cli_error("%s", why->text);
    if (why->code == RF_EARG && !strstr(why->text, "did you mean") && !strstr(why->text, "--help"))
        fprintf(stderr, "Try: roformer %s%s--help\n", command, *command ? " " : "");
    return cli_exit_code(why->code);
}

/* Checks that all output of a command was written. */
static int finish(int code)
{
    rf_error why = {0};
    if (cli_flush(&why) && code == CLI_DONE) {
        cli_error("%s", why.text);
        code = CLI_IO;
    }
    if (rf__os_close(1) && errno != EBADF && code == CLI_DONE) {
        cli_error("standard output: cannot close: %s", rf__os_reason(errno));
        code = CLI_IO;
    }
    return code;
}

/* Processes on one machine divide its processors; a process that is bound to some of them uses those. */
static int threads_of_process(void)
{
    if (!cli_comm()) return 0;                                                          /* all that there are */
    const int share = cli_os_processors() / cli_comm()->local, bound = rf_processors();
    const int least = share < bound ? share : bound;
    return least < 1 ? 1 : least < RF_MAX_THREADS ? least : RF_MAX_THREADS;
}

static int run(cli_parsed *p, const char *program)
{
    cli_io io = {.parsed = p,
                 .program = program,
                 .quiet = p->common.quiet || !is_first(),
                 .color_out = use_color(&p->common, 1),
                 .color_err = use_color(&p->common, 2)};
    const int threads = p->common.threads ? (int)p->common.threads : threads_of_process();
    rf_ctx_options options;
    rf_ctx_defaults(&options);
    options.threads = threads;
    options.isa = p->common.isa;
    char dictionary[4096];
    if (cli_dictionary(dictionary, sizeof dictionary)) options.dictionary = dictionary;
    if (p->common.profile && is_first()) {
        options.tracer = cli_profile_add;
        if (cli_profile_open(p->common.profile, &io.why)) return cli_exit(&io);
    }
    if (cli_comm() && p->command != &cmd_pretrain) {
        rf_fail(&io.why, RF_EARG, "%s: expected one process, got %d; only pretrain uses several",
                p->command->name, cli_comm()->size);
        cli_comm()->agreed = 1;
        return cli_exit(&io);
    }
    if (rf_ctx_new(&options, &io.ctx, &io.why)) return cli_exit(&io);
    cli_note_rung(&io);
    int code = p->command->run(p->args, &io);
    rf_ctx_free(io.ctx);
    rf_error why = {0};
    if (cli_profile_close(&why) && code == CLI_DONE) {
        cli_error("%s", why.text);
        code = CLI_IO;
    }
    return code;
}

static int command(cli_parsed *p, int argc, const char *const argv[], const char *program)
{
    rf_error why = {0};
    rf_status status;
    int code;
    if (!(p->args = malloc(p->command->size))) {
        cli_error("out of memory");
        return CLI_MEMORY;
    }
    status = cli_defaults(p, cli_os_variable, &why);
    if (!status) status = cli_parse(p, argc, argv, NULL, &why);
    if (status) code = usage(p->command->name, &why);
    else if (p->common.help || p->common.short_help) {
        cli_help_command(stdout, p->command, p->common.help);
        code = CLI_DONE;
    } else {
        code = run(p, program);
    }
    cli_parsed_clear(p);
    free(p->args);
    return code;
}

static int no_command(const char *name)
{
    cli_nearest near = {name, NULL, 0};
    for (int i = 0; cli_commands[i]; i++) cli_consider(&near, cli_commands[i]->name);
    if (!is_first()) return CLI_USAGE;
    if (near.best) cli_error("unknown command %.60s; did you mean %s?", name, near.best);
    else cli_error("unknown command %.60s (see roformer --help)", name);
    return CLI_USAGE;
}

static int program(int argc, char **argv)
{
    cli_parsed p = {0};
    rf_error why = {0};
    int used = 0, code;
    cli_os_begin(&argc, &argv);
    cli_signals_init();
    rf_status status = cli_defaults(&p, cli_os_variable, &why);
    const int n = argc > 0 ? argc - 1 : 0;
    const char *const *arguments = (const char *const *)argv + (argc > 0);
    if (!status) status = cli_parse(&p, n, arguments, &used, &why);
    if (status) return usage("", &why);
    if (p.common.version) {
        printf("roformer %s\n", rf_version());
        code = CLI_DONE;
    } else if (!is_first() && (p.common.man || p.common.help || p.common.short_help || used == n)) {
        return used == n ? CLI_USAGE : CLI_DONE;
    } else if (p.common.man) {
        cli_manual(stdout);
        code = CLI_DONE;
    } else if (p.common.help || p.common.short_help) {
        cli_help_all(stdout);
        code = CLI_DONE;
    } else if (used == n) {
        cli_help_all(stderr);
        return CLI_USAGE;
    } else if (!(p.command = cli_find_command(arguments[used]))) {
        return no_command(arguments[used]);
    } else {
        code = command(&p, n - used - 1, arguments + used + 1, argv[0]);
    }
    return finish(code);
}

int main(int argc, char **argv)
{
    cli_comm_begin(&argc, &argv);
    return cli_comm_end(program(argc, argv));
}
