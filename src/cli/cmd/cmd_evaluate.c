/* cmd_evaluate.c — roformer evaluate: loss and accuracy of a model on text that it has not seen, or the scores of a
 * fine-tuned one on labelled examples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/shell/finetune_options.h"
#include "cli/shell/train_options.h"

typedef struct evaluate_args { train_args train; rf_finetune_options f; const char *dev, *lengths; } evaluate_args;

void cli_report_reading(const cli_io *io, const rf_reading *r, rf_task task, bool scored)
{
    if (r->cut)
        cli_note(io, "%lld of %lld %s were longer than %lld tokens and were %s (max_length)", (long long)r->cut,
                 (long long)r->examples, task == RF_TASK_QA ? "questions with their contexts" : "examples",
                 (long long)r->max_length, task == RF_TASK_QA ? "asked of several windows" : "cut");
    if (r->empty) cli_note(io, "%lld empty line%s passed over", (long long)r->empty, r->empty > 1 ? "s were" : " was");
    if (r->bad)
        cli_note(io, "%lld bad line%s passed over, the first: %s", (long long)r->bad, r->bad > 1 ? "s were" : " was",
                 r->first);
    if (scored && *r->remark) cli_note(io, "%s", r->remark);
}

static int on_examples(const evaluate_args *a, const char *folder, cli_io *io)
{
    rf_answerer *m;
    rf_scores s;
    if (rf_answerer_open(io->ctx, folder, &m, &io->why)) return cli_exit(io);
    if (!rf_answerer_evaluate(m, &a->f, a->dev, &s, &io->why)) {
        cli_show_scores(&s, a->train.json, &io->why);
        cli_report_reading(io, rf_answerer_reading(m), rf_answerer_task(m), true);
    }
    rf_answerer_close(m);
    return cli_exit(io);
}

/* ---- loss, perplexity and accuracy on text ---- */

/* With a failure: of the text, whose scores up to there these are. */
static json_t *as_json(const rf_mlm_score *s, int64_t length, const rf_error *why)
{
    json_t *o = json_pack("{s:f,s:f,s:f,s:I,s:I,s:I,s:I}", "eval_loss", s->loss, "eval_accuracy", s->accuracy,
                          "perplexity", exp(s->loss), "labels", (json_int_t)s->labels, "tokens", (json_int_t)s->tokens,
                          "documents", (json_int_t)s->documents, "max_length", (json_int_t)length);
    if (why->code) rf__json_set(&o, "incomplete", rf__json_text(why->text, strlen(why->text)));
    return o;
}

static void print_score(const rf_mlm_score *s, int64_t length)
{
    printf("loss        %.4f\nperplexity  %.2f\naccuracy    %.2f %%\n", s->loss, exp(s->loss), 100 * s->accuracy);
    printf("predicted   %lld of %lld tokens in %lld documents, in pieces of at most %lld (--max_length)\n",
           (long long)s->labels, (long long)s->tokens, (long long)s->documents, (long long)length);
}

static rf_status score(cli_io *io, const train_args *a, int64_t length, rf_mlm_score *s)
{
    rf_train_options t = a->t;
    t.max_length = length;
    if (t.tokens_per_batch < length) t.tokens_per_batch = length;
    const rf_status status = rf_evaluate_mlm(io->ctx, &t, s, &io->why);
    return status || isfinite(s->loss) ? status : rf_fail(&io->why, RF_ENUMERIC, "the loss is not finite");
}

static int on_text(const train_args *a, cli_io *io)
{
    rf_mlm_score s = {0};
    if (score(io, a, a->t.max_length, &s) && !s.labels) return cli_exit(io);
    rf_error print = {0};
    if (io->why.code)
        cli_note(io, "the text was not read to its end: these are the scores of the %lld documents before",
                 (long long)s.documents);
    if (a->json) cli_print_json(as_json(&s, a->t.max_length, &io->why), 0, &print);
    else print_score(&s, a->t.max_length);
    if (cli_flush(&print)) rf_fail(&io->why, print.code, "%s", print.text);
    return cli_exit(io);
}

/* The next number of "128,256,512"; 0 at the end, -1: no such number. */
static int64_t next_length(const char **at)
{
    char *end;
    if (!**at) return 0;
    const long long n = strtoll(*at, &end, 10);
    if (end == *at || (*end && *end != ',') || n < 8 || n > 1 << 20) return -1;
    *at = end + (*end == ',');
    return n;
}

/* One line of a table for each length. */
static int on_lengths(const train_args *a, const char *lengths, cli_io *io)
{
    json_t *all = json_array();
    const char *at = lengths;
    int64_t length;
    while ((length = next_length(&at)) > 0) {}
    if (length)
        rf_fail(&io->why, RF_EARG, "--max_lengths %.60s: not numbers from 8 to 1048576 with commas between", lengths);
    at = lengths;
    for (int i = 0; !io->why.code && (length = next_length(&at)); i++) {
        rf_mlm_score s = {0};
        if (score(io, a, length, &s) && !s.labels) break;
        if (a->json) {
            rf__json_add(&all, as_json(&s, length, &io->why));
            continue;
        }
        if (!i) printf("%10s %9s %12s %10s %12s\n", "max_length", "loss", "perplexity", "accuracy", "predicted");
        printf("%10lld %9.4f %12.2f %8.2f %% %12lld\n", (long long)length, s.loss, exp(s.loss), 100 * s.accuracy,
               (long long)s.labels);
        fflush(stdout);
    }
    rf_error print = {0};
    if (a->json && (!all || json_array_size(all)) && cli_print_json(json_incref(all), 0, &print))
        rf_fail(&io->why, print.code, "%s", print.text);
    json_decref(all);
    return cli_exit(io);
}

