/* attention_bf16.c — attention and its adjoints with products of bf16 numbers, each sum in double, one query at a time.
 *
 *     score(t,s) = <bf16(scale log2(e) R q_t), bf16(R k_s)>
 *     p(t,s)     = bf16(2^(score(t,s) - top_t))            over the keys that t sees, top_t their largest score rounded up
 *     out_t      = sum_s K(t,s) p(t,s) bf16(v_s) / sum_s p(t,s)                          K is dropout's factor          */
#include "kernel/attention.h"
#include "kernel/ref/ref.h"

static double near(double x) { return (double)rf__from_bf16(rf__bf16((float)x)); }

/* y = R y, or R^T y for dir -1, with the angles of token n if there are any. */
static void turn(const rfk_attention *a, double *y, const int32_t *angle, int64_t n, double dir)
{
    const int64_t half = angle ? a->rotary / 2 : 0;
    for (int64_t i = 0; i < half; i++) {
        const double c = (double)a->cos[angle[n] * half + i], s = dir * (double)a->sin[angle[n] * half + i];
        double *y0 = &y[a->layout == RF_ROPE_PAIRS ? 2 * i : i], *y1 = &y[a->layout == RF_ROPE_PAIRS ? 2 * i + 1 : i + half];
        const double x0 = *y0, x1 = *y1;
        *y0 = x0 * c - x1 * s;
        *y1 = x1 * c + x0 * s;
    }
}

/* y = bf16(scale R x) */
static void row(const rfk_attention *a, double *y, const float *x, const int32_t *angle, int64_t n, double scale)
{
    for (int64_t i = 0; i < a->width; i++) y[i] = (double)x[i];
    turn(a, y, angle, n, 1);
    for (int64_t i = 0; i < a->width; i++) y[i] = near(scale * y[i]);
}

static double keep(const rfk_attention *a, int64_t t, int64_t s)
{
    if (!(a->drop > 0)) return 1;
    uint32_t word[4];
    rf__philox((rf_key){{a->key[0], a->key[1]}}, (uint64_t)(t * ((a->keys + 3) / 4) + s / 4), a->stream, word);
    return word[s % 4] >= (uint32_t)((double)a->drop * 0x1p32) ? 1 / (1 - (double)a->drop) : 0;
}

/* score(t,s) for the keys that t sees. */
static rfk__span scores(const rfk_attention *a, double *p, double *q, double *k, int64_t t)
{
    const rfk__span seen = rfk__seen(a, t);
    row(a, q, a->q + t * a->q_step, a->cos ? a->q_row : NULL, t, (double)(a->scale * 1.44269504F));
    for (int64_t s = seen.from; s < seen.to; s++) {
        row(a, k, a->k + s * a->k_step, a->cos ? a->k_row : NULL, s, 1);
        p[s] = 0;
        for (int64_t i = 0; i < a->width; i++) p[s] += q[i] * k[i];
    }
    return seen;
}

static void value(const rfk_attention *a, double *y, int64_t s)
{
    row(a, y, a->v + s * a->v_step, a->cos && a->rotate_value ? a->k_row : NULL, s, 1);
}

void rfk_ref_attention_bf16(const rfk_attention *a, int64_t first, int64_t last, void *scratch)
{
    double *p = scratch, *q = p + a->keys, *kv = q + a->width, *out = kv + a->width;
    for (int64_t t = first; t < last; t++) {
        const rfk__span seen = scores(a, p, q, kv, t);
        double largest = -INFINITY, sum = 0;
        for (int64_t s = seen.from; s < seen.to; s++)
            if (!(p[s] <= largest)) largest = p[s];
        const double top = ceil(largest);
        for (int64_t i = 0; i < a->width; i++) out[i] = 0;
        for (int64_t s = seen.from; s < seen.to; s++) {
            p[s] = near(exp2(p[s] - top));
            sum += p[s];
            value(a, kv, s);
            for (int64_t i = 0; i < a->width; i++) out[i] += keep(a, t, s) * p[s] * kv[i];
        }
        for (int64_t i = 0; i < a->width; i++) a->out[t * a->out_step + i] = sum == 0 ? 0 : (float)(out[i] / sum);
        if (a->lse) a->lse[t] = sum == 0 ? -INFINITY : (float)((top + log2(sum)) * 0.69314718055994531);
    }
}

/* y = c R^T x, R only with tables. */
static void put(const rfk_attention *a, float *y, double *x, const int32_t *angle, int64_t n, double c)
{
    turn(a, x, angle, n, -1);
    for (int64_t i = 0; i < a->width; i++) y[i] = (float)(c * x[i]);
}

/* dv_s = R^T sum_t bf16(K P) bf16(o_t)        P = e^(score - lse),  o the result's adjoint;  R^T only when values are turned
 * dS = P (K <o_t, v_s> - <o_t, out_t>)        dq_t = R^T scale sum_s bf16(dS) k_s       dk_s = R^T scale sum_t bf16(dS) q_t */
void rfk_ref_attention_bf16_back(const rfk_attention *a, const rfk_attention_grad *g, void *scratch)
{
    const int64_t S = a->keys, D = a->width;
    double *p = scratch, *q = p + S, *kv = q + D, *o = kv + D, *dq = o + D, *dk = dq + D, *dv = dk + S * D;
    const int32_t *const k_angle = a->cos ? a->k_row : NULL;
    for (int64_t i = 0; i < S * D; i++) dk[i] = dv[i] = 0;
    for (int64_t t = 0; t < a->queries; t++) {
        const rfk__span seen = scores(a, p, q, kv, t);
        double delta = 0;
        row(a, o, g->d_out + t * g->d_out_step, NULL, t, 1);
        for (int64_t i = 0; i < D; i++) delta += o[i] * (double)a->out[t * a->out_step + i], dq[i] = 0;
        for (int64_t s = seen.from; s < seen.to; s++) {
            const double P = exp2(p[s] - (double)a->lse[t] * 1.44269504088896341), kept = keep(a, t, s), kp = near(kept * P);
            double dp = 0;
            value(a, kv, s);
            for (int64_t i = 0; i < D; i++) dp += o[i] * kv[i], dv[s * D + i] += kp * o[i];
            const double ds = near(P * (kept * dp - delta));
            row(a, kv, a->k + s * a->k_step, k_angle, s, 1);
            for (int64_t i = 0; i < D; i++) dq[i] += ds * kv[i], dk[s * D + i] += ds * q[i];
        }
        put(a, g->dq + t * g->dq_step, dq, a->cos ? a->q_row : NULL, t, (double)a->scale);
    }
    for (int64_t s = 0; s < S; s++) {                        /* q holds scale log2(e) already */
        put(a, g->dk + s * g->dk_step, dk + s * D, k_angle, s, 0.69314718055994531);
        put(a, g->dv + s * g->dv_step, dv + s * D, a->rotate_value ? k_angle : NULL, s, 1);
    }
}
