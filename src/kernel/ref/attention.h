/* attention.h — internal: what the reference implementations of attention in f32 and bf16 share. */
#ifndef RF_REF_ATTENTION_H
#define RF_REF_ATTENTION_H

#include "kernel/ref/ref.h"

/* y = R x, or R^T x for dir -1, in place, with row `angle` of the tables. */
static inline void rotate(const rfk_attention *a, double *y, int32_t angle, double dir)
{
    const int64_t half = a->rotary / 2;
    for (int64_t i = 0; i < half; i++) {
        const double c = (double)a->cos[angle * half + i], s = dir * (double)a->sin[angle * half + i];
        double *y0 = &y[a->layout == RF_ROPE_PAIRS ? 2 * i : i],
               *y1 = &y[a->layout == RF_ROPE_PAIRS ? 2 * i + 1 : i + half];
        const double x0 = *y0, x1 = *y1;
        *y0 = x0 * c - x1 * s;
        *y1 = x1 * c + x0 * s;
    }
}

/* Dropout's factor. */
static inline double keep(const rfk_attention *a, int64_t t, int64_t s)
{
    if (!(a->drop > 0)) return 1;
    uint32_t word[4];
    rf__philox((rf_key){{a->key[0], a->key[1]}}, (uint64_t)(t * ((a->keys + 3) / 4) + s / 4), a->stream, word);
    return word[s % 4] >= (uint32_t)((double)a->drop * 0x1p32) ? 1 / (1 - (double)a->drop) : 0;
}

/* The row of a table for the offset of query t and key s. */
static inline int64_t related(const rfk_attention *a, int64_t t, int64_t s)
{
    const int64_t r = s - (t + a->keys - a->queries), clip = a->relative->clip;
    return (r < -clip ? -clip : r > clip ? clip : r) + clip;
}

static inline double inner_row(const double *x, const float *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * (double)y[i];
    return sum;
}

static inline void add_row(double *y, double c, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] += c * (double)x[i];
}

static inline void add_to_row(float *y, double c, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)((double)y[i] + c * x[i]);
}

/* n columns of token s from keys and values in pages. */
static inline void from_page(const rfk_attention *a, double *y, int64_t s, int64_t column, int64_t n)
{
    const rfk_pages *p = &a->pages;
    const int64_t at = s % RFK_PAGE * p->stride + column;
    const float *x = p->page[s / RFK_PAGE];
    const uint16_t *half = p->page[s / RFK_PAGE];
    for (int64_t i = 0; i < n; i++) y[i] = (double)(p->bf16 ? rf__from_bf16(half[at + i]) : x[at + i]);
}

#endif
