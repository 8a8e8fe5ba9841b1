/* modules.c — the modules of sentence-transformers between pooling and the last normalization (store/task.h).
 *
 *     x_0 = the pooled vector,   x_i+1 = f_i(x_i)
 *
 *     DENSE       f(x) = act(W x + b)                                        [out]
 *                 with use_residual: ... + x, or ... + R x if the width changes
 *     LAYER_NORM  f(x) = (x - mean(x)) / sqrt(var(x) + 1e-5) * w + b
 *     NORMALIZE   f(x) = x / |x| */
#include <math.h>

#include "pipeline/pipeline.h"
#include "roformer/kernel/kernels.h"
#include "store/store.h"

struct rf__modules {
    rf__module_list is;
    int64_t in, out, most;              /* widths: before the first, after the last, of all                           */
    float *weight[RF__MODULES], *bias[RF__MODULES], *residual[RF__MODULES];
};

static rf_status read_tensor(const rf_ctx *ctx, const rf_weights *w, const char *name, const char *path, int64_t rows,
                             int64_t columns, float **out, rf_error *why)
{
    const rf_weight *t = rf__weights_find(w, name);
    const bool vector = !columns;
    if (!t || t->rank != (vector ? 1 : 2) || t->dim[0] != rows || (!vector && t->dim[1] != columns))
        return rf_fail(why, RF_EDATA, "%.200s: %s: expected a tensor of %lld rows of %lld columns as config.json says, "
                       "got %s", path, name, (long long)rows, (long long)(vector ? 1 : columns),
                       t ? "another shape" : "none");
    *out = rf__alloc(ctx, t->count * sizeof **out);
    if (!*out) return rf_fail(why, RF_ENOMEM, "out of memory: %.100s", path);
    return rf__weights_read(w, t, *out, 1, why);
}

static rf_status read_one(const rf_ctx *ctx, const char *folder, rf__modules *m, int64_t i, rf_error *why)
{
    char path[4096];
    rf_weights *w = NULL;
    const rf__module *d = &m->is.module[i];
    const rf_sentence_dense *is = &d->is;
    if (d->kind == RF__MODULE_NORMALIZE) return RF_OK;
    rf_status status = rf__path(path, sizeof path, folder, is->path, why);
    if (!status) status = rf_weights_open(ctx, path, &w, why);
    if (d->kind == RF__MODULE_LAYER_NORM) {
        if (!status) status = read_tensor(ctx, w, "norm.weight", path, is->out, 0, &m->weight[i], why);
        if (!status) status = read_tensor(ctx, w, "norm.bias", path, is->out, 0, &m->bias[i], why);
    } else {
        if (!status) status = read_tensor(ctx, w, "linear.weight", path, is->out, is->in, &m->weight[i], why);
        if (!status && is->bias) status = read_tensor(ctx, w, "linear.bias", path, is->out, 0, &m->bias[i], why);
        if (!status && d->residual && is->in != is->out)
            status = read_tensor(ctx, w, "residual.weight", path, is->out, is->in, &m->residual[i], why);
    }
    rf_weights_close(w);
    return status;
}

/* The widths; config.json of the modules agree with each other already. */
static rf_status measure(const char *folder, rf__modules *m, int64_t C, rf_error *why)
{
    m->in = m->out = m->most = C;
    for (int64_t i = 0; i < m->is.n; i++) {
        const rf_sentence_dense *is = &m->is.module[i].is;
        if (m->is.module[i].kind == RF__MODULE_NORMALIZE) continue;
        if (is->in != m->out)
            return rf_fail(why, RF_EDATA, "%.150s/%s/config.json: %s: expected %lld, the width of the model's vectors, "
                           "got %lld", folder, is->path,
                           m->is.module[i].kind == RF__MODULE_DENSE ? "in_features" : "dimension", (long long)m->out,
                           (long long)is->in);
        m->out = is->out;
        m->most = rf__max64(m->most, m->out);
    }
    return RF_OK;
}

rf_status rf__modules_open(const rf_ctx *ctx, const char *folder, const rf__module_list *is, int64_t C,
                           rf__modules **out, rf_error *why)
{
    *out = NULL;
    if (!is->n) return RF_OK;
    rf__modules *m = rf__calloc(ctx, 1, sizeof *m);
    if (!m) return rf_fail(why, RF_ENOMEM, "out of memory: modules");
    m->is = *is;
    rf_status status = measure(folder, m, C, why);
    for (int64_t i = 0; i < is->n && !status; i++) status = read_one(ctx, folder, m, i, why);
    if (status) rf__modules_close(ctx, m);
    else *out = m;
    return status;
}

void rf__modules_close(const rf_ctx *ctx, rf__modules *m)
{
    for (int64_t i = 0; m && i < m->is.n; i++) {
        rf__free(ctx, m->weight[i]);
        rf__free(ctx, m->bias[i]);
        rf__free(ctx, m->residual[i]);
    }
    rf__free(ctx, m);
}

int64_t rf__modules_in(const rf__modules *m) { return m->in; }
int64_t rf__modules_out(const rf__modules *m) { return m->out; }
int64_t rf__modules_scratch(const rf__modules *m) { return 2 * m->most; }

static void dense(const rf_ctx *ctx, const rf__modules *m, int64_t i, const float *x, float *y)
{
    const rf_sentence_dense *is = &m->is.module[i].is;
    for (int64_t k = 0; k < is->out; k++) {
        const double sum = (double)ctx->k->dot(m->weight[i] + k * is->in, x, is->in);
        double z = m->is.module[i].f(sum + (m->bias[i] ? (double)m->bias[i][k] : 0));
        if (m->residual[i]) z += (double)ctx->k->dot(m->residual[i] + k * is->in, x, is->in);
        else if (m->is.module[i].residual) z += (double)x[k];
        y[k] = (float)z;
    }
}

static void layer_norm(const rf__modules *m, int64_t i, const float *x, float *y)
{
    const int64_t C = m->is.module[i].is.out;
    double mean = 0, square = 0;
    for (int64_t k = 0; k < C; k++) mean += (double)x[k] / (double)C;
    for (int64_t k = 0; k < C; k++) square += ((double)x[k] - mean) * ((double)x[k] - mean);
    const double scale = 1 / sqrt(square / (double)C + 1e-5);
    for (int64_t k = 0; k < C; k++)
        y[k] = (float)(((double)x[k] - mean) * scale * (double)m->weight[i][k] + (double)m->bias[i][k]);
}

static void normalize(const float *x, float *y, int64_t C)
{
    double square = 0;
    for (int64_t k = 0; k < C; k++) square += (double)x[k] * (double)x[k];
    for (int64_t k = 0; k < C; k++) y[k] = (float)((double)x[k] / fmax(sqrt(square), 1e-12));
}

const float *rf__modules_apply(const rf_ctx *ctx, const rf__modules *m, const float *x, float *scratch)
{
    int64_t C = m->in;
    for (int64_t i = 0; i < m->is.n; i++) {
        const rf__module *d = &m->is.module[i];
        float *y = scratch + i % 2 * m->most;
        if (d->kind == RF__MODULE_NORMALIZE) normalize(x, y, C);
        else if (d->kind == RF__MODULE_LAYER_NORM) layer_norm(m, i, x, y);
        else dense(ctx, m, i, x, y);
        if (d->kind != RF__MODULE_NORMALIZE) C = d->is.out;
        x = y;
    }
    return x;
}
