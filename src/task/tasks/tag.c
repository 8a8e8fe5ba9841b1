/* tag.c — a label for each word.
 *
 *     loss      mean of  c[y] (-log p[y])  over the first pieces of words,   p = softmax z,  c the class weights
 *     metrics   of all words; one that the model does not see counts as predicted O
 *     answer    for each word the label of the largest z of its first piece; none for a word that the model does not
 *               see, because normalization removes it or the sentence was truncated before it */
#include <stdio.h>

#include "task/metrics.h"
#include "task/task.h"

static rf_status labels(const rf__labeled *l, const rf__file_record *r, rf__label_fn *one, void *user, rf_error *why)
{
    static const char *const members[] = {"tags", "ner_tags", "labels"};
    for (size_t i = 0; i < RF_COUNT(members); i++) {
        const json_t *list = json_object_get(r->json, members[i]);
        if (list) return rf__labels_list(l, list, one, user, why);
    }
    return RF_OK;
}

static rf_status add_words(rf__example *m, const json_t *words, rf__items *out, rf__text word[], rf_error *why)
{
    const size_t n = json_array_size(words);
    for (; m->n < n; m->n++) m->id[m->n] = -1;
    for (size_t i = 0; i < n && !m->bad; i++) {
        const json_t *w = json_array_get(words, i);
        word[i] = rf__json_string(w);
        if (!json_is_string(w)) RF__EXAMPLE_BAD(m, "token %zu is not a string", i + 1);
    }
    rf_status status = m->bad ? RF_OK : rf__items_add_tagged_words(out, word, m->id, n, why);
    if (!status && !m->bad) status = rf__items_end(out, -1, NULL, why);
    return status;
}

static rf_status example(rf__example *m, rf__items *out, rf_error *why)
{
    const json_t *words = json_object_get(m->record->json, "tokens");
    const size_t n = json_array_size(words);
    if (!n) return RF__EXAMPLE_BAD(m, "tokens is not a list of words"), RF_OK;
    if (m->with_labels && m->n != n && !m->bad) return RF__EXAMPLE_BAD(m, "%zu tokens, but %zu tags", n, m->n), RF_OK;
    rf__text *word = rf__calloc(m->l->ctx, n, sizeof *word);
    const bool fine = word && rf__grow(m->l->ctx, &m->id, &m->capacity, n, sizeof *m->id);
    const rf_status status =
        fine ? add_words(m, words, out, word, why) : rf_fail(why, RF_ENOMEM, "out of memory: %zu words", n);
    rf__free(m->l->ctx, word);
    return status;
}

/* ---- metrics ---- */

static bool has_entities(const rf__labeled *l) { return rf__tags_are_entities(rf__labeled_names(l), (int64_t)l->n); }
static bool has_metric(const rf__labeled *l, const char *name) { return !strcmp(name, "accuracy") || has_entities(l); }

static const char *no_metric(const rf__labeled *l)
{
    return has_entities(l) ? NULL : "its tags name no entities (B-TYPE, I-TYPE, ...)";
}

static void remark(const rf__labeled *l, char *out, size_t size)
{
    size_t numbers = 0, other = 0, first = 0;
    *out = 0;
    for (size_t i = 0; i < l->n; i++) {
        numbers += rf__is_number(l->name[i]);
        if (rf__tag_is_entity(l->name[i]) || !strcmp(l->name[i], "O")) continue;
        if (!other++) first = i;
    }
    if (!has_entities(l))
        snprintf(out, size,
                 "the tags name no entities (B-TYPE, I-TYPE, ...), so precision, recall and f1 are not computed, and "
                 "accuracy selects the best model%s",
                 numbers == l->n ? "; --labels O,B-TYPE,... names numbered tags in their order" : "");
    else if (other)
        snprintf(out, size,
                 "%zu tag%s, the first '%.60s', %s not O, B-TYPE, I-TYPE, ... and counted as outside of entities",
                 other, other > 1 ? "s" : "", l->name[first], other > 1 ? "are" : "is");
}

typedef struct counts { double right, all; rf__entity_count entities; } counts;

/* Counts the words of example i that have a known tag; `word` is the first of them in t->tag. */
static void count(const rf__answers *a, const rf__items *t, const rf__labeled *l, size_t i, size_t word,
                  const char **gold, const char **predicted, counts *to)
{
    size_t token = t->start[t->first[i]], n = 0;
    const size_t end = token + rf__item_size(t, i);
    for (uint32_t w = 0; w < t->words[i]; w++) {
        const char *said = "O";
        while (token < end && (t->from[token] == UINT32_MAX || t->from[token] < w)) token++;
        if (token < end && t->from[token] == w)
            said = l->name[rf__largest(a->logit + token * (size_t)t->K, t->K)];
        if (t->tag[word + w] < 0) continue;
        gold[n] = l->name[t->tag[word + w]];
        predicted[n] = said;
        to->right += !strcmp(said, gold[n++]);
        to->all++;
    }
    rf__count_entities(gold, predicted, n, &to->entities);
}

static rf_status evaluate(const rf__answers *a, const rf__items *t, const rf__labeled *l, rf_metric_values *out,
                          rf_error *why)
{
    size_t most = 1;
    for (size_t i = 0; i < t->n; i++) most = t->words[i] > most ? t->words[i] : most;
    const char **gold = rf__calloc(t->ctx, most, 2 * sizeof *gold);
    counts c = {0};
    if (!gold) return rf__metrics_no_memory(t, why);
    for (size_t i = 0, word = 0; i < t->n; word += t->words[i++]) count(a, t, l, i, word, gold, gold + most, &c);
    rf__free(t->ctx, (void *)gold);
    rf__metric_add(out, "accuracy", c.right / c.all);
    if (!has_entities(l)) return RF_OK;
    const rf__entity_count *e = &c.entities;
    rf__metric_add(out, "precision", e->predictions ? (double)e->hits / (double)e->predictions : 0);
    rf__metric_add(out, "recall", e->labels ? (double)e->hits / (double)e->labels : 0);
    rf__metric_add(out, "f1", rf__entity_f1(e));
    return RF_OK;
}

/* One tag for each word, in order; null for a word that the model does not see. */
static json_t *predict(const rf__prediction *p, size_t i)
{
    const rf__items *t = p->t;
    json_t *list = json_array();
    uint32_t word = 0;
    for (size_t k = t->start[t->first[i]]; k < t->start[t->first[i + 1]]; k++) {
        if (t->from[k] == UINT32_MAX) continue;
        for (; word < t->from[k]; word++) rf__json_add(&list, json_null());
        rf__json_add(&list, json_string(p->labels->name[rf__largest(p->z->logit + k * (size_t)t->K, t->K)]));
        word++;
    }
    for (; word < t->words[i]; word++) rf__json_add(&list, json_null());
    return json_pack("{s:o}", "tags", list);
}

static const char *const options[] = {"class_weights", "label_smoothing_factor", "r_drop", NULL};

const rf__task rf__task_tag = {
    .examples = {
        .name = "tag",
        .lines = rf__records_conll,
        .labels = labels,
        .least_labels = 2,
        .kind = RF__LABEL_TOKENS,
        .example = example,
    },
    .head = RF_HEAD_TOKEN,
    .problem_type = "",
    .options = options,
    .recognize = rf__task_any,
    .loss = rf__task_row_loss,
    .metric = "f1",
    .evaluate = evaluate,
    .has_metric = has_metric,
    .no_metric = no_metric,
    .remark = remark,
    .columns = "tags",
    .between = ' ',
    .predict = predict,
};
