/* api_score.c — labels of texts, and scores of texts for a query. */
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "serve/api/api.h"
#include "task/answerer.h"

/* What the scores of labels are: those of the model, or values of a function of its outputs. */
typedef enum function { OWN, NONE, SIGMOID, SOFTMAX } function;

typedef struct scores {
    bool one, flat; /* /predict: a single input, and its labels are not in a list of lists        */
    srv_texts texts;
    const char **pair; /* [texts.n], or NULL                                                         */
    size_t *pair_bytes;
    const char *query;
    size_t query_bytes;
    function function;
    int side; /* cut_side of rf_embed_options                                               */
    bool raw, return_text;
    int64_t top;
    const json_t *documents;
} scores;

static void free_scores(void *own)
{
    scores *x = own;
    srv_texts_clear(&x->texts);
    free(x->pair);
    free(x->pair_bytes);
    free(x);
}

/* A row and its score; rows are sorted by descending score, and by their number if scores are equal. */
typedef struct ranked {
    float score;
    int64_t row;
} ranked;

static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->score < y->score || x->score > y->score) return x->score < y->score ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static ranked *rank(srv_request *r, const float *score, int64_t n)
{
    ranked *list = calloc((size_t)n, sizeof *list);
    if (!list) return srv_error(r, 503, "Overloaded", "out of memory: %lld scores", (long long)n), NULL;
    for (int64_t i = 0; i < n; i++) list[i] = (ranked){score[i], i};
    qsort(list, (size_t)n, sizeof *list, compare);
    return list;
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static float sigmoid(float z) { return (float)(1 / (1 + exp(-(double)z))); }

/* Makes scores of outputs, the largest first. */
static void apply(function f, ranked *list, int64_t n)
{
    const double most = n ? (double)list[0].score : 0;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp((double)list[i].score - most);
    for (int64_t i = 0; i < n && f > NONE; i++)
        list[i].score = f == SIGMOID ? sigmoid(list[i].score) : (float)(exp((double)list[i].score - most) / sum);
}

/* false: no memory, answered. */
static bool put_labels(srv_request *r, const float *score, int64_t K, int64_t top, function f)
{
    const rf_labels *l = rf_engine_labels(r->model->engine);
    ranked *list = rank(r, score, K);
    if (!list) return false;
    apply(f, list, K);
    srv_puts(&r->out, "[");
    for (int64_t k = 0; k < K && k < top; k++) {
        const char *name = l->name[list[k].row];
        srv_puts(&r->out, k ? ",{\"score\":" : "{\"score\":");
        srv_put_float(&r->out, list[k].score);
        srv_puts(&r->out, ",\"label\":");
        srv_put_string(&r->out, name, strlen(name));
        srv_puts(&r->out, "}");
    }
    srv_puts(&r->out, "]");
    free(list);
    return true;
}

static void finish_labels(srv_request *r)
{
    const scores *x = r->own;
    const float *score = r->pieces.result;
    const int64_t n = r->pieces.n, K = r->pieces.columns;
    const bool list = !x->one || !x->flat;
    if (list) srv_puts(&r->out, "[");
    for (int64_t i = 0; i < n; i++) {
        if (i) srv_puts(&r->out, ",");
        if (!put_labels(r, score + i * K, K, x->top, x->function)) return;
    }
    if (list) srv_puts(&r->out, "]");
    srv_answer_json(r);
}

static int64_t tokens_of(const srv_request *r, int64_t i)
{
    const scores *x = r->own;
    return srv_tokens_of(x->texts.bytes[i] + x->query_bytes + (x->pair ? x->pair_bytes[i] : 0));
}

static rf_status submit_labels(srv_request *r, int64_t first, int64_t n, const rf_engine_job_options *o, rf_error *why)
{
    const scores *x = r->own;
    rf_engine_job_options own = *o;
    own.raw = x->function != OWN;
    own.cut_side = x->side;
    return rf_engine_classify(r->model->engine, x->texts.text + first, x->texts.bytes + first, x->pair + first,
                              x->pair_bytes + first, n, &own, &r->job, why);
}

static bool add_input(srv_request *r, scores *x, int64_t i, const json_t *v)
{
    const bool named = json_is_object(v);
    const json_t *text = json_is_string(v) ? v : named ? json_object_get(v, "text") : json_array_get(v, 0),
                 *pair = json_is_string(v) ? NULL : named ? json_object_get(v, "text_pair") : json_array_get(v, 1);
    x->texts.text[i] = json_string_value(text);
    x->texts.bytes[i] = json_string_length(text);
    x->pair[i] = json_string_value(pair);
    x->pair_bytes[i] = json_string_length(pair);
    r->characters += srv_length(x->texts.text[i], x->texts.bytes[i]) + srv_length(x->pair[i], x->pair_bytes[i]);
    if (x->texts.bytes[i] || x->pair_bytes[i]) return true; /* as TEI: not both are empty */
    return srv_error(r, 400, "Empty", "`inputs` cannot be empty"), false;
}

/* A list of strings is one input (/predict: a pair), or a batch of texts (POST /). */
static bool read_pairs(srv_request *r, scores *x, const json_t *list, bool pair)
{
    x->one = !json_is_array(list) || (pair && json_is_string(json_array_get(list, 0)));
    const size_t n = x->one ? 1 : json_array_size(list);
    if (!srv_check_count(r, "inputs", n)) return false;
    x->texts = (srv_texts){
        .text = calloc(n, sizeof *x->texts.text), .bytes = calloc(n, sizeof *x->texts.bytes), .n = (int64_t)n};
    x->pair = calloc(n, sizeof *x->pair);
    x->pair_bytes = calloc(n, sizeof *x->pair_bytes);
    if (!x->texts.text || !x->texts.bytes || !x->pair || !x->pair_bytes)
        return srv_error(r, 503, "Overloaded", "out of memory: %zu inputs", n), false;
    int64_t pairs = 0;
    for (size_t i = 0; i < n; i++) {
        if (!add_input(r, x, (int64_t)i, x->one ? list : json_array_get(list, i))) return false;
        pairs += x->pair[i] != NULL;
    }
    if (r->model->config->task_pairs && pairs < (int64_t)n)
        return srv_error(r, 422, "Validation",
                         "`inputs`: expected pairs of texts, on which this model was fine-tuned, got a "
                         "single text"),
               false;
    return true;
}

/* As srv_texts_fit, for texts, pairs of texts, or a query with each text. */
static bool inputs_fit(srv_request *r, scores *x, const char *name)
{
    rf_encoding e;
    bool good = true;
    const srv_fit how = srv_fit_of(r, r->in);
    x->side = how.side;
    if (how.cut && !srv_member(r->in, "max_chunks_per_doc")) return srv_texts_fit(r, name, &x->texts, how);
    rf_encoding_init(&e, r->s->o.ctx);
    for (int64_t i = 0; i < x->texts.n && good; i++) {
        const char *text = x->texts.text[i];
        const size_t bytes = x->texts.bytes[i];
        good = x->query ? srv_input_fits(r, &e, name, x->query, x->query_bytes, text, bytes)
                        : srv_input_fits(r, &e, name, text, bytes, x->pair[i], x->pair_bytes[i]);
    }
    rf_encoding_clear(&e);
    return good;
}

/* The function that a body asks for; OWN also if that is the function of the model. false: answered */
static bool read_function(srv_request *r, scores *x, const char *name, bool raw)
{
    static const char *const names[] = {[NONE] = "none", [SIGMOID] = "sigmoid", [SOFTMAX] = "softmax"};
    const char *own = rf__answerer_label_function(rf_pipeline_answerer(r->model->pipeline));
    const int64_t outputs = r->model->config->num_labels, labels = rf_engine_labels(r->model->engine)->n;
    if (raw) name = "none";
    if (!name || !strcasecmp(name, own) || (!strcmp(name, "none") && !strcmp(own, "Identity"))) return true;
    for (size_t i = NONE; i < RF_COUNT(names); i++)
        if (!strcmp(name, names[i])) x->function = (function)i;
    if (outputs == labels) return true;
    srv_error(r, 422, "Validation", "`%s`: expected the function of this model, which makes scores of %lld labels from "
              "%lld outputs, got %s", raw ? "raw_scores" : "function_to_apply", (long long)labels, (long long)outputs,
              name);
    return false;
}

/* The labels of the inputs of a body that has been read, by a model that gives labels; `flat`: as TEI has them, where a
 * list of two strings is a pair and the labels of a single input are not in a list. */
static void predict(srv_request *r, bool flat)
{
    const json_t *options = srv_member(r->in, "parameters");
    scores *x = srv_own(r, sizeof *x, free_scores);
    if (!x) return;
    if (!read_function(r, x, srv_string(options, "function_to_apply"), srv_bool(r->in, "raw_scores", false))) return;
    x->flat = flat;
    if (!read_pairs(r, x, json_object_get(r->in, "inputs"), flat)) return;
    if (!inputs_fit(r, x, "inputs")) return;
    x->top = srv_int(options, "top_k", INT64_MAX);
    r->kind = SRV_PREDICT;
    srv_compute(r, x->texts.n, tokens_of, submit_labels, finish_labels);
}

/* Hugging Face's inference API. */
void srv_predict(srv_request *r) { predict(r, false); }

/* TEI's. */
void srv_predict_flat(srv_request *r) { predict(r, true); }

/* ---- scores for a query ------------------------------------------------------------------------------------------ */

/* An object, as Cohere, Jina and vLLM have it; infinity has a string. */
static void put_document(srv_request *r, const scores *x, int64_t row)
{
    const json_t *document = json_array_get(x->documents, (size_t)row);
    if (json_is_object(document)) {
        srv_put_json(&r->out, document);
        return;
    }
    srv_puts(&r->out, "{\"text\":");
    srv_put_json(&r->out, document);
    srv_puts(&r->out, "}");
}

/* Cohere's and Jina's members in one answer. */
static void put_cohere(srv_request *r, const scores *x, const ranked *list, int64_t n)
{
    srv_text *t = &r->out;
    const char *name = r->s->o.model[r->model->slot].name;
    srv_printf(t, "{\"id\":\"%s\",\"object\":\"list\",\"model\":", r->id);
    srv_put_string(t, name, strlen(name));
    srv_puts(t, ",\"results\":[");
    for (int64_t i = 0; i < n; i++) {
        srv_printf(t, "%s{\"index\":%lld,\"relevance_score\":", i ? "," : "", (long long)list[i].row);
        srv_put_float(t, list[i].score);
        if (x->return_text) {
            srv_puts(t, ",\"document\":");
            put_document(r, x, list[i].row);
        }
        srv_puts(t, "}");
    }
    srv_printf(t,
               "],\"usage\":{\"prompt_tokens\":%lld,\"total_tokens\":%lld},"
               "\"meta\":{\"api_version\":{\"version\":\"%c\"},"
               "\"billed_units\":{\"search_units\":1}}}",
               (long long)r->tokens, (long long)r->tokens, r->path[2] == '2' ? '2' : '1');
}

static void put_tei(srv_request *r, const scores *x, const ranked *list, int64_t n)
{
    srv_text *t = &r->out;
    srv_puts(t, "[");
    for (int64_t i = 0; i < n; i++) {
        srv_printf(t, "%s{\"index\":%lld", i ? "," : "", (long long)list[i].row);
        if (x->return_text) {
            srv_puts(t, ",\"text\":");
            srv_put_string(t, x->texts.text[list[i].row], x->texts.bytes[list[i].row]);
        }
        srv_puts(t, ",\"score\":");
        srv_put_float(t, list[i].score);
        srv_puts(t, "}");
    }
    srv_puts(t, "]");
}

static void finish_rerank(srv_request *r)
{
    const scores *x = r->own;
    int64_t n = r->pieces.n;
    ranked *list = rank(r, r->pieces.result, n);
    if (!list) return;
    for (int64_t i = 0; i < n && !x->raw; i++) list[i].score = sigmoid(list[i].score);
    if (n > x->top) n = x->top;
    if (r->dialect == SRV_COHERE) put_cohere(r, x, list, n);
    else put_tei(r, x, list, n);
    free(list);
    srv_answer_json(r);
}

static rf_status submit_texts(srv_request *r, int64_t first, int64_t n, const rf_engine_job_options *o, rf_error *why)
{
    const scores *x = r->own;
    rf_engine_job_options own = *o;
    own.cut_side = x->side;
    return rf_engine_cross(r->model->engine, x->query, x->query_bytes, x->texts.text + first, x->texts.bytes + first, n,
                           1, &own, &r->job, why);
}

/* Cohere's limit of a document, which would cut longer ones; a token has at least a byte.  false: answered. */
static bool within(srv_request *r, const srv_texts *x, int64_t most)
{
    rf_error why = {0};
    rf_encoding e;
    rf_encoding_init(&e, r->s->o.ctx);
    bool good = true;
    for (int64_t i = 0; i < x->n && good && most < r->model->max_length; i++) {
        if ((int64_t)x->bytes[i] <= most) continue;
        if (!(good = srv_go_on(r))) break;
        good = !rf_encode(r->model->tokenizer, x->text[i], x->bytes[i], NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why);
        if (!good) srv_fail(r, &why);
        else if (!(good = (int64_t)e.n <= most))
            srv_error(r, 422, "Validation", "`max_tokens_per_doc`: expected at least the %zu tokens of document %lld, "
                      "got %lld; only the pair of query and document is truncated", e.n, (long long)i, (long long)most);
    }
    rf_encoding_clear(&e);
    return good;
}

static void rerank(srv_request *r, const char *model, const char *member)
{
    scores *x = srv_need_model(r, model) ? srv_own(r, sizeof *x, free_scores) : NULL;
    if (!x) return;
    x->documents = json_object_get(r->in, member);
    x->query = srv_string(r->in, "query");
    x->query_bytes = strlen(x->query);
    if (!srv_read_some_texts(r, x->documents, member, x->query_bytes > 0, &x->texts)) return;
    if (!inputs_fit(r, x, member)) return;
    if (!within(r, &x->texts, srv_int(r->in, "max_tokens_per_doc", INT64_MAX))) return;
    x->raw = srv_bool(r->in, "raw_scores", false);
    x->return_text = srv_bool(r->in, "return_text", false) || srv_bool(r->in, "return_documents", false);
    x->top = srv_int(r->in, "top_n", INT64_MAX);
    r->characters += srv_length(x->query, x->query_bytes);
    r->kind = SRV_PREDICT;
    srv_compute(r, x->texts.n, tokens_of, submit_texts, finish_rerank);
}

/* infinity's and LiteLLM's clients send `documents` and expect Cohere's form. */
void srv_rerank(srv_request *r)
{
    const bool documents = srv_member(r->in, "documents") && !srv_member(r->in, "texts");
    if (documents) r->dialect = SRV_COHERE;
    if (documents || srv_member(r->in, "texts")) rerank(r, NULL, documents ? "documents" : "texts");
    else srv_error(r, 422, "Validation", "`texts`: expected a list of strings, got nothing");
}

void srv_api_rerank(srv_request *r)
{
    if (srv_read_body(r)) srv_rerank(r);
}

void srv_api_cohere_rerank(srv_request *r)
{
    if (srv_read_body(r)) rerank(r, srv_string(r->in, "model"), "documents");
}
