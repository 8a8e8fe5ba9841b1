/* attention_bf16.c — attention and its adjoints with products of bf16 numbers, each sum in double, one query at a time.
 *
 *     score(t,s) = <bf16(scale log2(e) R q_t), bf16(R k_s)>                              for q2 and k2, too
 *                  + <bf16(scale log2(e) R q_t), bf16(query_r)> + <bf16(R k_s), bf16(scale log2(e) key_r)> + log2(e)
 *                  bias_r
 *     p(t,s)     = bf16(2^(score(t,s) - top_t))         over the keys that t sees, top_t their largest score rounded up
 *     out_t      = sum_s K(t,s) p(t,s) (bf16(v_s) + value_r) / sum_s p(t,s)              K is dropout's factor       */
#include "kernel/attention/attention.h"
#include "kernel/ref/attention.h"

static double round_bf16(double x) { return (double)rf__from_bf16(rf__bf16((float)x)); }

/* y = bf16(scale R x) */
static void row(const rfk_attention *a, double *y, const float *x, const int32_t *angle, int64_t n, double scale)
{
    for (int64_t i = 0; i < a->width; i++) y[i] = (double)x[i];
    if (angle) rotate(a, y, angle[n], 1);
    for (int64_t i = 0; i < a->width; i++) y[i] = round_bf16(scale * y[i]);
}

/* Rows of queries and keys: width columns, then width2. */
static void query(const rfk_attention *a, double *y, int64_t t)
{
    const double scale = (double)(a->scale * 1.44269504F);
    row(a, y, a->q + t * a->q_stride, a->cos ? a->q_row : NULL, t, scale);
    for (int64_t i = 0; i < a->width2; i++) y[a->width + i] = round_bf16(scale * (double)a->q2[t * a->q2_stride + i]);
}

static void round_all(double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = round_bf16(y[i]);
}

static void key(const rfk_attention *a, double *y, int64_t s)
{
    if (a->pages.page) {
        from_page(a, y, s, a->pages.key, a->width);
        from_page(a, y + a->width, s, a->pages.key2, a->width2);
        round_all(y, a->width + a->width2);
        return;
    }
    row(a, y, a->k + s * a->k_stride, a->cos ? a->k_row : NULL, s, 1);
    for (int64_t i = 0; i < a->width2; i++) y[a->width + i] = round_bf16((double)a->k2[s * a->k2_stride + i]);
}

static double relate(const rfk_attention *a, const double *q, const double *k, int64_t t, int64_t s)
{
    const rfk_relative *is = a->relative;
    const int64_t r = related(a, t, s);
    const double scale = (double)(a->scale * 1.44269504F);
    double sum = 0;
    for (int64_t i = 0; i < a->width && is->query; i++)
        sum += q[i] * round_bf16((double)is->query[r * is->query_stride + i]);
    for (int64_t i = 0; i < a->width && is->key; i++)
        sum += k[i] * round_bf16(scale * (double)is->key[r * is->key_stride + i]);
    return sum + (is->bias ? 1.44269504088896341 * (double)is->bias[r] : 0);
}

/* score(t,s) for the keys that t sees. */
static rfk__span scores(const rfk_attention *a, double *p, double *q, double *k, int64_t t)
{
    const rfk__span seen = rfk__seen(a, t);
    query(a, q, t);
    for (int64_t s = seen.from; s < seen.to; s++) {
        key(a, k, s);
        p[s] = 0;
        for (int64_t i = 0; i < a->width + a->width2; i++) p[s] += q[i] * k[i];
        if (a->relative) p[s] += relate(a, q, k, t, s);
    }
    return seen;
}

static void value(const rfk_attention *a, double *y, int64_t s)
{
    if (a->pages.page) {
        from_page(a, y, s, a->pages.value, a->width);
        round_all(y, a->width);
        return;
    }
    row(a, y, a->v + s * a->v_stride, a->cos && a->rotate_value ? a->k_row : NULL, s, 1);
}

/* sum_s bf16(2^(score - *top)) over the scores p of `seen`; *top: the largest of them, rounded up. */
static double sum_of_powers(const double *p, rfk__span seen, double *top)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t s = seen.from; s < seen.to; s++)
        if (!(p[s] <= largest)) largest = p[s];
    *top = ceil(largest);
    for (int64_t s = seen.from; s < seen.to; s++) sum += round_bf16(exp2(p[s] - *top));
    return sum;
}

void rfk_ref_attention_bf16(const rfk_attention *a, int64_t first, int64_t last, void *scratch)
{
    const int64_t all = a->width + a->width2;
    const rfk_relative *is = a->relative;
    double *p = scratch, *q = p + a->keys, *kv = q + all, *out = kv + all;
    for (int64_t t = first; t < last; t++) {
        const rfk__span seen = scores(a, p, q, kv, t);
        double top;
        const double sum = sum_of_powers(p, seen, &top);
        for (int64_t i = 0; i < a->width; i++) out[i] = 0;
        for (int64_t s = seen.from; s < seen.to; s++) {
            p[s] = round_bf16(exp2(p[s] - top));
            value(a, kv, s);
            if (is && is->value) add_row(kv, 1, is->value + related(a, t, s) * is->value_stride, a->width);
            for (int64_t i = 0; i < a->width; i++) out[i] += keep(a, t, s) * p[s] * kv[i];
        }
        for (int64_t i = 0; i < a->width; i++) a->out[t * a->out_stride + i] = sum == 0 ? 0 : (float)(out[i] / sum);
        if (a->lse) a->lse[t] = sum == 0 ? -INFINITY : (float)((top + log2(sum)) * 0.69314718055994531);
    }
}

