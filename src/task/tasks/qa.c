/* qa.c — the part of a context that answers a question, or no answer.
 *
 *     loss      mean of  (-log p_first[y_0] - log p_last[y_1]) / 2,   p over the tokens of a window
 *     answer    the best span of all windows of a context (answers.c) */
#include <math.h>

#include "task/metrics.h"
#include "task/task.h"

static int64_t outputs(int64_t labels)
{
    (void)labels;
    return 2;
}

/* answer_start counts characters. */
static size_t bytes_of(rf__text t, json_int_t characters)
{
    size_t at = 0;
    for (; at < t.size && characters > 0; characters--)
        do at++;
        while (at < t.size && ((unsigned char)t.at[at] & 0xC0) == 0x80);
    return at;
}

/* Answer i of {"text": [..], "answer_start": [..]} (as in Hugging Face's data sets) or of [{"text": .., "answer_start":
 * ..}] (as in SQuAD's files); text NULL: there are no more. */
static void answer_of(const json_t *answers, size_t i, const json_t **text, const json_t **start)
{
    const json_t *one = json_array_get(answers, i);
    const bool list = json_is_array(answers);
    *text = list ? json_object_get(one, "text") : json_array_get(json_object_get(answers, "text"), i);
    *start = list ? json_object_get(one, "answer_start") : json_array_get(json_object_get(answers, "answer_start"), i);
}

/* Finds the bytes of answer i; false: it is malformed. */
static bool locate_answer(rf__example *m, rf__text context, const json_t *text, const json_t *start,
                          rf__byte_range *out)
{
    const rf__text a = rf__json_string(text);
    json_int_t at;
    if (!json_is_string(text) || !rf__json_whole(start, &at) || !a.size)
        return RF__EXAMPLE_BAD(m, "answer: expected text and answer_start, got one without"), false;
    out->begin = at < 0 ? context.size : bytes_of(context, at);
    out->end = out->begin + a.size;
    if (out->end <= context.size && !memcmp(context.at + out->begin, a.at, a.size)) return true;
    return RF__EXAMPLE_BAD(m, "answer: expected '%s' in the context at answer_start, got other text",
                           rf__show(a, 40).text),
           false;
}

/* Finds all correct answers, [*n]. */
static rf_status find_answers(rf__example *m, rf__text context, const json_t *answers, rf__byte_range **out, size_t *n,
                              rf_error *why)
{
    const json_t *text, *start;
    size_t capacity = 0;
    for (*n = 0;; (*n)++) {
        answer_of(answers, *n, &text, &start);
        if (!text) return RF_OK;
        if (!rf__grow(m->l->ctx, out, &capacity, *n + 1, sizeof **out))
            return rf_fail(why, RF_ENOMEM, "out of memory: answers");
        if (!locate_answer(m, context, text, start, &(*out)[*n])) return RF_OK;
    }
}

static rf_status example(rf__example *m, rf__items *out, rf_error *why)
{
    const json_t *j = m->record->json, *question = json_object_get(j, "question"),
                 *context = json_object_get(j, "context");
    const json_t *answers = json_object_get(j, "answers");
    rf__byte_range *answer = NULL;
    size_t n = 0;
    rf_status status = RF_OK;
    if (!json_is_string(question) || !json_is_string(context))
        return RF__EXAMPLE_BAD(m, "expected a question and a context, got one or none of them"), RF_OK;
    if (m->with_labels && !json_is_object(answers) && !json_is_array(answers))
        return RF__EXAMPLE_BAD(m, "no answers"), RF_OK;
    if (m->with_labels) status = find_answers(m, rf__json_string(context), answers, &answer, &n, why);
    if (!status && !m->bad)
        status = rf__items_question(out, rf__json_string(question), rf__json_string(context), answer, n, why);
    rf__free(m->l->ctx, answer);
    return status;
}

static rf_tensor *loss(rf_graph *g, rf_tensor *z, const rf__item_batch *b, const rf__task_objective *o, double weight,
                       double *sum)
{
    (void)o;
    return rf__span_loss(g, z, b->start, b->B, b->label, weight, sum, NULL);
}

