/* loop.c — the training steps.
 *
 *     for each step:  pack its micro-batches, so that the labels of all of them are known
 *                     gradient of  (sum of losses) / (labels of the step), of this rank's share and then of all ranks
 *                     clip by the global norm, one update of the optimizer
 *     at intervals:   a line of metrics.jsonl, an evaluation, a checkpoint
 *     a stop          requested between two micro-batches discards the step, as if it had not begun; between two
 *                     batches of an evaluation it discards the evaluation, with which the resumed run then begins
 *
 * All random numbers are functions of (seed, position), and a checkpoint contains the complete state between two steps.
 * A run that was stopped and resumed is therefore the same computation as an uninterrupted one. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "graph/graph.h"
#include "model/family.h"
#include "train/save.h"
#include "optim/schedule.h"

enum { SKIPS = 10 };

/* ---- one step ---- */

typedef struct step_result {
    double loss_sum, norm, rate, seconds, wait;
    int64_t labels, tokens;
    bool skipped, spike, given_up;
} step_result;

/* The stream of dropout; every micro-batch of a run has its own. */
static uint64_t micro_step(const rf__run *r, int64_t i)
{
    return (uint64_t)(r->state.step + 1) << 20 | (uint64_t)(rf__run_first(r) + i);
}

/* Computes the gradient in its own slab. With several ranks, the gradients of layers in the last micro-batch are sent
 * while those of earlier layers are computed; where layers share tensors and are computed again, at the end. */
static rf_status gradient(rf__run *r, int64_t i, double weight, double *loss_sum, rf_error *why)
{
    const bool leaving = r->o.comm && i + 1 == r->o.gradient_accumulation_steps;
    r->leaf = rf__tree_leaf(&r->tree, rf__run_first(r) + i);
    rf__encoder_grad(r->encoder, r->leaf);
    if (leaving) rf__exchange_begin(&r->exchange, r->leaf);
    const bool early = leaving && !(r->o.gradient_checkpointing && r->params.family->layer_like);
    rf__graph_ready(r->graph, early ? rf__exchange_ready : NULL, &r->exchange);
    return r->job->gradient(r, i, micro_step(r, i), weight, loss_sum, why);
}

/* Stochastic rounding of weights is a function of (seed, step, position), so that a resumed run gives the same
 * result. */
enum { ROUND = 1 << 16 };
struct rounding { const rf__run *r; rf_key key; };

static void round_block(void *arg, int64_t i, int worker)
{
    (void)worker;
    const struct rounding *a = arg;
    const size_t at = (size_t)i * ROUND, left = a->r->params.total - at;
    a->r->ctx->k->to_bf16_random(a->r->rounded + at, a->r->optimizer.value + at, (int64_t)(left < ROUND ? left : ROUND),
                                 a->key.k, (uint64_t)a->r->state.step, at);
}

static void round_weights(const rf__run *r)
{
    struct rounding a = {r, rf__make_key(r->o.seed, 0x726f756e)};
    if (r->rounded) rf__parallel(r->ctx, (int64_t)((r->params.total + ROUND - 1) / ROUND), round_block, &a);
    rf__encoder_bf16(r->encoder, r->rounded);
}

/* Whether the loss is far above its mean so far: more than max_loss_spike standard deviations over about the last
 * MEMORY updates. */
static bool is_spike(rf__run *r, double loss)
{
    enum { MEMORY = 100, LEAST = 20 };
    rf__state *t = &r->state;
    const double limit = r->o.max_loss_spike, away = loss - t->loss.mean;
    if (limit > 0 && t->loss.seen >= LEAST && away > limit * sqrt(t->loss.variance)) return true;
    const double share = 1 / (double)rf__min64(++t->loss.seen, MEMORY);
    t->loss.mean += share * away;
    t->loss.variance = (1 - share) * (t->loss.variance + share * away * away);
    return false;
}

