/* api_tokens.c — texts to tokens and back. */
#include <stdlib.h>

#include "serve/api/api.h"

static void put_token(srv_request *r, const char *text, size_t size, const rf_encoding *e, size_t i)
{
    srv_text *t = &r->out;
    const char *token = rf_tokenizer_token(r->model->tokenizer, e->id[i]);
    const bool special = e->added[i]; /* as TEI: a special token in the text is text */
    const uint32_t from = e->start[i], to = e->end[i];
    srv_printf(t, "%s{\"id\":%d,\"text\":", i ? "," : "", e->id[i]);
    if (special || to <= from || to > size) srv_put_string(t, token ? token : "", token ? strlen(token) : 0);
    else srv_put_string(t, text + from, to - from);
    srv_printf(t, ",\"special\":%s", special ? "true" : "false");
    if (special) srv_puts(t, ",\"start\":null,\"stop\":null}");
    else srv_printf(t, ",\"start\":%u,\"stop\":%u}", from, to);
}

void srv_put_tokens(srv_request *r, rf_encoding *e, const char *text, size_t size, int flags)
{
    rf_error why = {0};
    if (rf_encode(r->model->tokenizer, text, size, NULL, 0, 0, flags, e, NULL, &why)) {
        srv_fail(r, &why);
        return;
    }
    enum { TOKEN = 50 }; /* bytes of a token without its text, about */
    char what[32];
    snprintf(what, sizeof what, "%zu tokens", e->n);
    if (!srv_answer_fits(r, (double)r->out.n + (double)TOKEN * (double)e->n + (double)size, what)) return;
    srv_puts(&r->out, "[");
    for (size_t i = 0; i < e->n && (i % 1024 || srv_go_on(r)); i++) put_token(r, text, size, e, i);
    srv_puts(&r->out, "]");
}

const char *srv_prompt(srv_request *r)
{
    const srv_model *m = r->model;
    const char *name = srv_string(r->in, "prompt_name");
    if (m->no_prompts.code) return srv_fail(r, &m->no_prompts), NULL;
    if (!name || !*name) return rf__sentence_default_prompt(&m->prompts);
    for (int64_t i = 0; i < m->prompts.prompts; i++)
        if (!strcmp(m->prompts.prompt[i].name, name)) return m->prompts.prompt[i].text;
    return srv_error(r, 422, "Validation", "`prompt_name`: expected the name of a prompt of the model's folder, got "
                     "%.100s", name), NULL;
}

/* The tokens of a prompt and a text, in which their offsets are. */
static void put_prompted(srv_request *r, rf_encoding *e, const char *prompt, const char *text, size_t size, int flags)
{
    srv_text all = {0};
    srv_puts(&all, prompt);
    srv_put(&all, text, size);
    if (all.failed) srv_error(r, 503, "Overloaded", "out of memory: a text");
    else srv_put_tokens(r, e, all.at, all.n, flags);
    srv_text_clear(&all);
}

void srv_api_tokenize(srv_request *r)
{
    srv_texts texts = {0};
    const char *prompt = srv_read_body(r) && srv_need_model(r, NULL) ? srv_prompt(r) : NULL;
    if (!prompt) return;
    const int flags = srv_bool(r->in, "add_special_tokens", true) ? 0 : RF_ENCODE_PLAIN;
    if (srv_read_texts(r, json_object_get(r->in, "inputs"), "inputs", &texts)) {
        rf_encoding e;
        rf_encoding_init(&e, r->s->o.ctx);
        srv_puts(&r->out, "[");
        for (int64_t i = 0; i < texts.n && !r->status && srv_go_on(r); i++) {
            if (i) srv_puts(&r->out, ",");
            put_prompted(r, &e, prompt, texts.text[i], texts.bytes[i], flags);
        }
        rf_encoding_clear(&e);
        if (!r->status) {
            srv_puts(&r->out, "]");
            srv_answer_json(r);
        }
    }
    srv_texts_clear(&texts);
}

/* Cohere's: ids and strings, without [CLS] and [SEP]. */
void srv_api_cohere_tokenize(srv_request *r)
{
    rf_encoding e;
    rf_error why = {0};
    srv_text *t = &r->out;
    if (!srv_read_body(r) || !srv_need_model(r, srv_string(r->in, "model"))) return;
    const char *text = srv_string(r->in, "text");
    rf_encoding_init(&e, r->s->o.ctx);
    if (rf_encode(r->model->tokenizer, text, strlen(text), NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why)) {
        rf_encoding_clear(&e);
        srv_fail(r, &why);
        return;
    }
    srv_puts(t, "{\"tokens\":[");
    for (size_t i = 0; i < e.n; i++) srv_printf(t, i ? ",%d" : "%d", e.id[i]);
    srv_puts(t, "],\"token_strings\":[");
    for (size_t i = 0; i < e.n && !t->failed; i++) {
        if (i) srv_puts(t, ",");
        srv_put_string(t, text + e.start[i], e.end[i] - e.start[i]);
    }
    srv_puts(t, "],\"meta\":{\"api_version\":{\"version\":\"1\"}}}");
    rf_encoding_clear(&e);
    srv_answer_json(r);
}

/* false: answered. */
static bool put_text(srv_request *r, const char *name, const json_t *list, bool skip)
{
    const size_t n = json_array_size(list);
    const int32_t V = rf_tokenizer_size(r->model->tokenizer);
    size_t size;
    int32_t *id = calloc(n + 1, sizeof *id);
    if (!id) return srv_error(r, 503, "Overloaded", "out of memory: %zu ids", n), false;
    for (size_t i = 0; i < n; i++) {
        const json_int_t one = json_integer_value(json_array_get(list, i));
        if (one >= V) {
            free(id);
            srv_error(r, 422, "Validation", "`%s`: expected ids from 0 to %d, got %lld", name, V - 1,
                      (long long)one);
            return false;
        }
        id[i] = (int32_t)one;
    }
    char *text = rf_decode(r->model->tokenizer, id, n, skip, 0, &size);
    free(id);
    if (!text) return srv_error(r, 503, "Overloaded", "out of memory: a text"), false;
    srv_put_string(&r->out, text, size);
    rf_text_free(r->model->tokenizer, text);
    return true;
}

void srv_api_decode(srv_request *r)
{
    if (!srv_read_body(r) || !srv_need_model(r, NULL)) return;
    const json_t *ids = json_object_get(r->in, "ids");
    const bool skip = srv_bool(r->in, "skip_special_tokens", true), one = json_is_integer(json_array_get(ids, 0));
    srv_puts(&r->out, "[");
    for (size_t i = 0; i < (one ? 1 : json_array_size(ids)); i++) {
        if (i) srv_puts(&r->out, ",");
        if (!srv_go_on(r) || !put_text(r, "ids", one ? ids : json_array_get(ids, i), skip)) return;
    }
    srv_puts(&r->out, "]");
    srv_answer_json(r);
}

void srv_api_cohere_detokenize(srv_request *r)
{
    if (!srv_read_body(r) || !srv_need_model(r, srv_string(r->in, "model"))) return;
    srv_puts(&r->out, "{\"text\":");
    if (!put_text(r, "tokens", json_object_get(r->in, "tokens"), false)) return;
    srv_puts(&r->out, ",\"meta\":{\"api_version\":{\"version\":\"1\"}}}");
    srv_answer_json(r);
}
