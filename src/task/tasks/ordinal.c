/* ordinal.c — one of K ordered labels, such as numbers of stars, for a text or a pair.
 *
 *     outputs   K - 1, z_k says "label > k" (Frank & Hall 2001, Niu et al. 2016):  t_k = 1 if y > k, else 0
 *     loss      mean over examples and outputs of  -t log s(z) - (1 - t) log(1 - s(z)),   s the logistic
 *     answer    the label y with as many labels below it as outputs with s(z) > 1/2
 *     its score min(P(label >= y), P(label <= y)): at least 1/2 for the answer, and at most 1/2 for all other labels.
 *               P(label > k) is the k-th largest s(z), since a label above k + 1 is also above k.
 *
 * In transformers the folder has binary outputs; finetuning_task identifies this task, and task_labels has the names of
 * the labels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "task/metrics.h"
#include "task/task.h"

static int64_t outputs(int64_t labels) { return labels - 1; }
static void name_output(const char *label, char *out, size_t size) { snprintf(out, size, "> %s", label); }

static rf_status example(rf__example *m, rf__items *out, rf_error *why)
{
    int32_t label;
    rf__example_label(m, &label);
    for (int32_t k = 0; k < out->K; k++) m->target[k] = label > k;
    if (m->bad) return RF_OK;
    const rf_status status = rf__items_text(out, m->record->text, m->record->pair, why);
    return status ? status : rf__items_end(out, -1, m->target, why);
}

static rf_tensor *loss(rf_graph *g, rf_tensor *z, const rf__item_batch *b, const rf__task_objective *o, double weight,
                       double *sum)
{
    (void)o;
    return rf__binary_loss(g, z, b->target, weight, sum);
}

/* How many of n numbers are above `least`. */
static int32_t above(const float *x, int64_t n, float least)
{
    int32_t count = 0;
    for (int64_t k = 0; k < n; k++) count += x[k] > least;
    return count;
}

static rf_status add_metrics(const rf__items *t, const int32_t gold[], const int32_t predicted[], rf_metric_values *out,
                             rf_error *why)
{
    double *x = rf__calloc(t->ctx, 2 * t->n, sizeof *x), spearman = NAN;
    if (!x) return rf__metrics_no_memory(t, why);
    for (size_t i = 0; i < t->n; i++) x[i] = gold[i], x[t->n + i] = predicted[i];
    const rf_status status = rf_spearman(t->ctx, x, x + t->n, t->n, &spearman, why);
    rf__free(t->ctx, x);
    if (status) return status;
    rf__metric_add(out, "accuracy", rf_accuracy(gold, predicted, t->n));
    rf__metric_add(out, "mae", rf__mean_absolute_error(gold, predicted, t->n));
    rf__metric_add(out, "quadratic_kappa", rf__quadratic_kappa(gold, predicted, t->n));
    rf__metric_add(out, "spearmanr", spearman);
    return RF_OK;
}

static rf_status evaluate(const rf__answers *a, const rf__items *t, const rf__labeled *l, rf_metric_values *out,
                          rf_error *why)
{
    (void)l;
    int32_t *gold, *predicted;
    rf_status status = rf__label_pairs(t, t->n, &gold, &predicted, why);
    if (status) return status;
    for (size_t i = 0; i < t->n; i++) {
        gold[i] = above(t->target + i * (size_t)t->K, t->K, 0.5F);
        predicted[i] = above(a->logit + i * (size_t)t->K, t->K, 0);
    }
    status = add_metrics(t, gold, predicted, out, why);
    rf__free(t->ctx, gold);
    return status;
}

static int descending(const void *a, const void *b)
{
    float x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x < y) - (x > y);
}

/* p [K + 1] contains P(label >= k), which begins with 1 and decreases, and becomes the score of k. */
static void probabilities(const float *z, int64_t K, float *p)
{
    p[0] = 1;
    rf__task_sigmoid(z, K, p + 1);
    qsort(p + 1, (size_t)K, sizeof *p, descending);
    for (int64_t k = 0; k < K; k++) p[k] = fminf(p[k], 1 - p[k + 1]);
}

static json_t *predict(const rf__prediction *p, size_t i)
{
    const float *z = p->z->logit + i * (size_t)p->t->K;
    const int32_t label = above(z, p->t->K, 0);
    probabilities(z, p->t->K, p->probability);
    return rf__predict_label(p, label, (double)p->probability[label]);
}

static const char *const options[] = {"head", NULL};

const rf__task rf__task_ordinal = {
    .examples = {
        .name = "ordinal",
        .text = true,
        .pair = true,
        .label = RF__MEMBER_NAME,
        .lines = rf__records_table,
        .labels = rf__labels_column,
        .least_labels = 2,
        .ordered = true,
        .stratified = true,
        .outputs = outputs,
        .kind = RF__LABEL_VECTOR,
        .example = example,
    },
    .head = RF_HEAD_SEQUENCE,
    .problem_type = "multi_label_classification",
    .options = options,
    .name_output = name_output,
    .loss = loss,
    .metric = "quadratic_kappa",
    .evaluate = evaluate,
    .probabilities = probabilities,
    .columns = "label\tscore",
    .between = ',',
    .predict = predict,
};
