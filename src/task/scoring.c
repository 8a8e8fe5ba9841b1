/* scoring.c — from logits and labels to the numbers of scores.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "task/scores.h"
#include "task/scoring.h"

static void add(rf_scores *out, const char *name, double value)
{
    if (out->n >= RF_SCORES) return;
    rf_score *s = &out->score[out->n++];
    snprintf(s->name, sizeof s->name, "%s", name);
    s->value = value;
}

static rf_status no_memory(const rf__items *t, rf_error *why)
{
    return rf_fail(why, RF_ENOMEM, "out of memory: scores of %zu examples", t->n);
}

static int32_t largest(const float *z, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (z[i] > z[best]) best = i;
    return (int32_t)best;
}

/* Space for gold and prediction of `most` labels, in one block. */
static rf_status pairs(const rf__items *t, size_t most, int32_t **gold, int32_t **predicted, rf_error *why)
{
    *gold = rf__calloc(t->ctx, 2 * (most ? most : 1), sizeof **gold);
    *predicted = *gold ? *gold + most : NULL;
    return *gold ? RF_OK : no_memory(t, why);
}

static rf_status score_classes(const rf__answers *a, const rf__items *t, rf_scores *out, rf_error *why)
{
    int32_t *gold, *predicted;
    size_t n = 0;
    const size_t K = (size_t)t->K;
    rf__class_score *c = rf__calloc(t->ctx, K, sizeof *c);
    rf_status status = c ? pairs(t, t->n, &gold, &predicted, why) : no_memory(t, why);
    if (!status) {
        for (size_t i = 0; i < t->n; i++)
            if (t->label[i] >= 0) {
                gold[n] = t->label[i];
                predicted[n++] = largest(a->logit + i * K, t->K);
            }
        rf__class_scores(gold, predicted, n, (int32_t)K, c);
        add(out, "accuracy", rf__accuracy(gold, predicted, n));
        if (K == 2) add(out, "f1", c[1].f1);
        add(out, "f1_macro", rf__f1_macro(c, (int32_t)K));
        add(out, "matthews_correlation", rf__matthews(c, (int32_t)K, n));
        rf__free(t->ctx, gold);
    }
    rf__free(t->ctx, c);
    return status;
}

static void score_choices(const rf__answers *a, const rf__items *t, rf_scores *out)
{
    double right = 0, all = 0;
    for (size_t i = 0; i < t->n; i++) {
        const size_t at = t->first[i];
        if (t->label[i] < 0) continue;
        right += largest(a->logit + at, (int64_t)(t->first[i + 1] - at)) == t->label[i];
        all++;
    }
    add(out, "accuracy", right / all);
}

static rf_status score_numbers(const rf__answers *a, const rf__items *t, rf_scores *out, rf_error *why)
{
    const size_t n = t->n;
    double *x = rf__calloc(t->ctx, 2 * n, sizeof *x), spearman = NAN, square = 0;
    if (!x) return no_memory(t, why);
    for (size_t i = 0; i < n; i++) {
        x[i] = t->target[i];
        x[n + i] = a->logit[i];
        square += (x[i] - x[n + i]) * (x[i] - x[n + i]);
    }
    const rf_status status = rf__spearman(t->ctx, x, x + n, n, &spearman, why);
    if (!status) {
        add(out, "mse", square / (double)n);
        add(out, "pearson", rf__pearson(x, x + n, n));
        add(out, "spearmanr", spearman);
    }
    rf__free(t->ctx, x);
    return status;
}

static rf_status score_labels(const rf__answers *a, const rf__items *t, rf_scores *out, rf_error *why)
{
    const size_t K = (size_t)t->K, all = t->n * K;
    uint8_t *gold = rf__calloc(t->ctx, 2, all);
    size_t same = 0;
    if (!gold) return no_memory(t, why);
    for (size_t i = 0; i < all; i++) {
        gold[i] = t->target[i] > 0.5F;
        gold[all + i] = a->logit[i] > 0;
    }
    for (size_t i = 0; i < t->n; i++) same += !memcmp(gold + i * K, gold + all + i * K, K);
    add(out, "accuracy", (double)same / (double)t->n);
    add(out, "f1_micro", rf__f1_cells(gold, gold + all, t->n, (int32_t)K));
    add(out, "f1_macro", rf__f1_labels(gold, gold + all, t->n, (int32_t)K));
    rf__free(t->ctx, gold);
    return RF_OK;
}

