/* resample.c — confidence intervals and significance tests by resampling segments.
 *
 *     bootstrap        n segments drawn with replacement; of k sorted scores, the k/40-th from each end bound 95 %
 *     paired           the same draws for both systems: p = (1 + #{|d_i| - mean |d| > |d|}) / (k + 1)
 *     randomization    each segment is swapped or not:  p = (1 + #{|d_i| > |d|}) / (k + 1)
 *
 * Draws are made in the order of sacreBLEU, so that the same seed gives the same numbers. */
#include <math.h>
#include <stdlib.h>

#include "pcg64.h"
#include "score.h"

enum { BLOCK = 16 };                                      /* number of samples that are drawn before they are summed  */

/* Samples of one system or two. */
typedef struct samples {
    const rf_mt_result *a, *b;          /* b: or NULL                                                                 */
    bool swap;                          /* draw: which segments of a are swapped with b; otherwise the drawn segments */
    uint32_t *draw;                     /* [BLOCK, n]                                                                 */
    double *x, *y;                      /* [samples]: scores of a and b                                               */
    int64_t begin;
} samples;

static double metric_of(const rf_mt_result *r, const int64_t *sum, bool single)
{
    rf_mt_score s;
    r->row->score(&r->o, r->references, sum, single, &s);
    return s.score;
}

static void add(const rf_mt_result *r, int64_t i, int64_t *sum)
{
    const int32_t *count = r->count + i * r->counts;
    for (int k = 0; k < r->counts; k++) sum[k] += count[k];
}

static void one_sample(void *arg, int64_t i, int worker)
{
    (void)worker;
    const samples *s = arg;
    const uint32_t *draw = s->draw + i * s->a->n;
    int64_t x[RF_MT_COUNTS] = {0}, y[RF_MT_COUNTS] = {0};
    for (int64_t k = 0; k < s->a->n; k++) {
        if (s->swap) {
            add(s->a, k, draw[k] ? x : y);
            add(s->b, k, draw[k] ? y : x);
        } else {
            add(s->a, draw[k], x);
            if (s->b) add(s->b, draw[k], y);
        }
    }
    s->x[s->begin + i] = metric_of(s->a, x, !s->swap);
    if (s->b) s->y[s->begin + i] = metric_of(s->b, y, !s->swap);
}

static void take(samples *s, int64_t n, uint64_t seed)
{
    rf__pcg64 r;
    rf__pcg64_init(&r, seed);
    for (s->begin = 0; s->begin < n; s->begin += BLOCK) {
        const int64_t m = rf__min64(BLOCK, n - s->begin), all = m * s->a->n;
        for (int64_t i = 0; i < all; i++)
            s->draw[i] = s->swap ? rf__pcg64_flip(&r) : rf__pcg64_below(&r, (uint32_t)s->a->n);
        rf__parallel(s->a->ctx, m, one_sample, s);
    }
}

/* ---- what is made of them ---------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

/* Sorts x. */
static rf_mt_interval interval_of(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return (rf_mt_interval){mean_of(x, n), 0.5 * (x[n - 1 - n / 40] - x[n / 40])};
}

static double p_of(const double *x, const double *y, int64_t n, double real, bool centered)
{
    int64_t above = 0;
    double mean = 0;
    for (int64_t i = 0; i < n && centered; i++) mean += fabs(y[i] - x[i]) / (double)n;
    for (int64_t i = 0; i < n; i++) above += fabs(y[i] - x[i]) - mean > real;
    return (double)(above + 1) / (double)(n + 1);
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static rf_status begin(samples *s, int64_t n, rf_error *why)
{
    if (n < 1 || n > 10000000)
        return rf_fail(why, RF_EARG, "samples: expected 1 to 10000000, got %lld", (long long)n);
    const rf_ctx *ctx = s->a->ctx;
    size_t bytes;
    if (rf__checked_mul(BLOCK * sizeof *s->draw, (size_t)s->a->n, &bytes)) s->draw = rf__alloc(ctx, bytes);
    s->x = rf__alloc(ctx, (size_t)n * sizeof *s->x);
    s->y = rf__alloc(ctx, (size_t)n * sizeof *s->y);
    if (s->draw && s->x && s->y) return RF_OK;
    return rf_fail(why, RF_ENOMEM, "out of memory for %lld samples of %lld segments", (long long)n, (long long)s->a->n);
}

static void end(samples *s)
{
    rf__free(s->a->ctx, s->draw);
    rf__free(s->a->ctx, s->x);
    rf__free(s->a->ctx, s->y);
}

rf_status rf_mt_bootstrap(const rf_mt_result *r, int64_t n, uint64_t seed, rf_mt_interval *out, rf_error *why)
{
    if (!(r && out)) return rf__missing("rf_mt_bootstrap", "result, out", why);
    samples s = {.a = r};
    const rf_status status = begin(&s, n, why);
    if (!status) {
        take(&s, n, seed);
        *out = interval_of(s.x, n);
    }
    end(&s);
    return status;
}

rf_status rf_mt_compare(const rf_mt_result *baseline, const rf_mt_result *system, rf_mt_test test, int64_t n,
                        uint64_t seed, double *p, rf_mt_interval *interval, rf_error *why)
{
    if (!(baseline && system && p)) return rf__missing("rf_mt_compare", "baseline, system, p", why);
    if (baseline->row != system->row || baseline->n != system->n || baseline->references != system->references ||
        baseline->counts != system->counts)
        return rf_fail(why, RF_EARG,
                       "compare: expected the same options and segments, got %s of %lld segments and %s of %lld",
                       baseline->name, (long long)baseline->n, system->name, (long long)system->n);
    samples s = {.a = baseline, .b = system, .swap = test == RF_MT_RANDOMIZATION};
    const rf_status status = begin(&s, n, why);
    if (!status) {
        rf_mt_score x, y;
        rf_mt_corpus(baseline, &x);
        rf_mt_corpus(system, &y);
        take(&s, n, seed);
        *p = p_of(s.x, s.y, n, fabs(x.score - y.score), !s.swap);
        if (interval) *interval = s.swap ? (rf_mt_interval){-1, -1} : interval_of(s.y, n);
    }
    end(&s);
    return status;
}