static rf_status update(rf__run *r, step_result *s, rf_error *why)
{
    const rf_train_options *o = &r->o;
    s->norm = rf__optimizer_norm(&r->optimizer);
    s->skipped = !isfinite(s->norm) || !isfinite(s->loss_sum);
    if (s->skipped || !s->labels) return RF_OK;
    s->skipped = s->spike = is_spike(r, s->loss_sum / (double)s->labels);
    if (s->skipped) return RF_OK;
    rf__step step = {s->rate, 1, ++r->state.updates};
    s->rate = rf__rule_rate(&r->optimizer.rule, s->rate, step.update);
    if (o->max_grad_norm > 0 && s->norm > o->max_grad_norm) step.scale = o->max_grad_norm / s->norm;
    rf__saver_read(&r->saver);
    return rf__optimizer_update(&r->optimizer, &step, why);
}

/* Every rank reads the data of the whole step, and creates the batches of its share. */
static rf_status pack(rf__run *r, step_result *s, rf_error *why)
{
    const int64_t share = r->o.gradient_accumulation_steps;
    for (int64_t i = 0; i < rf__ranks(r->o.comm) * share; i++) r->job->gather(r, i, &s->labels, &s->tokens);
    if (rf__vocab_words_found(&r->vocab, why)) return RF_ENOMEM;
    return rf__sum_whole(r->o.comm, &s->labels, why);
}

rf_status rf__run_give_up(rf__run *r, bool *stop, rf_error *why)
{
    rf__run_notify(r, "batch", NULL);
    unsigned asked = r->stop;
    const rf_status status = rf__any(r->o.comm, &asked, why);
    *stop = r->stop = asked != 0;
    return status;
}

/* slab[0] of the tree becomes the gradient, where this rank needs it; s->loss_sum is the sum over all ranks. */
static rf_status whole_gradient(rf__run *r, step_result *s, rf_error *why)
{
    const int64_t share = r->o.gradient_accumulation_steps;
    double *all = r->loss + share;
    rf_status status = RF_OK;
    rf__tree_begin(&r->tree);
    for (int64_t i = 0; i < share && !status; i++) {
        if (i) status = rf__run_give_up(r, &s->given_up, why);
        if (status || s->given_up) return status;
        r->loss[i] = 0;
        status = gradient(r, i, 1 / (double)s->labels, &r->loss[i], why);
        if (!r->o.comm || i + 1 < share) rf__tree_join(&r->tree, 0, r->tree.total);
    }
    if (status) return status;
    if (!r->o.comm) rf__tree_total(&r->tree);
    else rf__exchange_end(&r->exchange);
    status = rf__exchange_error(r->o.comm ? &r->exchange : NULL, why);
    if (!status) status = rf__gather_all(r->o.comm, r->loss, all, (size_t)share * sizeof *all, why);
    for (int64_t i = 0; i < rf__ranks(r->o.comm) * share; i++) s->loss_sum += all[i];
    return status;
}

/* Each stage has its own schedule. */
static double rate_of_next(const rf__run *r)
{
    const rf__stage *s = r->stages.n ? &r->stages.at[r->stage] : NULL;
    const int64_t begin = s ? s->end - s->steps : 0;
    return rf__learning_rate(&r->o, r->state.step + 1 - begin, s ? s->steps : r->state.max_steps);
}

static rf_status one_step(rf__run *r, step_result *s, rf_error *why)
{
    const double begin = rf__seconds();
    *s = (step_result){.rate = rate_of_next(r)};
    rf__params_draw(&r->params, r->state.step + 1);
    rf_status status = pack(r, s, why);
    s->wait = rf__seconds() - begin;
    round_weights(r);
    if (!status) status = whole_gradient(r, s, why);
    rf__encoder_bf16(r->encoder, NULL);                             /* evaluations use the exact weights */
    if (status || s->given_up) return status;
    if ((status = update(r, s, why))) return status;
    if ((status = rf__exchange_error(r->o.comm ? &r->exchange : NULL, why))) return status;
    s->seconds = rf__seconds() - begin;
    r->state.step++;
    r->state.tokens += s->tokens;
    r->state.seconds += s->seconds;
    return RF_OK;
}

/* ---- logging ---- */

void rf__run_line(rf__run *r, json_t *line)
{
    rf_error why = {0};
    if (rf__rank(r->o.comm)) {
        json_decref(line);
        return;
    }
    if (line && rf__events_add(&r->events, line, rf__wall_seconds(), &why)) rf__run_notify(r, "note", "%s", why.text);
    why = (rf_error){0};
    if (rf__metrics_add(&r->metrics, line, &why)) rf__run_notify(r, "note", "%s", why.text);
}

