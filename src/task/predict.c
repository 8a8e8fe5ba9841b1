/* predict.c — what a fine-tuned model says about every example of a file, as lines of text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>


#include "task/answerer.h"

typedef struct predicting {
    const rf_answerer *a;
    const rf__items *t;
    const rf__answers *z;
    rf_prediction_format format;
} predicting;

static int64_t largest(const float *z, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (z[i] > z[best]) best = i;
    return best;
}

/* 6 digits: more are not the same on every machine. */
static json_t *real(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", x);
    return json_real(strtod(text, NULL));
}

static json_t *text_label(const predicting *p, size_t i)
{
    const int64_t K = p->t->K;
    const float *z = p->z->logit + i * (size_t)K;
    rf__probabilities(p->a->task, z, K, p->a->probability);
    const int64_t best = largest(z, K);
    return json_pack("{s:s, s:o}", "label", p->a->labels.name[best], "score", real((double)p->a->probability[best]));
}

static json_t *many_labels(const predicting *p, size_t i)
{
    json_t *list = json_array();
    for (int64_t k = 0; k < p->t->K; k++)
        if (p->z->logit[i * (size_t)p->t->K + (size_t)k] > 0) rf__json_add(&list, json_string(p->a->labels.name[k]));
    return json_pack("{s:o}", "labels", list);
}

/* A tag for every word; the words that were cut off have none. */
static json_t *tags(const predicting *p, size_t i)
{
    const rf__items *t = p->t;
    json_t *list = json_array();
    for (size_t k = t->start[t->first[i]]; k < t->start[t->first[i + 1]]; k++)
        if (t->from[k] != UINT32_MAX)
            rf__json_add(&list, json_string(p->a->labels.name[largest(p->z->logit + k * (size_t)t->K, t->K)]));
    return json_pack("{s:o}", "tags", list);
}

static json_t *answer(const predicting *p, size_t q)
{
    const rf__items *t = p->t;
    double score;
    const rf__byte_range s = rf__answer_bytes(p->z, t, q, &score);
    return json_pack("{s:s%, s:o}", "answer", t->context + t->context_at[q] + s.begin, s.end - s.begin, "score",
                     real(isfinite(score) ? score : 0));
}

static json_t *choice(const predicting *p, size_t i)
{
    const size_t at = p->t->first[i];
    return json_pack("{s:I}", "label", (json_int_t)largest(p->z->logit + at, (int64_t)(p->t->first[i + 1] - at)));
}

static json_t *said_of(const predicting *p, size_t i)
{
    switch (p->a->task) {
    case RF_TASK_CLS:        return text_label(p, i);
    case RF_TASK_REG:        return json_pack("{s:o}", "score", real((double)p->z->logit[i]));
    case RF_TASK_MULTILABEL: return many_labels(p, i);
    case RF_TASK_TAG:        return tags(p, i);
    case RF_TASK_QA:         return answer(p, i);
    case RF_TASK_MC:         return choice(p, i);
    }
    return NULL;
}

/* {"id": .., ..}, when the example says what it is called; in a table that has the column, always. */
static json_t *prediction(const predicting *p, size_t i)
{
    const rf__text name = rf__items_name(p->t, i);
    json_t *said = said_of(p, i), *all;
    if (!said || (!name.at && !(p->t->name_at && p->format == RF_PREDICTIONS_TSV))) return said;
    char number[32] = "";
    if (p->t->numbers) snprintf(number, sizeof number, "%.*s", (int)name.size, name.at);
    all = json_pack("{s:o}", "id",
                    p->t->numbers ? json_integer(strtoll(number, NULL, 10))
                                  : json_stringn(name.at ? name.at : "", name.size));
    if (all && json_object_update(all, said)) {
        json_decref(all);
        all = NULL;
    }
    json_decref(said);
    return all;
}

/* ---- lines ---- */

