/* rtd_job.c — pre-training by replaced-token detection, as a job of the training loop (run.h). The equations are in
 * rtd.c.
 *
 *     `encoder` is the discriminator; the generator has an encoder of its own over the same weights and gradients. One
 *     process: more are refused with the options. */
#include "model/encoder.h"
#include "train/rtd.h"
#include "train/text_job.h"

typedef struct detection {
    rf_config generator;
    rf__rtd *rtd;
    rf__rtd_sums sums;                  /* of an evaluation                                                           */
} detection;

static detection *own_of(const rf__run *r) { return ((const rf__pretraining *)r->task)->own; }

/* ---- the model ---- */

static rf_status configure(rf__run *r, rf_config *c, rf_head *head, rf_error *why)
{
    rf__pretraining *t = r->task;
    detection *d = t->own = rf__calloc(r->ctx, 1, sizeof *d);
    if (!d) return rf_fail(why, RF_ENOMEM, "out of memory: a generator");
    *head = RF_HEAD_DETECT;
    rf_config_set_head(c, RF_HEAD_DETECT);
    return rf__rtd_config(c, r->o.generator_size, &d->generator, why);
}

static rf_status settle(rf__run *r, rf_error *why)
{
    detection *d = own_of(r);
    const rf_status status = rf__rtd_new(&r->params, &d->generator, r->o.rtd_weight, &d->rtd, why);
    if (status) return status;
    r->model = &d->rtd->discriminator;
    r->progress.objective = RF_OBJECTIVE_RTD;
    return rf__pretrain_check_lengths(r, why);
}

static void memory(const rf__run *r, rf__memory_job *own)
{
    own->model = &own_of(r)->rtd->discriminator;
    own->copies = rf__memory_batch(&own_of(r)->rtd->generator, &r->o, r->o.tokens_per_batch, 0);
}

static rf_status begin(rf__run *r, bool trained, rf_error *why)
{
    const rf__rtd *rtd = own_of(r)->rtd;
    bool generator = false;
    rf__rtd_init(rtd, r->optimizer.value, !trained, r->o.seed);
    if (!trained) return RF_OK;
    const rf_status status = rf__rtd_load(rtd, r->o.model, r->optimizer.value, &generator, why);
    if (!status)
        rf__run_notify(r, "note", "starting from the weights in %s%s", r->o.model,
                       generator ? " and its generator" : "; the generator is new");
    return status;
}

static rf_status open_job(rf__run *r, rf_error *why)
{
    rf__rtd *rtd = own_of(r)->rtd;
    const rf_status status =
        rf__encoder_new(&rtd->generator, r->optimizer.value, r->optimizer.grad, &rtd->encoder, why);
    if (status) return status;
    rf__encoder_recompute(rtd->encoder, r->o.gradient_checkpointing != 0);
    return rf__pretrain_open(r, why);
}

/* ---- a step ---- */

static void gather(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens)
{
    rf__pretrain_gather(r, micro, labels, tokens);
    own_of(r)->rtd->tokens = *tokens;
}

static rf_status gradient(rf__run *r, int64_t micro, uint64_t stream, double weight, double *loss_sum, rf_error *why)
{
    const rf__pretraining *t = r->task;
    const rf__rtd *rtd = own_of(r)->rtd;
    const rf__mlm_batch *b = &t->batch[micro];
    if (!b->n) return RF_OK;                                         /* only special tokens */
    rf__encoder_grad(rtd->encoder, r->leaf);
    rf__encoder_bf16(rtd->encoder, r->rounded);
    return rf__rtd_gradient(rtd, r->graph, r->encoder, b, r->o.seed, stream, weight, loss_sum, why);
}

/* ---- evaluating ---- */

static void score_batch(rf__evaluator *s, rf__batch_loss *out)
{
    detection *d = s->user;
    const double weight[2] = {1, 1}, before = d->sums.generator;
    rf__rtd_loss(s->graph, d->rtd, s->encoder, s->batch, 0, s->batches, weight, &d->sums);
    out->loss = d->sums.generator - before;
}

static void log_detection(json_t **line, const rf__rtd_sums *b, double labels)
{
    rf__json_set(line, "eval_generator_loss", rf__json_number(b->generator / labels));
    rf__json_set(line, "eval_generator_accuracy", json_real((double)b->found / labels));
    rf__json_set(line, "eval_detection_loss", rf__json_number(b->detection / (double)b->tokens));
    rf__json_set(line, "eval_replaced", json_real((double)b->replaced / (double)b->tokens));
    rf__json_set(line, "eval_detected", rf__json_number((double)b->detected / (double)b->replaced));
}

/* The loss of training, and the discriminator's accuracy. */
static rf_status evaluate(rf__run *r, rf_error *why)
{
    detection *d = own_of(r);
    rf__rtd_sums *b = &d->sums;
    rf__evaluator s = {.score_batch = score_batch, .user = d};
    const double begun = rf__seconds();
    *b = (rf__rtd_sums){0};
    rf__encoder_bf16(d->rtd->encoder, NULL);
    const rf_status status = rf__pretrain_score(r, &s, why);
    if (status || !s.labels) return status;
    r->state.eval_loss += d->rtd->weight * b->detection / (double)b->tokens;
    r->state.eval_accuracy = (double)b->right / (double)b->tokens;
    json_t *line = rf__pretrain_line(r, &s, begun);
    log_detection(&line, b, (double)s.labels);
    rf__run_line(r, line);
    return RF_OK;
}

/* ---- the end ---- */

static rf_status save(rf__run *r, rf_error *why)
{
    return rf__rtd_save_generator(own_of(r)->rtd, r->optimizer.value, r->tokenizer, r->o.save_type, r->folder, why);
}

static void end(rf__run *r)
{
    detection *d = own_of(r);
    if (d) rf__rtd_free(d->rtd);
    rf__free(r->ctx, d);
    rf__pretrain_end(r);
}

const rf__job rf__rtd_job = {RF__ON_TEXT,
                             .configure = configure,
                             .settle = settle,
                             .memory = memory,
                             .begin = begin,
                             .open = open_job,
                             .gather = gather,
                             .gradient = gradient,
                             .evaluate = evaluate,
                             .save = save,
                             .end = end};