static bool has_entities(const rf__labelled *l)
{
    return l->task == RF_TASK_TAG && rf__tags_are_entities(rf__labelled_names(l), (int64_t)l->n);
}

/* The tags of words, sentence after sentence, from the first pieces; words that were cut off do not count. */
static rf_status score_tags(const rf__answers *a, const rf__items *t, const rf__labelled *l, rf_scores *out,
                            rf_error *why)
{
    const size_t K = (size_t)t->K;
    const char **gold = rf__calloc(t->ctx, 2 * (size_t)t->max_length, sizeof *gold), **predicted;
    rf__entity_count c = {0};
    double right = 0, all = 0;
    if (!gold) return no_memory(t, why);
    predicted = gold + t->max_length;
    for (size_t i = 0; i < t->n; i++) {
        const size_t from = t->start[t->first[i]], to = from + rf__item_size(t, i);
        size_t n = 0;
        for (size_t k = from; k < to; k++) {
            if (t->label[k] < 0) continue;
            const int32_t said = largest(a->logit + k * K, t->K);
            gold[n] = l->name[t->label[k]];
            predicted[n++] = l->name[said];
            right += said == t->label[k];
            all++;
        }
        rf__count_entities(gold, predicted, n, &c);
    }
    rf__free(t->ctx, (void *)gold);
    add(out, "accuracy", right / all);
    if (!has_entities(l)) return RF_OK;
    add(out, "precision", c.predictions ? (double)c.hits / (double)c.predictions : 0);
    add(out, "recall", c.labels ? (double)c.hits / (double)c.labels : 0);
    add(out, "f1", rf__entity_f1(&c));
    return RF_OK;
}

/* Bytes of the context of question q, as a string. */
static char *part(const rf__items *t, size_t q, rf__byte_range s)
{
    char *text = rf__alloc(t->ctx, s.end - s.begin + 1);
    if (!text) return NULL;
    memcpy(text, t->context + t->context_at[q] + s.begin, s.end - s.begin);
    text[s.end - s.begin] = 0;
    return text;
}

/* One right answer (bytes that are none: "") against what was said; an answer of no word is none: *there. */
static rf_status compare(const rf__items *t, size_t q, rf__byte_range gold, const char *said, bool *there,
                         double *exact, double *f1, rf_error *why)
{
    double e = 0, f = 0, empty = 0;
    char *is = part(t, q, gold);
    rf_status status = is ? rf__squad_score(t->ctx, is, "", &empty, &f, why) : no_memory(t, why);
    if (!status) status = rf__squad_score(t->ctx, is, said, &e, &f, why);
    rf__free(t->ctx, is);
    if (status || (empty > 0 && gold.end > gold.begin)) return status;
    *there = true;
    *exact = fmax(*exact, e);
    *f1 = fmax(*f1, f);
    return RF_OK;
}

/* The best of all right answers; without one, "". */
static rf_status score_question(const rf__answers *a, const rf__items *t, size_t q, double *exact, double *f1,
                                rf_error *why)
{
    double score;
    bool there = false;
    char *said = part(t, q, rf__answer_bytes(a, t, q, &score));
    rf_status status = said ? RF_OK : no_memory(t, why);
    *exact = *f1 = 0;
    for (size_t i = t->gold_at[q]; i < t->gold_at[q + 1] && !status; i++)
        status = compare(t, q, (rf__byte_range){t->gold[2 * i], t->gold[2 * i + 1]}, said, &there, exact, f1, why);
    if (!status && !there) status = compare(t, q, (rf__byte_range){0, 0}, said, &there, exact, f1, why);
    rf__free(t->ctx, said);
    return status;
}