/* A value as a field: lists joined, tabs and line ends as spaces. */
static char *field(const json_t *v, char between)
{
    size_t n = 1;
    for (size_t i = 0; i < json_array_size(v); i++) n += json_string_length(json_array_get(v, i)) + 1;
    if (json_is_string(v)) n += json_string_length(v);
    if (!json_is_array(v) && !json_is_string(v)) return rf__json_dump(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    char *out = malloc(n), *to = out;
    for (size_t i = 0; out && i < json_array_size(v); i++) {
        const json_t *s = json_array_get(v, i);
        if (i) *to++ = between;
        memcpy(to, json_string_value(s), json_string_length(s));
        to += json_string_length(s);
    }
    if (out && json_is_string(v)) {
        memcpy(out, json_string_value(v), json_string_length(v));
        to += json_string_length(v);
    }
    if (out) *to = 0;
    for (char *c = out; c && *c; c++)
        if (*c == '\t' || *c == '\n' || *c == '\r') *c = ' ';
    return out;
}

static rf_status table_line(const predicting *p, const json_t *j, size_t i, rf_prediction_line *line, void *user,
                            rf_error *why)
{
    const char *key;
    json_t *value;
    char *text = NULL;
    const bool glue = p->format == RF_PREDICTIONS_GLUE;
    json_object_foreach((json_t *)(uintptr_t)j, key, value) {
        char *one = field(value, p->a->task == RF_TASK_TAG ? ' ' : ',');
        const size_t n = (text ? strlen(text) : 0) + (one ? strlen(one) : 0) + 40;
        char *all = one ? malloc(n) : NULL;
        if (all && text) snprintf(all, n, "%s\t%s", text, one);
        else if (all && glue && strcmp(key, "id")) snprintf(all, n, "%zu\t%s", i, one);
        else if (all) snprintf(all, n, "%s", one);
        free(text);
        free(one);
        text = all;
        if (!text) break;
        if (glue && strcmp(key, "id")) break;                                /* the prediction alone */
    }
    const rf_status status =
        text ? line(user, text, strlen(text), why) : rf_fail(why, RF_ENOMEM, "out of memory: a line");
    free(text);
    return status;
}

static rf_status text_line(const char *text, rf_prediction_line *line, void *user, rf_error *why)
{
    return line(user, text, strlen(text), why);
}

static rf_status header(const predicting *p, rf_prediction_line *line, void *user, rf_error *why)
{
    static const char *const names[] = {"label\tscore", "score", "labels", "tags", "answer\tscore", "label"};
    char text[64];
    if (p->format == RF_PREDICTIONS_JSONL) return RF_OK;
    if (p->format == RF_PREDICTIONS_SQUAD) return text_line("{", line, user, why);
    if (p->format == RF_PREDICTIONS_GLUE) return text_line("index\tprediction", line, user, why);
    snprintf(text, sizeof text, "%s%s", p->t->name_at ? "id\t" : "", names[p->a->task]);
    return text_line(text, line, user, why);
}

/* "<id>": "<answer>", as a line of one object. */
static rf_status squad_line(const predicting *p, size_t q, rf_prediction_line *line, void *user, rf_error *why)
{
    const rf__text name = rf__items_name(p->t, q);
    const bool last = q + 1 == p->t->questions;
    double score;
    if (!name.at)
        return rf_fail(why, RF_EDATA, "question %zu has no id, by which SQuAD's script finds its answer", q + 1);
    const rf__byte_range s = rf__answer_bytes(p->z, p->t, q, &score);
    json_t *j =
        json_pack("[s%, s%]", name.at, name.size, p->t->context + p->t->context_at[q] + s.begin, s.end - s.begin);
    char *key = rf__json_dump(json_array_get(j, 0), JSON_ENCODE_ANY);
    char *answer = rf__json_dump(json_array_get(j, 1), JSON_ENCODE_ANY);
    const size_t size = (key ? strlen(key) : 0) + (answer ? strlen(answer) : 0) + 8;
    char *text = key && answer ? malloc(size) : NULL;
    if (text) snprintf(text, size, "%s: %s%s", key, answer, last ? "" : ",");
    const rf_status status =
        text ? text_line(text, line, user, why) : rf_fail(why, RF_ENOMEM, "out of memory: a prediction");
    free(text);
    free(answer);
    free(key);
    json_decref(j);
    return status ? status : last ? text_line("}", line, user, why) : RF_OK;
}

static rf_status one_line(const predicting *p, size_t i, rf_prediction_line *line, void *user, rf_error *why)
{
    if (p->format == RF_PREDICTIONS_SQUAD) return squad_line(p, i, line, user, why);
    json_t *j = prediction(p, i);
    char *text = j && p->format == RF_PREDICTIONS_JSONL ? rf__json_dump(j, JSON_REAL_PRECISION(6)) : NULL;
    rf_status status;
    if (!j) status = rf_fail(why, RF_ENOMEM, "out of memory: a prediction");
    else if (p->format != RF_PREDICTIONS_JSONL) status = table_line(p, j, i, line, user, why);
    else status = text ? text_line(text, line, user, why) : rf_fail(why, RF_ENOMEM, "out of memory: a prediction");
    free(text);
    json_decref(j);
    return status;
}

static rf_status all_lines(const predicting *p, rf_prediction_line *line, void *user, rf_error *why)
{
    rf_status status = header(p, line, user, why);
    for (size_t i = 0; i < rf__items_asked(p->t) && !status; i++) status = one_line(p, i, line, user, why);
    return status;
}

rf_status rf_answerer_predict(rf_answerer *a, const rf_finetune_options *o, const char *file,
                              rf_prediction_format format, rf_prediction_line *line, void *user, rf_error *why)
{
    rf__labelled l = {.ctx = a->ctx};
    rf__items t = {0};
    rf__answers z = {0};
    if (format == RF_PREDICTIONS_SQUAD && a->task != RF_TASK_QA)
        return rf_fail(why, RF_EARG, "format squad: is for answers to questions, and this model does something else");
    rf_status status = rf__answerer_file(a, o, file, false, &l, &t, &z, why);
    if (!status) status = all_lines(&(predicting){a, &t, &z, format}, line, user, why);
    rf__answers_free(&z);
    rf__items_free(&t);
    rf__labelled_close(&l);
    return status;
}
