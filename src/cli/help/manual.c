/* manual.c — the man pages roformer(1) and roformer-COMMAND(1). */
#include <stdio.h>
#include <string.h>

#include "cli/help/help.h"
#include "roformer/context.h"

#ifndef RF_DATE
#define RF_DATE ""                      /* of the release or commit: cmake/RoformerCli.cmake                          */
#endif

/* Text for roff: escapes a backslash, a leading dot or quote, and hyphens that must stay hyphens.  A blank becomes a
 * line feed if the next word would end beyond `width` columns. */
static void roff_lines(FILE *to, const char *text, int width)
{
    int column = 0;
    while (*text) {
        const size_t blanks = strspn(text, " ");
        if (blanks && column + (int)(blanks + strcspn(text + blanks, " \n")) > width) {
            text += blanks;
            fputc('\n', to);
            column = 0;
            continue;
        }
        if (!column && (*text == '.' || *text == '\'')) fputs("\\&", to);
        if (*text == '\\') fputs("\\e", to);
        else if (*text == '-') fputs("\\-", to);
        else fputc(*text, to);
        column = *text++ == '\n' ? 0 : column + 1;
    }
}

static void roff(FILE *to, const char *text) { roff_lines(to, text, 1 << 20); }
static void roff_text(FILE *to, const char *text) { roff_lines(to, text, 72); }

static void man_options(FILE *to, const cli_command *c, const cli_option *o)
{
    char notes[512];
    for (; o->kind; o++) {
        if (o->kind == CLI_OPERANDS) continue;
        fputs(".TP\n", to);
        if (o->letter) fprintf(to, "\\fB\\-%c\\fR, ", o->letter);
        fputs("\\fB\\-\\-", to);
        roff(to, o->name);
        fputs("\\fR", to);
        if (o->value) {
            fputs(" \\fI", to);
            roff(to, o->value);
            fprintf(to, "\\fR%s", o->kind == CLI_FILES ? "..." : "");
        }
        cli_option_notes(c, o, notes, sizeof notes);
        fputc('\n', to);
        roff_text(to, notes);
        fputc('\n', to);
    }
}

static void man_description(FILE *to, const cli_command *c)
{
    for (const char *p = c->description; *p;) {
        const size_t n = strcspn(p, "\n");
        char line[2048];
        snprintf(line, sizeof line, "%.*s", (int)n, p);
        roff_text(to, line);
        fputs(p[n] ? "\n.PP\n" : "\n", to);
        p += n + (p[n] == '\n');
    }
}

static void man_examples(FILE *to, const cli_command *c)
{
    fputs(".nf\n.RS\n", to);
    for (int i = 0; c->examples[i]; i++) {
        roff(to, c->examples[i]);
        fputc('\n', to);
    }
    fputs(".RE\n.fi\n", to);
}

static void man_own_options(FILE *to, const cli_command *c)
{
    cli_option all[CLI_OPTIONS_MAX];
    cli_expand(c, all);
    man_options(to, c, all);
}

static void man_exit_status(FILE *to)
{
    fputs(".SH EXIT STATUS\n", to);
    for (const cli_exit_row *e = cli_exit_codes; e->code; e++) {
        fprintf(to, ".TP\n%s\n", e->code);
        roff_text(to, e->meaning);
        fputc('\n', to);
    }
}

/* The section of a command in roformer(1). */
static void man_section(FILE *to, const cli_command *c)
{
    fputs(".SS roformer ", to);
    roff(to, c->name);
    fputs(*c->operands ? " [OPTIONS] " : " [OPTIONS]", to);
    roff(to, c->operands);
    fputc('\n', to);
    roff(to, c->summary);
    fputs(".\n", to);
    if (*c->description) fputs(".PP\n", to);
    man_description(to, c);
    man_own_options(to, c);
    fputs(".PP\nExamples:\n.PP\n", to);
    man_examples(to, c);
}

void cli_manual_command(FILE *to, const cli_command *c)
{
    fputs(".TH ROFORMER\\-", to);
    for (const char *p = c->name; *p; p++) roff(to, (const char[]){*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p, 0});
    fprintf(to, " 1 \"%s\" \"roformer %s\" \"User Commands\"\n.SH NAME\nroformer\\-", RF_DATE, rf_version());
    roff(to, c->name);
    fputs(" \\- ", to);
    roff_lines(to, c->summary, 40);
    fputs("\n.SH SYNOPSIS\n.B roformer ", to);
    roff(to, c->name);
    fputs(*c->operands ? "\n.RI \"[OPTIONS] " : "\n.RI \"[OPTIONS]", to);
    roff(to, c->operands);
    fputs("\"\n.SH DESCRIPTION\n", to);
    man_description(to, c);
    fputs(".SH OPTIONS\n", to);
    man_own_options(to, c);
    man_options(to, NULL, cli_common_options);
    man_exit_status(to);
    fputs(".SH EXAMPLES\n", to);
    man_examples(to, c);
    fputs(".SH SEE ALSO\n.BR roformer (1)\n", to);
}

void cli_manual(FILE *to)
{
    static const char *const after =
        ".SH ENVIRONMENT\n"
        ".TP\n.B ROFORMER_MODEL\nmodel folder if \\fB\\-m\\fR is not given\n"
        ".TP\n.B ROFORMER_THREADS\ndefault of \\fB\\-\\-threads\\fR\n"
        ".TP\n.B ROFORMER_ISA\ndefault of \\fB\\-\\-isa\\fR\n"
        ".TP\n.B NO_COLOR\nif set and not empty: no colors\n"
        ".SH FILES\n"
        ".TP\n.I config.json, model.safetensors, and the files of a tokenizer\na model folder, as Hugging Face's "
        "transformers reads and writes it\n"
        ".TP\n.I checkpoint\\-N/\na model folder with the state of a training run; it appears when it is complete\n"
        ".TP\n.I metrics.jsonl\none line of JSON per logged step, evaluation and checkpoint\n";
    fprintf(to, ".TH ROFORMER 1 \"%s\" \"roformer %s\" \"User Commands\"\n", RF_DATE, rf_version());
    fputs(".SH NAME\nroformer \\- train and run RoFormer models\n.SH SYNOPSIS\n", to);
    fputs(".B roformer\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n.SH DESCRIPTION\n",
          to);
    fputs("Trains, runs and evaluates RoFormer models and their relatives: masked and\n"
          "causal language models, text classification, sentence embeddings and\n"
          "translation, with the position encodings that the RoFormer paper compares.\n"
          "Training that is interrupted resumes with the same bits.\n"
          "Results go to standard output, progress and notes to standard error.\n"
          "Option names may be written with \\- or _.\n.SH OPTIONS OF EVERY COMMAND\n", to);
    man_options(to, NULL, cli_common_options);
    fputs(".SH COMMANDS\n", to);
    for (int i = 0; cli_commands[i]; i++) man_section(to, cli_commands[i]);
    man_exit_status(to);
    fputs(after, to);
}
