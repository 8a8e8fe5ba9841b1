/* vectors.c — computes the similarity of two texts from their vectors, and compares it with the examples.
 *
 *     cos(x, y) = <x, y> / (|x| |y|)
 *
 *     with scores       Pearson and Spearman correlation of scores and cosines; for scores 0 and 1 also the metrics of
 *                       the best or of a given threshold, and the average precision
 *     without scores    each text is a query for its second text among the second texts of all examples: MRR, nDCG,
 *                       recall */
#include "task/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "task/metrics.h"

enum { CUT = 10 };

/* ---- examples ---- */

float rf__vectors_score_of(rf__example *m)
{
    const rf__text t = m->record->label;
    const double most = m->l->o->score_max;
    if (!m->with_labels || !t.at) return NAN;
    const double x = rf__example_number(m, "score");
    if (fabs(x) > most)
        return RF__EXAMPLE_BAD(m, "score: expected %g to %g, got %s; score_max sets the limit", -most, most,
                               rf__show(t, 60).text), 0;
    return (float)(x / most);
}

void rf__vectors_agree(rf__example *m, const rf__items *out, float score)
{
    const bool scored = !isnan(score);
    if (m->bad) return;
    if (out->n && m->with_labels && scored == !!isnan(out->target[0])) {
        RF__EXAMPLE_BAD(m, scored ? "expected no score, as in the first example, got one"
                                  : "expected a score, as in the first example, got none");
        return;
    }
    m->l->scored = scored;
    m->l->graded |= scored && score != 0 && score != 1;
}

rf_status rf__vectors_teacher_row(rf__example *m, rf__items *out, int32_t *row, rf_error *why)
{
    const rf__teacher *t = out->teacher;
    *row = -1;
    if (!t) return RF_OK;
    float *y = rf__calloc(out->ctx, (size_t)t->C, sizeof *y);
    if (!y) return rf_fail(why, RF_ENOMEM, "out of memory: a vector of %lld numbers", (long long)t->C);
    *row = (int32_t)((m->record - m->r->record) * out->format->taught);
    for (int64_t i = 0; i < out->format->taught && !m->bad; i++) {
        const int64_t strange = rf__teacher_row(t, *row + i, y);
        double square = 0;
        for (int64_t c = 0; c < t->C; c++) square += (double)y[c] * (double)y[c];
        if (strange)
            RF__EXAMPLE_BAD(m, "teacher: number %lld of the vector: expected a finite one, got NaN or infinity",
                            (long long)strange);
        else if (!(square > 0)) RF__EXAMPLE_BAD(m, "teacher: expected a vector of length above 0, got zeros");
        out->hash = rf__hash64(y, (size_t)t->C * sizeof *y, out->hash);
    }
    rf__free(out->ctx, y);
    return RF_OK;
}

/* ---- losses ---- */

rf_tensor *rf__vectors_cosines(rf_graph *g, rf_tensor *u, const int32_t a[], const int32_t b[], int64_t n)
{
    const int64_t C = u->dim[1];
    float *ones = rf__push(g, (size_t)C, sizeof *ones);
    for (int64_t c = 0; ones && c < C; c++) ones[c] = 1;
    rf_tensor *both = rf_mul(g, rf_rows(g, u, a, n), rf_rows(g, u, b, n));
    return rf_dots(g, both, rf_constant(g, ones, 1, &C), 1, 1);
}

/* ---- metrics ---- */

static double cosine(const float *a, const float *b, int64_t C)
{
    double ab = 0, aa = 0, bb = 0;
    for (int64_t c = 0; c < C; c++) {
        ab += (double)a[c] * (double)b[c];
        aa += (double)a[c] * (double)a[c];
        bb += (double)b[c] * (double)b[c];
    }
    return ab / sqrt(aa * bb);
}

static double pair_cosine(const rf__answers *a, const rf__items *t, size_t i)
{
    const float *z = a->logit + t->first[i] * (size_t)a->K;
    return cosine(z, z + a->K, a->K);
}

