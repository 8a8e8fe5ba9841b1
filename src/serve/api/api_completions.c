/* api_completions.c — OpenAI's completions and the text-generation pipeline. */
#include <stdlib.h>
#include <time.h>

#include "serve/api/writing.h"
#include "text/tokenizer.h"

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

void srv_put_piece_end(srv_text *t, const writing *x, const char *reason)
{
    srv_puts(t, ",\"finish_reason\":");
    if (reason) srv_printf(t, "\"%s\"", reason);
    else srv_puts(t, "null");
    srv_puts(t, x->usage ? "}],\"usage\":null}" : "}]}");
}

/* As OpenAI's: no choices. */
void srv_put_usage_event(srv_text *t, const writing *x, const char *id, const char *object)
{
    srv_put_openai_head(t, x->call.r, id, object);
    srv_puts(t, ",\"choices\":[]");
    srv_put_usage(t, x);
    srv_puts(t, "}");
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

static void put_piece(srv_text *t, const writing *x, item *y, const char *text, size_t size, const char *reason)
{
    if (!text) return;
    put_head(t, x->call.r);
    srv_printf(t, ",\"choices\":[{\"index\":%lld,\"text\":", (long long)(y - x->item));
    put_text(t, x, y, text, size, !y->begun);
    srv_put_logprobs(t, x, y, y->sent + size);
    srv_put_piece_end(t, x, reason);
}

static void put_usage(srv_text *t, const writing *x) { srv_put_usage_event(t, x, "cmpl", "text_completion"); }

static void put_completions(srv_request *r, const writing *x)
{
    srv_text *t = &r->out;
    put_head(t, r);
    srv_puts(t, ",\"choices\":[");
    for (int64_t i = 0; i < x->items; i++) {
        srv_printf(t, "%s{\"index\":%lld,\"text\":", i ? "," : "", (long long)i);
        put_whole_text(t, x, &x->item[i]);
        srv_put_logprobs(t, x, &x->item[i], x->item[i].text.n);
        srv_printf(t, ",\"finish_reason\":\"%s\"}", srv_finish_reason(&x->item[i]));
    }
    srv_puts(t, "]");
    srv_put_usage(t, x);
    srv_puts(t, "}");
}

/* ---- text-generation-inference ----------------------------------------------------------------------------------- */

/* Its names of ends; the numbers of tokens count the one that ends a text. */
static void put_end(srv_text *t, const writing *x, const item *y)
{
    const bool token = y->notes && y->note[y->notes - 1].stops;
    const char *why = token ? "eos_token" : y->stopped ? "stop_sequence" : "length";
    srv_printf(t, "{\"finish_reason\":\"%s\",\"generated_tokens\":%lld,\"seed\":", why, (long long)y->notes);
    if (x->seeded) srv_printf(t, "%llu", (unsigned long long)x->o.seed);
    else srv_puts(t, "null");
}

static void put_token(srv_text *t, const writing *x, const item *y, int64_t i)
{
    const int special = rf_tokenizer_is_special(x->call.r->model->tokenizer, y->note[i].id);
    srv_printf(t, "{\"id\":%d,\"text\":", (int)y->note[i].id);
    srv_put_token_text(t, x, y, i, y->note[i].id);
    srv_puts(t, ",\"logprob\":");
    srv_put_logprob(t, y->note[i].logprob);
    srv_printf(t, ",\"special\":%s}", special ? "true" : "false");
}

/* An event: a token, and with the last one the whole text. */
static void put_token_event(srv_text *t, const writing *x, const item *y, int64_t i, bool last)
{
    srv_printf(t, "{\"index\":%lld,\"token\":", (long long)i + 1);
    put_token(t, x, y, i);
    srv_puts(t, ",\"generated_text\":");
    if (last) put_whole_text(t, x, y);
    else srv_puts(t, "null");
    srv_puts(t, ",\"details\":");
    if (last) {
        put_end(t, x, y);
        srv_printf(t, ",\"input_length\":%lld}}", (long long)y->prompt_tokens);
    } else srv_puts(t, "null}");
}

static void put_pipeline(srv_request *r, const writing *x)
{
    srv_text *t = &r->out;
    for (int64_t i = 0; i < x->items; i++) {
        const item *y = &x->item[i];
        srv_puts(t, i ? ",{\"generated_text\":" : "[{\"generated_text\":");
        put_whole_text(t, x, y);
        if (x->tops >= 0) {
            srv_puts(t, ",\"details\":");
            put_end(t, x, y);
            srv_puts(t, ",\"prefill\":[],\"tokens\":[");
            for (int64_t k = 0; k < y->notes; k++) {
                if (k) srv_puts(t, ",");
                put_token(t, x, y, k);
            }
            srv_puts(t, "]}");
        }
        srv_puts(t, "}");
    }
    srv_puts(t, "]");
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
    for (size_t i = 0; i < n; i++) x->item[i].last = -1;
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

/* With one token more they must be within the context of the model; OpenAI's routes answer with 400. */
bool srv_encode_prompt(srv_request *r, item *y, const char *name, rf_encoding *e)
{
    const int64_t most = r->model->config->max_position_embeddings;
    rf_error why = {0};
    rf_encoding_init(e, r->s->o.ctx);
    if (most > 0 && y->bytes > SRV_TOKEN_BYTES * (size_t)most)
        return srv_prompt_fits(r, name, (int64_t)y->bytes, "bytes");
    if (rf_encode(r->model->tokenizer, y->prompt, y->bytes, NULL, 0, 0, RF_ENCODE_PLAIN, e, NULL, &why))
        return srv_fail(r, &why), false;
    y->last = e->n ? e->id[e->n - 1] : -1;
    return srv_prompt_fits(r, name, (int64_t)e->n, "tokens");
}

bool srv_keep_ids(srv_request *r, item *y, const rf_encoding *e, size_t opens)
{
    y->id = calloc(e->n + opens + 1, sizeof *y->id);
    if (!y->id) return srv_error(r, 503, "Overloaded", "out of memory: a prompt of %zu tokens", e->n), false;
    y->ids = (int64_t)(e->n + opens);
    if (opens) y->id[0] = rf_tokenizer_cls(r->model->tokenizer);
    if (e->n) memcpy(y->id + opens, e->id, e->n * sizeof *y->id);
    return true;
}

/* The number of tokens of a prompt, and the tokens if they get notes. false: answered. */
static bool count_tokens(srv_request *r, const writing *x, item *y, const char *name)
{
    rf_encoding e;
    bool good = srv_encode_prompt(r, y, name, &e);
    const size_t opens = rf__tokenizer_opens(r->model->tokenizer);
    y->prompt_tokens = (int64_t)(e.n + opens);
    if (good && x->hears && y->prompt_tokens) good = srv_keep_ids(r, y, &e, opens);
    rf_encoding_clear(&e);
    return good;
}

/* A prompt of token ids; its text is that of the tokens. false: answered. */
static bool read_ids(srv_request *r, item *y, const json_t *list, const char *name)
{
    const size_t n = json_array_size(list);
    const int64_t V = r->model->config->vocab_size;
    if (!srv_prompt_fits(r, name, (int64_t)n, "tokens")) return false;
    y->id = calloc(n + 1, sizeof *y->id);
    for (size_t i = 0; i < n && y->id; i++) {
        const json_int_t id = json_integer_value(json_array_get(list, i));
        if (id >= V)
            return srv_error(r, 422, "Validation", "`%s`: expected token ids below %lld, got %lld", name, (long long)V,
                             (long long)id), false;
        y->id[i] = (int32_t)id;
    }
    char *text = y->id ? rf_decode(r->model->tokenizer, y->id, n, 1, 0, &y->bytes) : NULL;
    if (text && (y->own = malloc(y->bytes + 1))) y->prompt = memcpy(y->own, text, y->bytes + 1);
    rf_text_free(r->model->tokenizer, text);
    if (!y->own) return srv_error(r, 503, "Overloaded", "out of memory: a prompt of %zu tokens", n), false;
    y->ids = y->prompt_tokens = (int64_t)n;
    y->last = y->id[n - 1];
    return true;
}

static bool read_prompt(srv_request *r, const writing *x, item *y, const json_t *v, const char *name)
{
    if (!json_is_string(v)) return read_ids(r, y, v, name);
    y->prompt = json_string_value(v);
    y->bytes = json_string_length(v);
    r->characters += srv_length(y->prompt, y->bytes);
    return count_tokens(r, x, y, name);
}

/* The prompts of a request, texts or token ids, and `times` texts of each. false: answered. */
static bool read_prompts(srv_request *r, writing *x, const json_t *v, const char *name, int64_t times)
{
    const bool one = !json_is_array(v) || json_is_integer(json_array_get(v, 0));
    if (!srv_new_items(r, x, name, one ? 1 : json_array_size(v), times)) return false;
    for (int64_t i = 0; i < x->items && srv_go_on(r); i++) {
        item *y = &x->item[i];
        if (i % times) *y = x->item[i - 1];
        else if (!read_prompt(r, x, y, one ? v : json_array_get(v, (size_t)(i / times)), name)) return false;
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

static const srv_form completions = {
    .piece = put_piece, .usage = put_usage, .whole = put_completions, .cuts = true, .most = "max_tokens"};
static const srv_form pipeline = {.whole = put_pipeline, .token = put_token_event, .most = "max_new_tokens"};

/* The prompts alone, if no new tokens and no notes are asked for. false: not so, or answered. */
static bool is_echo_alone(srv_request *r, writing *x)
{
    if (x->most || (x->hears && !x->stream)) return false;
    if (!x->with_prompt || x->stream) {
        srv_error(r, 422, "Validation", "`max_tokens`: expected at least 1, or 0 with `echo` without `stream`, got 0");
        return false;
    }
    r->tokens = srv_prompt_tokens(x);
    x->form->whole(r, x);
    srv_answer_json(r);
    return true;
}

void srv_api_completions(srv_request *r)
{
    writing *x = srv_read_body(r) ? srv_new_writing(r, srv_string(r->in, "model"), &completions) : NULL;
    const int64_t times = x ? srv_int(r->in, "n", 1) : 1;
    if (x) {
        x->with_prompt = srv_bool(r->in, "echo", false);
        x->tops = srv_int(r->in, "logprobs", -1);
        x->hears = x->with_prompt && x->tops >= 0;
    }
    if (!x || !read_prompts(r, x, json_object_get(r->in, "prompt"), "prompt", times) ||
        !srv_read_stops(r, x, srv_member(r->in, "stop")))
        return;
    if (srv_int(r->in, "best_of", times) != times) {
        srv_error(r, 422, "Validation", "`best_of`: expected that of `n`, %lld, as no text is left out",
                  (long long)times);
        return;
    }
    if (!srv_read_stream(r, x)) return;
    x->most = 16; /* OpenAI's default */
    x->o.temperature = 1;
    srv_set_openai(x);
    srv_set_sampling(r, x, r->in);
    if (!is_echo_alone(r, x) && !r->status) srv_write(r, x);
}

/* As text-generation-inference has it, whose clients do not send do_sample. */
static bool asks_to_sample(const json_t *in)
{
    const double temperature = srv_real(in, "temperature", 1);
    return (temperature > 0 && temperature != 1) || srv_int(in, "top_k", 0) > 0 || srv_real(in, "top_p", 1) < 1;
}

/* The text-generation pipeline, whose defaults are the folder's. */
static void generate(srv_request *r, bool stream)
{
    const json_t *in = srv_member(r->in, "parameters");
    writing *x = srv_new_writing(r, NULL, &pipeline);
    if (!x || !read_prompts(r, x, json_object_get(r->in, "inputs"), "inputs", srv_int(in, "num_return_sequences", 1)) ||
        !srv_read_stops(r, x, srv_member(in, "stop")))
        return;
    x->stream = stream;
    x->tops = stream || srv_bool(in, "details", false) ? 0 : -1;
    if (x->stream && x->items > 1) {
        srv_error(r, 422, "Validation", "`num_return_sequences`: expected 1 in a stream, got %lld",
                  (long long)x->items);
        return;
    }
    x->with_prompt = srv_bool(in, "return_full_text", true);
    x->most = x->o.max_new_tokens;
    x->o.do_sample = srv_bool(in, "do_sample", x->o.do_sample || asks_to_sample(in));
    x->o.num_beams = srv_int(in, "num_beams", x->o.num_beams);
    srv_set_sampling(r, x, in);
    srv_write(r, x);
}

void srv_generate_text(srv_request *r) { generate(r, srv_bool(r->in, "stream", false)); }

void srv_api_generate(srv_request *r)
{
    if (srv_read_body(r)) srv_generate_text(r);
}

void srv_api_generate_stream(srv_request *r)
{
    if (srv_read_body(r)) generate(r, true);
}

void srv_api_responses(srv_request *r)
{
    srv_error(r, 404, "NotFound", "responses are not served, as nothing is kept here; use /v1/chat/completions");
}
