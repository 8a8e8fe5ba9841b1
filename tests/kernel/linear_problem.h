/* linear_problem.h — linear attention of one head by its formula, in double, with all T x T weights: the reference of
 * the tests of the kernel and of the operation.
 *
 *     w(m,n) = <R(m) phi(q_m), R(n) psi(k_n)>,   out_m = sum_n w(m,n) v_n / sum_n <phi(q_m), psi(k_n)>   Eqs. 17-19
 *
 * With xPos the numerator's features are R(m) zeta^(m/s) phi(q_m), R(n) zeta^(-n/s) psi(k_n), for each plane.  The maps
 * are repeated here from their papers.  M (see feature_maps.h) may be given, to keep it constant in finite
 * differences. */
#ifndef LINEAR_PROBLEM_H
#define LINEAR_PROBLEM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum linear_order { LINEAR_NONE, LINEAR_BEFORE, LINEAR_EQ19, LINEAR_XPOS };
enum { LINEAR_SCALE = 20 };             /* s */

typedef struct linear_printed {
    const char *map;
    bool causal;
    enum linear_order order;
    int64_t T, D, f;
    const double *w;                    /* [f, D] random features                                                     */
    double epsilon;
    const double *query_top, *key_top;  /* [T] maxima kept constant, or NULL                                          */
    double base;
} linear_printed;

static inline bool linear_is(const linear_printed *p, const char *name) { return !strcmp(p->map, name); }
static inline bool linear_projects(const linear_printed *p) { return linear_is(p, "favor") || linear_is(p, "relu"); }

/* R(m) on adjacent columns of a row of n. */
static inline void linear_rotate(double *x, int64_t n, int64_t m, double base)
{
    for (int64_t i = 0; i < n / 2; i++) {
        const double a = (double)m * pow(base, -2 * (double)i / (double)n), x0 = x[2 * i], x1 = x[2 * i + 1];
        x[2 * i] = x0 * cos(a) - x1 * sin(a);
        x[2 * i + 1] = x1 * cos(a) + x0 * sin(a);
    }
}

static inline double linear_zeta(int64_t i, int64_t n)
{
    return pow((2 * (double)i / (double)n + 0.4) / 1.4, 1.0 / LINEAR_SCALE);
}

static inline bool linear_after(enum linear_order order) { return order >= LINEAR_EQ19; }

/* u [T,f], half a square [T] of each row, from q or k [T,D]. */
static inline void linear_project(const linear_printed *p, const double *x, double *u, double *half)
{
    double *y = malloc((size_t)p->D * sizeof *y);
    for (int64_t t = 0; t < p->T; t++) {
        memcpy(y, x + t * p->D, (size_t)p->D * sizeof *y);
        if (p->order == LINEAR_BEFORE) linear_rotate(y, p->D, t, p->base);
        half[t] = 0;
        for (int64_t j = 0; j < p->D; j++) {
            if (linear_projects(p)) y[j] *= pow((double)p->D, -0.25);
            half[t] += y[j] * y[j] / 2;
        }
        for (int64_t i = 0; i < p->f; i++) {
            u[t * p->f + i] = linear_projects(p) ? 0 : y[i];
            for (int64_t j = 0; j < p->D && linear_projects(p); j++) u[t * p->f + i] += p->w[i * p->D + j] * y[j];
        }
    }
    free(y);
}

static inline double linear_largest(const double *x, int64_t n)
{
    double top = x[0];
    for (int64_t i = 1; i < n; i++) top = fmax(top, x[i]);
    return top;
}

static inline double linear_plain(const linear_printed *p, double u)
{
    if (linear_is(p, "elu")) return u > 0 ? u + 1 : exp(u);
    if (linear_is(p, "relu")) return fmax(u, 0) + p->epsilon;
    if (linear_is(p, "squared_relu")) return fmax(u, 0) * fmax(u, 0) + p->epsilon;
    return exp(u);
}

