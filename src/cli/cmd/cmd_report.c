/* cmd_report.c — roformer report: writes a page about a run. */
#include <string.h>

#include "cli/plot/report.h"
#include "cli/shell/commands.h"
#include "roformer/inspect/files.h"

struct args {
    cli_list folder, samples;
    const char *output;
};

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    const char *const folder = a->folder.item[0], *output = a->output;
    const char *dot = output ? strrchr(cli_file_name(output), '.') : NULL;
    char path[4096];
    rf_status status = RF_OK;
    if (dot && strcmp(dot, ".html") && strcmp(dot, ".htm"))
        status = rf_fail(&io->why, RF_EARG, "--output: expected FILE.html, or - for standard output, got %.200s",
                         output);
    if (!output) {
        status = cli_join(path, sizeof path, folder, RF_FILE_REPORT, &io->why);
        if (!status) status = report_own(path, &io->why);
        output = path;
    }
    if (!status && !report_write(io, folder, output, &a->samples, &io->why)) cli_note(io, "%s written", output);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    {"output", 'o', CLI_FILE, A(output), "FILE.html", NULL, 0, 0, NULL,
     "the HTML page; - is standard output (default: report.html in DIR)", NULL},
    {"sample", 0, CLI_EACH, A(samples), "TEXT", NULL, 0, 0, NULL,
     "text with [MASK] to predict; may be repeated (default: held-out text of the run)", NULL},
    {"DIR", 0, CLI_OPERANDS, A(folder), NULL, NULL, 1, 1, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer report my-model",
    "roformer report my-model --sample \"the capital of [MASK] is paris.\" -o report.html",
    NULL,
};

const cli_command cmd_report = {
    "report",
    "DIR",
    "write an HTML page about a training run",
    "DIR is the output folder of a run.  The page is self-contained: configuration, curves, metrics, and predictions "
    "of the model for masked words of held-out text.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
