/* train_step.c — a training step on batches of the caller, with the trainer's functions: roformer/inspect/steps.h. */
#include <math.h>

#include "model/encoder.h"
#include "optim/optimizer.h"
#include "roformer/inspect/steps.h"

struct rf_train_step {
    const rf_ctx *ctx;
    rf_params params;
    rf__optimizer optimizer;
    rf_encoder *encoder;
    rf_graph *graph;
    double max_norm;
    uint64_t seed, batches;             /* of dropout                                                                 */
    int64_t updates;
};

void rf_train_step_close(rf_train_step *s)
{
    if (!s) return;
    rf__graph_free(s->graph);
    rf__encoder_free(s->encoder);
    rf__optimizer_free(&s->optimizer);
    if (s->params.p) rf__params_free(&s->params);
    rf__free(s->ctx, s);
}

static rf_status make(rf_train_step *s, const rf_config *c, const rf_train_options *o, rf_error *why)
{
    const rf__rule rule = rf__rule_of(o);
    rf_status status = rf__params_new(s->ctx, c, &s->params, why);
    if (!status) status = rf__optimizer_new(&s->params, &rule, &s->optimizer, why);
    if (status) return status;
    rf__params_init(&s->params, s->optimizer.value, o->seed);
    rf__optimizer_zero_grad(&s->optimizer);
    status = rf__encoder_new(&s->params, s->optimizer.value, s->optimizer.grad, &s->encoder, why);
    if (!status) status = rf__graph_new(s->ctx, &s->graph, why);
    if (status) return status;
    rf__graph_products(s->graph, o->bf16 ? RF_BF16 : RF_F32);
    rf__encoder_recompute(s->encoder, o->gradient_checkpointing != 0);
    s->max_norm = o->max_grad_norm;
    s->seed = o->seed;
    return RF_OK;
}

rf_status rf_train_step_open(const rf_ctx *ctx, const rf_config *c, const rf_train_options *options,
                             rf_train_step **out, rf_error *why)
{
    if (!(ctx && c && options && out)) return rf__missing("rf_train_step_open", "ctx, config, options, out", why);
    rf_train_step *s = rf__calloc(ctx, 1, sizeof *s);
    if (!s) return rf_fail(why, RF_ENOMEM, "out of memory: a training step");
    s->ctx = ctx;
    const rf_status status = make(s, c, options, why);
    if (status) rf_train_step_close(s);
    else *out = s;
    return status;
}

rf_status rf_train_step_gradient(rf_train_step *s, const rf_batch *batch, const int32_t row[], const int32_t label[],
                                 int64_t n, double scale, double *loss, rf_error *why)
{
    if (!(s && batch && batch->id && batch->start && row && label))
        return rf__missing("rf_train_step_gradient", "step, batch, row, label", why);
    for (int64_t i = 0; i < n; i++)
        if (row[i] < 0 || row[i] >= batch->N)
            return rf_fail(why, RF_EARG,
                           "rf_train_step_gradient: row[%lld]: expected at least 0 and less than N, %lld, got %d",
                           (long long)i, (long long)batch->N, (int)row[i]);
    if (n < 1)
        return rf_fail(why, RF_EARG, "rf_train_step_gradient: labels: expected at least 1, got %lld", (long long)n);
    rf__graph_reset(s->graph);
    rf__graph_record(s->graph, 1, s->seed, ++s->batches);
    double sum = 0;
    rf_tensor *h = rf__encoder_forward(s->graph, s->encoder, batch);
    rf_tensor *y = rf__mlm_loss(s->graph, s->encoder, h, row, label, n, scale, &sum, NULL);
    const rf_status status = rf__backward(s->graph, y, why);
    if (!status && loss) *loss = sum;
    return status;
}

static rf_status apply(rf_train_step *s, double rate, double scale, rf_error *why)
{
    const int64_t update = ++s->updates;
    const rf__step step = {rf__rule_rate(&s->optimizer.rule, rate, update), scale, update};
    return rf__optimizer_update(&s->optimizer, &step, why);
}

rf_status rf_train_step_apply(rf_train_step *s, double rate, rf_error *why)
{
    if (!s) return rf__missing("rf_train_step_apply", "step", why);
    return apply(s, rate, 1, why);
}

rf_status rf_train_step_update(rf_train_step *s, double rate, double *norm, rf_error *why)
{
    if (!s) return rf__missing("rf_train_step_update", "step", why);
    const double own = rf__optimizer_norm(&s->optimizer);
    if (norm) *norm = own;
    if (!isfinite(own)) return rf_fail(why, RF_ENUMERIC, "gradient: expected finite numbers, got NaN or infinity");
    const double scale = s->max_norm > 0 && own > s->max_norm ? s->max_norm / own : 1;
    const rf_status status = apply(s, rate, scale, why);
    rf__optimizer_zero_grad(&s->optimizer);
    return status;
}

float *rf_train_step_values(rf_train_step *s, size_t *n)
{
    if (n) *n = s ? s->params.total : 0;
    return s ? s->optimizer.value : NULL;
}

double rf_train_step_flops(const rf_train_step *s) { return rf__graph_flops(s->graph); }

float *rf_train_step_gradients(rf_train_step *s) { return s ? s->optimizer.grad : NULL; }
