/* options_page.c — docs/options.md: tables of the options that the library defines. */
#include <string.h>

#include "cli/help/help.h"
#include "roformer/train.h"

static const struct { unsigned call; const char *command; } calls[] = {
    {RF_OPTION_PRETRAIN, "pretrain"}, {RF_OPTION_TRANSLATION, "train-translation"},
    {RF_OPTION_FINETUNE, "finetune"}, {RF_OPTION_EVALUATE, "evaluate"},
    {RF_OPTION_PREDICT, "predict"},   {RF_OPTION_PREPARE, "prepare"},
};

/* "a|b": `a`, `b`; a bar would end the column. */
static void put_words(FILE *to, const char *list)
{
    for (; *list; list += *list == '|') {
        const size_t n = strcspn(list, "|");
        fprintf(to, "`%.*s`%s", (int)n, list, list[n] ? ", " : "");
        list += n;
    }
}

static void put_text(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '*') fputc('\\', to);
        fputc(*text, to);
    }
}

static void put_number(FILE *to, const rf_option *o, double x)
{
    const char *word = o->choices;
    if (o->choices) {
        for (int i = (int)x; i > 0; i--) word += strcspn(word, "|") + 1;
        fprintf(to, "`%.*s`", (int)strcspn(word, "|"), word);
    } else if (o->kind == RF_OPTION_FLAG) {
        fputs(x > 0 ? "on" : "off", to);
    } else if (x >= o->low) {
        fprintf(to, "%g", x);
    }
}

static void put_default(FILE *to, const rf_option *o)
{
    const int both = (o->calls & RF_OPTION_PRETRAIN) && (o->calls & RF_OPTION_FINETUNE);
    const double x = o->calls & RF_OPTION_FINETUNE && !both ? o->finetune : o->pretrain;
    if (o->kind >= RF_OPTION_TEXT) {
        put_text(to, o->text ? o->text : "");
        return;
    }
    put_number(to, o, x);
    if (o->calls & RF_OPTION_TRANSLATION && o->differs) {
        fputs("; train-translation ", to);
        put_number(to, o, o->translation);
    }
    if (!both || !(o->finetune < o->pretrain || o->finetune > o->pretrain) || o->finetune < o->low) return;
    fputs("; finetune ", to);
    put_number(to, o, o->finetune);
}

static void put_range(FILE *to, const rf_option *o)
{
    if (o->choices) put_words(to, o->choices);
    else if (o->kind == RF_OPTION_INT || o->kind == RF_OPTION_REAL || o->kind == RF_OPTION_SEED)
        fprintf(to, "%.12g .. %.12g", o->low, o->high);
    else if (o->value) put_words(to, o->value);
}

static void put_row(FILE *to, const rf_option *o)
{
    char depends[128];
    fprintf(to, "| `--%s`", o->name);
    if (o->letter) fprintf(to, ", `-%c`", o->letter);
    if (o->alias) fprintf(to, ", `--%s`", o->alias);
    fputs(" | ", to);
    put_default(to, o);
    fputs(" | ", to);
    put_range(to, o);
    fputs(" |", to);
    for (size_t i = 0, n = 0; i < sizeof calls / sizeof *calls; i++)
        if (o->calls & calls[i].call) fprintf(to, "%s %s", n++ ? "," : "", calls[i].command);
    fputs(" | ", to);
    put_text(to, o->help);
    cli_depends(o->name, depends, sizeof depends);
    fprintf(to, "%s |\n", depends);
}

/* Puts the options of a group together, wherever their rows are: new rows are at the end, like members of a struct. */
static void put_group(FILE *to, const rf_option *(*rows)(size_t), const char *group)
{
    const rf_option *o;
    bool begun = false;
    for (size_t i = 0; (o = rows(i)); i++) {
        if (!o->calls || strcmp(o->group, group)) continue;           /* only for C programs */
        if (!begun)
            fprintf(to, "\n## %s\n\n| option | default | values | commands | |\n|---|---|---|---|---|\n", group);
        begun = true;
        put_row(to, o);
    }
}

static void put_table(FILE *to, const rf_option *(*rows)(size_t))
{
    const rf_option *o, *before;
    for (size_t i = 0; (o = rows(i)); i++) {
        size_t k = 0;
        while ((before = rows(k)) != o && strcmp(before->group, o->group)) k++;
        if (before == o) put_group(to, rows, o->group);
    }
}

void cli_options_page(FILE *to)
{
    fputs("# Options of training\n\n"
          "The options of `roformer pretrain`, `train-translation` and `finetune`, some of which `evaluate`,\n"
          "`predict` and `prepare` share. [training.md](training.md) explains how training works. Each option is\n"
          "a row of `include/roformer/inspect/train_options.def` or `include/roformer/inspect/finetune_options.def`.\n"
          "`roformer help --markdown options` prints this page; a test compares them.\n", to);
    put_table(to, rf_train_option);
    put_table(to, rf_finetune_option);
}
