/* cmd_train_translation.c — roformer train-translation: trains a translation model on parallel text. */
#include "cli/shell/commands.h"
#include "cli/options/train_options.h"
#include "cli/shared/training.h"

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
    char folder[4096];
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
        rf_fail(&io->why, RF_EARG, "train-translation: expected --source FILE... and --target FILE..., got none");
    else if (!t->output_dir && !t->resume_from_checkpoint)
        rf_fail(&io->why, RF_EARG, "train-translation: expected -o DIR, a folder for the translator, got none");
    if (t->model && !io->why.code && !cli_model_folder(t->model, folder, sizeof folder, &io->why)) t->model = folder;
    if (io->why.code) return cli_exit(io);
    cli_training_begin(&w, io, t);
    return cli_training_end(&w, rf_train_translation(io->ctx, t, cli_training_report, &w, &io->why), a->report);
}

static const cli_option options[] = {
    CLI_TRAIN_ROW("source", translation_args, source, NULL),
    CLI_TRAIN_ROW("target", translation_args, target, NULL),
    CLI_TRAIN_ROW("validation_source", translation_args, validation_source, NULL),
    CLI_TRAIN_ROW("validation_target", translation_args, validation_target, NULL),
    CLI_TRAIN_ROW("output_dir", translation_args, t, "folder for the translator, checkpoints and metrics.jsonl"),
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
    "train a translation model on parallel text",
    "Line n of a target file is the translation of line n of the source file with the same position.  An "
    "encoder-decoder model learns to predict each target token from the source and the earlier target tokens.  With "
    "--model DIR, training starts with the weights of a translation model, or uses the subwords and config.json of "
    "the folder.  Without --model, a joint BPE vocabulary with --vocab_size subwords is learned from both sides "
    "first.\n"
    "A batch contains --max_tokens tokens of both sides together, without padding.  Pairs are dropped if a side is "
    "empty, if a side has more than --max_length tokens, or if the lengths differ by more than --max_length_ratio.  "
    "They are counted and listed in dropped.tsv.\n"
    "--recipe selects the model and the options of a published experiment: multi30k, wmt14_base, wmt14_big or "
    "iwslt14.  Options that are given explicitly take precedence.\n"
    "Checkpoints, signals and resuming work as in pretrain: a run that was killed and resumed ends with the same bits.",
    examples,
    options,
    sizeof(translation_args),
    prepare,
    run,
};
