/* cmd_prepare.c — roformer prepare: tokenizes text into a file, once for many runs. */
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/options/train_options.h"

struct args {
    rf_train_options t;
    cli_list text, validation;
    const char *output;
    int json;
};

typedef struct watch { cli_progress bar; } watch;

static int report(void *user, const rf_train_progress *p)
{
    watch *w = user;
    cli_progress_show(&w->bar, "reading ", -1, p->note ? p->note : "");
    return cli_stopped() != 0;
}

static void print(const struct args *a, const rf_prepared *p, cli_io *io)
{
    if (a->json) {
        cli_print_json(json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:f}", "cache", a->output, "bytes", (json_int_t)p->bytes,
                                 "tokens", (json_int_t)p->tokens, "documents", (json_int_t)p->documents, "held_out",
                                 (json_int_t)p->held, "pieces", (json_int_t)p->pieces, "piece_tokens",
                                 (json_int_t)p->piece_tokens, "packing", p->packing),
                       0, &io->why);
        return;
    }
    printf("cache      %s, %.1f MB\n", a->output, (double)p->bytes * 1e-6);
    printf("tokens     %lld in %lld documents, %lld of them held out\n", (long long)p->tokens, (long long)p->documents,
           (long long)p->held);
    printf("pieces     %lld of at most %lld tokens, %lld in all\n", (long long)p->pieces, (long long)a->t.max_length,
           (long long)p->piece_tokens);
    printf("packing    %.2f %% of a batch of %lld are tokens\n", 100 * p->packing, (long long)a->t.tokens_per_batch);
}

static int run(void *arguments, cli_io *io)
{
    struct args *a = arguments;
    watch w;
    rf_prepared p;
    a->t.text = a->text.item;
    a->t.texts = a->text.n;
    a->t.validation_text = a->validation.item;
    a->t.validation_texts = a->validation.n;
    if (!a->text.n) rf_fail(&io->why, RF_EARG, "prepare: expected --text FILE..., got none");
    else if (!a->t.model)
        rf_fail(&io->why, RF_EARG, "prepare: expected --model DIR, a folder with a tokenizer, got none");
    else if (!a->output) rf_fail(&io->why, RF_EARG, "prepare: expected -o FILE, got none");
    for (int i = 0; i < a->text.n + a->validation.n && !io->why.code; i++)
        cli_not_input(a->output, i < a->text.n ? a->text.item[i] : a->validation.item[i - a->text.n], &io->why);
    char *target = io->why.code ? NULL : cli_target(a->output);
    if (!io->why.code && !target) rf_fail(&io->why, RF_ENOMEM, "out of memory");
    if (io->why.code) return cli_exit(io);
    cli_signals_catch();
    cli_progress_init(&w.bar, io, 10);
    const rf_status status = rf_prepare(io->ctx, &a->t, target, report, &w, &p, &io->why);
    cli_progress_clear(&w.bar);
    free(target);
    if (!status) print(a, &p, io);
    return cli_exit(io);
}

static void prepare(void *args)
{
    struct args *a = args;
    rf_train_defaults(&a->t);
}

static const cli_option options[] = {
    CLI_TRAIN_ROW("text", struct args, text, NULL),
    CLI_TRAIN_ROW("model", struct args, t, "folder with a tokenizer"),
    {"output", 'o', CLI_FILE, offsetof(struct args, output), "FILE", NULL, 0, 0, NULL, "the cache file", NULL},
    CLI_TRAIN_ROW("validation_text", struct args, validation, NULL),
    CLI_TRAIN_ROWS(struct args, t, RF_OPTION_PREPARE),
    CLI_TRAIN_ROW("max_length", struct args, t, "maximum sequence length, for the packing report only"),
    CLI_TRAIN_ROW("tokens_per_batch", struct args, t, "tokens per batch, for the packing report only"),
    {"json", 0, CLI_FLAG, offsetof(struct args, json), NULL, NULL, 0, 0, NULL, "print one JSON object", NULL},
    {0},
};

static const char *const examples[] = {
    "roformer prepare --text corpus.txt --model my-model -o corpus.cache",
    "roformer pretrain --mix wiki.cache:0.7 books.cache:0.3 --model my-model -o run-1",
    NULL,
};

const cli_command cmd_prepare = {
    "prepare",
    "--text FILE... --model DIR -o FILE",
    "tokenize text into a cache for pretrain",
    "The cache contains the token ids of all documents.  It is verified when it is opened, and any number of runs can "
    "use it.  It is valid only for the tokenizer that created it.  An existing cache of the same text is not written "
    "again.",
    examples,
    options,
    sizeof(struct args),
    prepare,
    run,
};
