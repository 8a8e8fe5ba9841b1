/* reg.c — a number for a text or a pair.
 *
 *     loss      mean of  (z - t)^2
 *     answer    z                                                                                                    */
#include <math.h>
#include <stdlib.h>

#include "task/metrics.h"
#include "task/task.h"

static rf_status example(rf__example *m, rf__items *out, rf_error *why)
{
    const float number = m->with_labels ? (float)rf__example_number(m, "label") : 0;
    if (m->bad) return RF_OK;
    const rf_status status = rf__items_text(out, m->record->text, m->record->pair, why);
    return status ? status : rf__items_end(out, -1, &number, why);
}

static bool recognize(const rf_config *c)
{
    return !strcmp(c->problem_type, "regression") || (c->num_labels == 1 && !*c->problem_type);
}

static rf_tensor *loss(rf_graph *g, rf_tensor *z, const rf__item_batch *b, const rf__task_objective *o, double weight,
                       double *sum)
{
    (void)o;
    return rf__square_loss(g, z, b->target, weight, sum);
}

static rf_status evaluate(const rf__answers *a, const rf__items *t, const rf__labeled *l, rf_metric_values *out,
                          rf_error *why)
{
    (void)l;
    const size_t n = t->n;
    double *x = rf__calloc(t->ctx, 2 * n, sizeof *x), spearman = NAN, square = 0;
    if (!x) return rf__metrics_no_memory(t, why);
    for (size_t i = 0; i < n; i++) {
        x[i] = t->target[i];
        x[n + i] = a->logit[i];
        square += (x[i] - x[n + i]) * (x[i] - x[n + i]);
    }
    const rf_status status = rf_spearman(t->ctx, x, x + n, n, &spearman, why);
    if (!status) {
        rf__metric_add(out, "mse", square / (double)n);
        rf__metric_add(out, "pearson", rf_pearson(x, x + n, n));
        rf__metric_add(out, "spearmanr", spearman);
    }
    rf__free(t->ctx, x);
    return status;
}

static void probabilities(const float *z, int64_t K, float *p) { memcpy(p, z, (size_t)K * sizeof *p); }

static json_t *predict(const rf__prediction *p, size_t i)
{
    return json_pack("{s:o}", "score", rf__json_real6((double)p->z->logit[i]));
}

static const char *const options[] = {"head", NULL};

const rf__task rf__task_reg = {
    .examples = {
        .name = "reg",
        .text = true,
        .pair = true,
        .label = RF__MEMBER_NUMBER,
        .lines = rf__records_table,
        .kind = RF__LABEL_VECTOR,
        .example = example,
    },
    .head = RF_HEAD_SEQUENCE,
    .problem_type = "regression",
    .options = options,
    .recognize = recognize,
    .loss = loss,
    .metric = "pearson",
    .evaluate = evaluate,
    .probabilities = probabilities,
    .function = "Identity",
    .columns = "score",
    .between = ',',
    .predict = predict,
};
