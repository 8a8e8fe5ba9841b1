/* cmd_train_translation.c — roformer train-translation: parallel text in, a translator out. */
#include "cli/shell/commands.h"
#include "cli/shell/train_options.h"
#include "cli/shell/training.h"

typedef struct translation_args {
    rf_train_options t;
    cli_list source, target, validation_source, validation_target;
    int report;
} translation_args;

static void prepare(void *args)
{
    translation_args *a = args;
    rf_translation_defaults(&a->t);
}

static int run(void *arguments, cli_io *io)
{
    translation_args *a = arguments;
    rf_train_options *t = &a->t;
    cli_training w;
    t->source = a->source.item;
    t->sources = a->source.n;
    t->target = a->target.item;
    t->targets = a->target.n;
    t->validation_source = a->validation_source.item;
    t->validation_sources = a->validation_source.n;
    t->validation_target = a->validation_target.item;
    t->validation_targets = a->validation_target.n;
    cli_training_options(t, io);
    if ((!t->sources || !t->targets) && !t->resume_from_checkpoint)
        rf_fail(&io->why, RF_EARG, "train-translation needs --source FILE... and --target FILE...");
    else if (!t->output_dir && !t->resume_from_checkpoint)
        rf_fail(&io->why, RF_EARG, "train-translation needs -o DIR, a folder for the translator");
    if (io->why.code) return cli_exit(io);
    cli_training_begin(&w, io, t);
    return cli_training_end(&w, rf_train_translation(io->ctx, t, cli_training_report, &w, &io->why), a->report);
}

static const cli_option options[] = {
    CLI_TRAIN_ROW("source", translation_args, source, NULL),
    CLI_TRAIN_ROW("target", translation_args, target, NULL),
    CLI_TRAIN_ROW("validation_source", translation_args, validation_source, NULL),
    CLI_TRAIN_ROW("validation_target", translation_args, validation_target, NULL),
    CLI_TRAIN_ROWS(translation_args, t, RF_OPTION_TRANSLATION),
    {"report", 0, CLI_FLAG, offsetof(translation_args, report), NULL, NULL, 0, 0, NULL, "write report.html at the end",
     NULL},
    {0},
};

static const char *const examples[] = {
    "roformer train-translation --recipe multi30k --source train.en.gz --target train.de.gz --validation_source "
    "val.en.gz --validation_target val.de.gz -o en-de",
    "roformer train-translation --resume latest -o en-de",
    "roformer train-translation --source news.en talks.en --target news.de talks.de --model subwords --config "
    "base.json --max_tokens 16384 --bf16 -o en-de",
    "roformer plot en-de/metrics.jsonl -o loss.svg",
    NULL,
};

const cli_command cmd_train_translation = {
    "train-translation",
    "--source FILE... --target FILE... -o DIR",
    "train a translator on parallel text",
    "Line n of a source file is translated by line n of the target file beside it.  A model of an encoder and a "
    "decoder learns to predict each token of the target from the source and the tokens before it; with --model DIR it "
    "goes on from a translator's weights, or takes that folder's sub-words and config.json, and without it joint "
    "sub-words (BPE, --vocab_size of them) are learned from both sides first.\n"
    "Batches hold pairs of --max_tokens tokens of both sides together, without padding.  Pairs with an empty side, "
    "with a side of more than --max_length tokens, or with sides of too different lengths (--max_length_ratio) are "
    "left out, counted, and listed in dropped.tsv.\n"
    "--recipe takes model and options of a known experiment, which options that are given override: multi30k, "
    "wmt14_base, wmt14_big, iwslt14.\n"
    "Checkpoints, signals and resuming are as in pretrain: a run that was killed and resumed ends with the same bits.",
    examples,
    options,
    sizeof(translation_args),
    prepare,
    run,
};
