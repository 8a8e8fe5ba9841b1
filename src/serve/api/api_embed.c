/* api_embed.c — vectors of texts: routes of text-embeddings-inference and of OpenAI. */
#include "serve/api/api.h"
#include "serve/shared_call.h"

#include <stdlib.h>

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

typedef enum style { TEI, OPENAI, COHERE, SIMILARITY } style;

typedef struct embedding {
    style style;
    const char *name; /* of the member with the inputs                                              */
    bool base64, numbers; /* the vectors as base64; as numbers                                           */
    srv_texts texts;
    rf_embed_options o;
    int32_t *id; /* of inputs that are token ids                                               */
    int64_t *start;
    size_t ids, starts;
    int64_t n;
} embedding;

static void free_embedding(void *own)
{
    embedding *x = own;
    srv_texts_clear(&x->texts);
    free(x->id);
    free(x->start);
    free(x);
}

static bool no_memory(srv_request *r)
{
    srv_error(r, 503, "Overloaded", "out of memory: tokens");
    return false;
}

/* Makes space for an input of `more` tokens. */
static bool reserve(srv_request *r, embedding *x, size_t more)
{
    const size_t have = x->n ? (size_t)x->start[x->n] : 0;
    if (have + more > x->ids) {
        const size_t ids = 2 * x->ids + more;
        int32_t *id = realloc(x->id, ids * sizeof *id);
        if (!id) return no_memory(r);
        x->id = id;
        x->ids = ids;
    }
    if ((size_t)x->n + 2 > x->starts) {
        const size_t starts = 2 * x->starts + 8;
        int64_t *start = realloc(x->start, starts * sizeof *start);
        if (!start) return no_memory(r);
        x->start = start;
        x->starts = starts;
        x->start[0] = 0;
    }
    return true;
}

/* Adds an input of n tokens. If it is too long, it is refused, or cut at one side. */
static bool add_ids(srv_request *r, embedding *x, const int32_t *id, size_t n, srv_fit how)
{
    const size_t most = r->model->max_length > 0 ? (size_t)r->model->max_length : SIZE_MAX, kept = n < most ? n : most;
    if (kept < n && !how.cut) {
        srv_error(r, 422, "Validation", "`%s` must have at most %zu tokens. Given: %zu", x->name, most, n);
        return false;
    }
    if (!reserve(r, x, kept)) return false;
    memcpy(x->id + x->start[x->n], id + (how.side == RF_ENCODE_CUT_BEGIN ? n - kept : 0), kept * sizeof *id);
    x->start[x->n + 1] = x->start[x->n] + (int64_t)kept;
    x->n++;
    return true;
}

/* Adds the tokens of a prompt and of the text that the ids are, as text-embeddings-inference. */
static bool add_prompted(srv_request *r, embedding *x, const int32_t *id, size_t n, srv_fit how)
{
    const rf_tokenizer *t = r->model->tokenizer;
    rf_encoding e;
    rf_error why = {0};
    srv_text all = {0};
    size_t size;
    char *text = rf_decode(t, id, n, 1, 0, &size);
    srv_puts(&all, x->o.prompt);
    if (text) srv_put(&all, text, size);
    rf_encoding_init(&e, r->s->o.ctx);
    if (!text || all.failed) no_memory(r);
    else if (rf_encode(t, all.at, all.n, NULL, 0, how.cut ? (size_t)r->model->max_length : 0, how.side, &e, NULL, &why))
        srv_fail(r, &why);
    else add_ids(r, x, e.id, e.n, how);
    rf_encoding_clear(&e);
    srv_text_clear(&all);
    rf_text_free(t, text);
    return !r->status;
}

/* Adds the token ids of a client as they are: the client adds [CLS] and [SEP]. */
static bool read_ids(srv_request *r, embedding *x, const json_t *list, srv_fit how)
{
    const size_t n = json_array_size(list);
    const int32_t V = rf_tokenizer_size(r->model->tokenizer);
    int32_t *id = calloc(n + 1, sizeof *id);
    if (!id) return no_memory(r);
    for (size_t i = 0; i < n && !r->status; i++) {
        id[i] = (int32_t)json_integer_value(json_array_get(list, i));
        if (id[i] >= V)
            srv_error(r, 422, "Validation", "`%s`: expected ids from 0 to %d, got %d", x->name, V - 1, id[i]);
    }
    r->characters += (int64_t)n;
    if (!r->status) (*x->o.prompt ? add_prompted : add_ids)(r, x, id, n, how);
    free(id);
    return !r->status;
}

