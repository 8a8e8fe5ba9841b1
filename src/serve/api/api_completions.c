/* api_completions.c — OpenAI's completions and the text-generation pipeline. */
#include <stdlib.h>
#include <time.h>

#include "serve/api/writing.h"

/* ---- answers ----------------------------------------------------------------------------------------------------- */

void srv_put_openai_head(srv_text *t, const srv_request *r, const char *id, const char *object)
{
    const char *name = r->s->o.model[r->model->slot].name;
    srv_printf(t, "{\"id\":\"%s-%s\",\"object\":\"%s\",\"created\":%lld,\"model\":", id, r->id, object,
               (long long)time(NULL));
    srv_put_string(t, name, strlen(name));
}

void srv_put_usage(srv_text *t, const writing *x)
{
    const long long prompts = srv_prompt_tokens(x), tokens = srv_new_tokens(x);
    srv_printf(t, ",\"usage\":{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,\"total_tokens\":%lld}", prompts,
               tokens, prompts + tokens);
}

static void put_head(srv_text *t, const srv_request *r) { srv_put_openai_head(t, r, "cmpl", "text_completion"); }

/* A text after its prompt, if that is a part of the answer. */
static void put_text(srv_text *t, const writing *x, const item *y, const char *text, size_t size, bool first)
{
    srv_text whole = {0};
    if (first && x->with_prompt) srv_put(&whole, y->prompt, y->bytes);
    srv_put(&whole, text, size);
    srv_put_string(t, whole.at ? whole.at : "", whole.n);
    t->failed |= whole.failed;
    srv_text_clear(&whole);
}

static void put_whole_text(srv_text *t, const writing *x, const item *y)
{
    put_text(t, x, y, y->text.at ? y->text.at : "", y->text.n, true);
    t->failed |= y->text.failed;
}

static void put_piece(srv_text *t, const writing *x, const item *y, const char *text, size_t size, const char *reason)
{
    if (!text) return;
    put_head(t, x->call.r);
    srv_printf(t, ",\"choices\":[{\"index\":%lld,\"text\":", (long long)(y - x->item));
    put_text(t, x, y, text, size, !y->begun);
    srv_puts(t, ",\"logprobs\":null,\"finish_reason\":");
    if (reason) srv_printf(t, "\"%s\"", reason);
    else srv_puts(t, "null");
    srv_puts(t, x->usage ? "}],\"usage\":null}" : "}]}");
}

/* As OpenAI's: no choices. */
static void put_usage(srv_text *t, const writing *x)
{
    put_head(t, x->call.r);
    srv_puts(t, ",\"choices\":[]");
    srv_put_usage(t, x);
    srv_puts(t, "}");
}

static void put_completions(srv_request *r, const writing *x)
{
    srv_text *t = &r->out;
    put_head(t, r);
    srv_puts(t, ",\"choices\":[");
    for (int64_t i = 0; i < x->items; i++) {
        srv_printf(t, "%s{\"index\":%lld,\"text\":", i ? "," : "", (long long)i);
        put_whole_text(t, x, &x->item[i]);
        srv_printf(t, ",\"logprobs\":null,\"finish_reason\":\"%s\"}", srv_finish_reason(&x->item[i]));
    }
    srv_puts(t, "]");
    srv_put_usage(t, x);
    srv_puts(t, "}");
}

