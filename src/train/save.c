/* save.c — what a run writes: checkpoints, and the model at the end.
 *
 *     the best checkpoint    is known before it is written, and forgotten again if that fails
 *     in the background      a checkpoint is written while steps continue; the next one waits for it
 *     the model              the last weights, their moving average, the average of checkpoints, or the best one */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/files/path.h"
#include "base/os/os.h"
#include "roformer/inspect/files.h"
#include "store/store.h"
#include "store/task.h"
#include "text/tokenizer.h"
#include "train/checkpoint/average.h"
#include "train/checkpoint/checksums.h"
#include "train/checkpoint/folder.h"
#include "train/log/results.h"
#include "train/save.h"

enum { FAILED_SAVES = 3 };

/* ---- the best one ---- */

double rf__run_metric(const rf__run *r) { return rf__state_metric(&r->state, r->o.metric_for_best_model); }

static rf__ranking ranking_of(const rf_train_options *o)
{
    const rf_greater g = o->greater_is_better;
    const rf_metric metric = o->metric_for_best_model;
    const bool greater = g == RF_GREATER_AUTO ? metric != RF_METRIC_LOSS : g == RF_GREATER_TRUE;
    return (rf__ranking){o->average_best, metric, greater};
}

bool rf__run_better(const rf_train_options *o, double a, double b) { return ranking_of(o).greater ? a > b : a < b; }

/* Makes this step the best one, if it is. */
static void judge(rf__saves *l)
{
    rf__run *r = l->run;
    rf__state *t = &r->state;
    l->best.metric = t->best_metric;
    l->best.step = t->best_step;
    const double now = rf__run_metric(r);
    if (t->eval_step != t->step || !isfinite(now)) return;
    if (t->best_step && !rf__run_better(&r->o, now, t->best_metric)) return;
    t->best_metric = now;
    t->best_step = t->step;
}

/* ---- checkpoints ---- */

void rf__run_name_good(const rf__run *r, char *out, size_t size)
{
    const int64_t good = rf__checkpoint_newest(r->ctx, r->folder, r->state.good_step);
    if (good)
        snprintf(out, size, "%.150s/checkpoint-%" PRId64 " is the last good one: resume from it (--resume) with a "
                 "smaller learning_rate", r->folder, good);
    else snprintf(out, size, "%.150s has no earlier checkpoint; a smaller learning_rate may help", r->folder);
}

/* Handles the result of the save of `step`. A failed save is reported in a note. The third in a row, the last save of a
 * run, or weights that are not finite end the run. */
static rf_status saved(rf__saves *l, int64_t step, rf_status status, const char *path, const rf_error *failed,
                       bool last, rf_error *why)
{
    rf__run *r = l->run;
    if (!status) {
        l->failed = 0;
        l->saved_step = step;
        rf__run_notify(r, "save", "%s", path);
        return RF_OK;
    }
    r->state.best_metric = l->best.metric;
    r->state.best_step = l->best.step;
    l->failed++;
    char good[320];
    if (status == RF_ENUMERIC) {
        rf__run_name_good(r, good, sizeof good);
        return rf_fail(why, status, "step %" PRId64 ": the run has diverged: %s; %s", step, failed->text, good);
    }
    if (last) return rf_fail(why, status, "%s", failed->text);
    if (l->failed >= FAILED_SAVES)
        return rf_fail(why, status, "%d checkpoints in a row could not be saved: %s", l->failed, failed->text);
    if (r->o.comm) r->o.comm->agreed = 0;
    rf__run_notify(r, "note", "no checkpoint at step %" PRId64 ": %s", step, failed->text);
    return RF_OK;
}

rf_status rf__saves_collect(rf__saves *l, bool wait, rf_error *why)
{
    rf__saver *s = &l->run->saver;
    char path[4096];
    rf_error failed = {0};
    if (!s->running || !(wait || rf__saver_done(s))) return RF_OK;
    const rf_status status = rf__saver_end(s, path, sizeof path, &failed);
    return saved(l, s->state.step, status, path, &failed, false, why);
}

/* Rank 0 writes; the others send it what only they have, and learn the result. */
static rf_status write_here(rf__run *r, const rf__save *what, char *path, size_t size, rf_error *why)
{
    rf_status status = RF_OK, served = RF_OK;
    if (rf__rank(r->o.comm)) {
        if (r->optimizer.partial) status = rf__optimizer_serve(&r->optimizer, why);
    } else {
        status = rf__save_write(what, path, size, why);
        if (r->optimizer.partial) served = rf__optimizer_served(&r->optimizer, why);
    }
    return rf__agree(r->o.comm, status ? status : served, why);
}