/* ---- metrics ---- */

/* The bytes of the context of question q, as a string. */
static char *part(const rf__items *t, size_t q, rf__byte_range s)
{
    char *text = rf__alloc(t->ctx, s.end - s.begin + 1);
    if (!text) return NULL;
    memcpy(text, t->context + t->context_at[q] + s.begin, s.end - s.begin);
    text[s.end - s.begin] = 0;
    return text;
}

typedef struct best { bool there; double exact, f1; } best;

/* Compares one correct answer (an empty range: "") with the prediction; an answer without words counts as none. */
static rf_status compare(const rf__items *t, size_t q, rf__byte_range gold, const char *said, best *to, rf_error *why)
{
    double e = 0, f = 0, empty = 0;
    char *is = part(t, q, gold);
    rf_status status = is ? rf__squad_metrics(t->ctx, is, "", &empty, &f, why) : rf__metrics_no_memory(t, why);
    if (!status) status = rf__squad_metrics(t->ctx, is, said, &e, &f, why);
    rf__free(t->ctx, is);
    if (status || (empty > 0 && gold.end > gold.begin)) return status;
    *to = (best){true, fmax(to->exact, e), fmax(to->f1, f)};
    return RF_OK;
}

/* The best of all correct answers; without one, that of "". */
static rf_status evaluate_question(const rf__answers *a, const rf__items *t, size_t q, best *to, rf_error *why)
{
    double score;
    char *said = part(t, q, rf__answer_bytes(a, t, q, &score));
    rf_status status = said ? RF_OK : rf__metrics_no_memory(t, why);
    *to = (best){0};
    for (size_t i = t->gold_at[q]; i < t->gold_at[q + 1] && !status; i++)
        status = compare(t, q, (rf__byte_range){t->gold[2 * i], t->gold[2 * i + 1]}, said, to, why);
    if (!status && !to->there) status = compare(t, q, (rf__byte_range){0, 0}, said, to, why);
    rf__free(t->ctx, said);
    return status;
}

static rf_status evaluate(const rf__answers *a, const rf__items *t, const rf__labeled *l, rf_metric_values *out,
                          rf_error *why)
{
    (void)l;
    double exact = 0, f1 = 0;
    for (size_t q = 0; q < t->questions; q++) {
        best one;
        const rf_status status = evaluate_question(a, t, q, &one, why);
        if (status) return status;
        exact += one.exact;
        f1 += one.f1;
    }
    rf__metric_add(out, "exact_match", exact / (double)t->questions);
    rf__metric_add(out, "f1", f1 / (double)t->questions);
    return RF_OK;
}

/* ---- answers ---- */

static rf__text text_of(const rf__prediction *p, size_t q, double *score)
{
    const rf__byte_range s = rf__answer_bytes(p->z, p->t, q, score);
    return (rf__text){p->t->context + p->t->context_at[q] + s.begin, s.end - s.begin};
}

static json_t *predict(const rf__prediction *p, size_t q)
{
    double score;
    const rf__text text = text_of(p, q, &score);
    return json_pack("{s:s%, s:o}", "answer", text.at, text.size, "score", rf__json_real6(isfinite(score) ? score : 0));
}

static rf__text answer(const rf__prediction *p, size_t q)
{
    double score;
    return text_of(p, q, &score);
}

static const char *const options[] = {"doc_stride", NULL};

const rf__task rf__task_qa = {
    .examples = {
        .name = "qa",
        .squad = true,
        .outputs = outputs,
        .kind = RF__LABEL_SPAN,
        .example = example,
    },
    .head = RF_HEAD_SPAN,
    .problem_type = "",
    .options = options,
    .recognize = rf__task_any,
    .loss = loss,
    .metric = "f1",
    .evaluate = evaluate,
    .columns = "answer\tscore",
    .between = ',',
    .predict = predict,
    .answer = answer,
};
