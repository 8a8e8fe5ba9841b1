/* attention.c — attention and its adjoints by their formulas, in double, one query at a time.
 *
 *     score(t,s) = scale <R q_t, R k_s>                                        RoFormer, Eq. 16
 *                  + scale (<q2_t, k2_s> + <R q_t, query_r> + <R k_s, key_r>) + bias_r,   r = s - t, within +-clip
 *     P(t,s)     = e^score(t,s) / sum_s e^score(t,s)                           over the keys that t sees
 *     out_t      = sum_s K(t,s) P(t,s) v_s                     RoFormer, Eq. 2; K is dropout's factor; v_s + value_r */
#include "kernel/ref/attention.h"

static int sees(const rfk_attention *a, int64_t t, int64_t s)
{
    const int64_t position = t + a->keys - a->queries, distance = s > position ? s - position : position - s;
    return (!a->causal || s <= position || s < a->prefix) && (!a->window || distance <= a->window);
}

static void copy(double *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (double)x[i];
}

/* Rows of queries and keys: width columns, then width2. */
static void query(const rfk_attention *a, double *y, int64_t t)
{
    copy(y, a->q + t * a->q_stride, a->width);
    if (a->width2) copy(y + a->width, a->q2 + t * a->q2_stride, a->width2);
    if (a->cos) rotate(a, y, a->q_row[t], 1);
}

static void key(const rfk_attention *a, double *y, int64_t s)
{
    if (a->pages.page) {
        from_page(a, y, s, a->pages.key, a->width);
        from_page(a, y + a->width, s, a->pages.key2, a->width2);
        return;
    }
    copy(y, a->k + s * a->k_stride, a->width);
    if (a->width2) copy(y + a->width, a->k2 + s * a->k2_stride, a->width2);
    if (a->cos && a->k_row) rotate(a, y, a->k_row[s], 1);
}

static void value(const rfk_attention *a, double *y, int64_t s)
{
    if (a->pages.page) {
        from_page(a, y, s, a->pages.value, a->width);
        return;
    }
    copy(y, a->v + s * a->v_stride, a->width);
    if (a->cos && a->k_row && a->rotate_value) rotate(a, y, a->k_row[s], 1);
}

static double inner(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static void add(double *y, double c, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] += c * x[i];
}

static double score_of(const rfk_attention *a, const double *q, const double *k, int64_t t, int64_t s)
{
    const rfk_relative *is = a->relative;
    double sum = inner(q, k, a->width + a->width2);
    if (!is) return (double)a->scale * sum;
    const int64_t r = related(a, t, s);
    if (is->query) sum += inner_row(q, is->query + r * is->query_stride, a->width);
    if (is->key) sum += inner_row(k, is->key + r * is->key_stride, a->width);
    return (double)a->scale * sum + (is->bias ? (double)is->bias[r] : 0);
}

/* p[s] = P(t,s), or zeros if t sees no key; returns the log-sum-exp.  q and k are space for one row. */
static double probabilities(const rfk_attention *a, double *p, double *q, double *k, int64_t t)
{
    double largest = -INFINITY, sum = 0;
    query(a, q, t);
    for (int64_t s = 0; s < a->keys; s++) {
        p[s] = -INFINITY;
        if (!sees(a, t, s)) continue;
        key(a, k, s);
        p[s] = score_of(a, q, k, t, s);
        if (!(p[s] <= largest)) largest = p[s];
    }
    for (int64_t s = 0; s < a->keys; s++) sum += p[s] = sees(a, t, s) ? exp(p[s] - largest) : 0;
    for (int64_t s = 0; s < a->keys; s++) p[s] = sees(a, t, s) ? p[s] / sum : 0;
    return sum == 0 ? -INFINITY : largest + log(sum);
}

void rfk_ref_attention(const rfk_attention *a, int64_t first, int64_t last, void *scratch)
{
    const int64_t D = a->width, all = D + a->width2;
    const rfk_relative *is = a->relative;
    double *p = scratch, *q = p + a->keys, *kv = q + all, *out = kv + all;
    for (int64_t t = first; t < last; t++) {
        const double lse = probabilities(a, p, q, kv, t);
        for (int64_t i = 0; i < D; i++) out[i] = 0;
        for (int64_t s = 0; s < a->keys; s++) {
            if (!sees(a, t, s)) continue;
            value(a, kv, s);
            if (is && is->value) add_row(kv, 1, is->value + related(a, t, s) * is->value_stride, D);
            add(out, keep(a, t, s) * p[s], kv, D);
        }
        for (int64_t i = 0; i < D; i++) a->out[t * a->out_stride + i] = (float)out[i];
        if (a->lse) a->lse[t] = (float)lse;
    }
}

