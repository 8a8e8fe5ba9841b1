/* api_zero_shot.c — labels that the request names, by a model of natural language inference, as transformers' pipeline
 * for zero-shot classification. Each text and each hypothesis, "This example is LABEL.", are a pair for the model:
 *
 *     score(label) = softmax over the labels of z[entailment]
 *                  = softmax of z[contradiction], z[entailment]       with multi_label, or of a single label */
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "serve/api/api.h"

typedef struct zero_shot {
    srv_texts texts;
    srv_texts labels;     /* their texts are in r->in, or in `split`                                    */
    char *split;          /* labels of a string, separated by commas                                    */
    srv_text *hypothesis; /* [labels.n]                                                                 */
    int64_t entailment, contradiction;
    bool several;
} zero_shot;

static void free_zero_shot(void *own)
{
    zero_shot *x = own;
    for (int64_t i = 0; x->hypothesis && i < x->labels.n; i++) srv_text_clear(&x->hypothesis[i]);
    free(x->hypothesis);
    free(x->split);
    srv_texts_clear(&x->texts);
    srv_texts_clear(&x->labels);
    free(x);
}

static bool no_memory(srv_request *r)
{
    return srv_error(r, 503, "Overloaded", "out of memory: labels"), false;
}

/* ---- labels and hypotheses --------------------------------------------------------------------------------------- */

static bool has_ids(srv_request *r, zero_shot *x)
{
    const rf_labels *l = rf_engine_labels(r->model->engine);
    for (x->entailment = 0; x->entailment < l->n; x->entailment++)
        if (!strncasecmp(l->name[x->entailment], "entail", 6)) break;
    x->contradiction = x->entailment ? 0 : l->n - 1;
    if (x->entailment < l->n && l->n > 1 && l->n == r->model->config->num_labels) return true;
    srv_wrong_model(r, "has no label \"entailment\" beside others, which `candidate_labels` needs", NULL);
    return false;
}

/* "a, b" as transformers divides it. */
static bool split_labels(srv_request *r, zero_shot *x, const char *text)
{
    x->split = strdup(text);
    x->labels.text = x->split ? calloc(strlen(text) + 1, sizeof *x->labels.text) : NULL;
    x->labels.bytes = x->labels.text ? calloc(strlen(text) + 1, sizeof *x->labels.bytes) : NULL;
    if (!x->labels.bytes) return no_memory(r);
    for (const char *at = x->split, *end; *at; at = *end ? end + 1 : end) {
        size_t size = strcspn(at, ",");
        end = at + size;
        rf__trim_white(&at, &size);
        if (!size) continue;
        x->labels.text[x->labels.n] = at;
        x->labels.bytes[x->labels.n++] = size;
    }
    if (x->labels.n) return true;
    return srv_error(r, 400, "Empty", "`candidate_labels` cannot be empty"), false;
}

/* The template with a label in the place of {}, or the places of {0}, as Python's str.format. false: it has other
 * braces, or no place. */
static bool put_hypothesis(srv_text *out, const char *template, const char *label, size_t bytes)
{
    int named = 0, unnamed = 0;
    for (const char *at = template; *at; at++) {
        const bool brace = *at == '{' || *at == '}';
        const size_t place = !strncmp(at, "{}", 2) ? 2 : !strncmp(at, "{0}", 3) ? 3 : 0;
        if (place) srv_put(out, label, bytes);
        else if (brace && at[0] != at[1]) return false;
        else srv_put(out, at, 1);
        at += place ? place - 1 : brace;
        named += place == 3;
        unnamed += place == 2;
    }
    return named ? !unnamed : unnamed == 1;
}

/* Long texts are cut, not hypotheses: each takes at most half of the tokens, so that the text is the longer one. */
static bool hypothesis_fits(srv_request *r, const srv_text *h)
{
    rf_encoding e;
    rf_error why = {0};
    rf_encoding_init(&e, r->s->o.ctx);
    const rf_status status = rf_encode(r->model->tokenizer, h->at, h->n, NULL, 0, 0, 0, &e, NULL, &why);
    const int64_t got = (int64_t)e.n, most = r->model->max_length > 0 ? r->model->max_length / 2 : INT64_MAX;
    rf_encoding_clear(&e);
    if (status) return srv_fail(r, &why), false;
    if (got <= most) return true;
    return srv_error(r, 422, "Validation", "`candidate_labels`: expected hypotheses of at most %lld tokens, got %lld",
                     (long long)most, (long long)got),
           false;
}

