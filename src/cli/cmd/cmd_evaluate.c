/* cmd_evaluate.c — roformer evaluate: loss and accuracy of a model on held-out text, or the scores of a fine-tuned
 * model on labeled examples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/options/finetune_options.h"
#include "cli/options/train_options.h"
#include "cli/shared/records.h"
#include "roformer/pipeline.h"

typedef struct evaluate_args {
    rf_finetune_options f;      /* f.t for text */
    cli_list text, source, target;
    const char *lengths;
    int64_t stride, words;
    int json, dtype;
} evaluate_args;

static void prepare(void *args)
{
    evaluate_args *a = args;
    rf_finetune_defaults(&a->f);
    rf_train_defaults(&a->f.t);
    a->f.task = NULL;           /* that of the folder */
}

void cli_report_reading(const cli_io *io, const rf_reading *r)
{
    if (r->cut)
        cli_note(io, "%lld of %lld %s were longer than %lld tokens and were %s (max_length)", (long long)r->cut,
                 (long long)r->examples, r->windows ? "questions with their contexts" : "examples",
                 (long long)r->max_length, r->windows ? "split into windows" : "truncated");
    if (r->empty) cli_note(io, "%lld empty line%s skipped", (long long)r->empty, r->empty > 1 ? "s were" : " was");
    if (r->bad)
        cli_note(io, "%lld malformed line%s skipped, the first: %s", (long long)r->bad, r->bad > 1 ? "s were" : " was",
                 r->first);
    if (r->unread)
        cli_note(io, "%lld of %lld examples have only tokens that are unknown to the vocabulary, so their results mean "
                 "little (a vocabulary of single letters needs blanks between them)", (long long)r->unread,
                 (long long)r->examples);
    if (*r->remark) cli_note(io, "%s", r->remark);
}

static int on_examples(const evaluate_args *a, const char *folder, cli_io *io)
{
    rf_answerer *m;
    rf_metric_values s;
    if (rf_answerer_open_as(io->ctx, folder, cli_dtype(a->dtype), &m, &io->why)) return cli_exit(io);
    if (!rf_answerer_evaluate(m, &a->f, a->f.dev, &s, &io->why)) {
        cli_show_metrics(&s, a->json, &io->why);
        cli_report_reading(io, rf_answerer_reading(m));
    }
    rf_answerer_close(m);
    return cli_exit(io);
}

/* ---- loss, perplexity and accuracy on text ---- */

/* With an error in the text, the scores of the part before it. */
static json_t *as_json(const rf_mlm_metrics *s, int64_t length, const rf_error *why)
{
    json_t *o = json_pack("{s:f,s:f,s:f,s:I,s:I,s:I,s:I}", "eval_loss", s->loss, "eval_accuracy", s->accuracy,
                          "perplexity", exp(s->loss), "labels", (json_int_t)s->labels, "tokens", (json_int_t)s->tokens,
                          "documents", (json_int_t)s->documents, "max_length", (json_int_t)length);
    if (why->code) cli_json_set(&o, "incomplete", cli_text_json(why->text, strlen(why->text)));
    return o;
}

static void print_metrics(const rf_mlm_metrics *s, int64_t length)
{
    printf("loss        %s\nperplexity  %s\naccuracy    %.2f %%\n", cli_fixed(s->loss, 4).text,
           cli_fixed(exp(s->loss), 2).text, 100 * s->accuracy);
    printf("predicted   %lld of %lld tokens in %lld documents, in pieces of at most %lld (--max_length)\n",
           (long long)s->labels, (long long)s->tokens, (long long)s->documents, (long long)length);
}

static rf_status evaluate_pieces(cli_io *io, const evaluate_args *a, int64_t length, rf_mlm_metrics *s)
{
    rf_train_options t = a->f.t;
    t.max_length = length;
    if (t.tokens_per_batch < length) t.tokens_per_batch = length;
    const rf_status status = rf_evaluate_mlm_as(io->ctx, &t, cli_dtype(a->dtype), s, &io->why);
    if (status || isfinite(s->loss)) return status;
    return rf_fail(&io->why, RF_ENUMERIC, "loss: expected a finite number, got %g", s->loss);
}