static rf_status count_skip(rf__saves *l, const step_result *s, const rf__data_position *before, rf_error *why)
{
    rf__run *r = l->run;
    char good[320];
    rf__state *t = &r->state;
    r->lost = s->labels && !isfinite(s->loss_sum);
    if (s->labels && !r->lost) t->good_step = rf__max64(t->good_step, t->step - 1);
    const char *what = s->spike                ? "loss is far above what it was"
                       : isfinite(s->loss_sum) ? "gradient is not finite"
                                               : "loss is not finite";
    if (!s->skipped) {
        t->skipped_in_a_row = 0;
        return RF_OK;
    }
    t->skipped++;
    t->skipped_in_a_row++;
    rf__run_line(r,
                 json_pack("{s:I, s:b, s:b, s:o, s:o, s:I, s:I}", "step", (json_int_t)t->step, "skipped", 1, "spike",
                           (int)s->spike, "loss", rf__json_number(s->loss_sum / (double)s->labels), "grad_norm",
                           rf__json_number(s->norm), "data_epoch", (json_int_t)before->epoch, "data_index",
                           (json_int_t)before->index));
    rf__run_notify(r, "note", "step %" PRId64 ": the %s: the update is skipped (%" PRId64 " in a row)", t->step, what,
                 t->skipped_in_a_row);
    if (t->skipped_in_a_row < SKIPS) return RF_OK;
    if (r->o.comm) r->o.comm->agreed = 1;                /* all ranks have the same count */
    (void)rf__saves_collect(l, true, NULL);
    rf__run_name_good(r, good, sizeof good);
    return rf_fail(why, RF_ENUMERIC, "step %" PRId64 ": %d updates in a row were skipped: the %s; %s", t->step,
                   (int)SKIPS, what, good);
}

/* Reports queries of linear attention without a denominator, each time their number has doubled. */
static void report_zero_denominators(rf__run *r)
{
    const int64_t n = rf__encoder_underflows(r->encoder);
    if (n < 1 || n < 2 * r->zeros_reported) return;
    r->zeros_reported = n;
    rf__run_notify(r, "note",
                   "step %" PRId64 ": so far %" PRId64 " queries of linear attention had denominator 0, because no key "
                   "shares a feature with them; their results are 0",
                   r->state.step, n);
}

/* Reports that the run has diverged, since the rest of it would be useless. */
static void note_divergence(rf__run *r, double loss)
{
    const rf__losses *const l = &r->losses;
    if (!rf__losses_diverged(&r->losses, r->state.step, loss)) return;
    rf__run_notify(r, "note",
                   "step %" PRId64 ": the mean loss of %d updates is %.4g, it was %.4g up to step %" PRId64 ": the run "
                   "has diverged; resume from a checkpoint before that step (--resume) with a smaller learning rate",
                   l->last.step, (int)RF_LOSS_BLOCK, l->last.mean, l->lowest.mean, l->lowest.step);
}

