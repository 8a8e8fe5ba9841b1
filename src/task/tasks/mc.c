/* mc.c — selects the one of several candidates that fits a text. The model has one output z for each pair (text,
 * candidate).
 *
 *     loss      mean of  -log p[y],   p the softmax over the candidates of an example
 *     answer    the index of the candidate with the largest z, from 0                                                */
#include "task/task.h"

static rf_status example(rf__example *m, rf__items *out, rf_error *why)
{
    const json_t *choices = json_object_get(m->record->json, "choices");
    const json_t *v = rf__record_member(m->record->json, m->l->layout.label);
    const size_t n = json_array_size(choices);
    if (!n) return RF__EXAMPLE_BAD(m, "no list of choices"), RF_OK;
    for (size_t i = 0; i < n; i++)
        if (!json_is_string(json_array_get(choices, i)))
            return RF__EXAMPLE_BAD(m, "choice %zu: expected a string, got %s", i + 1,
                                   rf__json_shown(json_array_get(choices, i)).text), RF_OK;
    json_int_t label;
    if (!m->with_labels || !rf__json_whole(v, &label)) label = -1;
    if (m->with_labels && (label < 0 || label >= (json_int_t)n))
        return RF__EXAMPLE_BAD(m, "label: expected the index of a choice, from 0, got %s",
                               rf__json_shown(v).text), RF_OK;
    rf_status status = RF_OK;
    for (size_t i = 0; i < n && !status; i++)
        status = rf__items_text(out, m->record->text, rf__json_string(json_array_get(choices, i)), why);
    return status ? status : rf__items_end(out, (int32_t)label, NULL, why);
}

static rf_tensor *loss(rf_graph *g, rf_tensor *z, const rf__item_batch *b, const rf__task_objective *o, double weight,
                       double *sum)
{
    (void)o;
    return rf__span_loss(g, z, b->group, (int64_t)b->n, b->label, weight, sum, NULL);
}

/* The choice for example i. */
static int64_t chosen(const rf__answers *a, const rf__items *t, size_t i)
{
    return rf__largest(a->logit + t->first[i], (int64_t)(t->first[i + 1] - t->first[i]));
}

static rf_status evaluate(const rf__answers *a, const rf__items *t, const rf__labeled *l, rf_metric_values *out,
                          rf_error *why)
{
    (void)l, (void)why;
    double right = 0, all = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->label[i] < 0) continue;
        right += chosen(a, t, i) == t->label[i];
        all++;
    }
    rf__metric_add(out, "accuracy", right / all);
    return RF_OK;
}

static json_t *predict(const rf__prediction *p, size_t i)
{
    return json_pack("{s:I}", "label", (json_int_t)chosen(p->z, p->t, i));
}

const rf__task rf__task_mc = {
    .examples = {
        .name = "mc",
        .text = true,
        .label = RF__MEMBER_VALUE,
        .kind = RF__LABEL_CLASS,
        .example = example,
    },
    .head = RF_HEAD_CHOICE,
    .problem_type = "",
    .recognize = rf__task_any,
    .loss = loss,
    .metric = "accuracy",
    .evaluate = evaluate,
    .columns = "label",
    .between = ',',
    .predict = predict,
};