/* Options of the other way to evaluate would be passed over: on `text`, those of examples, and the other way round. */
static rf_status no_strangers(const cli_parsed *p, bool text, rf_error *why)
{
    static const char *const of_examples[] = {"task", "text_column", "pair_column", "label_column", "doc_stride",
                                              "per_device_eval_batch_size", "max_bad_lines", NULL};
    static const char *const of_text[] = {"text_format", "text_split", "text_field", "keep_titles", "tokens_per_batch",
                                          "mlm_probability", "whole_word_mask", "eval_documents", "max_lengths", NULL};
    for (const char *const *name = text ? of_examples : of_text; *name; name++)
        if (cli_given(p, *name))
            return rf_fail(why, RF_EARG, "--%s is for %s", *name, text ? "--dev" : "--text");
    if (cli_given(p, "max_length") && cli_given(p, "max_lengths"))
        return rf_fail(why, RF_EARG, "--max_length and --max_lengths exclude one another");
    return RF_OK;
}

static int was_given(void *parsed, const char *option) { return cli_given(parsed, option); }

static int run(void *arguments, cli_io *io)
{
    evaluate_args *e = arguments;
    train_args *a = arguments;
    char folder[4096];
    a->t.text = a->text.item;
    a->t.texts = a->text.n;
    if (a->text.n && e->dev) rf_fail(&io->why, RF_EARG, "--text and --dev exclude one another");
    if (!a->text.n && !e->dev)
        rf_fail(&io->why, RF_EARG, "evaluate needs --text FILE..., or, for a fine-tuned model, --dev FILE");
    if (!io->why.code) no_strangers(io->parsed, !e->dev, &io->why);
    if (io->why.code || cli_model_folder(a->t.model, folder, sizeof folder, &io->why)) return cli_exit(io);
    e->f.t.given = was_given;
    e->f.t.given_user = (void *)(uintptr_t)io->parsed;
    e->f.t.max_length = a->t.max_length;
    if (e->dev) return on_examples(e, folder, io);
    a->t.model = folder;
    return e->lengths ? on_lengths(a, e->lengths, io) : on_text(a, io);
}

static const cli_option options[] = {
    {"model", 'm', CLI_FOLDER, T(model), "DIR", NULL, 0, 0, "ROFORMER_MODEL",
     "model folder; without it the shipped model", NULL},
    TRAIN_TEXT,
    {"dev", 0, CLI_FILE, offsetof(evaluate_args, dev), "FILE", NULL, 0, 0, NULL,
     "labelled examples, for a fine-tuned model", NULL},
    {"task", 0, CLI_TEXT, offsetof(evaluate_args, f.task), "NAME", NULL, 0, 0, NULL,
     "how they are read; without it as in fine-tuning", NULL},
    FINETUNE_COLUMNS(evaluate_args, f),
    FINETUNE_EVAL_BATCH(evaluate_args, f),
    FINETUNE_STRIDE(evaluate_args, f),
    FINETUNE_BAD_LINES(evaluate_args, f),
    TRAIN_SHARED,
    {"max_lengths", 0, CLI_TEXT, offsetof(evaluate_args, lengths), "N,N,...", NULL, 0, 0, NULL,
     "measure at each of these lengths, a line for each", NULL},
    {"json", 0, CLI_FLAG, offsetof(train_args, json), NULL, NULL, 0, 0, NULL, "one JSON object", NULL},
    {0},
};

static const char *const examples[] = {
    "roformer evaluate --text corpus.txt",
    "roformer evaluate -m my-model --text corpus.txt --max_length 512 --json",
    "roformer evaluate -m my-causal-model --text corpus.txt --max_lengths 128,256,512,1024",
    "roformer evaluate -m reviews --dev reviews.tsv",
    NULL,
};

const cli_command cmd_evaluate = {
    "evaluate",
    "--text FILE... | --dev FILE",
    "measure a model on text it has not seen",
    "Masks tokens as training does, with the masks that --seed decides, and prints the mean cross-entropy of the "
    "predictions (nats), its exponential (the perplexity), and the share of predictions that are right; a causal model "
    "predicts every next token instead.  Documents are cut into pieces of --max_length tokens, which see nothing of "
    "each other: measure with the length that matters to you.  Of a text that cannot be read to its end the scores of "
    "what was read are printed (with --json \"incomplete\" says why), and the exit code is not 0.\n"
    "With --dev, the scores of a fine-tuned model on labelled examples: loss, accuracy, F1, correlations, as the task "
    "defines them.",
    examples,
    options,
    sizeof(evaluate_args),
    train_prepare,
    run,
};