static void store_row(float *y, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)x[i];
}

/* The contributions of dS (through the score) and P K (through the value) to the tables. */
static void relative_back(const rfk_attention *a, const rfk_relative_grad *g, const double *q, const double *k,
                          const double *o, int64_t t, int64_t s, double ds, double kp)
{
    const int64_t r = related(a, t, s), D = a->width;
    if (g->query) add_to_row(g->query + r * g->query_stride, (double)a->scale * ds, q, D);
    if (g->key) add_to_row(g->key + r * g->key_stride, (double)a->scale * ds, k, D);
    if (g->value) add_to_row(g->value + r * g->value_stride, kp, o, D);
    if (g->bias) g->bias[r] = (float)((double)g->bias[r] + ds);
}

/* With o the adjoint of the result:
 *     dv_s = R^T sum_t K P o_t      dP = K <o_t, v_s + value_r>       (R^T here only when values are rotated)
 *     dS = P (dP - sum_s P dP)      dq_t = R^T scale sum_s dS (R k_s + query_r)     dk_s = R^T scale sum_t dS (R q_t +
 *     key_r) */
void rfk_ref_attention_back(const rfk_attention *a, const rfk_attention_grad *g, void *scratch)
{
    const int64_t S = a->keys, D = a->width, all = D + a->width2;
    const rfk_relative *is = a->relative;
    double *p = scratch, *dp = p + S, *q = dp + S, *kv = q + all, *o = kv + all, *dq = o + all, *dk = dq + all,
           *dv = dk + S * all;
    for (int64_t i = 0; i < S * all; i++) dk[i] = 0;
    for (int64_t i = 0; i < S * D; i++) dv[i] = 0;
    for (int64_t t = 0; t < a->queries; t++) {
        double mean = 0;
        probabilities(a, p, q, kv, t);
        copy(o, g->d_out + t * g->d_out_stride, D);
        for (int64_t s = 0; s < S; s++) {
            if (!sees(a, t, s)) continue;
            const double kept = keep(a, t, s);
            value(a, kv, s);
            add(dv + s * D, kept * p[s], o, D);
            dp[s] = inner(o, kv, D);
            if (is && is->value) dp[s] += inner_row(o, is->value + related(a, t, s) * is->value_stride, D);
            dp[s] *= kept;
            mean += p[s] * dp[s];
        }
        for (int64_t i = 0; i < all; i++) dq[i] = 0;
        for (int64_t s = 0; s < S; s++) {
            if (!sees(a, t, s)) continue;
            const double ds = p[s] * (dp[s] - mean), scaled = (double)a->scale * ds;
            key(a, kv, s);
            add(dq, scaled, kv, all);
            add(dk + s * all, scaled, q, all);
            if (is && is->query) add_row(dq, scaled, is->query + related(a, t, s) * is->query_stride, D);
            if (is && is->key) add_row(dk + s * all, scaled, is->key + related(a, t, s) * is->key_stride, D);
            if (is && g->relative) relative_back(a, g->relative, q, kv, o, t, s, ds, keep(a, t, s) * p[s]);
        }
        if (a->cos) rotate(a, dq, a->q_row[t], -1);
        store_row(g->dq + t * g->dq_stride, dq, D);
        if (a->width2) store_row(g->dq2 + t * g->dq2_stride, dq + D, a->width2);
    }
    for (int64_t s = 0; s < S; s++) {
        if (a->cos && a->k_row) rotate(a, dk + s * all, a->k_row[s], -1);
        if (a->cos && a->k_row && a->rotate_value) rotate(a, dv + s * D, a->k_row[s], -1);
        store_row(g->dk + s * g->dk_stride, dk + s * all, D);
        if (a->width2) store_row(g->dk2 + s * g->dk2_stride, dk + s * all + D, a->width2);
        store_row(g->dv + s * g->dv_stride, dv + s * D, D);
    }
}
