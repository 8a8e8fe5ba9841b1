/* commands_page.c — docs/commands.md: every command with its description and examples. */
#include <string.h>

#include "cli/help/help.h"

/* Text for Markdown: '<', '*' and '_' outside of code would be markup. */
static void put_text(FILE *to, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (strchr("<*_[|", text[i])) fputc('\\', to);
        fputc(text[i], to);
    }
}

/* "N", or the choices of "a|b": a bar would end the column. */
static void put_values(FILE *to, const char *value)
{
    for (int n = 0; value && *value; n++) {
        const size_t size = strcspn(value, "|");
        fprintf(to, "%s`%.*s`", n ? ", " : " ", (int)size, value);
        value += size + (value[size] == '|');
    }
}

/* Paragraphs, wrapped at 120 columns. */
static void put_paragraphs(FILE *to, const char *text)
{
    size_t column = 0;
    while (*text) {
        const size_t word = strcspn(text, " \n");
        if (column && column + 1 + word > 120) {
            fputc('\n', to);
            column = 0;
        }
        if (column) fputc(' ', to);
        put_text(to, text, word);
        column += word + 1;
        text += word;
        if (*text == '\n') {
            fputs("\n\n", to);
            column = 0;
        }
        text += strspn(text, " \n");
    }
    fputs("\n\n", to);
}

static void put_command(FILE *to, const cli_command *c)
{
    fprintf(to, "## %s\n\n`roformer %s [OPTIONS]%s%s`: ", c->name, c->name, *c->operands ? " " : "", c->operands);
    put_text(to, c->summary, strlen(c->summary));
    fputs(".\n\n", to);
    if (*c->description) put_paragraphs(to, c->description);
    fputs("```\n", to);
    for (int i = 0; c->examples[i]; i++) fprintf(to, "%s\n", c->examples[i]);
    fputs("```\n\n", to);
}

void cli_commands_page(FILE *to)
{
    fputs("# Commands\n\n"
          "`roformer help COMMAND` prints the description, the options and the examples of a command. This page is\n"
          "the output of `roformer help --markdown commands`, and a test compares them. [options.md](options.md)\n"
          "lists the options of training.\n\n"
          "| command | |\n|---|---|\n", to);
    for (int i = 0; cli_commands[i]; i++) {
        if (!i || strcmp(cli_headings[i], cli_headings[i - 1])) fprintf(to, "| **%s** | |\n", cli_headings[i]);
        fprintf(to, "| [`roformer %s`](#%s) | ", cli_commands[i]->name, cli_commands[i]->name);
        put_text(to, cli_commands[i]->summary, strlen(cli_commands[i]->summary));
        fputs(" |\n", to);
    }
    fputs("\n## Options of every command\n\n| option | |\n|---|---|\n", to);
    for (const cli_option *o = cli_common_options; o->kind; o++) {
        fputs("| `", to);
        if (o->letter) fprintf(to, "-%c`, `", o->letter);
        fprintf(to, "--%s", o->name);
        fputs("`", to);
        put_values(to, o->value);
        fputs(" | ", to);
        put_text(to, o->help, strlen(o->help));
        if (o->env) fprintf(to, " (`$%s`)", o->env);
        fputs(" |\n", to);
    }
    fputs("\n- The model: `-m DIR`, or the variable `ROFORMER_MODEL`; otherwise a shipped English model, for `embed`,\n"
          "  `similarity`, `rank`, `index` and `serve` that of sentences. `classify`, `generate`, `translate` and\n"
          "  `variants` need `-m`.\n"
          "- Option names may be written with `-` or `_`.\n"
          "- Results go to standard output, progress and notes to standard error (`-q` silences them).\n"
          "- An output file (`-o`) appears when it is complete; it is never left half-written.\n\n"
          "## Exit codes\n\n| code | meaning |\n|---:|---|\n", to);
    for (const cli_exit_row *e = cli_exit_codes; e->code; e++) fprintf(to, "| %s | %s |\n", e->code, e->meaning);
    fputc('\n', to);
    for (int i = 0; cli_commands[i]; i++) put_command(to, cli_commands[i]);
}