static bool make_hypotheses(srv_request *r, zero_shot *x, const char *template)
{
    x->hypothesis = calloc((size_t)x->labels.n, sizeof *x->hypothesis);
    if (!x->hypothesis) return no_memory(r);
    for (int64_t i = 0; i < x->labels.n && srv_go_on(r); i++) {
        if (!put_hypothesis(&x->hypothesis[i], template, x->labels.text[i], x->labels.bytes[i]))
            return srv_error(r, 422, "Validation", "`hypothesis_template`: expected a text with {} in the place of the "
                             "label, and no other braces, got %.100s", template),
                   false;
        if (x->hypothesis[i].failed) return no_memory(r);
        if (!hypothesis_fits(r, &x->hypothesis[i])) return false;
    }
    return !r->status;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

typedef struct scored {
    double score;
    int64_t label;
} scored;

/* Largest first; of equal ones the last first, as transformers reverses an ascending order. */
static int compare(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    if (x->score < y->score || x->score > y->score) return x->score < y->score ? 1 : -1;
    return (x->label < y->label) - (x->label > y->label);
}

/* The labels of a text from the outputs z [labels, K] of its pairs. */
static void put_labels(srv_text *t, const zero_shot *x, const float *z, int64_t K, scored *list)
{
    const int64_t n = x->labels.n;
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, (double)z[i * K + x->entailment]);
    for (int64_t i = 0; i < n; i++) sum += exp((double)z[i * K + x->entailment] - most);
    for (int64_t i = 0; i < n; i++) {
        const double yes = (double)z[i * K + x->entailment], no = (double)z[i * K + x->contradiction];
        list[i] = (scored){x->several || n == 1 ? 1 / (1 + exp(no - yes)) : exp(yes - most) / sum, i};
    }
    qsort(list, (size_t)n, sizeof *list, compare);
    srv_puts(t, "[");
    for (int64_t i = 0; i < n; i++) {
        srv_puts(t, i ? ",{\"label\":" : "{\"label\":");
        srv_put_string(t, x->labels.text[list[i].label], x->labels.bytes[list[i].label]);
        srv_puts(t, ",\"score\":");
        srv_put_float(t, (float)list[i].score);
        srv_puts(t, "}");
    }
    srv_puts(t, "]");
}

static void finish(srv_request *r)
{
    const zero_shot *x = r->own;
    const int64_t n = x->labels.n, K = r->pieces.columns;
    scored *list = calloc((size_t)n, sizeof *list);
    if (!list) {
        no_memory(r);
        return;
    }
    if (!x->texts.one) srv_puts(&r->out, "[");
    for (int64_t i = 0; i < x->texts.n; i++) {
        if (i) srv_puts(&r->out, ",");
        put_labels(&r->out, x, r->pieces.result + i * n * K, K, list);
    }
    if (!x->texts.one) srv_puts(&r->out, "]");
    free(list);
    srv_answer_json(r);
}

static int64_t tokens_of(const srv_request *r, int64_t i)
{
    const zero_shot *x = r->own;
    return srv_tokens_of(x->texts.bytes[i / x->labels.n] + x->hypothesis[i % x->labels.n].n);
}

static rf_status submit(srv_request *r, int64_t first, int64_t n, const rf_engine_job_options *o, rf_error *why)
{
    const zero_shot *x = r->own;
    rf_engine_job_options own = *o;
    own.raw = 1;
    const char **text = calloc((size_t)(2 * n), sizeof *text);
    size_t *bytes = calloc((size_t)(2 * n), sizeof *bytes);
    rf_status status = text && bytes ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: %lld pairs", (long long)n);
    for (int64_t i = 0; i < n && !status; i++) {
        const int64_t premise = (first + i) / x->labels.n;
        const srv_text *h = &x->hypothesis[(first + i) % x->labels.n];
        text[i] = x->texts.text[premise];
        bytes[i] = x->texts.bytes[premise];
        text[n + i] = h->at;
        bytes[n + i] = h->n;
    }
    if (!status) status = rf_engine_classify(r->model->engine, text, bytes, text + n, bytes + n, n, &own, &r->job, why);
    free(text);
    free(bytes);
    return status;
}

void srv_zero_shot(srv_request *r)
{
    const json_t *options = srv_member(r->in, "parameters"), *labels = srv_member(options, "candidate_labels");
    zero_shot *x = srv_own(r, sizeof *x, free_zero_shot);
    const char *template = srv_string(options, "hypothesis_template");
    const int64_t most = r->s->o.limits.max_service_batch_size;
    if (!x || !has_ids(r, x)) return;
    x->several = srv_bool(options, "multi_label", false);
    if (!srv_read_texts(r, json_object_get(r->in, "inputs"), "inputs", &x->texts) ||
        !srv_texts_fit(r, "inputs", &x->texts, srv_fit_of(r, r->in)))
        return;
    const bool read = json_is_string(labels) ? split_labels(r, x, json_string_value(labels))
                                             : srv_read_labels(r, labels, "candidate_labels", &x->labels);
    if (!read) return;
    if (x->labels.n * x->texts.n > most)
        srv_error(r, 422, "Validation", "`candidate_labels`: expected at most %lld labels for %lld texts "
                  "(--max-service-batch-size), got %lld", (long long)(most / x->texts.n), (long long)x->texts.n,
                  (long long)x->labels.n);
    else if (make_hypotheses(r, x, template ? template : "This example is {}.")) {
        r->kind = SRV_PREDICT;
        srv_compute(r, x->texts.n * x->labels.n, tokens_of, submit, finish);
    }
}