static int on_text(const evaluate_args *a, cli_io *io)
{
    rf_mlm_metrics s = {0};
    if (evaluate_pieces(io, a, a->f.t.max_length, &s) && !s.labels) return cli_exit(io);
    rf_error print = {0};
    if (io->why.code)
        cli_note(io, "the text was not read to its end: these are the scores of the first %lld documents",
                 (long long)s.documents);
    if (a->json) cli_print_json(as_json(&s, a->f.t.max_length, &io->why), 0, &print);
    else print_metrics(&s, a->f.t.max_length);
    if (cli_flush(&print)) rf_fail(&io->why, print.code, "%s", print.text);
    return cli_exit(io);
}

/* The next number of "128,256,512"; 0: the end, -1: not a valid number. */
static int64_t next_length(const char **at)
{
    char *end;
    if (!**at) return 0;
    const long long n = strtoll(*at, &end, 10);
    if (end == *at || (*end && *end != ',') || n < 8 || n > 1 << 20) return -1;
    *at = end + (*end == ',');
    return n;
}

/* Prints one line of a table for each length. */
static int on_lengths(const evaluate_args *a, const char *lengths, cli_io *io)
{
    json_t *all = json_array();
    const char *at = lengths;
    int64_t length;
    while ((length = next_length(&at)) > 0) {}
    if (length)
        rf_fail(&io->why, RF_EARG, "--max_lengths: expected comma-separated numbers from 8 to 1048576, got %.60s",
                lengths);
    at = lengths;
    for (int i = 0; !io->why.code && (length = next_length(&at)); i++) {
        rf_mlm_metrics s = {0};
        if (evaluate_pieces(io, a, length, &s) && !s.labels) break;
        if (a->json) {
            cli_json_add(&all, as_json(&s, length, &io->why));
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

/* ---- a translation model on pairs ---- */

static int on_pairs(const evaluate_args *a, cli_io *io)
{
    rf_mlm_metrics s = {0};
    rf_error print = {0};
    if (rf_evaluate_pairs(io->ctx, &a->f.t, &s, &io->why)) return cli_exit(io);
    if (!isfinite(s.loss)) rf_fail(&io->why, RF_ENUMERIC, "loss: expected a finite number, got %g", s.loss);
    if (a->json) {
        cli_print_json(json_pack("{s:f,s:f,s:f,s:I,s:I,s:I}", "eval_loss", s.loss, "eval_accuracy", s.accuracy,
                                 "perplexity", exp(s.loss), "labels", (json_int_t)s.labels, "tokens",
                                 (json_int_t)s.tokens, "pairs", (json_int_t)s.documents),
                       0, &print);
    } else {
        printf("loss        %s\nperplexity  %s\naccuracy    %.2f %%\n", cli_fixed(s.loss, 4).text,
               cli_fixed(exp(s.loss), 2).text, 100 * s.accuracy);
        printf("predicted   %lld tokens of %lld targets, each from its source and the tokens before it\n",
               (long long)s.labels, (long long)s.documents);
    }
    if (cli_flush(&print)) rf_fail(&io->why, print.code, "%s", print.text);
    return cli_exit(io);
}

/* ---- in overlapping windows ---- */

typedef struct windows { double loss; int64_t labels, documents; } windows;

static rf_status read_documents(const evaluate_args *a, cli_io *io, rf_pipeline *p, windows *w)
{
    rf_reader *r;
    rf_document d;
    rf_logprob_options o;
    const rf_text_logprob *s;
    const rf_train_options *t = &a->f.t;
    rf_status status = rf_reader_open(io->ctx, t->text, t->texts, &t->reader, &r, &io->why);
    if (status) return status;
    rf_logprob_defaults(&o);
    o.max_length = t->max_length;
    o.stride = a->stride;
    o.end = 1;
    while (!(t->eval_documents && w->documents == t->eval_documents) && !cli_stopped()) {
        status = rf_reader_next(r, &d, &io->why);
        if (status || !d.text) break;
        status = rf_logprob_text(p, NULL, 0, d.text, d.size, &o, &s, &io->why);
        if (status) break;
        w->loss -= s->total;
        w->labels += s->n;
        w->documents++;
    }
    rf_reader_close(r);
    return status;
}

static void print_windows(const evaluate_args *a, const windows *w, rf_error *why)
{
    const double loss = w->loss / (double)w->labels;
    if (a->json) {
        cli_print_json(json_pack("{s:f,s:f,s:I,s:I,s:I,s:I}", "eval_loss", loss, "perplexity", exp(loss), "labels",
                                 (json_int_t)w->labels, "documents", (json_int_t)w->documents, "max_length",
                                 (json_int_t)a->f.t.max_length, "stride", (json_int_t)a->stride),
                       0, why);
        return;
    }
    printf("loss        %s\nperplexity  %s\n", cli_fixed(loss, 4).text, cli_fixed(exp(loss), 2).text);
    printf("predicted   %lld tokens of %lld documents, in windows of %lld (--max_length) that begin every %lld\n",
           (long long)w->labels, (long long)w->documents, (long long)a->f.t.max_length, (long long)a->stride);
}

/* Every token has at least max_length - stride earlier tokens of its document as context, or all there are. */
static int on_windows(const evaluate_args *a, const char *folder, cli_io *io)
{
    rf_pipeline *p = NULL;
    windows w = {0};
    rf_error print = {0};
    cli_signals_catch();
    if (a->stride >= a->f.t.max_length)
        rf_fail(&io->why, RF_EARG, "--stride: expected less than the %lld tokens of a window (--max_length), got %lld",
                (long long)a->f.t.max_length, (long long)a->stride);
    else if (!cli_pipeline_open(io, folder, cli_dtype(a->dtype), &p)) read_documents(a, io, p, &w);
    if (!io->why.code && !w.labels) rf_fail(&io->why, RF_EDATA, "--text: expected tokens to predict, got none");
    if (!io->why.code) {
        print_windows(a, &w, &print);
        if (cli_flush(&print)) rf_fail(&io->why, print.code, "%s", print.text);
    }
    rf_pipeline_close(p);
    return cli_exit(io);
}

/* ---- whole words ---- */

static void print_words(const evaluate_args *a, const rf_word_results *s, rf_error *why)
{
    const double right = (double)s->right / (double)s->words, nats = s->nats / (double)s->characters;
    if (a->json) {
        cli_print_json(json_pack("{s:f,s:f,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "word_accuracy", right,
                                 "nats_per_character", nats, "words", (json_int_t)s->words, "words_of",
                                 (json_int_t)s->of, "documents", (json_int_t)s->documents, "single",
                                 (json_int_t)s->single, "single_right", (json_int_t)s->single_right, "unknown",
                                 (json_int_t)s->unknown, "tokens", (json_int_t)s->tokens, "characters",
                                 (json_int_t)s->characters),
                       0, why);
        return;
    }
    printf("right       %.2f %% of %lld words, whole ones, masked one at a time\n", 100 * right, (long long)s->words);
    printf("nats        %.4f a character, of %lld characters\n", nats, (long long)s->characters);
    printf("one token   %.2f %% of %lld words right, the vocabulary has them whole\n",
           s->single ? 100 * (double)s->single_right / (double)s->single : 0, (long long)s->single);
    if (s->unknown)
        printf("unknown     %lld words that the vocabulary cannot spell: wrong, and not in nats\n",
               (long long)s->unknown);
    printf("chosen      by hashes, of %lld words in %lld documents\n", (long long)s->of, (long long)s->documents);
}

static int on_words(const evaluate_args *a, const char *folder, cli_io *io)
{
    rf_pipeline *p = NULL;
    rf_word_options o;
    const rf_word_results *s;
    rf_error print = {0};
    const rf_train_options *t = &a->f.t;
    rf_word_defaults(&o);
    o.words = a->words;
    o.reader = &t->reader;
    if (cli_given(io->parsed, "tokens_per_batch")) o.batch_tokens = t->tokens_per_batch;
    if (!cli_pipeline_open(io, folder, cli_dtype(a->dtype), &p) &&
        !rf_predict_words(p, t->text, t->texts, &o, &s, &io->why)) {
        if (s->words < a->words)
            cli_note(io, "--words: expected %lld words, got %lld, all that the text has", (long long)a->words,
                     (long long)s->words);
        print_words(a, s, &print);
        if (cli_flush(&print)) rf_fail(&io->why, print.code, "%s", print.text);
    }
    rf_pipeline_close(p);
    return cli_exit(io);
}

/* Of the options of evaluate, those of rf_finetune_options apply to examples, and those of rf_train_options to text,
 * except a few that apply to both. */
static bool option_applies(const rf_option *row, bool examples)
{
    static const char *const both[] = {"model", "max_length", "seed"};
    for (size_t i = 0; i < CLI_COUNT(both); i++)
        if (!strcmp(row->name, both[i])) return false;
    return !examples || row->kind != RF_OPTION_FILE;
}

/* Options for masking and for cutting text have no effect with --words, or with --stride. */
static rf_status refuse_without_effect(const cli_parsed *p, rf_error *why)
{
    static const struct { const char *with; const char *other[8]; } all[] = {
        {"words", {"mlm_probability", "whole_word_mask", "seed", "max_length", "eval_documents", "max_lengths",
                   "stride"}},
        {"stride", {"mlm_probability", "whole_word_mask", "seed", "tokens_per_batch"}},
    };
    for (size_t k = 0; k < CLI_COUNT(all); k++)
        for (const char *const *other = all[k].other; *other && cli_given(p, all[k].with); other++)
            if (cli_given(p, *other))
                return rf_fail(why, RF_EARG, "--%s, --%s: expected one of them, got both", all[k].with, *other);
    return RF_OK;
}

/* The kind of evaluation: text, pairs or examples, exactly one. */
static rf_status one_kind(const evaluate_args *a, rf_error *why)
{
    const bool pairs = a->source.n || a->target.n;
    const int kinds = (a->text.n > 0) + pairs + (a->f.dev != NULL);
    if (kinds > 1) return rf_fail(why, RF_EARG, "--text, --dev, --source: expected one of them, got several");
    if (!kinds)
        return rf_fail(why, RF_EARG,
                       "evaluate: expected --text FILE..., or --dev FILE for a fine-tuned model, or --source FILE... "
                       "--target FILE... for a translation model, got none of them");
    if (pairs && a->source.n != a->target.n)
        return rf_fail(why, RF_EARG, "--source, --target: expected the same number of files, got %d and %d",
                       a->source.n, a->target.n);
    return RF_OK;
}

/* Refuses options that do not apply to pairs. */
static rf_status pairs_only(const cli_parsed *p, rf_error *why)
{
    static const char *const both[] = {"model", "source", "target", "tokens_per_batch", "source_lang", "target_lang"};
    const rf_option *row;
    for (int table = 0; table < 2; table++)
        for (size_t i = 0; (row = table ? rf_finetune_option(i) : rf_train_option(i)); i++) {
            bool known = false;
            for (size_t k = 0; k < CLI_COUNT(both); k++) known |= !strcmp(row->name, both[k]);
            if (!known && cli_given(p, row->name))
                return rf_fail(why, RF_EARG, "--%s: has no effect with --source and --target; leave it out", row->name);
        }
    static const char *const own[] = {"max_lengths", "stride", "words", "dtype"};
    for (size_t i = 0; i < CLI_COUNT(own); i++)
        if (cli_given(p, own[i]))
            return rf_fail(why, RF_EARG, "--%s: has no effect with --source and --target; leave it out", own[i]);
    return RF_OK;
}

static rf_status refuse_other_options(const cli_parsed *p, bool text, rf_error *why)
{
    const rf_option *row;
    for (size_t i = 0; (row = text ? rf_finetune_option(i) : rf_train_option(i)); i++)
        if (option_applies(row, text) && cli_given(p, row->name))
            return rf_fail(why, RF_EARG, "--%s: has no effect without %s; leave it out", row->name,
                           text ? "--dev" : "--text");
    static const char *const of_text[] = {"max_lengths", "stride", "words"};
    for (size_t i = 0; !text && i < CLI_COUNT(of_text); i++)
        if (cli_given(p, of_text[i]))
            return rf_fail(why, RF_EARG, "--%s: has no effect without --text; leave it out", of_text[i]);
    if (cli_given(p, "stride") && cli_given(p, "max_lengths"))
        return rf_fail(why, RF_EARG, "--stride, --max_lengths: expected one of them, got both");
    if (cli_given(p, "max_length") && cli_given(p, "max_lengths"))
        return rf_fail(why, RF_EARG, "--max_length, --max_lengths: expected one of them, got both");
    return refuse_without_effect(p, why);
}

static int was_given(void *parsed, const char *option) { return cli_given(parsed, option); }

static int run(void *arguments, cli_io *io)
{
    evaluate_args *a = arguments;
    char folder[4096];
    a->f.t.text = a->text.item;
    a->f.t.texts = a->text.n;
    a->f.t.source = a->source.item;
    a->f.t.sources = a->source.n;
    a->f.t.target = a->target.item;
    a->f.t.targets = a->target.n;
    if (!one_kind(a, &io->why) && a->source.n) pairs_only(io->parsed, &io->why);
    else if (!io->why.code) refuse_other_options(io->parsed, !a->f.dev, &io->why);
    if (io->why.code || cli_task_folder(a->f.t.model, a->f.dev ? a->f.task : NULL, folder, sizeof folder, &io->why))
        return cli_exit(io);
    cli_note_vocabulary_in(io, folder);
    cli_records_note(io, folder, &a->f.t);
    a->f.t.given = was_given;
    a->f.t.given_user = (void *)(uintptr_t)io->parsed;
    a->f.t.model = folder;
    if (a->f.dev && !cli_given(io->parsed, "max_length")) a->f.t.max_length = 0;
    if (a->source.n) return on_pairs(a, io);
    if (a->f.dev) return on_examples(a, folder, io);
    if (a->words) return on_words(a, folder, io);
    if (a->stride) return on_windows(a, folder, io);
    return a->lengths ? on_lengths(a, a->lengths, io) : on_text(a, io);
}

static const cli_option options[] = {
    CLI_TRAIN_MODEL(evaluate_args, f.t,
                    "model folder (default: the shipped model; with --task embed, the shipped sentence model)"),
    {"text", 0, CLI_TRAIN, offsetof(evaluate_args, text), NULL, NULL, 0, 0, NULL, NULL, ""},   /* not --train_file */
    CLI_TRAIN_ROW("source", evaluate_args, source, NULL),
    CLI_TRAIN_ROW("target", evaluate_args, target, NULL),
    CLI_FINETUNE_ROW("dev", evaluate_args, f, "labeled examples for a fine-tuned model"),
    CLI_FINETUNE_ROW("task", evaluate_args, f, "task that defines how examples are read (default: as in fine-tuning)"),
    CLI_FINETUNE_ROWS(evaluate_args, f, RF_OPTION_EVALUATE),
    CLI_TRAIN_ROWS(evaluate_args, f.t, RF_OPTION_EVALUATE),
    CLI_DTYPE_OPTION(evaluate_args, dtype),
    {"max_lengths", 0, CLI_TEXT, offsetof(evaluate_args, lengths), "N,N,...", NULL, 0, 0, NULL,
     "evaluate at each of these lengths, one line per length", NULL},
    {"stride", 0, CLI_INT, offsetof(evaluate_args, stride), "N", NULL, 1, 1 << 20, NULL,
     "causal models: windows of --max_length tokens begin every N tokens of a document, and each token is scored in "
     "the first window that contains it (sliding-window perplexity)", NULL},
    {"words", 0, CLI_INT, offsetof(evaluate_args, words), "N", NULL, 1, 1 << 30, NULL,
     "predict N whole words of the text, each with all of its tokens masked; prints the accuracy and the nats per "
     "character.  The selection of the words depends only on the text, so that models with different vocabularies can "
     "be compared", NULL},
    {"json", 0, CLI_FLAG, offsetof(evaluate_args, json), NULL, NULL, 0, 0, NULL, "print one JSON object", NULL},
    {0},
};

static const char *const examples[] = {
    "roformer evaluate --text corpus.txt",
    "roformer evaluate -m my-model --text corpus.txt --max_length 512 --json",
    "roformer evaluate -m my-causal-model --text corpus.txt --max_lengths 128,256,512,1024",
    "roformer evaluate -m my-causal-model --text corpus.txt --max_length 64 --stride 32 --eval_documents 20",
    "roformer evaluate --text corpus.txt --words 1000",
    "roformer evaluate -m reviews --dev reviews.tsv",
    "roformer evaluate -m en-de --source test.en --target test.de",
    NULL,
};

const cli_command cmd_evaluate = {
    "evaluate",
    "--text FILE... | --dev FILE | --source FILE... --target FILE...",
    "evaluate a model on held-out text, labeled examples or parallel text",
    "With --text, masks tokens as in training (--seed selects them) and prints the mean cross-entropy of the "
    "predictions in nats, the perplexity, and the accuracy.  A causal model predicts every next token instead.  "
    "Documents are cut into independent sequences of --max_length tokens, so evaluate with the length that matters to "
    "you.  If a text cannot be read to its end, the scores of the part that was read are printed (with --json, "
    "\"incomplete\" contains the reason), and the exit status is not 0.\n"
    "With --dev, prints the loss and the metrics of a fine-tuned model, or of a sentence-transformers folder, on "
    "labeled examples.\n"
    "With --source and --target, prints loss, perplexity and accuracy of a translation model on parallel text.  Every "
    "target token is predicted from its source and the earlier target tokens.",
    examples,
    options,
    sizeof(evaluate_args),
    prepare,
    run,
};
