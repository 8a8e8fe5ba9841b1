/* cmd_finetune.c — roformer finetune: trains a model on labeled examples. */
#include <math.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/options/finetune_options.h"
#include "cli/plot/report.h"
#include "cli/options/train_options.h"
#include "cli/shared/training.h"
#include "roformer/inspect/files.h"

typedef struct finetune_args {
    rf_finetune_options f;
    int json, report;
} finetune_args;

static void prepare(void *args)
{
    finetune_args *a = args;
    rf_finetune_defaults(&a->f);
}

typedef struct watch {
    cli_io *io;
    cli_progress bar;
    double loss, rate;                  /* rate: the best one of several                                              */
    int64_t every;
    bool folds;
    char saved[1024];
    json_t *best;                       /* folders of the runs with that rate                                         */
} watch;

static void show_step(watch *w, const rf_train_progress *p)
{
    char text[256], eta[32], loss[32];
    cli_duration(p->eta_seconds, eta, sizeof eta);
    w->loss = w->loss > 0 ? 0.9 * w->loss + 0.1 * p->loss : p->loss;
    cli_loss(w->bar.live ? w->loss : p->loss, loss, sizeof loss);
    snprintf(text, sizeof text, "step %lld/%lld  epoch %.2f  loss %s  lr %.3g  ETA %s", (long long)p->step,
             (long long)p->max_steps, p->epoch, loss, p->learning_rate, eta);
    const bool due = p->step == p->max_steps || (w->every && p->step % w->every == 0);
    if (!w->bar.live && due) cli_progress_line(&w->bar, text);
    else cli_progress_show(&w->bar, "training", p->max_steps > 0 ? (double)p->step / (double)p->max_steps : -1, text);
}

static int report(void *user, const rf_train_progress *p)
{
    watch *w = user;
    char text[1280];
    if (!strcmp(p->event, "step")) {
        show_step(w, p);
    } else if (!strcmp(p->event, "data")) {
        cli_progress_show(&w->bar, "reading ", -1, p->note ? p->note : "the examples");
    } else if (!strcmp(p->event, "eval")) {
        snprintf(text, sizeof text, "step %lld: dev loss %s, %s %s", (long long)p->step,
                 cli_fixed(p->eval_loss, 4).text, strncmp(p->metric, "eval_", 5) ? p->metric : p->metric + 5,
                 cli_fixed(p->eval_accuracy, 4).text);
        cli_progress_line(&w->bar, text);
    } else if (!strcmp(p->event, "best")) {
        w->rate = p->learning_rate;
        if (json_array_append_new(w->best, json_string(p->note)))
            rf_fail(&w->io->why, RF_ENOMEM, "out of memory: a name");
        if (json_array_size(w->best) == 1) snprintf(text, sizeof text, "the best model is in %s", p->note);
        if (json_array_size(w->best) == 1) cli_progress_line(&w->bar, text);
    } else {
        cli_training_event(&w->bar, w->saved, sizeof w->saved, p);
    }
    return cli_training_goes_on();
}

/* The run that the metrics belong to, of several. */
static json_t *best_json(const watch *w)
{
    json_t *all = json_object();
    const bool one = json_array_size(w->best) == 1;
    if (!json_array_size(w->best)) return all;
    cli_json_set(&all, "learning_rate", json_real(w->rate));
    cli_json_set(&all, one ? "folder" : "folders", json_incref(one ? json_array_get(w->best, 0) : w->best));
    return all;
}

/* Takes ownership of `all`, to which the metrics are added. */
static int show_metrics(const rf_metric_values *s, json_t *all, bool json, rf_error *why)
{
    for (int i = 0; i < s->n; i++) {
        const rf_metric_value *x = &s->metric[i];
        char name[48];
        snprintf(name, sizeof name, "eval_%s", x->name);
        if (json) cli_json_set(&all, name, isfinite(x->value) ? json_real(x->value) : json_null());
        else printf("%-22s %s\n", x->name, cli_fixed(x->value, 4).text);
    }
    return json ? (int)cli_print_json(all, 0, why) : 0;
}

int cli_show_metrics(const rf_metric_values *s, bool json, rf_error *why)
{
    return show_metrics(s, json ? json_object() : NULL, json, why);
}

/* Also on standard output: a program that reads scores there must not mistake an empty output for a result. */
static int stopped(const watch *w, bool json, cli_io *io)
{
    if (json) {
        json_t *all =
            json_pack("{s:b, s:o}", "stopped", 1, "checkpoint", *w->saved ? json_string(w->saved) : json_null());
        if (cli_print_json(all, 0, &io->why)) return cli_exit(io);
    } else {
        puts("stopped, no scores");
    }
    if (*w->saved && w->folds) cli_error("saved %s; continue with the same command and --resume latest", w->saved);
    else if (*w->saved) cli_error("saved %s; continue with --resume %s", cli_file_name(w->saved), w->saved);
    else cli_error("stopped before the first step; nothing was saved and nothing is lost");
    return CLI_LATER;
}

/* The folder of the run is the one saved last; each fold has its own. */
static void write_report(const watch *w, cli_io *io)
{
    char path[1100];
    snprintf(path, sizeof path, "%s/" RF_FILE_REPORT, w->saved);
    if (!report_own(path, &io->why) && !report_write(io, w->saved, path, NULL, &io->why))
        cli_note(io, "%s written", path);
}

static int was_given(void *parsed, const char *option)
{
    if (!strcmp(option, "metric")) option = "metric_for_best_model";
    if (!strcmp(option, "pooled")) option = "head";
    return cli_given(parsed, option);
}

