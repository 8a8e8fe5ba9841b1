/* attention_bf16.c — attention with both products of bf16 numbers, each sum in double, one query at a time.
 *
 *     score(t,s) = <bf16(scale log2(e) R q_t), bf16(R k_s)>
 *     p(t,s)     = bf16(2^(score(t,s) - top_t))            over the keys that t sees, top_t their largest score rounded up
 *     out_t      = sum_s K(t,s) p(t,s) bf16(v_s) / sum_s p(t,s)                          K is dropout's factor          */
#include "kernel/attention.h"
#include "kernel/ref/ref.h"

static double near(double x) { return (double)rf__from_bf16(rf__bf16((float)x)); }

/* y = bf16(scale R x), R only with tables. */
static void row(const rfk_attention *a, double *y, const float *x, const int32_t *angle, int64_t n, double scale)
{
    for (int64_t i = 0; i < a->width; i++) y[i] = (double)x[i];
    const int64_t half = angle ? a->rotary / 2 : 0;
    for (int64_t i = 0; i < half; i++) {
        const double c = (double)a->cos[angle[n] * half + i], s = (double)a->sin[angle[n] * half + i];
        double *y0 = &y[a->layout == RF_ROPE_PAIRS ? 2 * i : i], *y1 = &y[a->layout == RF_ROPE_PAIRS ? 2 * i + 1 : i + half];
        const double x0 = *y0, x1 = *y1;
        *y0 = x0 * c - x1 * s;
        *y1 = x1 * c + x0 * s;
    }
    for (int64_t i = 0; i < a->width; i++) y[i] = near(scale * y[i]);
}

static double keep(const rfk_attention *a, int64_t t, int64_t s)
{
    if (!(a->drop > 0)) return 1;
    uint32_t word[4];
    rf__philox((rf_key){{a->key[0], a->key[1]}}, (uint64_t)(t * ((a->keys + 3) / 4) + s / 4), a->stream, word);
    return word[s % 4] >= (uint32_t)((double)a->drop * 0x1p32) ? 1 / (1 - (double)a->drop) : 0;
}

void rfk_ref_attention_bf16(const rfk_attention *a, int64_t first, int64_t last, void *scratch)
{
    const int32_t *const q_angle = a->cos ? a->q_row : NULL, *const k_angle = a->cos ? a->k_row : NULL;
    double *p = scratch, *q = p + a->keys, *kv = q + a->width, *out = kv + a->width;
    for (int64_t t = first; t < last; t++) {
        const rfk__span seen = rfk__seen(a, t);
        double largest = -INFINITY, sum = 0;
        row(a, q, a->q + t * a->q_step, q_angle, t, (double)(a->scale * 1.44269504F));
        for (int64_t s = seen.from; s < seen.to; s++) {
            row(a, kv, a->k + s * a->k_step, k_angle, s, 1);
            p[s] = 0;
            for (int64_t i = 0; i < a->width; i++) p[s] += q[i] * kv[i];
            if (!(p[s] <= largest)) largest = p[s];
        }
        const double top = ceil(largest);
        for (int64_t i = 0; i < a->width; i++) out[i] = 0;
        for (int64_t s = seen.from; s < seen.to; s++) {
            p[s] = near(exp2(p[s] - top));
            sum += p[s];
            row(a, kv, a->v + s * a->v_step, a->rotate_value ? k_angle : NULL, s, 1);
            for (int64_t i = 0; i < a->width; i++) out[i] += keep(a, t, s) * p[s] * kv[i];
        }
        for (int64_t i = 0; i < a->width; i++) a->out[t * a->out_step + i] = sum == 0 ? 0 : (float)(out[i] / sum);
        if (a->lse) a->lse[t] = sum == 0 ? -INFINITY : (float)((top + log2(sum)) * 0.69314718055994531);
    }
}