static bool read_inputs(srv_request *r, embedding *x, const json_t *list, srv_fit how)
{
    const json_t *first = json_array_get(list, 0);
    if (json_is_integer(first)) return read_ids(r, x, list, how);
    if (json_is_array(list) && !srv_check_count(r, x->name, json_array_size(list))) return false;
    bool ids = false, texts = false;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_is_string(json_array_get(list, i))) texts = true;
        else ids = true;
    if (ids && texts)
        return srv_error(r, 422, "Validation", "`%s`: expected either texts or token ids, got both", x->name), false;
    for (size_t i = 0; ids && i < json_array_size(list); i++)
        if (!srv_go_on(r) || !read_ids(r, x, json_array_get(list, i), how)) return false;
    return ids || srv_read_texts(r, list, x->name, &x->texts);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* The folder's prompt for an input_type of Cohere, or NULL. */
static const char *prompt_of_type(const srv_request *r, const rf_embed_options *o, const char *type)
{
    static const char *const names[][2] = {
        {"search_query", "query"},      {"search_query", "search_query"},       {"search_document", "document"},
        {"search_document", "passage"}, {"search_document", "search_document"}, {"classification", "classification"},
        {"clustering", "clustering"},
    };
    for (size_t i = 0; type && i < RF_COUNT(names); i++) {
        rf_embed_options asked = *o, out;
        asked.prompt_name = names[i][1];
        if (!strcmp(names[i][0], type) && !rf_embed_resolve(r->model->pipeline, &asked, &out, NULL)) return names[i][1];
    }
    return NULL;
}

static bool resolve(srv_request *r, embedding *x, const json_t *in)
{
    rf_error why = {0};
    const int64_t D = rf_pipeline_width(r->model->pipeline),
                  dimensions = srv_int(in, "dimensions", srv_int(in, "output_dimension", -1));
    if (!dimensions || dimensions > D)
        return srv_error(r, 422, "Validation", "`dimensions`: expected 1 to %lld, got %lld", (long long)D,
                         (long long)dimensions),
               false;
    rf_embed_defaults(&x->o);
    x->o.dimensions = dimensions;
    x->o.normalize = x->style != TEI || srv_bool(in, "normalize", true);
    x->o.prompt_name = srv_string(in, "prompt_name");
    if (x->o.prompt_name && !*x->o.prompt_name) x->o.prompt_name = NULL;
    if (x->style == COHERE) x->o.prompt_name = prompt_of_type(r, &x->o, srv_string(in, "input_type"));
    if (!rf_embed_resolve(r->model->pipeline, &x->o, &x->o, &why)) return true;
    return srv_fail(r, &why), false;
}

/* Cohere's "truncate" is the end that is cut. */
static srv_fit fit_of(const srv_request *r, const embedding *x, const json_t *in)
{
    const char *end = x->style == COHERE ? srv_string(in, "truncate") : NULL;
    srv_fit how = srv_fit_of(r, in);
    if (end) how.cut = strcmp(end, "NONE") != 0;
    if (end && how.cut) how.side = strcmp(end, "START") ? RF_ENCODE_CUT_END : RF_ENCODE_CUT_BEGIN;
    how.prompt = x->o.prompt;
    return how;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void put_openai(srv_request *r, const embedding *x, const float *v, int64_t n, int64_t D)
{
    srv_text *t = &r->out;
    srv_puts(t, "{\"object\":\"list\",\"data\":[");
    for (int64_t i = 0; i < n; i++) {
        srv_printf(t, "%s{\"object\":\"embedding\",\"index\":%lld,\"embedding\":", i ? "," : "", (long long)i);
        if (x->base64) srv_put_base64(t, v + i * D, (size_t)D);
        else srv_put_floats(t, v + i * D, (size_t)D);
        srv_puts(t, "}");
    }
    srv_puts(t, "],\"model\":");
    const char *name = r->s->o.model[r->model->slot].name;
    srv_put_string(t, name, strlen(name));
    srv_printf(t, ",\"usage\":{\"prompt_tokens\":%lld,\"total_tokens\":%lld}}", (long long)r->tokens,
               (long long)r->tokens);
}

static void put_vectors(srv_text *t, bool base64, const float *v, int64_t n, int64_t D)
{
    srv_puts(t, "[");
    for (int64_t i = 0; i < n; i++) {
        if (i) srv_puts(t, ",");
        (base64 ? srv_put_base64 : srv_put_floats)(t, v + i * D, (size_t)D);
    }
    srv_puts(t, "]");
}

static void put_cohere(srv_request *r, const embedding *x, const float *v, int64_t n, int64_t D)
{
    srv_text *t = &r->out;
    const bool plain = r->path[2] == '1' && !srv_member(r->in, "embedding_types");
    srv_printf(t, "{\"id\":\"%s\",\"response_type\":\"embeddings_%s\",\"texts\":", r->id,
               plain ? "floats" : "by_type");
    srv_put_json(t, json_object_get(r->in, "texts"));
    srv_puts(t, plain ? ",\"embeddings\":" : ",\"embeddings\":{");
    if (x->numbers && !plain) srv_puts(t, "\"float\":");
    if (x->numbers) put_vectors(t, false, v, n, D);
    if (x->base64) srv_puts(t, x->numbers ? ",\"base64\":" : "\"base64\":");
    if (x->base64) put_vectors(t, true, v, n, D);
    srv_printf(t, "%s,\"meta\":{\"api_version\":{\"version\":\"%c\"},\"billed_units\":{\"input_tokens\":%lld}}}",
               plain ? "" : "}", r->path[2], (long long)r->tokens);
}

/* The cosine of the first text and each of the others, whose vectors have length 1. */
static void put_cosines(srv_text *t, const float *v, int64_t n, int64_t D)
{
    srv_puts(t, "[");
    for (int64_t i = 1; i < n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < D; k++) sum += (double)v[k] * (double)v[i * D + k];
        if (i > 1) srv_puts(t, ",");
        srv_put_float(t, (float)sum);
    }
    srv_puts(t, "]");
}

