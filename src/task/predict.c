/* predict.c — what a fine-tuned model says about every example of a file, as lines of text. */
#include <stdio.h>
#include <stdlib.h>

#include "task/answerer.h"

json_t *rf__json_real6(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", x);
    return json_real(strtod(text, NULL));
}

json_t *rf__predict_label(const rf__prediction *p, int64_t k, double x)
{
    return json_pack("{s:s, s:o}", "label", p->labels->name[k], "score", rf__json_real6(x));
}

/* {"id": .., ..}, when the example says what it is called; in a table that has the column, always. */
static json_t *prediction(const rf__prediction *p, size_t i)
{
    const rf__text name = rf__items_name(p->t, i);
    json_t *said = p->task->predict(p, i), *all;
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

/* An element of a list as part of a field: null is "-". */
static rf__text element(const json_t *list, size_t i)
{
    const json_t *s = json_array_get(list, i);
    return json_is_string(s) ? rf__json_string(s) : (rf__text){"-", 1};
}

/* A value as a field: lists joined, tabs and line ends as spaces. */
static char *field(const json_t *v, char between)
{
    size_t n = 1;
    for (size_t i = 0; i < json_array_size(v); i++) n += element(v, i).size + 1;
    if (json_is_string(v)) n += json_string_length(v);
    if (!json_is_array(v) && !json_is_string(v)) return rf__json_dump(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    char *out = malloc(n), *to = out;
    for (size_t i = 0; out && i < json_array_size(v); i++) {
        const rf__text s = element(v, i);
        if (i) *to++ = between;
        memcpy(to, s.at, s.size);
        to += s.size;
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

static rf_status table_line(const rf__prediction *p, const json_t *j, size_t i, rf_prediction_line *line, void *user,
                            rf_error *why)
{
    const char *key;
    json_t *value;
    char *text = NULL;
    const bool glue = p->format == RF_PREDICTIONS_GLUE;
    json_object_foreach((json_t *)(uintptr_t)j, key, value) {
        char *one = field(value, p->task->between);
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

static rf_status header(const rf__prediction *p, rf_prediction_line *line, void *user, rf_error *why)
{
    char text[64];
    if (p->format == RF_PREDICTIONS_JSONL) return RF_OK;
    if (p->format == RF_PREDICTIONS_SQUAD) return text_line("{", line, user, why);
    if (p->format == RF_PREDICTIONS_GLUE) return text_line("index\tprediction", line, user, why);
    snprintf(text, sizeof text, "%s%s", p->t->name_at ? "id\t" : "", p->task->columns);
    return text_line(text, line, user, why);
}

/* "<id>": "<answer>", as a line of one object. */
static rf_status squad_line(const rf__prediction *p, size_t q, rf_prediction_line *line, void *user, rf_error *why)
{
    const rf__text name = rf__items_name(p->t, q);
    const bool last = q + 1 == p->t->questions;
    if (!name.at)
        return rf_fail(why, RF_EDATA, "question %zu has no id, by which SQuAD's script finds its answer", q + 1);
    const rf__text said = p->task->answer(p, q);
    json_t *j = json_pack("[s%, s%]", name.at, name.size, said.at, said.size);
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

static rf_status one_line(const rf__prediction *p, size_t i, rf_prediction_line *line, void *user, rf_error *why)
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

static rf_status all_lines(const rf__prediction *p, rf_prediction_line *line, void *user, rf_error *why)
{
    rf_status status = header(p, line, user, why);
    for (size_t i = 0; i < rf__items_asked(p->t) && !status; i++) status = one_line(p, i, line, user, why);
    return status;
}

rf_status rf_answerer_predict(rf_answerer *a, const rf_finetune_options *o, const char *file,
                              rf_prediction_format format, rf_prediction_line *line, void *user, rf_error *why)
{
    if (!(a && file && line)) return rf__missing("rf_answerer_predict", "answerer, file, line", why);
    rf__labelled l = {.ctx = a->ctx};
    rf__items t = {0};
    rf__answers z = {0};
    if (format == RF_PREDICTIONS_SQUAD && !a->task->answer)
        return rf_fail(why, RF_EARG, "format squad: is for answers to questions, and this model does something else");
    rf_status status = rf__answerer_file(a, o, file, false, &l, &t, &z, why);
    if (!status)
        status = all_lines(&(rf__prediction){a->task, &a->labels, &t, &z, a->probability, format}, line, user, why);
    rf__answers_free(&z);
    rf__items_free(&t);
    rf__labelled_close(&l);
    return status;
}