static void put_pipeline(srv_request *r, const writing *x)
{
    for (int64_t i = 0; i < x->items; i++) {
        srv_puts(&r->out, i ? ",{\"generated_text\":" : "[{\"generated_text\":");
        put_whole_text(&r->out, x, &x->item[i]);
        srv_puts(&r->out, "}");
    }
    srv_puts(&r->out, "]");
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

bool srv_new_items(srv_request *r, writing *x, const char *name, size_t prompts, int64_t times)
{
    const size_t n = prompts * (size_t)times;
    if (!srv_check_count(r, name, n)) return false;
    x->item = calloc(n, sizeof *x->item);
    if (!x->item) return srv_error(r, 503, "Overloaded", "out of memory: %zu texts", n), false;
    x->items = (int64_t)n;
    x->times = times;
    return true;
}

bool srv_prompt_fits(srv_request *r, const char *name, int64_t n, const char *unit)
{
    const int64_t most = r->model->config->max_position_embeddings;
    if (most > 0 && n >= most)
        srv_error(r, 422, "Validation", "`%s`: this model's maximum context length is %lld tokens, got a prompt of "
                  "%lld %s; shorten it", name, (long long)most, (long long)n, unit);
    return !r->status;
}

/* Whether a prompt and one more token are within the context of the model. false: answered, on OpenAI's routes with
 * 400. */
static bool text_fits(srv_request *r, const item *y, const char *name)
{
    const int64_t most = r->model->config->max_position_embeddings;
    rf_encoding e;
    rf_error why = {0};
    if (most <= 0) return true;
    if (y->bytes > SRV_TOKEN_BYTES * (size_t)most) return srv_prompt_fits(r, name, (int64_t)y->bytes, "bytes");
    rf_encoding_init(&e, r->s->o.ctx);
    if (rf_encode(r->model->tokenizer, y->prompt, y->bytes, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why))
        srv_fail(r, &why);
    else srv_prompt_fits(r, name, (int64_t)e.n, "tokens");
    rf_encoding_clear(&e);
    return !r->status;
}

/* The prompts of a request, and `times` texts of each. false: answered. */
static bool read_prompts(srv_request *r, writing *x, const json_t *v, const char *name, int64_t times)
{
    const bool one = json_is_string(v);
    if (!srv_new_items(r, x, name, one ? 1 : json_array_size(v), times)) return false;
    for (int64_t i = 0; i < x->items && srv_go_on(r); i++) {
        const json_t *text = one ? v : json_array_get(v, (size_t)(i / times));
        x->item[i].prompt = json_string_value(text);
        x->item[i].bytes = json_string_length(text);
        if (i % times) continue;
        r->characters += srv_length(x->item[i].prompt, x->item[i].bytes);
        if (!text_fits(r, &x->item[i], name)) return false;
    }
    return !r->status;
}

bool srv_read_stream(srv_request *r, writing *x)
{
    const json_t *options = srv_member(r->in, "stream_options");
    x->stream = srv_bool(r->in, "stream", false);
    x->usage = srv_bool(options, "include_usage", false);
    if (!x->stream && options)
        srv_error(r, 422, "Validation", "`stream_options`: expected `stream`: true, too, got false");
    return !r->status;
}

static const srv_form completions = {put_piece, put_usage, put_completions, false, true, "max_tokens"};
static const srv_form pipeline = {.whole = put_pipeline, .most = "max_new_tokens"};

void srv_api_completions(srv_request *r)
{
    writing *x = srv_read_body(r) ? srv_new_writing(r, srv_string(r->in, "model"), &completions) : NULL;
    const int64_t times = x ? srv_int(r->in, "n", 1) : 1;
    if (!x || !read_prompts(r, x, json_object_get(r->in, "prompt"), "prompt", times) ||
        !srv_read_stops(r, x, srv_member(r->in, "stop")))
        return;
    if (srv_int(r->in, "best_of", times) != times) {
        srv_error(r, 422, "Validation", "`best_of`: expected that of `n`, %lld, as no text is left out",
                  (long long)times);
        return;
    }
    x->with_prompt = srv_bool(r->in, "echo", false);
    if (!srv_read_stream(r, x)) return;
    x->most = 16; /* OpenAI's default */
    x->o.do_sample = 1;
    x->o.temperature = 1;
    srv_set_sampling(r, x, r->in);
    srv_write(r, x);
}

/* The text-generation pipeline, whose defaults are the folder's. */
void srv_generate_text(srv_request *r)
{
    const json_t *in = srv_member(r->in, "parameters");
    writing *x = srv_new_writing(r, NULL, &pipeline);
    if (!x || !read_prompts(r, x, json_object_get(r->in, "inputs"), "inputs", srv_int(in, "num_return_sequences", 1)) ||
        !srv_read_stops(r, x, srv_member(in, "stop")))
        return;
    x->with_prompt = srv_bool(in, "return_full_text", true);
    x->most = x->o.max_new_tokens;
    x->o.do_sample = srv_bool(in, "do_sample", x->o.do_sample);
    srv_set_sampling(r, x, in);
    srv_write(r, x);
}

void srv_api_generate(srv_request *r)
{
    if (srv_read_body(r)) srv_generate_text(r);
}

void srv_api_responses(srv_request *r)
{
    srv_error(r, 404, "NotFound", "responses are not served, as nothing is kept here; use /v1/chat/completions");
}
