/* predict.c — writes a fine-tuned model's predictions for the examples of a file as lines of text. */
#include <stdio.h>
#include <stdlib.h>

#include "base/os/os.h"
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

/* {"id": .., ..} if the example has an id; in a table with the column, always. */
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

/* ---- lines: tables have no quotes, so they cannot represent every text ---- */

/* An element of a list as part of a field: null is written as "-". */
static rf__text element(const json_t *list, size_t i)
{
    const json_t *s = json_array_get(list, i);
    return json_is_string(s) ? rf__json_string(s) : (rf__text){"-", 1};
}

/* The character that would end a field or a line, or NULL. */
static const char *ending_character(rf__text t)
{
    static const struct { char c; const char *name; } all[] = {
        {'\t', "a tab"}, {'\n', "a line feed"}, {'\r', "a carriage return"}, {0, "a NUL"}};
    for (size_t i = 0; i < RF_COUNT(all); i++)
        if (t.size && memchr(t.at, all[i].c, t.size)) return all[i].name;
    return NULL;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* What in an element would split it when it is read, or make it another element; or NULL. */
static const char *splitting_character(const rf__prediction *p, const json_t *list, size_t i)
{
    const rf__text t = element(list, i);
    const char between = p->task->between;
    bool dash = false;
    for (int64_t k = 0; k < p->labels->n; k++) dash |= !strcmp(p->labels->name[k], "-");
    if (!json_is_string(json_array_get(list, i)))
        return dash ? "no label, which is written as \"-\", and that is a label of this model" : NULL;
    if (!t.size) return "no characters";
    if (memchr(t.at, between, t.size)) return between == ',' ? "a comma, which separates labels" : "a space";
    return is_blank(t.at[0]) || is_blank(t.at[t.size - 1]) ? "a blank at its end" : NULL;
}

static rf_status cannot_hold(const rf__prediction *p, size_t i, const char *key, rf__text t, const char *what,
                             rf_error *why)
{
    const char *const format = p->format == RF_PREDICTIONS_GLUE ? "glue" : "tsv";
    return rf_fail(why, RF_EDATA,
                   "example %zu: %s '%s': expected text that --format %s can represent, got %s; use --format jsonl",
                   i + 1, key, rf__show(t, 60).text, format, what);
}

/* A value as a field: lists are joined. */
static rf_status write_field(const rf__prediction *p, size_t i, const char *key, const json_t *v, FILE *to,
                             rf_error *why)
{
    const rf__text text = rf__json_string(v);
    const char *what = json_is_string(v) ? ending_character(text) : NULL;
    if (what) return cannot_hold(p, i, key, text, what, why);
    if (json_is_string(v)) fwrite(text.at, 1, text.size, to);
    for (size_t k = 0; k < json_array_size(v); k++) {
        const json_t *number = json_array_get(v, k);
        if (json_is_number(number)) {
            fprintf(to, "%s%.6g", k ? (char[]){p->task->between, 0} : "", json_number_value(number));
            continue;
        }
        const rf__text one = element(v, k);
        if (!(what = ending_character(one))) what = splitting_character(p, v, k);
        if (what) return cannot_hold(p, i, key, one, what, why);
        if (k) putc(p->task->between, to);
        fwrite(one.at, 1, one.size, to);
    }
    if (json_is_array(v) || json_is_string(v)) return RF_OK;
    char *number = rf__json_dump(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    if (!number) return rf_fail(why, RF_ENOMEM, "out of memory: a number");
    fputs(number, to);
    free(number);
    return RF_OK;
}

/* In GLUE's format, a missing id is replaced by the line number, and only the first member of the answer is written. */
static rf_status write_fields(const rf__prediction *p, const json_t *j, size_t i, FILE *to, rf_error *why)
{
    const bool glue = p->format == RF_PREDICTIONS_GLUE;
    const char *key;
    json_t *value;
    bool first = true;
    rf_status status = RF_OK;
    json_object_foreach((json_t *)(uintptr_t)j, key, value) {
        const bool id = !strcmp(key, "id");
        if (glue && first && !id) fprintf(to, "%zu\t", i);
        else if (!first) putc('\t', to);
        first = false;
        status = write_field(p, i, key, value, to, why);
        if (status || (glue && !id)) break;
    }
    return status;
}

static rf_status table_line(const rf__prediction *p, const json_t *j, size_t i, rf_prediction_line *line, void *user,
                            rf_error *why)
{
    rf__os_text made;
    if (!rf__os_text_open(&made)) return rf_fail(why, RF_ENOMEM, "out of memory: a line");
    rf_status status = write_fields(p, j, i, made.to, why);
    if (!rf__os_text_close(&made) && !status) status = rf_fail(why, RF_ENOMEM, "out of memory: a line");
    if (!status) status = line(user, made.text, made.size, why);
    free(made.text);
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

/* "<id>": "<answer>", as a line of one JSON object. */
static rf_status squad_line(const rf__prediction *p, size_t q, rf_prediction_line *line, void *user, rf_error *why)
{
    const rf__text name = rf__items_name(p->t, q);
    const bool last = q + 1 == p->t->questions;
    if (!name.at)
        return rf_fail(why, RF_EDATA, "question %zu: expected an id, which SQuAD's script needs, got none", q + 1);
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

typedef struct named { rf__text name; size_t question; } named;

static int by_name(const void *a, const void *b)
{
    const named *x = a, *y = b;
    const size_t least = x->name.size < y->name.size ? x->name.size : y->name.size;
    const int order = least ? memcmp(x->name.at, y->name.at, least) : 0;
    return order ? order : (x->name.size > y->name.size) - (x->name.size < y->name.size);
}

/* One object can have only one answer for an id. */
static rf_status check_names(const rf__prediction *p, rf_error *why)
{
    const size_t n = p->t->questions;
    named *all = p->format == RF_PREDICTIONS_SQUAD && n ? rf__calloc(p->t->ctx, n, sizeof *all) : NULL;
    rf_status status = RF_OK;
    if (p->format != RF_PREDICTIONS_SQUAD || !n) return RF_OK;
    if (!all) return rf_fail(why, RF_ENOMEM, "out of memory: names of %zu questions", n);
    for (size_t q = 0; q < n; q++) all[q] = (named){rf__items_name(p->t, q), q};
    qsort(all, n, sizeof *all, by_name);
    for (size_t q = 1; q < n && !status; q++)
        if (all[q].name.at && !by_name(&all[q - 1], &all[q]))
            status = rf_fail(why, RF_EDATA, "questions %zu and %zu: expected different ids, got '%s' for both; use "
                             "--format jsonl", all[q - 1].question + 1, all[q].question + 1,
                             rf__show(all[q].name, 60).text);
    rf__free(p->t->ctx, all);
    return status;
}

static rf_status all_lines(const rf__prediction *p, rf_prediction_line *line, void *user, rf_error *why)
{
    rf_status status = check_names(p, why);
    if (!status) status = header(p, line, user, why);
    for (size_t i = 0; i < rf__items_asked(p->t) && !status; i++) status = one_line(p, i, line, user, why);
    return status;
}

rf_status rf_answerer_predict(rf_answerer *a, const rf_finetune_options *o, const char *file,
                              rf_prediction_format format, rf_prediction_line *line, void *user, rf_error *why)
{
    if (!(a && file && line)) return rf__missing("rf_answerer_predict", "answerer, file, line", why);
    rf__labeled l = {.ctx = a->ctx};
    rf__items t = {0};
    rf__answers z = {0};
    if (format == RF_PREDICTIONS_SQUAD && !a->task->answer)
        return rf_fail(why, RF_EARG, "format squad: expected a model for extractive question answering, got another");
    rf_status status = rf__answerer_file(a, o, file, false, &l, &t, &z, why);
    rf__answerer_remark_predictions(a);
    if (!status)
        status = all_lines(&(rf__prediction){a->task, &a->labels, &t, &z, a->probability, format}, line, user, why);
    rf__answers_free(&z);
    rf__items_free(&t);
    rf__labeled_close(&l);
    return status;
}
