/* cmd_classify.c — roformer classify: labels of texts by a fine-tuned model, as transformers' text-classification, or
 * labels of the command line by a model of natural language inference, as its zero-shot-classification. */
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/options/finetune_options.h"
#include "cli/shared/unread.h"

typedef struct classify_args {
    const char *model, *pair, *labels, *hypothesis;
    int64_t top;
    int dtype, multi_label;
    cli_list text, label;
} classify_args;

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

/* ---- labels of the command line ---------------------------------------------------------------------------------- */

typedef struct zero_shot {
    const classify_args *a;
    cli_io *io;
    rf_pipeline *pipeline;
    rf_zero_shot_options o;
    cli_window labels, window;
    uint64_t first;                     /* number of the window's first text */
    bool unread;
} zero_shot;

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* --labels at its commas, as transformers does, then each --label. */
static rf_status read_labels(zero_shot *z)
{
    const classify_args *a = z->a;
    rf_error *why = &z->io->why;
    rf_status status = RF_OK;
    for (const char *at = a->labels; at && *at && !status;) {
        size_t size = strcspn(at, ",");
        const char *next = at[size] ? at + size + 1 : at + size;
        for (; size && is_blank(*at); size--) at++;
        while (size && is_blank(at[size - 1])) size--;
        if (size) status = cli_window_add(&z->labels, at, size, why);
        at = next;
    }
    for (int i = 0; i < a->label.n && !status; i++)
        status = cli_window_add(&z->labels, a->label.item[i], strlen(a->label.item[i]), why);
    if (!status && !z->labels.n)
        status = rf_fail(why, RF_EARG, "--labels: expected at least one label, got '%.60s'", a->labels);
    return status;
}

/* {"sequence": ..., "labels": [...], "scores": [...]}, best first. */
static rf_status print_choice(zero_shot *z, const char *text, size_t size, const rf_zero_shot_label *choice)
{
    const int64_t n = z->labels.n, top = z->a->top && z->a->top < n ? z->a->top : n;
    json_t *labels = json_array(), *scores = json_array();
    for (int64_t k = 0; k < top; k++) {
        const int64_t at = choice[k].label;
        cli_json_add(&labels, cli_text_json(z->labels.text[at], z->labels.size[at]));
        cli_json_add(&scores, json_real(choice[k].score));
    }
    json_t *all = json_object();
    cli_json_set(&all, "sequence", cli_text_json(text, size));
    cli_json_set(&all, "labels", labels);
    cli_json_set(&all, "scores", scores);
    return cli_print_json(all, 0, &z->io->why);
}

/* Texts from number `from` on, so many that their scores need little memory. *done: the number of those answered. */
static rf_status choose_some(zero_shot *z, const cli_texts *in, int64_t from, int64_t *done)
{
    enum { PAIRS = 1 << 16 };
    const cli_window *w = &z->window;
    const int64_t some = PAIRS / z->labels.n + 1, n = w->n - from < some ? w->n - from : some;
    const rf_zero_shot_label *choice;
    const rf_texts_report *r;
    rf_error inner = {0};
    rf_status status = RF_OK;
    rf_zero_shot(z->pipeline, w->text + from, w->size + from, n, z->labels.text, z->labels.size, z->labels.n, &z->o,
                 &choice, &r, &inner);
    if (inner.code && r->bad < 0) return rf_fail(&z->io->why, inner.code, "%s", inner.text);
    *done = r->done;
    for (int64_t i = 0; i < r->done && !status; i++) {
        const char *text = w->text[from + i];
        const rf_tokenizer *t = rf_model_tokenizer(rf_pipeline_model(z->pipeline));
        cli_note_unread(z->io, t, text, w->size[from + i], &z->unread);
        status = print_choice(z, text, w->size[from + i], choice + i * z->labels.n);
    }
    if (status || !inner.code) return status;
    return cli_texts_fail(in, z->first + (uint64_t)(from + r->bad), &z->io->why, &inner);
}

static rf_status choose_window(void *user, const cli_texts *in)
{
    zero_shot *z = user;
    rf_status status = RF_OK;
    (void)cli_window_texts(&z->window);
    for (int64_t from = 0, done = 0; from < z->window.n && !status; from += done)
        status = choose_some(z, in, from, &done);
    if (!status) status = cli_flush(&z->io->why);
    cli_window_empty(&z->window);
    return status;
}

