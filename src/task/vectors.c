/* vectors.c — computes the similarity of two texts from their vectors, and compares it with the examples.
 *
 *     cos(x, y) = <x, y> / (|x| |y|)
 *
 *     with scores       Pearson and Spearman correlation of scores and cosines; for scores 0 and 1 also the metrics of
 *                       the best or of a given threshold, and the average precision
 *     without scores    each first text is a query for its second texts among those of all examples: MRR, nDCG, recall.
 *                       Texts with equal tokens are one text, whether query or answer, as in a corpus of distinct texts
 *                       for InformationRetrievalEvaluator of sentence-transformers */
#include "task/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "task/metrics.h"

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
    rf_tensor *both = rf__mul(g, rf__rows(g, u, a, n), rf__rows(g, u, b, n));
    return rf__dots(g, both, rf__constant(g, ones, 1, &C), 1, 1);
}

static bool equal(const rf__item_batch *b, int32_t x, int32_t y)
{
    const int32_t *const start = b->start, size = start[x + 1] - start[x];
    return size == start[y + 1] - start[y] &&
           !memcmp(b->id + start[x], b->id + start[y], (size_t)size * sizeof *b->id);
}

void rf__vectors_spare_equal(rf_tensor *z, const rf__item_batch *b, const rf__vector_pair row[],
                             const rf__vector_pair column[], const int32_t own[])
{
    const int64_t n = z->dim[0], m = z->dim[1];
    for (int64_t i = 0; z->f32 && i < n; i++)
        for (int64_t c = 0; c < m; c++) {
            const rf__vector_pair x = row[i], y = column[c];
            if (c != own[i] && (equal(b, y.text, x.text) || equal(b, y.text, x.partner) ||
                                (y.partner >= 0 && equal(b, y.partner, x.text)))) z->f32[i * m + c] = -1e12F;
        }
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

/* The texts of one kind, sorted so that those with equal tokens are neighbors. */
typedef struct text { const int32_t *id; size_t size, example; } text;

static int by_tokens(const void *a, const void *b)
{
    const text *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    const int order = memcmp(x->id, y->id, x->size * sizeof *x->id);
    return order ? order : (x->example > y->example) - (x->example < y->example);
}

/* first[i]: the first example whose text number `which` has the tokens of that of example i. */
static rf_status find_equal(const rf__items *t, size_t which, size_t first[], rf_error *why)
{
    text *x = rf__calloc(t->ctx, t->n, sizeof *x);
    if (!x) return rf__metrics_no_memory(t, why);
    for (size_t i = 0; i < t->n; i++) {
        const size_t *start = t->start + t->first[i] + which;
        x[i] = (text){t->id + start[0], start[1] - start[0], i};
    }
    qsort(x, t->n, sizeof *x, by_tokens);
    for (size_t i = 0; i < t->n; i++) {
        const bool again = i && x[i].size == x[i - 1].size &&
                           !memcmp(x[i].id, x[i - 1].id, x[i].size * sizeof *x[i].id);
        first[x[i].example] = again ? first[x[i - 1].example] : x[i].example;
    }
    rf__free(t->ctx, x);
    return RF_OK;
}

/* What a search needs: unit vectors, and for each example the first one with an equal first or second text. next[i]:
 * the next example with the first text of i, t->n after the last. */
typedef struct search {
    float *u;
    size_t *query, *answer, *next, *asked;            /* asked: by answers, the last query + 1 that it belongs to     */
    rf__candidate *candidate;
} search;

static void rank_answers(const rf__items *t, const search *s, size_t q, size_t C, rf__ranking *out)
{
    const float *x = s->u + t->first[q] * C;
    size_t n = 0;
    for (size_t i = q; i < t->n; i = s->next[i]) s->asked[s->answer[i]] = q + 1;
    for (size_t j = 0; j < t->n; j++) {
        if (s->answer[j] != j) continue;
        const float *y = s->u + (t->first[j] + 1) * C;
        double cos = 0;
        for (size_t c = 0; c < C; c++) cos += (double)x[c] * (double)y[c];
        s->candidate[n++] = (rf__candidate){cos, s->asked[j] == q + 1};
    }
    (void)rf__rank_candidates(s->candidate, n, out);
}

static void search_all(const rf__answers *a, const rf__items *t, const search *s, rf_metric_values *out)
{
    const size_t C = (size_t)a->K;
    rf__ranking sum = {0};
    double n = 0;
    for (size_t i = 0; i < t->sequences; i++) {
        double square = 0;
        for (size_t c = 0; c < C; c++) square += (double)a->logit[i * C + c] * (double)a->logit[i * C + c];
        for (size_t c = 0; c < C; c++) s->u[i * C + c] = (float)((double)a->logit[i * C + c] / sqrt(square));
    }
    for (size_t i = t->n; i-- > 0;) {                                /* asked[q]: the last one seen, while it is free */
        s->next[i] = s->asked[s->query[i]] ? s->asked[s->query[i]] - 1 : t->n;
        s->asked[s->query[i]] = i + 1;
    }
    memset(s->asked, 0, t->n * sizeof *s->asked);
    for (size_t q = 0; q < t->n; q++) {
        rf__ranking one;
        if (s->query[q] != q) continue;
        rank_answers(t, s, q, C, &one);
        sum.reciprocal += one.reciprocal;
        sum.gain += one.gain;
        sum.recall_at_1 += one.recall_at_1;
        sum.recall_at_10 += one.recall_at_10;
        n++;
    }
    rf__metric_add(out, "recall_at_1", sum.recall_at_1 / n);
    rf__metric_add(out, "recall_at_10", sum.recall_at_10 / n);
    rf__metric_add(out, "mrr_at_10", sum.reciprocal / n);
    rf__metric_add(out, "ndcg_at_10", sum.gain / n);
}

static rf_status evaluate_search(const rf__answers *a, const rf__items *t, rf_metric_values *out, rf_error *why)
{
    size_t *numbers = rf__calloc(t->ctx, t->n, 4 * sizeof *numbers);
    const search s = {.u = rf__calloc(t->ctx, t->sequences, (size_t)a->K * sizeof *s.u), .query = numbers,
                      .answer = numbers ? numbers + t->n : NULL, .next = numbers ? numbers + 2 * t->n : NULL,
                      .asked = numbers ? numbers + 3 * t->n : NULL,
                      .candidate = rf__calloc(t->ctx, t->n, sizeof *s.candidate)};
    rf_status status = s.u && numbers && s.candidate ? RF_OK : rf__metrics_no_memory(t, why);
    if (!status) status = find_equal(t, 0, s.query, why);
    if (!status) status = find_equal(t, 1, s.answer, why);
    if (!status) search_all(a, t, &s, out);
    rf__free(t->ctx, s.candidate);
    rf__free(t->ctx, s.u);
    rf__free(t->ctx, numbers);
    return status;
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
