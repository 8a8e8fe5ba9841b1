/* multilabel.c — any number of labels for a text or a pair; each is predicted independently.
 *
 *     loss      mean over examples and labels of  -t log s(z) - (1 - t) log(1 - s(z)),   s the logistic function
 *     answer    the labels with z > 0 */
#include <math.h>
#include <stdio.h>

#include "task/metrics.h"
#include "task/task.h"

/* Whether a list has one number, 0.0 or 1.0, for each label, as transformers expects with this problem_type. */
static bool is_multi_hot(const json_t *list)
{
    size_t i, ones = 0;
    const json_t *v;
    json_array_foreach(list, i, v) ones += json_is_real(v) && (json_real_value(v) == 0 || json_real_value(v) == 1);
    return i > 0 && ones == i;
}

/* Labels that are not known yet are called by their numbers. */
static rf_status multi_hot(const rf__labeled *l, const json_t *list, rf__label_fn *one, void *user, rf_error *why)
{
    const size_t n = json_array_size(list);
    rf_status status = RF_OK;
    for (size_t i = 0; i < n && (!l->fixed || i < l->n) && !status; i++) {
        char number[32];
        const char *name = l->fixed ? l->name[i] : number;
        snprintf(number, sizeof number, "%zu", i);
        if (!l->fixed || json_real_value(json_array_get(list, i)) > 0)
            status = one(user, rf__trim((rf__text){name, strlen(name)}), why);
    }
    return status;
}

/* "a, b", or in JSON a list. */
static rf_status labels(const rf__labeled *l, const rf__file_record *r, rf__label_fn *one, void *user, rf_error *why)
{
    const json_t *list = rf__record_member(r->json, l->layout.label);
    rf_status status = RF_OK;
    if (is_multi_hot(list)) return multi_hot(l, list, one, user, why);
    if (json_is_array(list)) return rf__labels_list(l, list, one, user, why);
    for (const char *at = r->label.at, *end = at ? at + r->label.size : at; at && at < end && !status;) {
        const char *stop = memchr(at, ',', (size_t)(end - at));
        if (!stop) stop = end;
        const rf__text name = rf__trim((rf__text){at, (size_t)(stop - at)});
        if (name.size) status = one(user, name, why);
        at = stop + 1;
    }
    return status;
}

/* Whether so far all lists are integers 0 and 1, and how many each has. */
static void note_hot(rf__labeled *l, const json_t *list, size_t n)
{
    size_t i;
    const json_t *v;
    bool hot = n > 1 && (!l->hot || l->hot == (int64_t)n);
    json_array_foreach(list, i, v) hot = hot && json_is_integer(v) && (json_integer_value(v) | 1) == 1;
    l->hot = hot ? (int64_t)n : -1;
}

/* A list of 0.0 and 1.0 has one number for each label. One of integers names labels, each at most once: 0 and 1 for
 * every label would name the first two of them. */
static void check_list(rf__example *m, int64_t K)
{
    const json_t *list = rf__record_member(m->record->json, m->l->layout.label);
    const size_t n = json_array_size(list);
    int64_t different = 0;
    for (int64_t i = 0; i < K; i++) different += m->target[i] > 0;
    if (is_multi_hot(list) && n != (size_t)K)
        RF__EXAMPLE_BAD(m, "label: expected a list of %lld numbers, one for each label, got %zu", (long long)K, n);
    note_hot(m->l, list, n);
    if (json_is_integer(json_array_get(list, 0)) && different < (int64_t)m->n)
        RF__EXAMPLE_BAD(m, "label: expected each label once, got one twice; numbers for all labels are 0.0 and 1.0");
}

static rf_status example(rf__example *m, rf__items *out, rf_error *why)
{
    memset(m->target, 0, (size_t)out->K * sizeof *m->target);
    for (size_t i = 0; i < m->n; i++) m->target[m->id[i]] = 1;
    if (m->with_labels && !m->bad) check_list(m, out->K);
    if (m->bad) return RF_OK;
    const rf_status status = rf__items_text(out, m->record->text, m->record->pair, why);
    return status ? status : rf__items_end(out, -1, m->target, why);
}

static bool recognize(const rf_config *c) { return !strcmp(c->problem_type, "multi_label_classification"); }

static rf_tensor *loss(rf_graph *g, rf_tensor *z, const rf__item_batch *b, const rf__task_objective *o, double weight,
                       double *sum)
{
    (void)o;
    return rf__binary_loss(g, z, b->target, weight, sum);
}

static rf_status evaluate(const rf__answers *a, const rf__items *t, const rf__labeled *l, rf_metric_values *out,
                          rf_error *why)
{
    (void)l;
    const size_t K = (size_t)t->K, all = t->n * K;
    uint8_t *gold = rf__calloc(t->ctx, 2, all);
    size_t same = 0;
    if (!gold) return rf__metrics_no_memory(t, why);
    for (size_t i = 0; i < all; i++) {
        gold[i] = t->target[i] > 0.5F;
        gold[all + i] = a->logit[i] > 0;
    }
    for (size_t i = 0; i < t->n; i++) same += !memcmp(gold + i * K, gold + all + i * K, K);
    rf__metric_add(out, "accuracy", (double)same / (double)t->n);
    rf__metric_add(out, "f1_micro", rf__f1_cells(gold, gold + all, t->n, (int32_t)K));
    rf__metric_add(out, "f1_macro", rf__f1_labels(gold, gold + all, t->n, (int32_t)K));
    rf__free(t->ctx, gold);
    return RF_OK;
}

static json_t *predict(const rf__prediction *p, size_t i)
{
    const size_t K = (size_t)p->t->K;
    json_t *list = json_array();
    for (size_t k = 0; k < K; k++)
        if (p->z->logit[i * K + k] > 0) rf__json_add(&list, json_string(p->labels->name[k]));
    return json_pack("{s:o}", "labels", list);
}

static const char *const options[] = {"head", NULL};

const rf__task rf__task_multilabel = {
    .examples = {
        .name = "multilabel",
        .text = true,
        .pair = true,
        .label = RF__MEMBER_NAMES,
        .lines = rf__records_table,
        .labels = labels,
        .least_labels = 1,
        .kind = RF__LABEL_VECTOR,
        .example = example,
    },
    .head = RF_HEAD_SEQUENCE,
    .problem_type = "multi_label_classification",
    .options = options,
    .recognize = recognize,
    .loss = loss,
    .metric = "f1_micro",
    .evaluate = evaluate,
    .probabilities = rf__task_sigmoid,
    .function = "Sigmoid",
    .columns = "labels",
    .between = ',',
    .predict = predict,
};