/* The contributions of dS (through the score) and K P (through the value) to the tables.  q contains scale log2(e)
 * already. */
static void relative_back(const rfk_attention *a, const rfk_relative_grad *g, const double *q, const double *k,
                          const double *o, int64_t r, double ds, double kp)
{
    if (g->query) add_to_row(g->query + r * g->query_stride, 0.69314718055994531 * ds, q, a->width);
    if (g->key) add_to_row(g->key + r * g->key_stride, (double)a->scale * ds, k, a->width);
    if (g->value) add_to_row(g->value + r * g->value_stride, kp, o, a->width);
    if (g->bias) g->bias[r] = (float)((double)g->bias[r] + ds);
}

/* y = c R^T x, R only with tables. */
static void store_unrotated(const rfk_attention *a, float *y, double *x, const int32_t *angle, int64_t n, double c)
{
    if (angle) rotate(a, x, angle[n], -1);
    for (int64_t i = 0; i < a->width; i++) y[i] = (float)(c * x[i]);
}

/* dv_s = R^T sum_t bf16(K P) bf16(o_t)  P = e^(score - lse),  o the result's adjoint;  R^T only when values are rotated
 * dS = P (K <o_t, v_s> - <o_t, out_t>)        dq_t = R^T scale sum_s bf16(dS) k_s   dk_s = R^T scale sum_t bf16(dS) q_t
 * lse is recomputed: a single f32 is not accurate enough for large scores. Products with tables of offsets use dS and K
 * P without rounding, and contributions of tables to dq and dk are not rounded. */
void rfk_ref_attention_bf16_back(const rfk_attention *a, const rfk_attention_grad *g, void *scratch)
{
    const int64_t S = a->keys, D = a->width, all = D + a->width2;
    const rfk_relative *is = a->relative;
    double *p = scratch, *q = p + S, *kv = q + all, *o = kv + all, *dq = o + D, *dk = dq + all, *dv = dk + S * all;
    const int32_t *const k_angle = a->cos ? a->k_row : NULL;
    for (int64_t i = 0; i < S * all; i++) dk[i] = 0;
    for (int64_t i = 0; i < S * D; i++) dv[i] = 0;
    for (int64_t t = 0; t < a->queries; t++) {
        const rfk__span seen = scores(a, p, q, kv, t);
        double delta = 0, top;
        const double rest = log2(sum_of_powers(p, seen, &top));
        row(a, o, g->d_out + t * g->d_out_stride, NULL, t, 1);
        for (int64_t i = 0; i < D; i++) delta += o[i] * (double)a->out[t * a->out_stride + i];
        for (int64_t i = 0; i < all; i++) dq[i] = 0;
        for (int64_t s = seen.from; s < seen.to; s++) {
            const double P = exp2(p[s] - top - rest), kept = keep(a, t, s), kp = round_bf16(kept * P);
            const int64_t r = is ? related(a, t, s) : 0;
            double dp = 0;
            value(a, kv, s);
            for (int64_t i = 0; i < D; i++) dp += o[i] * kv[i], dv[s * D + i] += kp * o[i];
            if (is && is->value) dp += inner_row(o, is->value + r * is->value_stride, D);
            const double exact = P * (kept * dp - delta), ds = round_bf16(exact);
            key(a, kv, s);
            for (int64_t i = 0; i < all; i++) dq[i] += ds * kv[i], dk[s * all + i] += ds * q[i];
            if (is && is->query) add_row(dq, exact, is->query + r * is->query_stride, D);
            if (is && is->key)
                add_row(dk + s * all, exact * (double)(a->scale * 1.44269504F), is->key + r * is->key_stride, D);
            if (is && g->relative) relative_back(a, g->relative, q, kv, o, r, exact, kept * P);
        }
        store_unrotated(a, g->dq + t * g->dq_stride, dq, a->cos ? a->q_row : NULL, t, (double)a->scale);
        for (int64_t i = 0; i < a->width2; i++) g->dq2[t * g->dq2_stride + i] = (float)((double)a->scale * dq[D + i]);
    }
    for (int64_t s = 0; s < S; s++) {                        /* q holds scale log2(e) already */
        store_unrotated(a, g->dk + s * g->dk_stride, dk + s * all, k_angle, s, 0.69314718055994531);
        for (int64_t i = 0; i < a->width2; i++)
            g->dk2[s * g->dk2_stride + i] = (float)(0.69314718055994531 * dk[s * all + D + i]);
        store_unrotated(a, g->dv + s * g->dv_stride, dv + s * D, a->rotate_value ? k_angle : NULL, s, 1);
    }
}
