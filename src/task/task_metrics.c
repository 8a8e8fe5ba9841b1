/* task_metrics.c — the metrics of each task, and code that its hooks share; metrics.h computes them. */
#include <math.h>
#include <stdio.h>

#include "task/task_metrics.h"

void rf__metric_add(rf_metric_values *out, const char *name, double value)
{
    if (out->n >= RF_METRIC_VALUES) return;
    rf_metric_value *s = &out->metric[out->n++];
    snprintf(s->name, sizeof s->name, "%s", name);
    s->value = value;
}

rf_status rf__metrics_no_memory(const rf__items *t, rf_error *why)
{
    return rf_fail(why, RF_ENOMEM, "out of memory: scores of %zu examples", t->n);
}

rf_status rf__label_pairs(const rf__items *t, size_t most, int32_t **gold, int32_t **predicted, rf_error *why)
{
    *gold = rf__calloc(t->ctx, 2 * (most ? most : 1), sizeof **gold);
    *predicted = *gold ? *gold + most : NULL;
    return *gold ? RF_OK : rf__metrics_no_memory(t, why);
}

/* ---- functions of outputs ---- */

static double identity(double z) { return z; }
static double sigmoid(double z) { return 1 / (1 + exp(-z)); }

static const struct { const char *name; double (*of)(double z); } functions[] = {
    {"Sigmoid", sigmoid}, {"Identity", identity}, {"Tanh", tanh},
};

rf_status rf__score_function(const char *name, double (**out)(double z), rf_error *why)
{
    for (size_t i = 0; i < RF_COUNT(functions); i++)
        if (!strcmp(name, functions[i].name)) return *out = functions[i].of, RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "activation_fn: expected torch's Sigmoid, Identity or Tanh, got %s", name);
}

/* ---- names ---- */

typedef struct metric_name { char text[40]; } metric_name;

/* The next name of a list such as "accuracy, f1"; false: there are no more. */
static bool next(const char **at, metric_name *out)
{
    *at += strspn(*at, ", ");
    const size_t n = strcspn(*at, ",");
    snprintf(out->text, sizeof out->text, "%.*s", (int)n, *at);
    *at += n;
    return n > 0;
}

/* Some metrics have requirements: F1 of classes needs two of them, that of entities needs tags of that form. */
static bool has(const rf__task *task, const rf__labeled *l, const char *name)
{
    return !task->has_metric || task->has_metric(l, name);
}

bool rf__metric_is_error(const char *name)
{
    static const struct { const char *name; bool error; } metrics[] = {
#define RFM(name, error) {#name, error},
#include "roformer/inspect/metrics.def"
#undef RFM
    };
    for (size_t i = 0; i < RF_COUNT(metrics); i++)
        if (!strcmp(metrics[i].name, name)) return metrics[i].error;
    return false;
}

const char *rf__metric_chosen(const rf__task *task, const rf__labeled *l, const rf_finetune_options *o)
{
    const char *usual = l->preset.metric;
    if (o->metric) return rf__metric_bare(o->metric);
    if (has(task, l, usual) || strcmp(usual, task->metric)) return usual;
    return task->other_metric ? task->other_metric : "accuracy";
}

rf_status rf__metric_known(const rf__task *task, const rf__labeled *l, const char *name, rf_error *why)
{
    char all[200] = "loss";
    metric_name m;
    if (!strcmp(name, "loss")) return RF_OK;
    for (const char *at = rf__task_metrics(task); next(&at, &m);) {
        if (!has(task, l, m.text)) continue;
        if (!strcmp(m.text, name)) return RF_OK;
        rf__list_add(all, sizeof all, m.text);
    }
    const char *because = task->no_metric ? task->no_metric(l) : NULL;
    return rf_fail(why, RF_EARG, "metric_for_best_model: expected one of %s, got \"%.40s\"%s%s", all, name,
                   because ? "; " : "", because ? because : "");
}

void rf__metric_remark(const rf__task *task, const rf__labeled *l, char *out, size_t size)
{
    *out = 0;
    if (task->remark) task->remark(l, out, size);
}
