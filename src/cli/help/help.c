/* help.c — the text of --help. */
#include "cli/help/help.h"

#include <stdlib.h>
#include <string.h>

#include "cli/io/io.h"
#include "roformer/train.h"

enum { COLUMN = 34 };

const cli_exit_row cli_exit_codes[] = {
    {"0", "success"},
    {"1", "other failure"},
    {"2", "usage error: an option or argument is not accepted"},
    {"3", "a model, text or other file has invalid content"},
    {"4", "reading or writing failed (no such file, disk full)"},
    {"5", "out of memory"},
    {"6", "a result is not finite"},
    {"75",
     "not finished, try again later: another run uses the folder, or training was stopped (--resume latest goes on)"},
    {"128 + n", "ended by signal n (130: Ctrl-C, 141: the reader of the output exited, 143: a request to terminate)"},
    {0},
};

/* The default value of an option as a user would type it; "" if there is none to show.
 *
 * Help shows the defaults from the arguments of a command without any options.  A value outside the limits is not a
 * default: it is determined elsewhere.  A help text that states a default itself gets no other one. */
static void write_default(const cli_command *c, const cli_option *o, char *out, size_t size)
{
    cli_parsed p = {.command = c};
    *out = 0;
    if (o->kind == CLI_CHOICE && !strchr(o->value, '|')) return;                   /* a single word is not a default */
    if (o->kind == CLI_FLAG || (!o->initial && !(c && c->prepare))) return;
    if (!(p.args = c ? malloc(c->size) : &p.common)) return;
    if (!cli_defaults(&p, NULL, NULL)) cli_show_value(o, p.args, out, size);
    if (o->kind == CLI_INT && strtod(out, NULL) < o->low) *out = 0;
    cli_parsed_clear(&p);
    if (c) free(p.args);
}

/* Words of `text` between `column` and `width`; the cursor is at `column` already. */
static void wrap(FILE *to, const char *text, int column, int width)
{
    int at = column;
    while (*text) {
        const size_t gap = strspn(text, " "), word = strcspn(text + gap, " \n");
        if (at > column && at + (int)(gap + word) > width) {
            fprintf(to, "\n%*s", column, "");
            at = column;
        } else if (at > column) {
            at += fprintf(to, "%*s", (int)gap, "");
        }
        at += fprintf(to, "%.*s", (int)word, text + gap);
        text += gap + word;
        if (*text == '\n') {
            fprintf(to, "\n%*s", column, "");
            at = column;
            text++;
        }
    }
    fprintf(to, "\n");
}

static int help_width(FILE *to)
{
    const int columns = to == stdout ? cli_terminal_width(1) : 80;
    return columns > 100 ? 100 : columns;
}

static void option_head(const cli_option *o, char *out, size_t size)
{
    char letter[8] = "    ";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    const char *more = o->kind == CLI_FILES ? "..." : "";
    snprintf(out, size, "%s--%s%s%s%s", letter, o->name, o->value ? " " : "", o->value ? o->value : "", more);
}

void cli_depends(const char *name, char *out, size_t size)
{
    const rf_option *row = cli_described(name), *on = row && row->depends ? cli_described(row->depends) : NULL;
    *out = 0;
    if (!on) return;
    int n = snprintf(out, size, " (--%s", on->name), words = 0, i = 0;
    for (const char *word = on->choices; *word; i++) {
        const int length = (int)strcspn(word, "|");
        if (row->values >> i & 1) n += snprintf(out + n, size - (size_t)n, "%s %.*s", words++ ? "," : "", length, word);
        word += length + (word[length] == '|');
    }
    snprintf(out + n, size - (size_t)n, ")");
}

void cli_option_notes(const cli_command *c, const cli_option *o, char *out, size_t size)
{
    char value[128], depends[128];
    write_default(c, o, value, sizeof value);
    cli_depends(o->name, depends, sizeof depends);
    int n = snprintf(out, size, "%s%s", o->help, c ? depends : "");
    if (*value && !strstr(o->help, "(default: ")) n += snprintf(out + n, size - (size_t)n, " (default: %s)", value);
    if (o->env) n += snprintf(out + n, size - (size_t)n, " [$%s]", o->env);
    if (o->alias) snprintf(out + n, size - (size_t)n, " (also --%s)", o->alias);
}