rf_status rf__saves_write(rf__saves *l, bool last, rf_error *why)
{
    rf__run *r = l->run;
    rf__state *t = &r->state;
    char path[4096] = "";
    rf_error failed = {0};
    rf_status status = rf__saves_collect(l, true, why);
    if (status) return status;
    judge(l);
    t->metrics_bytes = r->metrics.bytes;
    t->metrics_crc = r->metrics.crc;
    t->events_bytes = r->events.bytes;
    t->events_crc = r->events.crc;
    const rf__save what = {.checkpoint = {.ctx = r->ctx,
                                          .tokenizer = r->tokenizer,
                                          .optimizer = &r->optimizer,
                                          .state = t,
                                          .options = r->options,
                                          .prompts = &r->prompts,
                                          .generation = &r->generation,
                                          .epoch = rf__run_epoch(r)},
                           .metrics = &r->metrics,
                           .events = &r->events,
                           .folder = r->folder,
                           .keep = r->o.save_total_limit,
                           .best = ranking_of(&r->o)};
    if (!last && !r->o.comm && !r->o.save_synchronously && rf__saver_start(&r->saver, &what)) return RF_OK;
    const double begin = rf__seconds();
    status = write_here(r, &what, path, sizeof path, &failed);
    r->saver.waited += rf__seconds() - begin;
    return saved(l, t->step, status, path, &failed, last, why);
}

/* ---- the model ---- */

/* Replaces the last weights, which a checkpoint contains, by the average of checkpoints. */
static rf_status average(rf__run *r, rf_error *why)
{
    char note[256];
    const rf__ranking best = ranking_of(&r->o);
    if (!r->o.average_last && !best.most) return RF_OK;
    rf__optimizer *z = &r->optimizer;
    const int64_t step = r->state.step;
    const rf_status status = best.most ? rf__average_best(z, r->folder, step, &best, note, sizeof note, why)
                                       : rf__average_last(z, r->folder, step, r->o.average_last, note, sizeof note,
                                                          why);
    if (!status) rf__run_notify(r, "note", "%s", note);
    r->final.known = false;
    return status;
}

/* A selected checkpoint contains its own evaluation. */
static void take_evaluation(rf__run *r, const char *checkpoint, int64_t step)
{
    char path[4096];
    rf__state then;
    json_t *options = NULL;
    rf_status status = rf__path(path, sizeof path, checkpoint, RF_FILE_STATE, NULL);
    if (!status) status = rf__state_load(r->ctx, path, &then, &options, NULL);
    json_decref(options);
    r->final.known = !status && then.eval_step == step;
    if (!r->final.known) return;
    r->final.loss = then.eval_loss;
    r->final.accuracy = then.eval_accuracy;
    r->final.bleu = then.eval_bleu;
}

static const char *name_of_metric(const rf__run *r)
{
    const rf_metric metric = r->o.metric_for_best_model;
    return metric == RF_METRIC_BLEU   ? "eval_bleu"
           : metric == RF_METRIC_LOSS ? "eval_loss"
                                      : r->job->metric(r);
}

/* In a run that was resumed into another folder, the best checkpoint may be next to the one that it started from. */
static rf_status find_best(const rf__run *r, const char *name, char path[4096], rf_error *why)
{
    char above[4096];
    rf_status status = rf__path(path, 4096, r->folder, name, why);
    if (status || !*r->from || r->own || rf__os_exists(path)) return status;
    status = rf__folder_of(r->from, above, sizeof above, why);
    return status ? status : rf__path(path, 4096, above, name, why);
}

/* Replaces the last weights by those of the best checkpoint. If that fails, the run keeps the last weights. */
static rf_status load_best(rf__run *r, rf_error *why)
{
    const rf__state *t = &r->state;
    char name[64], path[4096], file[4096];
    rf_error damage = {0};
    if (!r->o.load_best_model_at_end) return average(r, why);
    if (!t->best_step) {
        rf__run_notify(r, "note", "no checkpoint was evaluated: the model keeps the last weights");
        return RF_OK;
    }
    snprintf(name, sizeof name, "checkpoint-%" PRId64, t->best_step);
    rf_status status = find_best(r, name, path, why);
    if (!status)
        status = rf__path(file, sizeof file, path, r->optimizer.ema ? RF_FILE_MEANS : RF_FILE_WEIGHTS, why);
    if (status) return status;
    if (!rf__os_exists(path)) {
        rf__run_notify(r, "note", "the best checkpoint, %s, is not in this folder: the model keeps the last weights",
                       name);
        return RF_OK;
    }
    if (rf__checkpoint_verify(r->ctx, path, &damage)) {
        rf__run_notify(r, "note", "the best checkpoint, %s, is damaged (%s): the model keeps the last weights", name,
                       damage.text);
        return RF_OK;
    }
    rf__run_notify(r, "note", "the model is that of %s: %s %.6g", name, name_of_metric(r), t->best_metric);
    take_evaluation(r, path, t->best_step);
    return t->best_step == t->step && !r->optimizer.ema ? RF_OK : rf__run_load_weights(r, file, why);
}