static void finish(srv_request *r)
{
    const embedding *x = r->own;
    const float *v = r->pieces.result;
    const int64_t n = r->pieces.n, D = r->pieces.columns;
    switch (x->style) {
    case TEI: put_vectors(&r->out, false, v, n, D); break;
    case OPENAI: put_openai(r, x, v, n, D); break;
    case COHERE: put_cohere(r, x, v, n, D); break;
    case SIMILARITY: put_cosines(&r->out, v, n, D); break;
    }
    srv_answer_json(r);
}

static int64_t tokens_of(const srv_request *r, int64_t i)
{
    const embedding *x = r->own;
    return x->n ? x->start[i + 1] - x->start[i] : srv_tokens_of(x->texts.bytes[i]);
}

static rf_status submit(srv_request *r, int64_t first, int64_t n, const rf_engine_job_options *o, rf_error *why)
{
    const embedding *x = r->own;
    if (!x->n)
        return rf_engine_embed(r->model->engine, x->texts.text + first, x->texts.bytes + first, n, &x->o, o, &r->job,
                               why);
    int64_t *start = calloc((size_t)n + 1, sizeof *start);
    if (!start) return rf_fail(why, RF_ENOMEM, "out of memory: %lld inputs", (long long)n);
    for (int64_t i = 0; i <= n; i++) start[i] = x->start[first + i] - x->start[first];
    const rf_status status =
        rf_engine_embed_ids(r->model->engine, x->id + x->start[first], start, n, &x->o, o, &r->job, why);
    free(start);
    return status;
}

/* Cohere's types of vectors. false: answered. */
static bool read_types(srv_request *r, embedding *x, const json_t *list)
{
    x->numbers = !json_array_size(list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *type = json_string_value(json_array_get(list, i));
        if (!strcmp(type, "float")) x->numbers = true;
        else if (!strcmp(type, "base64")) x->base64 = true;
        else
            return srv_error(r, 422, "Validation", "`embedding_types`: expected float or base64, got %.20s", type),
                   false;
    }
    return true;
}

/* `list`: the inputs; `options`: the object that has the options. */
static void embed(srv_request *r, style how, const json_t *list, const json_t *options, const char *model)
{
    if (!srv_need_model(r, model) || !srv_need_vectors(r)) return;
    embedding *x = srv_own(r, sizeof *x, free_embedding);
    if (!x) return;
    x->style = how;
    static const char *const names[] = {[TEI] = "inputs", [OPENAI] = "input", [COHERE] = "texts",
                                        [SIMILARITY] = "sentences"};
    x->name = names[how];
    if (!resolve(r, x, options)) return;
    const srv_fit fit = fit_of(r, x, options);
    x->o.cut_side = fit.side;
    if (!read_inputs(r, x, list, fit) || !srv_texts_fit(r, x->name, &x->texts, fit)) return;
    const char *format = srv_string(options, "encoding_format");
    x->base64 = format && !strcmp(format, "base64");
    if (how == COHERE && !read_types(r, x, srv_member(options, "embedding_types"))) return;
    r->kind = SRV_EMBED;
    r->out.most = 0; /* the number of inputs is limited */
    srv_compute(r, x->n ? x->n : x->texts.n, tokens_of, submit, finish);
}

void srv_api_embed(srv_request *r)
{
    if (srv_read_body(r)) embed(r, TEI, json_object_get(r->in, "inputs"), r->in, NULL);
}

void srv_api_openai_embeddings(srv_request *r)
{
    if (srv_read_body(r)) embed(r, OPENAI, json_object_get(r->in, "input"), r->in, srv_string(r->in, "model"));
}

void srv_api_cohere_embed(srv_request *r)
{
    if (srv_read_body(r)) embed(r, COHERE, json_object_get(r->in, "texts"), r->in, srv_string(r->in, "model"));
}

