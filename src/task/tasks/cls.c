/* cls.c — one of several labels for a text or a pair.
 *
 *     loss      mean of  c[y] (-log p[y]),   p = softmax z,  c the class weights
 *     answer    the label of the largest z, with its p                                                               */
#include <math.h>

#include "task/metrics.h"
#include "task/task.h"

static rf_status example(rf__example *m, rf__items *out, rf_error *why)
{
    int32_t label;
    rf__example_label(m, &label);
    if (m->bad) return RF_OK;
    const rf_status status = rf__items_text(out, m->record->text, m->record->pair, why);
    return status ? status : rf__items_end(out, label, NULL, why);
}

/* The rule of transformers: a single output without a problem_type is a number. */
static bool recognize(const rf_config *c)
{
    return strcmp(c->problem_type, "regression") && strcmp(c->problem_type, "multi_label_classification") &&
           (c->num_labels > 1 || *c->problem_type);
}

static bool has_metric(const rf__labeled *l, const char *name) { return l->n == 2 || strcmp(name, "f1"); }

static void add_metrics(const int32_t gold[], const int32_t predicted[], size_t n, int32_t K,
                        const rf_class_metrics c[], rf_metric_values *out)
{
    rf__metric_add(out, "accuracy", rf_accuracy(gold, predicted, n));
    if (K == 2) rf__metric_add(out, "f1", c[1].f1);
    rf__metric_add(out, "f1_macro", rf__f1_macro(c, K));
    rf__metric_add(out, "matthews_correlation", rf_matthews(c, K, n));
}

static rf_status evaluate(const rf__answers *a, const rf__items *t, const rf__labeled *l, rf_metric_values *out,
                          rf_error *why)
{
    (void)l;
    int32_t *gold, *predicted;
    size_t n = 0;
    const size_t K = (size_t)t->K;
    rf_class_metrics *c = rf__calloc(t->ctx, K, sizeof *c);
    const rf_status status = c ? rf__label_pairs(t, t->n, &gold, &predicted, why) : rf__metrics_no_memory(t, why);
    if (!status) {
        for (size_t i = 0; i < t->n; i++)
            if (t->label[i] >= 0) {
                gold[n] = t->label[i];
                predicted[n++] = (int32_t)rf__largest(a->logit + i * K, t->K);
            }
        rf_metrics_by_class(gold, predicted, n, (int32_t)K, c);
        add_metrics(gold, predicted, n, (int32_t)K, c, out);
        rf__free(t->ctx, gold);
    }
    rf__free(t->ctx, c);
    return status;
}

static void probabilities(const float *z, int64_t K, float *p)
{
    double sum = 0, top = z[0];
    for (int64_t k = 1; k < K; k++) top = fmax(top, z[k]);
    for (int64_t k = 0; k < K; k++) sum += exp(z[k] - top);
    for (int64_t k = 0; k < K; k++) p[k] = (float)(exp(z[k] - top) / sum);
}

static json_t *predict(const rf__prediction *p, size_t i)
{
    const float *z = p->z->logit + i * (size_t)p->t->K;
    const int64_t best = rf__largest(z, p->t->K);
    probabilities(z, p->t->K, p->probability);
    return rf__predict_label(p, best, (double)p->probability[best]);
}

static const char *const options[] = {"class_weights", "label_smoothing_factor", "head", "r_drop", NULL};

const rf__task rf__task_cls = {
    .examples = {
        .name = "cls",
        .text = true,
        .pair = true,
        .label = RF__MEMBER_NAME,
        .lines = rf__records_table,
        .labels = rf__labels_column,
        .least_labels = 2,
        .stratified = true,
        .kind = RF__LABEL_CLASS,
        .example = example,
    },
    .head = RF_HEAD_SEQUENCE,
    .problem_type = "single_label_classification",
    .options = options,
    .recognize = recognize,
    .loss = rf__task_row_loss,
    .metric = "accuracy",
    .evaluate = evaluate,
    .has_metric = has_metric,
    .probabilities = probabilities,
    .function = "Softmax",
    .columns = "label\tscore",
    .between = ',',
    .predict = predict,
};