static rf_status score_spans(const rf__answers *a, const rf__items *t, rf_scores *out, rf_error *why)
{
    double exact = 0, f1 = 0;
    for (size_t q = 0; q < t->questions; q++) {
        double e, f;
        const rf_status status = score_question(a, t, q, &e, &f, why);
        if (status) return status;
        exact += e;
        f1 += f;
    }
    add(out, "exact_match", exact / (double)t->questions);
    add(out, "f1", f1 / (double)t->questions);
    return RF_OK;
}

static const struct { const char *name; bool error; unsigned tasks; } known[] = {
#define OF(task) (1u << RF_TASK_##task)
#define EVERY (~0u)
#define RFS(name, error, tasks) {#name, error, tasks},
#include "task/scores.def"
#undef RFS
#undef EVERY
#undef OF
};

bool rf__score_is_error(const char *name)
{
    for (size_t i = 0; i < RF_COUNT(known); i++)
        if (!strcmp(known[i].name, name)) return known[i].error;
    return false;
}

/* Some scores need more than the task: F1 of classes two of them, those of entities tags that have their form. */
static bool is_said(const rf__labelled *l, size_t i)
{
    const char *name = known[i].name;
    if (!(known[i].tasks >> l->task & 1)) return false;
    if (l->task == RF_TASK_CLS && l->n != 2 && !strcmp(name, "f1")) return false;
    return l->task != RF_TASK_TAG || has_entities(l) || !strcmp(name, "loss") || !strcmp(name, "accuracy");
}

const char *rf__score_metric(const rf__labelled *l, const rf_finetune_options *o)
{
    if (o->metric) return rf__metric_bare(o->metric);
    return l->task == RF_TASK_TAG && !has_entities(l) ? "accuracy" : l->preset->metric;
}

rf_status rf__score_known(const rf__labelled *l, const char *name, rf_error *why)
{
    char all[200] = "";
    for (size_t i = 0; i < RF_COUNT(known); i++) {
        const size_t n = strlen(all);
        if (!is_said(l, i)) continue;
        if (!strcmp(known[i].name, name)) return RF_OK;
        snprintf(all + n, sizeof all - n, "%s%s", n ? ", " : "", known[i].name);
    }
    return rf_fail(why, RF_EARG, "metric_for_best_model: this task has no \"%.40s\", but %s%s", name, all,
                   l->task == RF_TASK_TAG && !has_entities(l) ? "; its tags name no entities (B-TYPE, I-TYPE, ...)"
                                                              : "");
}

void rf__score_remark(const rf__labelled *l, char *out, size_t size)
{
    size_t numbers = 0, other = 0, first = 0;
    *out = 0;
    if (l->task != RF_TASK_TAG) return;
    for (size_t i = 0; i < l->n; i++) {
        numbers += rf__is_number(l->name[i]);
        if (rf__tag_is_entity(l->name[i]) || !strcmp(l->name[i], "O")) continue;
        if (!other++) first = i;
    }
    if (!has_entities(l))
        snprintf(out, size,
                 "the tags name no entities (B-TYPE, I-TYPE, ...), so there is no precision, recall or f1 of them, and "
                 "accuracy chooses%s",
                 numbers == l->n ? "; --labels O,B-TYPE,... names tags that are numbers, in their order" : "");
    else if (other)
        snprintf(out, size, "%zu tag%s, the first '%.60s', %s not O, B-TYPE, I-TYPE, ...: outside of entities", other,
                 other > 1 ? "s" : "", l->name[first], other > 1 ? "are" : "is");
}

rf_status rf__score_answers(const rf__answers *a, const rf__items *t, const rf__labelled *l, rf_scores *out,
                            rf_error *why)
{
    switch (t->task) {
    case RF_TASK_CLS:        return score_classes(a, t, out, why);
    case RF_TASK_REG:        return score_numbers(a, t, out, why);
    case RF_TASK_MULTILABEL: return score_labels(a, t, out, why);
    case RF_TASK_TAG:        return score_tags(a, t, l, out, why);
    case RF_TASK_QA:         return score_spans(a, t, out, why);
    case RF_TASK_MC:         score_choices(a, t, out); break;
    }
    return RF_OK;
}
