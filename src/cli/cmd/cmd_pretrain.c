/* cmd_pretrain.c — roformer pretrain: training of masked and of causal language models that survives anything.
 *
 * A first Ctrl-C finishes the batch, saves and exits with 75; a second one ends at once, and the last checkpoint
 * counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/shell/comm.h"
#include "cli/shell/commands.h"
#include "cli/plot/report.h"
#include "cli/shell/train_options.h"

void train_prepare(void *args)
{
    train_args *a = args;
    rf_train_defaults(&a->t);
}

typedef struct watch {
    cli_io *io;
    const train_args *a;
    cli_progress bar;
    int64_t logging_steps;     /* updates between two lines; 0: a line every few seconds (a resumed run knows better) */
    double loss;                /* running mean, for the bar                                                          */
    char saved[1024];           /* the last checkpoint                                                                */
} watch;

static void step_text(const rf_train_progress *p, double loss, char *out, size_t size)
{
    char eta[32], rate[16], shown[32];
    cli_loss(loss, shown, sizeof shown);
    cli_duration(p->eta_seconds, eta, sizeof eta);
    cli_count(p->tokens_per_second, rate, sizeof rate);
    char perplexity[48] = "";
    if (p->objective == RF_OBJECTIVE_CLM && isfinite(loss))
        snprintf(perplexity, sizeof perplexity, " (perplexity %.4g)", exp(loss));
    int n = snprintf(out, size, "step %lld/%lld  loss %s%s  lr %.3g  %s tokens/s  ETA %s", (long long)p->step,
                     (long long)p->max_steps, shown, perplexity, p->learning_rate, rate, eta);
    if (!isnan(p->eval_loss) && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, "  eval %.4f (%.1f %%)", p->eval_loss, 100 * p->eval_accuracy);
}

static void show_step(watch *w, const rf_train_progress *p)
{
    char text[512];
    const bool last = p->step == p->max_steps;
    w->loss = w->loss > 0 ? 0.9 * w->loss + 0.1 * p->loss : p->loss;
    if (w->bar.live) {
        step_text(p, w->loss, text, sizeof text);
        cli_progress_show(&w->bar, "training", p->max_steps > 0 ? (double)p->step / (double)p->max_steps : -1, text);
        if (!last) return;
    }
    step_text(p, p->loss, text, sizeof text);
    if (last || (w->logging_steps > 0 && p->step % w->logging_steps == 0)) cli_progress_line(&w->bar, text);
    else if (!w->logging_steps) cli_progress_show(&w->bar, "training", (double)p->step / (double)p->max_steps, text);
}

static int report(void *user, const rf_train_progress *p)
{
    watch *w = user;
    char text[1280];
    if (!strcmp(p->event, "step")) {
        show_step(w, p);
    } else if (!strcmp(p->event, "data")) {
        snprintf(text, sizeof text, "%s", p->note ? p->note : "arranging the text");
        cli_progress_show(&w->bar, "reading ", -1, text);
    } else if (!strcmp(p->event, "eval")) {
        snprintf(text, sizeof text, "step %lld: held-out loss %.4f, perplexity %.2f, accuracy %.2f %%",
                 (long long)p->step, p->eval_loss, exp(p->eval_loss), 100 * p->eval_accuracy);
        cli_progress_line(&w->bar, text);
    } else if (!strcmp(p->event, "save")) {
        snprintf(w->saved, sizeof w->saved, "%s", p->note ? p->note : "");
        snprintf(text, sizeof text, "step %lld: saved %s", (long long)p->step, w->saved);
        cli_progress_line(&w->bar, text);
    } else if (p->note) {
        snprintf(text, sizeof text, "%s", p->note);
        cli_progress_line(&w->bar, text);
    }
    return cli_stopped() ? RF_TRAIN_STOP : cli_save_asked() ? RF_TRAIN_SAVE : RF_TRAIN_GO;
}

static int stopped(const watch *w)
{
    const char *name = cli_file_name(w->saved);
    if (w->a->t.comm && w->a->t.comm->rank) return cli_stopped() ? CLI_LATER : CLI_DONE;
    if (*w->saved) cli_error("saved %s; continue with --resume %s", name, w->saved);
    else cli_error("stopped before the first step; nothing was saved and nothing is lost");
    return cli_stopped() ? CLI_LATER : CLI_DONE;
}