static int run(void *arguments, cli_io *io)
{
    finetune_args *a = arguments;
    rf_finetune_options *f = &a->f;
    char folder[4096];
    const bool many = f->k_fold > 1 || f->learning_rates;
    rf_metric_values metrics = {.n = 0};
    watch w = {.io = io, .every = f->t.logging_steps, .folds = many};
    f->t.given = was_given;
    f->t.given_user = (void *)(uintptr_t)io->parsed;
    if (!f->train && !f->t.resume_from_checkpoint)
        rf_fail(&io->why, RF_EARG, "finetune: expected --train FILE, got none");
    else if (!f->t.output_dir && !f->t.resume_from_checkpoint)
        rf_fail(&io->why, RF_EARG, "finetune: expected -o DIR, a folder for the new model, got none");
    else if (a->report && many)
        rf_fail(&io->why, RF_EARG, "--report: expected one run, got several (%s); leave it out",
                f->k_fold > 1 ? "k_fold" : "learning_rates");
    else if (!f->t.resume_from_checkpoint || f->t.model || many)
        cli_task_folder(f->t.model, f->task, folder, sizeof folder, &io->why);
    if (io->why.code) return cli_exit(io);
    if (!f->t.resume_from_checkpoint || f->t.model || many) f->t.model = folder;
    if (f->t.model) cli_note_vocabulary_in(io, f->t.model);
    cli_signals_catch();
    cli_signals_catch_save();
    cli_progress_init(&w.bar, io, 10);
    w.best = json_array();
    const rf_status status = rf_finetune(io->ctx, f, report, &w, &metrics, &io->why);
    cli_progress_clear(&w.bar);
    if (!status) show_metrics(&metrics, a->json ? best_json(&w) : NULL, a->json, &io->why);
    if (!status && a->report) write_report(&w, io);
    json_decref(w.best);
    return status == RF_ESTOPPED ? stopped(&w, a->json, io) : cli_exit(io);
}

static const cli_option options[] = {
    CLI_FINETUNE_ROW("task", finetune_args, f, NULL),
    CLI_FINETUNE_ROW("train", finetune_args, f, NULL),
    CLI_FINETUNE_ROW("dev", finetune_args, f, NULL),
    CLI_TRAIN_MODEL(finetune_args, f.t,
                    "model to fine-tune (default: the shipped model; with --task embed, the shipped sentence model)"),
    CLI_TRAIN_ROW("output_dir", finetune_args, f.t, "folder for the fine-tuned model, checkpoints and metrics.jsonl"),
    CLI_TRAIN_ROW("resume", finetune_args, f.t, NULL),
    CLI_FINETUNE_ROWS(finetune_args, f, RF_OPTION_FINETUNE),
    CLI_TRAIN_ROW("max_length", finetune_args, f.t,
                  "maximum number of tokens of an example (embed and sim: of each text); in a pair, the longer text is "
                  "truncated (default: 128; glue/NAME: 512; embed: as configured in the model folder)"),
    {"metric_for_best_model", 0, CLI_FINETUNE, offsetof(finetune_args, f), NULL, NULL, 0, 0, NULL,
     "metric that selects the best checkpoint; a metric of the task, by default its main one; one of"
#define RFM(name, error) " " #name
#include "roformer/inspect/metrics.def"
#undef RFM
     , NULL},
    CLI_TRAIN_ROWS(finetune_args, f.t, RF_OPTION_FINETUNE),
    {"report", 0, CLI_FLAG, offsetof(finetune_args, report), NULL, NULL, 0, 0, NULL, "write report.html at the end",
     NULL},
    {"json", 0, CLI_FLAG, offsetof(finetune_args, json), NULL, NULL, 0, 0, NULL, "print the scores as one JSON object",
     NULL},
    {0},
};

static const char *const examples[] = {
    "printf 'text\\tlabel\\na fine book\\tgood\\na dull film\\tbad\\na good play\\tgood\\n' > reviews.tsv",
    "roformer finetune --train reviews.tsv --dev reviews.tsv -o reviews",
    "roformer finetune --resume latest -o reviews --num_train_epochs 5",
    "roformer finetune --task glue/mrpc --train MRPC/train.tsv --dev MRPC/dev.tsv -m base -o mrpc "
    "--load_best_model_at_end",
    "printf 'text\\tpair\\nhow old are you\\tyour age please\\nsee you\\tgoodbye\\n' > alike.tsv",
    "roformer finetune --task sim --train alike.tsv -o alike --batch_size 2",
    "echo '{\"query\": \"tea\", \"pos\": [\"a hot drink\"], \"neg\": [\"a car\", \"a red hat\"]}' > ranked.jsonl",
    "roformer finetune --task cross --train ranked.jsonl -o reranker",
    "roformer finetune --task glue/rte --train RTE -o rte --learning_rates 2e-5,3e-5,4e-5,5e-5 --seeds 5",
    NULL,
};

const cli_command cmd_finetune = {
    "finetune",
    "--train FILE -o DIR",
    "fine-tune a model on labeled examples",
    "Options have the names of transformers' Trainer.  Texts are read from the column text (or sentence, sentence1, "
    "...), second texts from pair (sentence2, ...), labels from label (score, ...).  --text_column, --pair_column and "
    "--label_column name other columns, or give their numbers in a file without a header.  The new folder contains "
    "the labels, and transformers can load it.\n"
    "Tasks and their metrics besides the loss:\n"
#define RFT(name, what, metrics) #name ": " what " (" metrics ")\n"
#include "roformer/inspect/tasks.def"
#undef RFT
    "At the end, prints the scores on --dev.  A run that Ctrl-C, --max_time or --stop_after ends early saves a "
    "checkpoint and exits with status 75; --resume latest continues it.",
    examples,
    options,
    sizeof(finetune_args),
    prepare,
    run,
};
