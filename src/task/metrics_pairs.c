/* metrics_pairs.c — compares the scores that a model computes for pairs of texts with the labels of the pairs.
 *
 *     pairs   Pearson and Spearman correlation of scores and labels; for labels 0 and 1 also the metrics of the best or
 *             of a given threshold, and the average precision
 *     lists   means over the queries that have a candidate with a label y above 0; candidates are sorted by score:
 *             map          mean precision at the candidates with y > 0
 *             mrr_at_10    1 / rank of the first one, 0 if it is after the 10th
 *             ndcg_at_10   sum over the first 10 ranks r of y_(r) / log2(1 + r), over the largest possible value
 *             recall_at_k  fraction of the candidates with y > 0 that are among the first k
 *
 * The given order of candidates with equal scores is of no effect. map takes the precision after all of them, as
 * scikit-learn; the others are means over all orders of them, which for ndcg is scikit-learn's value. */
#include <math.h>
#include <stdlib.h>

#include "task/metrics.h"
#include "task/task.h"

enum { CUT = 10 };

typedef struct ranked { double value; bool right; } ranked;

static int by_value(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

/* sum over thresholds k of (R_k - R_{k-1}) P_k, equal values together, as in scikit-learn; NAN: all labels are
 * equal. */
static double average_precision(ranked *all, size_t n)
{
    double sum = 0;
    size_t right = 0, found = 0;
    qsort(all, n, sizeof *all, by_value);
    for (size_t i = 0; i < n; i++) right += all[i].right;
    for (size_t i = 0, end; i < n; i = end) {
        const size_t before = found;
        for (end = i; end < n && all[end].value >= all[i].value; end++) found += all[end].right;
        sum += (double)(found - before) * (double)found / (double)end;
    }
    return right && right < n ? sum / (double)right : NAN;
}

/* Predictions at a threshold: `said` positive, `right` of them correct, of n pairs with `alike` positive ones. */
typedef struct decision { size_t said, right, n, alike; } decision;

static double accuracy(decision d) { return (double)(d.n - d.alike - d.said + 2 * d.right) / (double)d.n; }
static double f1(decision d) { return d.right ? 2 * (double)d.right / (double)(d.said + d.alike) : 0; }

typedef struct threshold { double value; decision says; } threshold;

/* The threshold between two groups of equal values at which `metric` is largest; of several, the highest. `best` has
 * the value to exceed. */
static threshold best_threshold(const ranked *all, size_t n, threshold best, double (*metric)(decision))
{
    decision d = {.n = n, .alike = best.says.alike};
    for (size_t i = 0; i < n; i++) {
        d.said++, d.right += all[i].right;
        if (i + 1 < n && all[i + 1].value >= all[i].value) continue;
        const double below = i + 1 < n ? all[i + 1].value : all[i].value, middle = (all[i].value + below) / 2;
        if (metric(d) > metric(best.says)) best = (threshold){middle > below ? middle : all[i].value, d};
    }
    return best;
}

static threshold given_threshold(const ranked *all, size_t n, double value, decision none)
{
    threshold t = {value, none};
    for (size_t i = 0; i < n && all[i].value >= value; i++) t.says.said++, t.says.right += all[i].right;
    return t;
}

/* For labels 0 and 1: how well the value separates them, and at which threshold best. */
static rf_status evaluate_classes(const rf_ctx *ctx, const double label[], const double value[], size_t n, double at,
                                  rf_metric_values *out, rf_error *why)
{
    ranked *all = rf__calloc(ctx, n, sizeof *all);
    decision none = {.n = n};
    if (!all) return rf_fail(why, RF_ENOMEM, "out of memory: scores of %zu examples", n);
    for (size_t i = 0; i < n; i++) {
        all[i] = (ranked){value[i], label[i] > 0};
        none.alike += all[i].right;
    }
    const double precision = average_precision(all, n);              /* sorts them */
    const bool given = at <= 1;
    threshold x, y;
    if (given) x = y = given_threshold(all, n, at, none);
    else {
        x = best_threshold(all, n, (threshold){nextafterf((float)all[0].value, INFINITY), none}, accuracy);
        y = best_threshold(all, n, (threshold){0, none}, f1);
    }
    rf__metric_add(out, "average_precision", precision);
    rf__metric_add(out, "accuracy", accuracy(x.says));
    if (!given) rf__metric_add(out, "accuracy_threshold", x.value);
    rf__metric_add(out, "precision", y.says.said ? (double)y.says.right / (double)y.says.said : 0);
    rf__metric_add(out, "recall", none.alike ? (double)y.says.right / (double)none.alike : 0);
    rf__metric_add(out, "f1", f1(y.says));
    if (!given) rf__metric_add(out, "f1_threshold", y.value);
    rf__free(ctx, all);
    return RF_OK;
}

rf_status rf__pair_metrics(const rf_ctx *ctx, const double label[], const double value[], size_t n, double at,
                           rf_metric_values *out, rf_error *why)
{
    double spearman = NAN;
    const rf_status status = rf_spearman(ctx, label, value, n, &spearman, why);
    if (status) return status;
    rf__metric_add(out, "pearson", rf_pearson(label, value, n));
    rf__metric_add(out, "spearmanr", spearman);
    for (size_t i = 0; i < n; i++)
        if (label[i] != 0 && label[i] != 1) return RF_OK;
    return evaluate_classes(ctx, label, value, n, at, out, why);
}

/* ---- lists ---- */

static int by_candidate(const void *a, const void *b)
{
    const rf__candidate *x = a, *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

/* Candidates by descending value; equal ones have the mean of their labels. */
static double discounted_gain(const rf__candidate c[], size_t n)
{
    double sum = 0;
    for (size_t i = 0, end; i < n && i < CUT; i = end) {
        double labels = 0, discounts = 0;
        for (end = i; end < n && c[end].value >= c[i].value; end++) {
            labels += fmax(c[end].label, 0);
            if (end < CUT) discounts += 1 / log2((double)end + 2);
        }
        sum += labels / (double)(end - i) * discounts;
    }
    return sum;
}

/* The mean of 1 / rank of the first relevant one, over all orders of n equal candidates, of which `right` are relevant
 * and `before` others have higher scores; ranks beyond CUT count 0. */
static double mean_reciprocal(size_t before, size_t n, size_t right)
{
    double sum = 0, chance = (double)right / (double)n;               /* that the first relevant one is at place i    */
    for (size_t i = 0; i <= n - right && before + i < CUT; i++) {
        sum += chance / (double)(before + i + 1);
        if (i < n - right) chance *= (double)(n - right - i) / (double)(n - 1 - i);
    }
    return sum;
}

static double mean_within(size_t before, size_t n, size_t right, size_t cut)
{
    return before < cut ? (double)right * fmin(1, (double)(cut - before) / (double)n) : 0;
}

bool rf__rank_candidates(rf__candidate c[], size_t n, rf__ranking *out)
{
    size_t relevant = 0;
    *out = (rf__ranking){0};
    qsort(c, n, sizeof *c, by_candidate);
    for (size_t i = 0, end; i < n; i = end) {
        size_t right = 0;
        for (end = i; end < n && c[end].value >= c[i].value; end++) right += c[end].label > 0;
        if (!right) continue;
        if (!relevant) out->reciprocal = mean_reciprocal(i, end - i, right);
        relevant += right;
        out->precision += (double)right * (double)relevant / (double)end;
        out->recall_at_1 += mean_within(i, end - i, right, 1);
        out->recall_at_10 += mean_within(i, end - i, right, CUT);
    }
    if (!relevant) return false;
    out->precision /= (double)relevant;
    out->recall_at_1 /= (double)relevant;
    out->recall_at_10 /= (double)relevant;
    const double found = discounted_gain(c, n);
    for (size_t i = 0; i < n; i++) c[i].value = c[i].label;
    qsort(c, n, sizeof *c, by_candidate);
    out->gain = found / discounted_gain(c, n);
    return true;
}

rf_status rf__list_metrics(const rf_ctx *ctx, const size_t first[], size_t n, const float label[], const double value[],
                           rf_metric_values *out, rf_error *why)
{
    double precision = 0, reciprocal = 0, gain = 0, queries = 0;
    rf__candidate *c = rf__calloc(ctx, first[n] + 1, sizeof *c);
    if (!c) return rf_fail(why, RF_ENOMEM, "out of memory: scores of %zu candidates", first[n]);
    for (size_t q = 0; q < n; q++) {
        const size_t at = first[q], size = first[q + 1] - at;
        rf__ranking ranking;
        for (size_t i = 0; i < size; i++) c[i] = (rf__candidate){value[at + i], label[at + i]};
        if (!rf__rank_candidates(c, size, &ranking)) continue;            /* no candidate is relevant */
        precision += ranking.precision;
        reciprocal += ranking.reciprocal;
        gain += ranking.gain;
        queries++;
    }
    rf__free(ctx, c);
    rf__metric_add(out, "map", queries > 0 ? precision / queries : NAN);
    rf__metric_add(out, "mrr_at_10", queries > 0 ? reciprocal / queries : NAN);
    rf__metric_add(out, "ndcg_at_10", queries > 0 ? gain / queries : NAN);
    return RF_OK;
}