static rf_status choose_all(const classify_args *a, cli_io *io, rf_pipeline *p)
{
    zero_shot z = {.a = a, .io = io, .pipeline = p};
    rf_zero_shot_defaults(&z.o);
    z.o.hypothesis_template = a->hypothesis;
    z.o.multi_label = a->multi_label;
    rf_status status = read_labels(&z);
    if (!status) {                                                              /* whether it can, and the template */
        const char *const *label = cli_window_texts(&z.labels);
        status = rf_zero_shot(p, NULL, NULL, 0, label, z.labels.size, z.labels.n, &z.o, NULL, NULL, &io->why);
    }
    if (!status) status = cli_window_run(io, &a->text, &z.window, &z.first, choose_window, &z);
    cli_window_clear(&z.labels);
    cli_window_clear(&z.window);
    return status;
}

static int run(void *arguments, cli_io *io)
{
    rf_pipeline *p = NULL;
    const classify_args *a = arguments;
    const bool chosen = a->labels || a->label.n;
    if (chosen && a->pair)
        rf_fail(&io->why, RF_EARG, "--pair: expected no second text with --labels, whose hypotheses are the second "
                "texts, got one");
    if (!io->why.code) (void)cli_needs(io->parsed, "hypothesis", chosen, "--labels", &io->why);
    if (!io->why.code) (void)cli_needs(io->parsed, "multi_label", chosen, "--labels", &io->why);
    rf_status status = io->why.code ? io->why.code : cli_pipeline_open(io, a->model, cli_dtype(a->dtype), &p);
    if (!status && !chosen) status = rf_classify(p, NULL, 0, NULL, 0, NULL, NULL, &io->why);   /* can it classify?    */
    cli_signals_catch();
    if (!status) status = chosen ? choose_all(a, io, p) : answer_all(a, io, p);
    const rf_answerer *m = status ? NULL : rf_pipeline_answerer(p);
    if (m) cli_report_reading(io, rf_answerer_reading(m));
    rf_pipeline_close(p);
    return cli_exit(io);
}

#define A(field) offsetof(classify_args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION_OF(classify_args, model, "folder of a fine-tuned model (the shipped model is not fine-tuned)"),
    {"pair", 0, CLI_TEXT, A(pair), "TEXT", NULL, 0, 0, NULL, "second text for each TEXT", NULL},
    {"labels", 0, CLI_TEXT, A(labels), "LABELS", NULL, 0, 0, NULL,
     "zero-shot classification: labels to choose from, separated by commas; the model has to be one of natural "
     "language inference", "candidate_labels"},
    {"label", 0, CLI_EACH, A(label), "LABEL", NULL, 0, 0, NULL,
     "one more of these labels, which may have commas; may be repeated", NULL},
    {"hypothesis", 0, CLI_TEXT, A(hypothesis), "TEXT", "This example is {}.", 0, 0, NULL,
     "what a label says of a text, with {} in the place of the label", "hypothesis_template"},
    {"multi_label", 0, CLI_FLAG, A(multi_label), NULL, NULL, 0, 0, NULL,
     "several labels may be true: each has a probability of its own", NULL},
    CLI_DTYPE_OPTION(classify_args, dtype),
    {"top", 'k', CLI_INT, A(top), "N", "0", 0, 65536, NULL, "print only the N most likely labels; 0: all", NULL},
    {"TEXT", 0, CLI_OPERANDS, A(text), NULL, NULL, 0, 1 << 20, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer classify -m reviews \"a charming and often affecting journey\"",
    "echo \"a dull book\" | roformer classify -m reviews --top 1",
    "roformer classify -m nli --labels \"sport, politics\" --hypothesis \"This text is about {}.\" \"They won.\"",
    NULL,
};

const cli_command cmd_classify = {
    "classify",
    "[TEXT...]",
    "classify texts with a fine-tuned model",
    "Reads each TEXT or, without TEXT, each line of standard input.  Prints a list of labels with their scores, the "
    "best first, as the text-classification pipeline of transformers does.  Scores are probabilities after softmax.  "
    "If a text may have several labels, or if the model has a single output and config.json has no problem_type, they "
    "are probabilities after a sigmoid.  For regression, the score is the predicted number.\n"
    "With --labels, the labels need not be those of the model.  It has to be a model of natural language inference "
    "(bart-large-mnli, or one that roformer finetune --task cls --pair_column COLUMN trains on pairs with the label "
    "entailment), which reads each text with the hypothesis of each label.  Prints {\"sequence\", \"labels\", "
    "\"scores\"} for each text, the best label first, as the zero-shot-classification pipeline of transformers does.  "
    "If a pair is too long for the tokenizer, only the text is truncated.",
    examples,
    options,
    sizeof(classify_args),
    NULL,
    run,
};