/* --data a.cache b.cache, or --mix a.cache:0.7 b.cache:0.3; the names are cut at their last colon. */
static rf_status take_caches(train_args *a, rf_error *why)
{
    const cli_list *list = a->mix.n ? &a->mix : &a->data;
    if (a->mix.n && a->data.n) return rf_fail(why, RF_EARG, "--data and --mix exclude one another");
    if (list->n > TRAIN_CACHES)
        return rf_fail(why, RF_EARG, "%d caches, at most %d can be mixed", list->n, (int)TRAIN_CACHES);
    for (int i = 0; i < list->n; i++) {
        const char *name = list->item[i], *colon = a->mix.n ? strrchr(name, ':') : name + strlen(name);
        char *end;
        if (!colon || (size_t)(colon - name) >= sizeof a->cache[i])
            return rf_fail(why, RF_EARG, "--mix %.100s: not FILE:WEIGHT", name);
        snprintf(a->cache[i], sizeof a->cache[i], "%.*s", (int)(colon - name), name);
        a->cache_name[i] = a->cache[i];
        if (!a->mix.n) continue;
        a->cache_weight[i] = strtod(colon + 1, &end);
        if (end == colon + 1 || *end) return rf_fail(why, RF_EARG, "--mix %.100s: not FILE:WEIGHT", name);
        if (!(a->cache_weight[i] > 1e-9 && a->cache_weight[i] < 1e9))
            return rf_fail(why, RF_EARG, "--mix %.100s: the weight is not in 1e-9 to 1e9", name);
    }
    a->t.data = a->cache_name;
    a->t.datas = list->n;
    a->t.data_weight = a->mix.n ? a->cache_weight : NULL;
    return RF_OK;
}

static int was_given(void *parsed, const char *option) { return cli_given(parsed, option); }

/* What was saved last is the folder of the run. */
static void write_report(const watch *w, cli_io *io)
{
    char path[1100];
    snprintf(path, sizeof path, "%s/report.html", w->saved);
    if (!report_write(io, w->saved, path, NULL, &io->why)) cli_note(io, "%s written", path);
}

static int run(void *arguments, cli_io *io)
{
    train_args *a = arguments;
    const bool unknown =
        a->t.resume_from_checkpoint && !cli_given(io->parsed, "logging_steps"); /* the checkpoint says it */
    watch w = {.io = io, .a = a, .logging_steps = unknown ? 0 : a->t.logging_steps};
    a->t.text = a->text.item;
    a->t.texts = a->text.n;
    a->t.validation_text = a->validation.item;
    a->t.validation_texts = a->validation.n;
    a->t.comm = cli_comm();
    a->t.given = was_given;
    a->t.given_user = (void *)(uintptr_t)io->parsed;
    if (take_caches(a, &io->why)) return cli_exit(io);
    if (!a->text.n && !a->t.datas && !a->t.resume_from_checkpoint)
        rf_fail(&io->why, RF_EARG, "pretrain needs --text FILE... (or --data, --mix)");
    if (!a->t.model && !a->t.resume_from_checkpoint)
        rf_fail(&io->why, RF_EARG, "pretrain needs --model DIR, a folder with a tokenizer");
    if (io->why.code) return cli_exit(io);
    cli_signals_catch();
    cli_signals_catch_save();
    cli_progress_init(&w.bar, io, 10);
    const rf_status status = rf_pretrain(io->ctx, &a->t, report, &w, &io->why);
    cli_progress_clear(&w.bar);
    if (status == RF_ESTOPPED) return stopped(&w);
    if (!status && a->report) write_report(&w, io);
    return cli_exit(io);
}

static const cli_option options[] = {
    CLI_TRAIN_ROW("text", train_args, text, NULL),
    CLI_TRAIN_ROW("data", train_args, data, NULL),
    {"mix", 0, CLI_FILES, offsetof(train_args, mix), "FILE:WEIGHT", NULL, 0, 0, NULL,
     "the same, with shares of the tokens to draw from each, as a.cache:0.7 b.cache:0.3", NULL},
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
    "train a masked or a causal language model on text",
    "Option names are those of transformers' Trainer.  Text is packed into batches without padding, and attention "
    "stays inside a document.  Checkpoints are complete model folders that transformers loads.\n"
    "--objective clm trains a causal model: attention sees earlier tokens only, every token predicts the next one, and "
    "the last one of a document predicts [SEP].  It is written as RoFormerForCausalLM.\n"
    "Ctrl-C finishes the batch, saves a checkpoint and exits with 75; a second Ctrl-C ends at once.  SIGUSR1 saves a "
    "checkpoint and goes on.  A resumed run ends with the same bits as one that was never stopped.",
    examples,
    options,
    sizeof(train_args),
    train_prepare,
    run,
};
