/* api_zero_shot.c — labels that the request names, by a model of natural language inference, as transformers' pipeline
 * for zero-shot classification (pipeline/zero_shot.h): each text and each hypothesis are a pair for the model. */
#include <stdlib.h>

#include "pipeline/zero_shot.h"
#include "serve/api/api.h"

typedef struct zero_shot {
    const rf_ctx *ctx;
    srv_texts texts;
    srv_texts labels;  /* their texts are in r->in, or in `split`                                    */
    char *split;       /* labels of a string, separated by commas                                    */
    char **hypothesis; /* [labels.n]                                                                 */
    size_t *bytes;     /* [labels.n] of the hypotheses                                               */
    rf__entailment outputs;
    srv_fit fit;
    bool several, sequences; /* sequences: answers have the text, too                                */
} zero_shot;

static void free_zero_shot(void *own)
{
    zero_shot *x = own;
    for (int64_t i = 0; x->hypothesis && i < x->labels.n; i++) rf__free(x->ctx, x->hypothesis[i]);
    free(x->hypothesis);
    free(x->bytes);
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

/* Long texts are cut, not hypotheses: each leaves place for a part of a text. */
static bool hypothesis_fits(srv_request *r, const char *hypothesis, size_t bytes)
{
    rf_encoding e;
    rf_error why = {0};
    rf_encoding_init(&e, r->s->o.ctx);
    const rf_status status = rf_encode(r->model->tokenizer, "a", 1, hypothesis, bytes, 0, 0, &e, NULL, &why);
    const int64_t got = (int64_t)e.n, most = r->model->max_length > 0 ? r->model->max_length : INT64_MAX;
    rf_encoding_clear(&e);
    if (status) return srv_fail(r, &why), false;
    if (got <= most) return true;
    return srv_error(r, 422, "Validation", "`candidate_labels`: expected hypotheses that leave place for a text in "
                     "%lld tokens, got %lld tokens with a text of one letter", (long long)most, (long long)got),
           false;
}

static bool make_hypotheses(srv_request *r, zero_shot *x, const char *template)
{
    rf_error why = {0};
    x->hypothesis = calloc((size_t)x->labels.n, sizeof *x->hypothesis);
    x->bytes = calloc((size_t)x->labels.n, sizeof *x->bytes);
    if (!x->hypothesis || !x->bytes) return no_memory(r);
    for (int64_t i = 0; i < x->labels.n && srv_go_on(r); i++) {
        const rf_status status =
            rf__zero_shot_hypothesis(x->ctx, template, x->labels.text[i], x->labels.bytes[i], (size_t)srv_most_bytes(r),
                                     &x->hypothesis[i], &x->bytes[i], &why);
        if (status == RF_ENOMEM) return no_memory(r);
        if (status) return srv_error(r, 422, "Validation", "%s", why.text), false;
        if (!hypothesis_fits(r, x->hypothesis[i], x->bytes[i])) return false;
    }
    return !r->status;
}

/* Texts that may not be truncated fit next to each hypothesis. */
static bool pairs_fit(srv_request *r, zero_shot *x)
{
    rf_encoding e;
    const int64_t n = x->labels.n;
    bool good = true;
    if (x->fit.cut) return srv_texts_fit(r, "inputs", &x->texts, x->fit);
    rf_encoding_init(&e, x->ctx);
    for (int64_t i = 0; i < x->texts.n * n && good; i++)
        good = srv_input_fits(r, &e, "inputs", x->texts.text[i / n], x->texts.bytes[i / n], x->hypothesis[i % n],
                              x->bytes[i % n]);
    rf_encoding_clear(&e);
    return good;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static void put_label(srv_text *t, const zero_shot *x, const rf_zero_shot_label *one)
{
    srv_put_string(t, x->labels.text[one->label], x->labels.bytes[one->label]);
}

/* {"sequence": ..., "labels": [...], "scores": [...]}, as transformers' pipeline has it. */
static void put_sequence(srv_text *t, const zero_shot *x, const json_t *text, const rf_zero_shot_label *list)
{
    const int64_t n = x->labels.n;
    srv_puts(t, "{\"sequence\":");
    srv_put_json(t, text);
    for (int64_t k = 0; k < n; k++) {
        srv_puts(t, k ? "," : ",\"labels\":[");
        put_label(t, x, &list[k]);
    }
    for (int64_t k = 0; k < n; k++) {
        srv_puts(t, k ? "," : "],\"scores\":[");
        srv_put_float(t, (float)list[k].score);
    }
    srv_puts(t, "]}");
}

/* [{"label": ..., "score": ...}, ...], as clients of the inference API expect it. */
static void put_list(srv_text *t, const zero_shot *x, const rf_zero_shot_label *list)
{
    srv_puts(t, "[");
    for (int64_t k = 0; k < x->labels.n; k++) {
        srv_puts(t, k ? ",{\"label\":" : "{\"label\":");
        put_label(t, x, &list[k]);
        srv_puts(t, ",\"score\":");
        srv_put_float(t, (float)list[k].score);
        srv_puts(t, "}");
    }
    srv_puts(t, "]");
}

static void finish(srv_request *r)
{
    const zero_shot *x = r->own;
    const json_t *inputs = json_object_get(r->in, "inputs");                    /* as they were before a cut */
    const int64_t n = x->labels.n, K = r->pieces.columns;
    rf_zero_shot_label *list = calloc((size_t)n, sizeof *list);
    if (!list) {
        no_memory(r);
        return;
    }
    if (!x->texts.one) srv_puts(&r->out, "[");
    for (int64_t i = 0; i < x->texts.n; i++) {
        if (i) srv_puts(&r->out, ",");
        rf__zero_shot_rank(&x->outputs, r->pieces.result + i * n * K, K, n, x->several, list);
        if (x->sequences) put_sequence(&r->out, x, x->texts.one ? inputs : json_array_get(inputs, (size_t)i), list);
        else put_list(&r->out, x, list);
    }
    if (!x->texts.one) srv_puts(&r->out, "]");
    free(list);
    if (!x->outputs.named) {
        snprintf(r->header, sizeof r->header, "Warning");
        snprintf(r->header_value, sizeof r->header_value, "299 roformer \"no label of the model begins with entail: "
                 "its last output counts as entailment\"");
    }
    srv_answer_json(r);
}

static int64_t tokens_of(const srv_request *r, int64_t i)
{
    const zero_shot *x = r->own;
    return srv_tokens_of(x->texts.bytes[i / x->labels.n] + x->bytes[i % x->labels.n]);
}

static rf_status submit(srv_request *r, int64_t first, int64_t n, const rf_engine_job_options *o, rf_error *why)
{
    const zero_shot *x = r->own;
    rf_engine_job_options own = *o;
    own.raw = own.zero_shot = 1;
    own.cut_side = x->fit.side;
    const char **text = calloc((size_t)(2 * n), sizeof *text);
    size_t *bytes = calloc((size_t)(2 * n), sizeof *bytes);
    rf_status status = text && bytes ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: %lld pairs", (long long)n);
    for (int64_t i = 0; i < n && !status; i++) {
        const int64_t premise = (first + i) / x->labels.n, label = (first + i) % x->labels.n;
        text[i] = x->texts.text[premise];
        bytes[i] = x->texts.bytes[premise];
        text[n + i] = x->hypothesis[label];
        bytes[n + i] = x->bytes[label];
    }
    if (!status) status = rf_engine_classify(r->model->engine, text, bytes, text + n, bytes + n, n, &own, &r->job, why);
    free(text);
    free(bytes);
    return status;
}

void srv_zero_shot(srv_request *r, bool sequences)
{
    const json_t *options = srv_member(r->in, "parameters"), *labels = srv_member(options, "candidate_labels");
    zero_shot *x = srv_own(r, sizeof *x, free_zero_shot);
    const char *template = srv_string(options, "hypothesis_template");
    const int64_t most = r->s->o.limits.max_service_batch_size;
    rf_error why = {0};
    if (!x) return;
    x->ctx = r->s->o.ctx;
    x->sequences = sequences;
    x->several = srv_bool(options, "multi_label", false);
    x->fit = srv_fit_of(r, r->in);
    if (rf__zero_shot_outputs(rf_pipeline_answerer(r->model->pipeline), &x->outputs, &why)) {
        srv_fail(r, &why);
        return;
    }
    if (!srv_read_texts(r, json_object_get(r->in, "inputs"), "inputs", &x->texts)) return;
    const bool read = json_is_string(labels) ? split_labels(r, x, json_string_value(labels))
                                             : srv_read_labels(r, labels, "candidate_labels", &x->labels);
    if (!read) return;
    if (x->labels.n * x->texts.n > most)
        srv_error(r, 422, "Validation", "`candidate_labels`: expected at most %lld labels for %lld texts "
                  "(--max-service-batch-size), got %lld", (long long)(most / x->texts.n), (long long)x->texts.n,
                  (long long)x->labels.n);
    else if (make_hypotheses(r, x, template ? template : RF__HYPOTHESIS) && pairs_fit(r, x)) {
        r->kind = SRV_PREDICT;
        srv_compute(r, x->texts.n * x->labels.n, tokens_of, submit, finish);
    }
}