void rf__run_card_losses(const rf__run *r, bool perplexity, rf__card *c)
{
    if (!r->final.known) return;
    c->metrics = (rf_metric_values){2, {{"loss", r->final.loss}, {"accuracy", r->final.accuracy}}};
    if (perplexity) c->metrics.metric[c->metrics.n++] = (rf_metric_value){"perplexity", exp(r->final.loss)};
}

static rf_status write_card(const rf__run *r, rf_error *why)
{
    json_t *stages = r->stages.n ? rf__stages_metrics(&r->stages, &r->state) : NULL;
    json_t *defaults = r->job->defaults();
    rf__card c = {.ctx = r->ctx,
                  .folder = r->folder,
                  .tokenizer = rf__tokenizer_transformers(r->tokenizer),
                  .config = &r->params.config,
                  .options = r->options,
                  .defaults = defaults,
                  .stages = stages,
                  .steps = r->state.step,
                  .epochs = rf__run_epoch(r)};
    r->job->card(r, &c);
    const rf__results results = {.ctx = r->ctx,
                                 .folder = r->folder,
                                 .state = &r->state,
                                 .stages = r->stages.n ? &r->stages : NULL,
                                 .epoch = rf__run_epoch(r),
                                 .metrics = c.metrics,
                                 .train_samples = r->train_samples,
                                 .eval_samples = r->eval_samples,
                                 .eval_seconds = r->eval_seconds,
                                 .tokens = r->job->tokens};
    rf_status status = rf__card_write(&c, why);
    if (!status) status = rf__results_write(&results, why);
    json_decref(defaults);
    json_decref(stages);
    return status;
}

/* Writes the settings of a sentence model, and the prompts of the folder that the run started from. */
static rf_status save_form(const rf__run *r, rf_error *why)
{
    const rf_status status = rf__sentence_write(r->ctx, r->folder, &r->params.config, why);
    return status ? status : rf__sentence_prompts_write(r->ctx, r->folder, &r->prompts, why);
}

/* Refuses a model whose loss is not finite. Without an evaluation, the loss of the last step counts. */
static rf_status check_loss(const rf__run *r, rf_error *why)
{
    rf__card c = {.ctx = r->ctx};
    bool known = false, finite = true;
    r->job->card(r, &c);
    for (int i = 0; i < c.metrics.n; i++)
        if (!strcmp(c.metrics.metric[i].name, "loss")) known = true, finite = isfinite(c.metrics.metric[i].value);
    if (known ? finite : !r->lost) return RF_OK;
    char good[320];
    rf__run_name_good(r, good, sizeof good);
    return rf_fail(why, RF_ENUMERIC, "step %" PRId64 ": the run ends with a loss that is not finite (skipped "
                   "updates: %" PRId64 "): no model is written; %s", r->state.step, r->state.skipped, good);
}

/* The list of checksums is removed first and written last, so that it never describes files of another run. */
static rf_status save_model(rf__run *r, rf_error *why)
{
    char path[4096];
    const rf__optimizer *const z = &r->optimizer;
    if (z->ema) rf__optimizer_blend(z, z->value, z->ema, 1);
    r->final.loss = r->state.eval_loss;
    r->final.accuracy = r->state.eval_accuracy;
    r->final.bleu = r->state.eval_bleu;
    r->final.known = r->state.eval_step && r->state.eval_step == r->state.step;
    rf_status status = load_best(r, why);
    if (!status && r->job->finish) status = r->job->finish(r, why);
    if (!status) status = check_loss(r, why);
    if (!status) status = rf__checksums_remove(r->folder, why);
    if (!status) status = rf_config_write(r->ctx, r->folder, &r->params.config, why);
    if (!status && rf_config_head(&r->params.config) == RF_HEAD_EMBED) status = save_form(r, why);
    if (!status) status = rf__generation_write(r->ctx, r->folder, &r->generation, why);
    if (!status) status = rf_tokenizer_save(r->tokenizer, r->folder, why);
    if (!status) status = rf__path(path, sizeof path, r->folder, RF_FILE_WEIGHTS, why);
    if (!status) status = rf__params_save(r->model, z->value, r->o.save_type, path, why);
    if (!status && r->job->save) status = r->job->save(r, why);
    if (!status) status = rf__checksums_of_model(r->ctx, r->folder, why);
    if (!status) status = write_card(r, why);
    if (!status) rf__run_notify(r, "save", "%s", r->folder);
    return status;
}

rf_status rf__run_save_model(rf__run *r, rf_error *why)
{
    return rf__agree(r->o.comm, rf__rank(r->o.comm) ? RF_OK : save_model(r, why), why);
}