static void log_step(rf__run *r, const step_result *s)
{
    rf__state *t = &r->state;
    rf_train_progress *p = &r->progress;
    if (!s->skipped && s->labels) {
        t->interval.loss += s->loss_sum;
        t->interval.labels += s->labels;
        t->total.loss += s->loss_sum / (double)s->labels;
        t->total.steps++;
    }
    t->interval.seconds += s->seconds;
    t->interval.tokens += s->tokens;
    t->interval.wait += s->wait;
    t->interval.capacity += r->o.tokens_per_batch * t->micro_batches;
    const double elapsed = rf__seconds() - r->began;
    p->loss = s->loss_sum / (double)s->labels;
    p->grad_norm = s->norm;
    p->learning_rate = s->rate;
    /* the clock may not have advanced */
    p->tokens_per_second = t->interval.seconds > 0 ? (double)t->interval.tokens / t->interval.seconds : 0;
    p->eta_seconds = elapsed / (double)(t->step - r->began_at) * (double)(t->max_steps - t->step);
    const bool due = t->step % r->o.logging_steps == 0 || t->step == t->max_steps;
    if (due) {
        p->loss = t->interval.loss / (double)t->interval.labels;
        json_t *line =
            json_pack("{s:I, s:f, s:o, s:o, s:f, s:I, s:f, s:f, s:f}", "step", (json_int_t)t->step, "epoch",
                      rf__run_epoch(r), "loss", rf__json_number(p->loss), "grad_norm", rf__json_number(s->norm),
                      "learning_rate", s->rate, "tokens", (json_int_t)t->tokens, "tokens_per_second",
                      p->tokens_per_second, "seconds", t->seconds, "input_wait",
                      t->interval.wait / t->interval.seconds);
        if (r->job->log) r->job->log(r, &line);
        if (r->job->tokens)
            rf__json_set(&line, "packing", json_real((double)t->interval.tokens / (double)t->interval.capacity));
        rf__run_line(r, line);
        t->interval.loss = t->interval.seconds = t->interval.wait = 0;
        t->interval.labels = t->interval.tokens = t->interval.capacity = 0;
    }
    if (due) report_zero_denominators(r);
    if (!s->skipped && s->labels) note_divergence(r, s->loss_sum / (double)s->labels);
    rf__run_notify(r, "step", NULL);
}

/* ---- evaluating ---- */

static rf_status evaluate(rf__run *r, rf_error *why)
{
    const rf__optimizer *const z = &r->optimizer;
    rf__saver_read(&r->saver);
    if (z->ema) rf__optimizer_swap(z, z->value, z->ema);
    const rf_status status = r->job->evaluate(r, why);
    if (z->ema) rf__optimizer_swap(z, z->value, z->ema);
    if (!status && r->state.eval_step == r->state.step) rf__run_notify(r, "eval", NULL);
    return status;
}

/* The end of a stage: its evaluation, if there is one. */
static void end_stage(rf__run *r)
{
    rf__state *t = &r->state;
    const rf__stage *s = &r->stages.at[r->stage];
    const bool known = t->eval_step == t->step;
    t->stage[r->stage].loss = known ? t->eval_loss : NAN;
    t->stage[r->stage].accuracy = known ? t->eval_accuracy : NAN;
    t->stages = r->stage + 1;
    if (known)
        rf__run_notify(r, "note",
                       "stage %d of %d ends: length %lld, batch %lld, %lld updates: loss %.4f, accuracy %.2f %%",
                       r->stage + 1, r->stages.n, (long long)s->length, (long long)s->batch, (long long)s->steps,
                       t->eval_loss, 100 * t->eval_accuracy);
}

/* ---- the whole loop ---- */

static bool due(int64_t step, int64_t every, int64_t at) { return every > 0 && step % every == at; }

/* After early_stopping_patience evaluations in a row without improvement, this step becomes the last. */
static void count_patience(rf__run *r)
{
    rf__state *t = &r->state;
    if (!r->o.early_stopping_patience || t->eval_step != t->step || !isfinite(rf__run_metric(r))) return;
    if (!t->patience.seen++ || rf__run_better(&r->o, rf__run_metric(r), t->patience.best)) {
        t->patience.best = rf__run_metric(r);
        t->patience.stale = 0;
    } else if (++t->patience.stale >= r->o.early_stopping_patience && t->step < t->max_steps) {
        rf__run_notify(r, "note",
                       "step %" PRId64 ": %" PRId64 " evaluations in a row without improvement: training stops",
                       t->step, t->patience.stale);
        t->max_steps = t->step;
    }
}

/* Sets r->stop and r->save, if anyone requested it or this run's share is done. The clock or signal of one rank applies
 * to all ranks. */
static rf_status handle_requests(rf__run *r, rf_error *why)
{
    enum { STOP = 1, SAVE = 2 };
    const rf_train_options *o = &r->o;
    const int64_t steps = r->state.step - r->began_at;
    const bool enough = r->stop || (o->stop_after && steps >= o->stop_after) ||
                        (o->max_time > 0 && steps && rf__seconds() - r->began >= o->max_time);
    unsigned asked = (enough ? STOP : 0u) | (r->save ? SAVE : 0u);
    const rf_status status = rf__any(o->comm, &asked, why);
    r->stop = (asked & STOP) != 0;
    r->save = (asked & SAVE) != 0;
    return status;
}

