/* cmd_classify.c — roformer classify: labels of texts by a fine-tuned model, as transformers' text-classification. */
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/options/finetune_options.h"

typedef struct classify_args { const char *model, *pair; int64_t top; int dtype; cli_list text; } classify_args;

/* [{"label": ..., "score": ...}, ...], best first. */
static json_t *answer(const rf_label_score *label, int64_t n)
{
    json_t *list = json_array();
    for (int64_t k = 0; k < n; k++)
        cli_json_add(&list, json_pack("{s:s, s:f}", "label", label[k].label, "score", label[k].score));
    return list;
}

static rf_status answer_all(const classify_args *a, cli_io *io, rf_pipeline *p)
{
    cli_texts texts;
    const char *text;
    size_t size;
    rf_status status = cli_texts_open(io->ctx, &texts, &a->text, &io->why);
    while (!status && !(status = cli_texts_next(&texts, &text, &size, &io->why)) && text) {
        const rf_label_score *label;
        int64_t n;
        rf_error inner = {0};
        status = rf_classify(p, text, size, a->pair, a->pair ? strlen(a->pair) : 0, &label, &n, &inner);
        if (status) cli_texts_fail(&texts, cli_texts_number(&texts), &io->why, &inner);
        else status = cli_print_json(answer(label, a->top && a->top < n ? a->top : n), 0, &io->why);
    }
    cli_texts_close(&texts);
    return status;
}

static int run(void *arguments, cli_io *io)
{
    rf_pipeline *p = NULL;
    const classify_args *a = arguments;
    rf_status status = cli_pipeline_open(io, a->model, cli_dtype(a->dtype), &p);
    if (!status) status = rf_classify(p, NULL, 0, NULL, 0, NULL, NULL, &io->why);          /* whether it can classify */
    cli_signals_catch();
    if (!status) status = answer_all(a, io, p);
    const rf_answerer *m = status ? NULL : rf_pipeline_answerer(p);
    if (m) cli_report_reading(io, rf_answerer_reading(m));
    rf_pipeline_close(p);
    return cli_exit(io);
}

#define A(field) offsetof(classify_args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION_OF(classify_args, model, "folder of a fine-tuned model (the shipped model is not fine-tuned)"),
    {"pair", 0, CLI_TEXT, A(pair), "TEXT", NULL, 0, 0, NULL, "second text for each TEXT", NULL},
    CLI_DTYPE_OPTION(classify_args, dtype),
    {"top", 'k', CLI_INT, A(top), "N", "0", 0, 65536, NULL, "print only the N most likely labels; 0: all", NULL},
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
    "classify texts with a fine-tuned model",
    "Reads each TEXT or, without TEXT, each line of standard input.  Prints a list of labels with their scores, the "
    "best first, as the text-classification pipeline of transformers does.  Scores are probabilities after softmax.  "
    "If a text may have several labels, or if the model has a single output and config.json has no problem_type, they "
    "are probabilities after a sigmoid.  For regression, the score is the predicted number.",
    examples,
    options,
    sizeof(classify_args),
    NULL,
    run,
};