/* "  --name a|b|c": a list that is too long for a line continues below its first word.  Returns the cursor's column. */
static int put_head(FILE *to, const char *head, int width)
{
    const int below = 2 + (int)(strcspn(head + 4, " ") + 5);        /* letter or a space instead, name, space         */
    int at = fprintf(to, "  ");
    while (*head) {
        const size_t choice = strcspn(head, "|"), word = choice + (head[choice] == '|');
        if (at + (int)word > width && at > below) at = fprintf(to, "\n%*s", below, "") - 1;
        at += fprintf(to, "%.*s", (int)word, head);
        head += word;
    }
    return at;
}

/* The options under a heading ("" for the command's own). */
static void list_options(FILE *to, const cli_command *c, const cli_option *o, const char *heading)
{
    char head[512], notes[512];
    for (; o->kind; o++) {
        if (o->kind == CLI_OPERANDS || strcmp(cli_option_heading(c, o), heading)) continue;
        option_head(o, head, sizeof head);
        const int n = put_head(to, head, help_width(to));
        if (n > COLUMN - 2) fprintf(to, "\n%*s", COLUMN, "");
        else fprintf(to, "%*s", COLUMN - n, "");
        cli_option_notes(c, o, notes, sizeof notes);
        wrap(to, notes, COLUMN, help_width(to));
    }
}

void cli_help_all(FILE *to)
{
    fprintf(to, "roformer %s: train and run RoFormer models (language modeling, embeddings, translation)\n\n",
            rf_version());
    fprintf(to, "usage: roformer [OPTIONS] COMMAND [OPTIONS] [ARGUMENTS]\n");
    for (int i = 0; cli_commands[i]; i++) {
        if (!i || strcmp(cli_headings[i], cli_headings[i - 1])) fprintf(to, "\n%s:\n", cli_headings[i]);
        fprintf(to, "  %-17s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    }
    fprintf(to, "\noptions of every command:\n");
    list_options(to, NULL, cli_common_options, "");
    fprintf(to, "  -V, --version                   print the version\n");
    fprintf(to, "      --man                       print the man page roformer(1)\n");
    fprintf(to, "\n\"roformer help COMMAND\" prints the options of a command, and examples that can be\n"
            "pasted into a shell.  The examples of vocab, pretrain and finetune create corpus.txt,\n"
            "my-model, my-causal-model and reviews, which other examples use.  Without -m, a\n"
            "command uses a shipped English model (embed, similarity, rank, index and serve: that\n"
            "of sentences); classify, generate, translate and variants need -m.\n\n");
    fprintf(to, "  roformer fill-mask \"She won the gold [MASK] at the Olympic Games.\"\n");
}

void cli_help_command(FILE *to, const cli_command *c, bool whole)
{
    fprintf(to, "usage: roformer %s [OPTIONS]%s%s\n\n", c->name, *c->operands ? " " : "", c->operands);
    wrap(to, c->summary, 0, help_width(to));
    if (whole && *c->description) {
        fprintf(to, "\n");
        wrap(to, c->description, 0, help_width(to));
    }
    cli_option all[CLI_OPTIONS_MAX];
    cli_expand(c, all);
    for (const cli_option *o = all; o->kind; o++) {
        const char *heading = cli_option_heading(c, o);
        const cli_option *first = all;
        while (first->kind == CLI_OPERANDS || strcmp(cli_option_heading(c, first), heading)) first++;
        if (first != o) continue;
        fprintf(to, "\n%s:\n", *heading ? heading : "options");
        list_options(to, c, all, heading);
    }
    fprintf(to, "\noptions of every command:\n");
    list_options(to, NULL, cli_common_options, "");
    if (!whole) return;
    fprintf(to, "\nexamples:\n");
    for (int i = 0; c->examples[i]; i++) fprintf(to, "  %s\n", c->examples[i]);
}