/* If a stop interrupts an evaluation, the resumed run begins with it. */
static rf_status evaluate_unless_stopped(rf__run *r, rf_error *why)
{
    const rf_status status = evaluate(r, why);
    const bool seen = !status && r->state.eval_step == r->state.step;
    if (seen && isfinite(r->state.eval_loss)) r->state.good_step = r->state.step;
    r->state.eval_owed = status == RF_ESTOPPED;
    if (!r->state.eval_owed) return status;
    *why = (rf_error){0};
    return RF_OK;
}

/* Everything that follows the update of a step, or the step that a resumed run found half done. */
static rf_status end_step(rf__saves *l, bool evaluating, rf_error *why)
{
    rf__run *r = l->run;
    const int64_t step = r->state.step;
    rf_status status = evaluating ? evaluate_unless_stopped(r, why) : RF_OK;
    if (!status) count_patience(r);
    if (!status && rf__run_stage_ends(r) && !r->state.eval_owed) end_stage(r);
    if (!status) status = rf__saves_collect(l, false, why);
    const bool end = step == r->state.max_steps;
    if (!status) status = handle_requests(r, why);
    const bool saved = r->state.eval_owed && step == r->began_at;
    const bool saving = !saved && (due(step, r->o.save_steps, r->save_at) || end || r->stop || r->save);
    r->save = false;
    return status || !saving ? status : rf__saves_write(l, end || r->stop, why);
}

static rf_status after_step(rf__saves *l, const step_result *s, const rf__data_position *before, rf_error *why)
{
    rf__run *r = l->run;
    const int64_t step = r->state.step;
    const rf_status status = count_skip(l, s, before, why);
    if (status) return status;
    log_step(r, s);
    const bool end = step == r->state.max_steps || rf__run_stage_ends(r);
    return end_step(l, due(step, r->o.eval_steps, r->eval_at) || (end && r->o.eval_steps), why);
}

static rf_status run_steps(rf__saves *l, rf_error *why)
{
    rf__run *r = l->run;
    r->began = rf__seconds();
    rf__params_draw(&r->params, r->state.step);
    if (handle_requests(r, why)) return why->code;
    if (r->state.eval_owed && !r->stop && end_step(l, true, why)) return why->code;
    while (r->state.step < r->state.max_steps && !r->stop) {
        if (rf__run_stage_ends(r) && r->job->advance(r, why)) return why->code;
        const rf__data_position before = r->state.position;
        step_result s;
        rf_status status = one_step(r, &s, why);
        if (s.given_up) r->state.position = before;
        else if (!status) status = after_step(l, &s, &before, why);
        if (!status && !s.given_up && r->state.step < r->state.max_steps) status = handle_requests(r, why);
        if (status) return status;
    }
    if (r->state.step >= r->state.max_steps && !r->state.eval_owed) return rf__run_save_model(r, why);
    /* a stop that was requested while the checkpoint was being written finds it complete */
    if (rf__saves_collect(l, true, why)) return why->code;
    if (r->state.step > r->began_at && l->saved_step != r->state.step) {
        const rf_status status = rf__saves_write(l, true, why);
        if (status) return status;
    }
    return rf_fail(why, RF_ESTOPPED, "stopped after step %" PRId64 " of %" PRId64, r->state.step, r->state.max_steps);
}

rf_status rf__run_all(const rf_ctx *ctx, const rf_train_options *options, const rf__job *job, void *task,
                      rf_train_report *report, void *user, rf_error *why)
{
    rf_error first = {0};
    rf__run *r = rf__calloc(ctx, 1, sizeof *r);
    if (!r) return rf_fail(why, RF_ENOMEM, "out of memory: a run");
    rf_status status = rf__run_start(r, ctx, options, job, task, report, user, &first);
    rf__saves l = {.run = r, .saved_step = -1};
    if (!status) status = run_steps(&l, &first);
    (void)rf__saves_collect(&l, true, NULL);                        /* a run that fails still finishes its checkpoint */
    if (status) rf_fail(why, status, "%s", first.text);
    rf__run_end(r);
    rf__free(ctx, r);
    return status;
}