static inline void linear_query_features(const linear_printed *p, double *u, const double *half, double *tops)
{
    for (int64_t t = 0; t < p->T; t++) {
        double *row = u + t * p->f, sum = 0;
        const double top = p->query_top ? p->query_top[t] : linear_largest(row, p->f);
        if (tops) tops[t] = top;
        for (int64_t i = 0; i < p->f; i++) {
            row[i] = linear_is(p, "favor") ? exp(row[i] - half[t] - top) + p->epsilon : linear_plain(p, row[i]);
            sum += row[i];
        }
        for (int64_t i = 0; i < p->f && linear_is(p, "shen"); i++) row[i] /= sum;
    }
}

static inline void linear_key_features(const linear_printed *p, double *u, const double *half, double *tops)
{
    const int64_t T = p->T, f = p->f;
    double top = linear_largest(u, p->causal ? f : T * f);
    double *M = malloc((size_t)T * sizeof *M);
    for (int64_t t = 0; t < T; t++) {
        top = fmax(top, linear_largest(u + t * f, f));
        M[t] = p->key_top ? p->key_top[t] : top;
    }
    if (tops) memcpy(tops, M, (size_t)T * sizeof *M);
    for (int64_t t = 0; t < T; t++)
        for (int64_t i = 0; i < f; i++)
            u[t * f + i] = linear_is(p, "favor") ? exp(u[t * f + i] - half[t]) + p->epsilon * exp(M[t])
                                                 : linear_plain(p, u[t * f + i]);
    for (int64_t i = 0; i < f && linear_is(p, "shen") && !p->causal; i++) {
        double sum = 0;
        for (int64_t t = 0; t < T; t++) sum += u[t * f + i];
        for (int64_t t = 0; t < T; t++) u[t * f + i] /= sum;
    }
    free(M);
}

/* out [T,D], NaN for a query without a denominator; size [T] or NULL: sum_n |phi| |psi| |v| / den, what a rounding is
 * relative to; tops of queries and keys, or NULL. */
static inline void linear_formula(const linear_printed *p, double *out, double *size, const double *q, const double *k,
                                  const double *v, double *query_top, double *key_top)
{
    const int64_t T = p->T, D = p->D, f = p->f;
    double *a = malloc((size_t)(T * f) * sizeof *a), *b = malloc((size_t)(T * f) * sizeof *b);
    double *ar = malloc((size_t)(T * f) * sizeof *a), *br = malloc((size_t)(T * f) * sizeof *b);
    double *half = malloc((size_t)T * sizeof *half);
    linear_project(p, q, a, half);
    linear_query_features(p, a, half, query_top);
    linear_project(p, k, b, half);
    linear_key_features(p, b, half, key_top);
    memcpy(ar, a, (size_t)(T * f) * sizeof *a);
    memcpy(br, b, (size_t)(T * f) * sizeof *b);
    for (int64_t t = 0; t < T && linear_after(p->order); t++) {
        linear_rotate(ar + t * f, f, t, p->base);
        linear_rotate(br + t * f, f, t, p->base);
        for (int64_t i = 0; i < f && p->order == LINEAR_XPOS; i++) {
            ar[t * f + i] *= pow(linear_zeta(i / 2, f), (double)t);
            br[t * f + i] *= pow(linear_zeta(i / 2, f), -(double)t);
        }
    }
    for (int64_t m = 0; m < T; m++) {
        double den = 0;
        if (size) size[m] = 0;
        for (int64_t j = 0; j < D; j++) out[m * D + j] = 0;
        for (int64_t n = 0; n < (p->causal ? m + 1 : T); n++) {
            double w = 0, magnitude = 0;
            for (int64_t i = 0; i < f; i++) {
                den += a[m * f + i] * b[n * f + i];
                w += ar[m * f + i] * br[n * f + i];
                magnitude += fabs(ar[m * f + i] * br[n * f + i]);
            }
            double most = 0;
            for (int64_t j = 0; j < D; j++) {
                out[m * D + j] += w * v[n * D + j];
                most = fmax(most, fabs(v[n * D + j]));
            }
            if (size) size[m] += magnitude * most;
        }
        for (int64_t j = 0; j < D; j++) out[m * D + j] = den == 0 ? NAN : out[m * D + j] / den;
        if (size) size[m] /= den;
    }
    free(a), free(b), free(ar), free(br), free(half);
}

#endif
