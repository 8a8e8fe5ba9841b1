/* dense.c — the Dense modules of sentence-transformers, between pooling and normalization.
 *
 *     x_0 = the pooled vector [C],   x_i+1 = act_i(W_i x_i + b_i) [out_i] */
#include <math.h>

#include "pipeline/pipeline.h"

struct rf__dense {
    int64_t n, width, most;             /* width: of the last; most: of all                                           */
    const rf_sentence_dense *is;
    float *weight[RF_MAX_DENSE], *bias[RF_MAX_DENSE];
};

static rf_status read_tensor(const rf_ctx *ctx, const rf_weights *w, const char *name, const char *path, int64_t rows,
                             int64_t columns, float **out, rf_error *why)
{
    const rf_weight *t = rf_weights_find(w, name);
    const bool vector = !columns;
    if (!t || t->rank != (vector ? 1 : 2) || t->dim[0] != rows || (!vector && t->dim[1] != columns))
        return rf_fail(why, RF_EDATA, "%.200s: %s: expected a tensor of %lld rows of %lld columns as config.json says, "
                       "got %s", path, name, (long long)rows, (long long)(vector ? 1 : columns),
                       t ? "another shape" : "none");
    *out = rf__alloc(ctx, t->count * sizeof **out);
    if (!*out) return rf_fail(why, RF_ENOMEM, "out of memory: %.100s", path);
    return rf_weights_read(w, t, *out, 1, why);
}

static rf_status read_one(const rf_ctx *ctx, const char *folder, rf__dense *d, int64_t i, rf_error *why)
{
    char path[4096];
    rf_weights *w = NULL;
    const rf_sentence_dense *is = &d->is[i];
    rf_status status = rf__path(path, sizeof path, folder, is->path, why);
    if (!status) status = rf_weights_open(ctx, path, &w, why);
    if (!status) status = read_tensor(ctx, w, "linear.weight", path, is->out, is->in, &d->weight[i], why);
    if (!status && is->bias) status = read_tensor(ctx, w, "linear.bias", path, is->out, 0, &d->bias[i], why);
    rf_weights_close(w);
    return status;
}

rf_status rf__dense_open(const rf_ctx *ctx, const char *folder, const rf_sentence *s, int64_t C, rf__dense **out,
                         rf_error *why)
{
    *out = NULL;
    if (!s->denses) return RF_OK;
    if (s->dense[0].in != C)
        return rf_fail(why, RF_EDATA, "%.150s/%s/config.json: in_features: expected %lld, the width of the model's "
                       "vectors, got %lld", folder, s->dense[0].path, (long long)C, (long long)s->dense[0].in);
    rf__dense *d = rf__calloc(ctx, 1, sizeof *d);
    if (!d) return rf_fail(why, RF_ENOMEM, "out of memory: Dense modules");
    *d = (rf__dense){.n = s->denses, .is = s->dense, .width = s->dense[s->denses - 1].out};
    rf_status status = RF_OK;
    for (int64_t i = 0; i < d->n && !status; i++) {
        d->most = rf__max64(d->most, d->is[i].out);
        status = read_one(ctx, folder, d, i, why);
    }
    if (status) rf__dense_close(ctx, d);
    else *out = d;
    return status;
}

void rf__dense_close(const rf_ctx *ctx, rf__dense *d)
{
    for (int64_t i = 0; d && i < d->n; i++) {
        rf__free(ctx, d->weight[i]);
        rf__free(ctx, d->bias[i]);
    }
    rf__free(ctx, d);
}

int64_t rf__dense_width(const rf__dense *d) { return d->width; }
int64_t rf__dense_scratch(const rf__dense *d) { return 2 * d->most; }

static double activated(rf_act act, double x)
{
    switch (act) {
    case RF_ACT_TANH: return tanh(x);
    case RF_ACT_RELU: return x > 0 ? x : 0;
    case RF_ACT_GELU: return 0.5 * x * (1 + erf(x * sqrt(0.5)));
    case RF_ACT_SILU: return x / (1 + exp(-x));
    default: return x;                                                  /* read_act knows no others */
    }
}

const float *rf__dense_apply(const rf_ctx *ctx, const rf__dense *d, const float *x, float *scratch)
{
    for (int64_t i = 0; i < d->n; i++) {
        float *y = scratch + i % 2 * d->most;
        for (int64_t k = 0; k < d->is[i].out; k++) {
            const double sum = (double)ctx->k->dot(d->weight[i] + k * d->is[i].in, x, d->is[i].in);
            y[k] = (float)activated(d->is[i].act, sum + (d->bias[i] ? (double)d->bias[i][k] : 0));
        }
        x = y;
    }
    return x;
}
