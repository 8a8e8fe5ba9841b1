/* cmd_classify.c — roformer classify: what a fine-tuned model says about texts, as transformers' text-classification
 * does. */
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/shell/finetune_options.h"

typedef struct classify_args { const char *model, *pair; int64_t top; cli_list text; } classify_args;

typedef struct scored { int64_t k; double p; } scored;

static int descending(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    return x->p < y->p ? 1 : x->p > y->p ? -1 : (x->k > y->k) - (x->k < y->k);
}

/* [{"label": ..., "score": ...}, ...], best first. */
static json_t *answer(const rf_labels *l, const float *p, int64_t top)
{
    scored *s = malloc((size_t)l->n * sizeof *s);
    json_t *list = json_array();
    for (int64_t k = 0; s && k < l->n; k++) s[k] = (scored){k, (double)p[k]};
    if (s) qsort(s, (size_t)l->n, sizeof *s, descending);
    for (int64_t k = 0; s && k < l->n && (!top || k < top); k++)
        rf__json_add(&list, json_pack("{s:s, s:f}", "label", l->name[s[k].k], "score", s[k].p));
    if (!s) {
        json_decref(list);
        list = NULL;
    }
    free(s);
    return list;
}

static int run(void *arguments, cli_io *io)
{
    const classify_args *a = arguments;
    char folder[4096];
    rf_answerer *m = NULL;
    cli_texts texts;
    const char *text;
    size_t size;
    if (cli_model_folder(a->model, folder, sizeof folder, &io->why) || rf_answerer_open(io->ctx, folder, &m, &io->why))
        return cli_exit(io);
    cli_signals_catch();
    rf_status status = cli_texts_open(io->ctx, &texts, &a->text, &io->why);
    while (!status && !cli_texts_next(&texts, &text, &size, &io->why) && text) {
        const float *p;
        rf_error inner = {0};
        status = rf_answerer_classify(m, text, size, a->pair, a->pair ? strlen(a->pair) : 0, &p, &inner);
        if (status) cli_texts_fail(&texts, &io->why, &inner);
        else status = cli_print_json(answer(rf_answerer_labels(m), p, a->top), 0, &io->why);
    }
    if (!io->why.code) cli_report_reading(io, rf_answerer_reading(m), rf_answerer_task(m), false);
    cli_texts_close(&texts);
    rf_answerer_close(m);
    return cli_exit(io);
}

#define A(field) offsetof(classify_args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION_OF(classify_args, model, "folder of a fine-tuned model (the shipped model is not)"),
    {"pair", 0, CLI_TEXT, A(pair), "TEXT", NULL, 0, 0, NULL, "a second text beside each", NULL},
    {"top", 'k', CLI_INT, A(top), "N", "0", 0, 65536, NULL, "only the N most likely labels; 0: all", NULL},
    {"TEXT", 0, CLI_OPERANDS, A(text), NULL, NULL, 0, 1 << 20, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer classify -m reviews \"a charming and often affecting journey\"",
    "echo \"a dull book\" | roformer classify -m reviews --top 1",
    NULL,
};

const cli_command cmd_classify = {
    "classify",
    "[TEXT...]",
    "label texts with a fine-tuned model",
    "Reads texts from the command line, or lines from standard input, and prints for each a list of labels with their "
    "scores, best first, in the format of transformers' text-classification pipeline.",
    examples,
    options,
    sizeof(classify_args),
    NULL,
    run,
};