static rf_status evaluate_pairs(const rf__answers *a, const rf__items *t, const rf__labeled *l, rf_metric_values *out,
                                rf_error *why)
{
    double *x = rf__calloc(t->ctx, 2 * t->n, sizeof *x);
    if (!x) return rf__metrics_no_memory(t, why);
    for (size_t i = 0; i < t->n; i++) {
        x[i] = t->target[i];
        x[t->n + i] = pair_cosine(a, t, i);
    }
    const rf_status status =
        rf__pair_metrics(t->ctx, x, x + t->n, t->n, l ? l->o->similarity_threshold : 2, out, why);
    rf__free(t->ctx, x);
    return status;
}

/* How many second texts are more similar to text i than its own; of equal ones, those before it. */
static size_t rank_of(const rf__items *t, size_t i, const float *u, int64_t C)
{
    const float *q = u + t->first[i] * (size_t)C;
    double own = 0;
    size_t nearer = 0;
    for (int64_t c = 0; c < C; c++) own += (double)q[c] * (double)q[C + c];
    for (size_t j = 0; j < t->n; j++) {
        const float *p = u + (t->first[j] + 1) * (size_t)C;
        double cos = 0;
        for (int64_t c = 0; c < C; c++) cos += (double)q[c] * (double)p[c];
        nearer += j != i && (cos > own || (cos >= own && j < i));
    }
    return nearer;
}

/* Each text is a query for its second text among those of all examples. */
static rf_status evaluate_search(const rf__answers *a, const rf__items *t, rf_metric_values *out, rf_error *why)
{
    double first = 0, ten = 0, reciprocal = 0, gain = 0;
    const double n = (double)t->n;
    const size_t C = (size_t)a->K;
    float *u = rf__calloc(t->ctx, t->sequences * C, sizeof *u);
    if (!u) return rf__metrics_no_memory(t, why);
    for (size_t s = 0; s < t->sequences; s++) {
        double square = 0;
        for (size_t c = 0; c < C; c++) square += (double)a->logit[s * C + c] * (double)a->logit[s * C + c];
        for (size_t c = 0; c < C; c++) u[s * C + c] = (float)((double)a->logit[s * C + c] / sqrt(square));
    }
    for (size_t i = 0; i < t->n; i++) {
        const size_t rank = rank_of(t, i, u, a->K);
        first += rank == 0;
        if (rank >= CUT) continue;
        ten++;
        reciprocal += 1 / (double)(rank + 1);
        gain += 1 / log2((double)rank + 2);
    }
    rf__free(t->ctx, u);
    rf__metric_add(out, "recall_at_1", first / n);
    rf__metric_add(out, "recall_at_10", ten / n);
    rf__metric_add(out, "mrr_at_10", reciprocal / n);
    rf__metric_add(out, "ndcg_at_10", gain / n);
    return RF_OK;
}

bool rf__vectors_has_metric(const rf__labeled *l, const char *name)
{
    static const char *const of_classes[] = {"average_precision", "accuracy", "precision", "recall", "f1"};
    for (size_t i = 0; i < RF_COUNT(of_classes); i++)
        if (!strcmp(name, of_classes[i])) return l->scored && !l->graded;
    if (strstr(name, "_threshold")) return false;
    return l->scored == (!strcmp(name, "pearson") || !strcmp(name, "spearmanr"));
}

const char *rf__vectors_no_metric(const rf__labeled *l)
{
    return l->scored ? "the examples have scores, with which cosines are compared" : "the examples have no scores";
}

void rf__vectors_remark(const rf__labeled *l, char *out, size_t size)
{
    if (l->o->similarity_threshold > 1 || (l->scored && !l->graded)) return;
    snprintf(out, size, "similarity_threshold has no effect: the examples %s",
             l->scored ? "have scores other than 0 and 1" : "have no scores");
}

rf_status rf__vectors_evaluate(const rf__answers *a, const rf__items *t, const rf__labeled *l, rf_metric_values *out,
                               rf_error *why)
{
    for (size_t i = 0; i < t->n; i++)
        if (isnan(pair_cosine(a, t, i)))
            return rf_fail(why, RF_ENUMERIC, "example %zu: vector is zero; cosine similarity is undefined",
                           i + 1);
    return isnan(t->target[0]) ? evaluate_search(a, t, out, why) : evaluate_pairs(a, t, l, out, why);
}

/* ---- answers ---- */

json_t *rf__vectors_predict(const rf__prediction *p, size_t i)
{
    return json_pack("{s:o}", "score", rf__json_real6(pair_cosine(p->z, p->t, i)));
}
