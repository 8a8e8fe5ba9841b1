/* cmd_pretrain.c — roformer pretrain: trains masked and causal language models; runs can be killed and resumed.
 *
 * The first Ctrl-C finishes the batch, saves and exits with 75; a second one exits at once, and the last checkpoint can
 * be resumed. */
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/options/train_options.h"
#include "cli/shared/records.h"
#include "cli/shared/training.h"

void train_prepare(void *args)
{
    train_args *a = args;
    rf_train_defaults(&a->t);
}

/* --data a.cache b.cache, or --mix a.cache:0.7 b.cache:0.3; the names are split at their last colon. */
static rf_status take_caches(train_args *a, rf_error *why)
{
    const cli_list *list = a->mix.n ? &a->mix : &a->data;
    if (a->mix.n && a->data.n) return rf_fail(why, RF_EARG, "--data, --mix: expected one of them, got both");
    if (list->n > TRAIN_CACHES)
        return rf_fail(why, RF_EARG, "--data, --mix: expected at most %d caches, got %d", (int)TRAIN_CACHES, list->n);
    for (int i = 0; i < list->n; i++) {
        const char *name = list->item[i], *colon = a->mix.n ? strrchr(name, ':') : name + strlen(name);
        char *end;
        if (!colon || (size_t)(colon - name) >= sizeof a->cache[i])
            return rf_fail(why, RF_EARG, "--mix: expected FILE:WEIGHT, got \"%.100s\"", name);
        snprintf(a->cache[i], sizeof a->cache[i], "%.*s", (int)(colon - name), name);
        a->cache_name[i] = a->cache[i];
        if (!a->mix.n) continue;
        a->cache_weight[i] = strtod(colon + 1, &end);
        if (end == colon + 1 || *end) return rf_fail(why, RF_EARG, "--mix: expected FILE:WEIGHT, got \"%.100s\"", name);
        if (!(a->cache_weight[i] > 1e-9 && a->cache_weight[i] < 1e9))
            return rf_fail(why, RF_EARG, "--mix %.100s: weight: expected 1e-9 to 1e9, got another number", name);
    }
    a->t.data = a->cache_name;
    a->t.datas = list->n;
    a->t.data_weight = a->mix.n ? a->cache_weight : NULL;
    return RF_OK;
}

static int run(void *arguments, cli_io *io)
{
    train_args *a = arguments;
    cli_training w;
    char folder[4096];
    a->t.text = a->text.item;
    a->t.texts = a->text.n;
    a->t.validation_text = a->validation.item;
    a->t.validation_texts = a->validation.n;
    cli_training_options(&a->t, io);
    if (take_caches(a, &io->why)) return cli_exit(io);
    if (!a->text.n && !a->t.datas && !a->t.resume_from_checkpoint)
        rf_fail(&io->why, RF_EARG, "pretrain: expected --text FILE... (or --data, --mix), got none");
    if (a->t.model && !cli_model_folder(a->t.model, folder, sizeof folder, &io->why)) a->t.model = folder;
    if (a->t.model && !a->t.config) cli_note_vocabulary_in(io, a->t.model);
    if (a->t.model) cli_records_note(io, a->t.model, &a->t);
    if (!a->t.model && !a->t.resume_from_checkpoint)
        rf_fail(&io->why, RF_EARG, "pretrain: expected --model DIR, a folder with a tokenizer, got none");
    if (io->why.code) return cli_exit(io);
    cli_training_begin(&w, io, &a->t);
    return cli_training_end(&w, rf_pretrain(io->ctx, &a->t, cli_training_report, &w, &io->why), a->report);
}

static const cli_option options[] = {
    CLI_TRAIN_ROW("text", train_args, text, NULL),
    CLI_TRAIN_ROW("data", train_args, data, NULL),
    {"mix", 0, CLI_FILES, offsetof(train_args, mix), "FILE:WEIGHT", NULL, 0, 0, NULL,
     "like --data, with a weight for each cache: the fraction of tokens to draw from it, such as a.cache:0.7 "
     "b.cache:0.3", NULL},
    CLI_TRAIN_ROW("validation_text", train_args, validation, NULL),
    CLI_TRAIN_ROWS(train_args, t, RF_OPTION_PRETRAIN),
    {"report", 0, CLI_FLAG, offsetof(train_args, report), NULL, NULL, 0, 0, NULL, "write report.html at the end", NULL},
    {0},
};

static const char *const examples[] = {
    "roformer pretrain --text corpus.txt --model my-model --tokens_per_batch 1024 --max_steps 10",
    "roformer pretrain --resume latest --model my-model --max_steps 15",
    "roformer pretrain --text corpus.txt --model my-model --objective clm --tokens_per_batch 1024 --max_steps 10 -o "
    "my-causal-model",
    "roformer pretrain --text wiki/*.zst --model base --config base.json --bf16 --max_steps 100000",
    "roformer plot my-model/metrics.jsonl -o loss.svg",
    NULL,
};

const cli_command cmd_pretrain = {
    "pretrain",
    "--text FILE... --model DIR",
    "train a masked or causal language model on text",
    "Options have the names of transformers' Trainer.  Text is packed into batches without padding, and attention does "
    "not cross document boundaries.  Checkpoints are complete model folders that transformers can load.\n"
    "--objective clm trains a causal model: attention sees only earlier tokens, every token predicts the next one, "
    "and the last token of a document predicts [SEP].  The model is saved as RoFormerForCausalLM.\n"
    "--objective rtd trains as ELECTRA does: a small generator predicts masked tokens, and the model detects which "
    "tokens its predictions have replaced.  The generator is saved in the subfolder \"generator\".\n"
    "Ctrl-C finishes the batch, saves a checkpoint and exits with status 75; a second Ctrl-C exits at once.  SIGUSR1 "
    "saves a checkpoint, and training continues.  A run that --max_time or --stop_after ends early exits with 75, too; "
    "--resume latest continues it.  A resumed run ends with the same bits as an uninterrupted one.",
    examples,
    options,
    sizeof(train_args),
    train_prepare,
    run,
};