void srv_features(srv_request *r) { embed(r, TEI, json_object_get(r->in, "inputs"), r->in, NULL); }

/* ---- similarity -------------------------------------------------------------------------------------------------- */

void srv_similarity(srv_request *r)
{
    const json_t *in = json_object_get(r->in, "inputs"), *options = srv_member(r->in, "parameters");
    json_t *all = json_array();
    json_t *source = json_object_get(in, "source_sentence"), *sentences = json_object_get(in, "sentences");
    rf__json_add(&all, json_incref(source));
    for (size_t i = 0; i < json_array_size(sentences); i++)
        rf__json_add(&all, json_incref(json_array_get(sentences, i)));
    if (!all) {
        srv_error(r, 503, "Overloaded", "out of memory: a request");
        return;
    }
    json_object_set_new(r->in, "all", all); /* the texts are in r->in until the answer */
    r->beside = 1;                          /* the source sentence */
    if (!json_array_size(sentences)) srv_error(r, 400, "Empty", "`sentences` cannot be empty");
    else embed(r, SIMILARITY, all, options ? options : in, NULL);
}

void srv_api_similarity(srv_request *r)
{
    if (srv_read_body(r)) srv_similarity(r);
}

/* ---- vectors of tokens ------------------------------------------------------------------------------------------- */

typedef struct all_tokens {
    srv_call call; /* first, because a call is cast to this type                                 */
    srv_texts texts;
    rf_embed_options o;
} all_tokens;

static void free_all(void *own)
{
    all_tokens *x = own;
    srv_texts_clear(&x->texts);
    srv_text_clear(&x->call.out);
    free(x);
}

static void compute_all(srv_call *c, rf_pipeline *p)
{
    all_tokens *x = (all_tokens *)c;
    const int64_t *row, D = x->o.dimensions > 0 ? x->o.dimensions : c->r->model->config->hidden_size;
    const float *v;
    rf_error why = {0};
    if (rf_embed_tokens(p, x->texts.text, x->texts.bytes, x->texts.n, &x->o, &v, &row, NULL, &why)) {
        srv_call_end(c, &why);
        return;
    }
    srv_puts(&x->call.out, "[");
    for (int64_t i = 0; i < x->texts.n; i++) {
        if (i) srv_puts(&x->call.out, ",");
        if (srv_is_over(c->r)) break;
        put_vectors(&x->call.out, false, v + row[i] * D, row[i + 1] - row[i], D);
    }
    srv_puts(&x->call.out, "]");
    c->r->tokens += row[x->texts.n];
    srv_call_end(c, NULL);
}

/* Whether the answer may have a vector for each token. false: answered. */
static bool vectors_fit(srv_request *r, const all_tokens *x)
{
    enum { NUMBER = 13 }; /* bytes of a component and its comma, about */
    const int64_t D = x->o.dimensions > 0 ? x->o.dimensions : r->model->config->hidden_size;
    int64_t tokens = 0;
    rf_encoding e;
    rf_error why = {0};
    rf_encoding_init(&e, r->s->o.ctx);
    for (int64_t i = 0; i < x->texts.n && !r->status && srv_go_on(r); i++) {
        if (rf_encode(r->model->tokenizer, x->texts.text[i], x->texts.bytes[i], NULL, 0, 0, 0, &e, NULL, &why))
            srv_fail(r, &why);
        const int64_t most = r->model->max_length > 0 ? r->model->max_length : INT64_MAX;
        tokens += rf__min64((int64_t)e.n, most);
    }
    rf_encoding_clear(&e);
    char what[64];
    snprintf(what, sizeof what, "%lld vectors of %lld components", (long long)tokens, (long long)D);
    return !r->status && srv_answer_fits(r, (double)NUMBER * (double)tokens * (double)D, what);
}

void srv_api_embed_all(srv_request *r)
{
    embedding y = {.style = TEI};
    if (!srv_read_body(r) || !srv_need_model(r, NULL) || !srv_need_vectors(r) || !resolve(r, &y, r->in)) return;
    all_tokens *x = srv_own(r, sizeof *x, free_all);
    if (!x) return;
    x->call = (srv_call){.r = r, .compute = compute_all};
    x->o = y.o;
    x->o.normalize = srv_bool(r->in, "normalize", false);
    const json_t *list = json_object_get(r->in, "inputs");
    r->kind = SRV_EMBED;
    const srv_fit fit = fit_of(r, &y, r->in);
    x->o.cut_side = fit.side;
    if (!srv_read_texts(r, list, "inputs", &x->texts) || !srv_texts_fit(r, "inputs", &x->texts, fit)) return;
    if (vectors_fit(r, x) && srv_hold(r, x->texts.n)) {
        srv_call_submit(&x->call, srv_call_answer);
    }
}
