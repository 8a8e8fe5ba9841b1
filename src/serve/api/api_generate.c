/* api_generate.c — text by a causal model: OpenAI's completions and the text-generation pipeline.
 *
 * Texts of requests with the same options are generated in one running batch: a request joins it when there is space,
 * and leaves it when its text ends (rf_generate_texts_from). Other requests wait until the batch has ended
 * (srv_call_may_join). */
#include <stdlib.h>
#include <time.h>

#include "serve/api/api.h"
#include "serve/shared_call.h"
#include "serve/http/stream.h"

enum {
    STOPS = 4,   /* stop strings of a request                                                  */
    JOINT = 4096 /* minimum number of new tokens for which a batch reserves space, so that longer texts may join it */
};

typedef struct writing {
    srv_call call;        /* first, because a call is cast to this type                                 */
    struct writing *next; /* in the batch                                                               */
    bool openai, stream, begun, with_prompt;
    bool usage;  /* the last event of the stream reports the numbers of tokens                 */
    size_t sent; /* bytes of `text` that the stream has sent                                   */
    const char *prompt;
    size_t bytes;
    rf_generate_options o;
    const char *stop[STOPS];
    int64_t number; /* of the text in the batch                                                   */
    int64_t most, tokens, prompt_tokens;
    srv_text text;
    bool stopped, full; /* the text ended with a stop string; has `most` tokens                       */
} writing;

static void free_writing(void *own)
{
    writing *x = own;
    srv_text_clear(&x->text);
    free(x);
}

/* The first byte of the first stop string in the text from `from` on, or n. */
static size_t stop_at(const writing *x, size_t from)
{
    const srv_text *t = &x->text;
    for (; from < t->n; from++)
        for (int64_t i = 0; i < x->o.stop_strings; i++) {
            const size_t n = strlen(x->stop[i]);
            if (n <= t->n - from && !memcmp(t->at + from, x->stop[i], n)) return from;
        }
    return t->n;
}

/* How many bytes of the text are certain not to belong to a stop string; the rest may become one. */
static size_t sure_end(const writing *x)
{
    const srv_text *t = &x->text;
    size_t end = stop_at(x, x->sent);
    for (int64_t i = 0; i < x->o.stop_strings; i++)
        for (size_t n = strlen(x->stop[i]) - 1; n; n--)
            if (n <= t->n - x->sent && t->n - n < end && !memcmp(t->at + t->n - n, x->stop[i], n)) end = t->n - n;
    return end;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static const char *finish_reason(const writing *x) { return x->stopped ? "stop" : "length"; }

static void put_head(srv_text *t, const srv_request *r)
{
    const char *name = r->s->o.model[r->model->slot].name;
    srv_printf(t, "{\"id\":\"cmpl-%s\",\"object\":\"text_completion\",\"created\":%lld,\"model\":", r->id,
               (long long)time(NULL));
    srv_put_string(t, name, strlen(name));
}

static void put_usage(srv_text *t, const writing *x)
{
    srv_printf(t, ",\"usage\":{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,\"total_tokens\":%lld}",
               (long long)x->prompt_tokens, (long long)x->tokens, (long long)(x->prompt_tokens + x->tokens));
}

/* Sends the contents of the stream's buffer. false: the client has left, or there is no memory. */
static bool send_event(srv_request *r, srv_text *t)
{
    srv_puts(t, "}\n\n");
    const bool good = !t->failed && srv_stream_write(r, t->at, t->n);
    srv_text_clear(t);
    return good;
}

/* A server-sent event with a piece of text, or with the end. */
static bool send_piece(writing *x, const char *piece, size_t size, const char *reason)
{
    srv_request *r = x->call.r;
    srv_text t = {0};
    srv_puts(&t, "data: ");
    put_head(&t, r);
    srv_puts(&t, ",\"choices\":[{\"index\":0,\"text\":");
    srv_put_string(&t, piece, size);
    srv_puts(&t, ",\"logprobs\":null,\"finish_reason\":");
    if (reason) srv_printf(&t, "\"%s\"", reason);
    else srv_puts(&t, "null");
    srv_puts(&t, x->usage ? "}],\"usage\":null" : "}]");
    return send_event(r, &t);
}

/* As OpenAI's: no choices. */
static bool send_usage(writing *x)
{
    srv_text t = {0};
    srv_puts(&t, "data: ");
    put_head(&t, x->call.r);
    srv_puts(&t, ",\"choices\":[]");
    put_usage(&t, x);
    return send_event(x->call.r, &t);
}

static bool send_error(srv_request *r, const char *message)
{
    srv_text t = {0};
    srv_puts(&t, "data: {\"error\":{\"message\":");
    srv_put_string(&t, message, strlen(message));
    srv_puts(&t, ",\"type\":\"server_error\",\"param\":null,\"code\":null}");
    return send_event(r, &t);
}

/* A stream without "[DONE]" is incomplete. */
static void send_end(writing *x, const rf_error *why)
{
    srv_request *r = x->call.r;
    const size_t end = stop_at(x, x->sent);
    bool good = !why;
    if (good && end > x->sent) good = send_piece(x, x->text.at + x->sent, end - x->sent, NULL);
    if (good) good = send_piece(x, "", 0, finish_reason(x));
    if (good && x->usage) good = send_usage(x);
    if (!good) good = send_error(r, why ? why->text : "out of memory: the end of the text");
    if (good) srv_stream_write(r, "data: [DONE]\n\n", 14);
    srv_stream_end(r);
}

/* ---- the batch, in the engine's thread --------------------------------------------------------------------------- */

typedef struct batch {
    rf_pipeline *p;
    writing *first, *all; /* all requests whose texts are being generated                               */
    writing *waiting;     /* the first one, until it has been given to the model                        */
    int64_t n;            /* prompts given                                                              */
    double begun;
} batch;

static writing *find(const batch *b, int64_t number)
{
    writing *x = b->all;
    while (x && x->number != number) x = x->next;
    return x;
}

static void leave(batch *b, writing *x, const rf_error *why)
{
    writing **at = &b->all;
    while (*at && *at != x) at = &(*at)->next;
    if (*at) *at = x->next;
    if (x->stream && x->begun) send_end(x, why);
    srv_call_end(&x->call, why);
}

static bool may_join(const batch *b)
{
    int64_t joined = 0;
    for (const writing *x = b->all; x; x = x->next) joined += !x->call.leads;
    return srv_call_may_join(&b->first->call, joined, b->n, b->begun);
}

static int next_prompt(void *user, int idle, rf_text_prompt *out)
{
    batch *b = user;
    writing *x = b->waiting;
    (void)idle;
    b->waiting = NULL;
    if (!x && b->n && !may_join(b)) return 0;
    if (!x && !(x = (writing *)srv_call_next(&b->first->call))) return 0;
    x->number = b->n++;
    x->next = b->all;
    b->all = x;
    *out = (rf_text_prompt){.text = x->prompt, .bytes = x->bytes, .occurrence = x->o.occurrence};
    return 1;
}

/* Receives new text, and ends it at a stop string or at the request's own number of tokens. */
static int sink(void *user, int64_t number, const char *piece, size_t size)
{
    batch *b = user;
    writing *x = find(b, number);
    if (!x) return 1;
    srv_request *r = x->call.r;
    if (srv_is_over(r)) return 1;
    x->tokens++;
    srv_put(&x->text, piece, size);
    if (x->text.failed) return 1;
    if (x->stream && !x->begun) {
        if (!srv_stream_begin(r, "text/event-stream; charset=utf-8")) return 1;
        x->begun = true;
    }
    const size_t end = x->stream ? sure_end(x) : 0;
    if (end > x->sent && !send_piece(x, x->text.at + x->sent, end - x->sent, NULL)) return 1;
    if (end > x->sent) x->sent = end;
    x->full = x->tokens >= x->most;
    return x->full;
}

static int done(void *user, int64_t number, const rf_generation *g, const rf_error *why)
{
    batch *b = user;
    writing *x = find(b, number);
    if (!x) return 0;
    rf_error own = {0};
    if (why) own = *why;
    if (g) {
        x->stopped = g->end == RF_GENERATE_STOP || (g->end == RF_GENERATE_SINK && x->full && g->n < x->most);
        x->tokens = g->n;
        x->prompt_tokens = g->prompt_tokens;
        x->text.n = 0;                                  /* a stream lacks an incomplete last character (U+FFFD) */
        srv_put(&x->text, g->text, g->bytes);
        if (!x->stream && x->openai && !x->text.failed)
            x->text.n = stop_at(x, 0);                  /* OpenAI's: without the stop string */
    }
    if (!why && x->text.failed) rf_fail(&own, RF_ENOMEM, "out of memory: the text");
    else if (!why && g && g->end == RF_GENERATE_SINK && !x->full) own = srv_over(x->call.r);
    if (!own.code && x->stream && !x->begun) x->begun = srv_stream_begin(x->call.r, "text/event-stream; charset=utf-8");
    leave(b, x, own.code ? &own : NULL);
    return 0;
}

/* The maximum number of new tokens of a text in x's batch; each text ends at its own maximum. A forced last token is
 * that of the longest text. */
static int64_t longest(const writing *x)
{
    const int64_t limit = rf__min64(x->call.r->s->o.limits.max_new_tokens, JOINT);
    return x->o.forced_eos >= 0 ? x->most : rf__max64(x->most, limit);
}

static void compute(srv_call *first, rf_pipeline *p)
{
    writing *x = (writing *)first;
    rf_error why = {0};
    /* The first request may end before the batch does; the batch reads its options and its model until then. */
    srv_request *r = x->call.r;
    atomic_fetch_add(&r->users, 1);
    batch b = {.p = p, .first = x, .waiting = x, .begun = rf__seconds()};
    rf_generate_options o = x->o;
    o.max_new_tokens = longest(x);
    const rf_status status = rf_generate_texts_from(p, next_prompt, &o, sink, done, &b, &why);
    if (!status && b.all) rf_fail(&why, RF_ECANCELED, "canceled: the batch ended");
    if (b.waiting && status) srv_call_end(&b.waiting->call, &why);
    while (b.all) leave(&b, b.all, &why);
    srv_request_release(r);
}

static bool same_stops(const writing *x, const writing *y)
{
    if (x->o.stop_strings != y->o.stop_strings) return false;
    for (int64_t i = 0; i < x->o.stop_strings; i++)
        if (strcmp(x->stop[i], y->stop[i])) return false;
    return true;
}

static bool same(const srv_call *first, const srv_call *second)
{
    const writing *x = (const writing *)first, *y = (const writing *)second;
    const rf_generate_options *a = &x->o, *b = &y->o;
    return a->do_sample == b->do_sample && a->temperature == b->temperature && a->top_k == b->top_k &&
           a->top_p == b->top_p && a->min_p == b->min_p && a->repetition_penalty == b->repetition_penalty &&
           a->seed == b->seed && (a->forced_eos >= 0 ? x->most == y->most : y->most <= longest(x)) && same_stops(x, y);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void put_openai(srv_request *r, const writing *x)
{
    srv_text *t = &r->out;
    put_head(t, r);
    srv_puts(t, ",\"choices\":[{\"index\":0,\"text\":");
    srv_put_string(t, x->text.at ? x->text.at : "", x->text.n);
    srv_printf(t, ",\"logprobs\":null,\"finish_reason\":\"%s\"}]", finish_reason(x));
    put_usage(t, x);
    srv_puts(t, "}");
}

static void put_pipeline(srv_request *r, const writing *x)
{
    srv_text whole = {0};
    if (x->with_prompt) srv_put(&whole, x->prompt, x->bytes);
    srv_put(&whole, x->text.at ? x->text.at : "", x->text.n);
    srv_puts(&r->out, "[{\"generated_text\":");
    srv_put_string(&r->out, whole.at ? whole.at : "", whole.n);
    srv_puts(&r->out, "}]");
    r->out.failed |= whole.failed;
    srv_text_clear(&whole);
}

static void finish(srv_request *r)
{
    const writing *x = r->own;
    r->tokens = x->prompt_tokens + x->tokens;
    if (x->stream) return; /* all of it has been sent */
    if (x->openai) put_openai(r, x);
    else put_pipeline(r, x);
    r->out.failed |= x->text.failed;
    srv_answer_json(r);
}

static bool is_causal(srv_request *r)
{
    if (srv_generates(r->model)) return true;
    srv_wrong_model(r, "continues no text", srv_generates);
    return false;
}

/* false: answered. */
static bool read_stops(srv_request *r, writing *x, const json_t *list)
{
    const size_t n = json_is_string(list) ? 1 : json_array_size(list);
    if (n > STOPS)
        return srv_error(r, 422, "Validation", "`stop`: expected at most %d strings, got %zu", STOPS, n), false;
    for (size_t i = 0; i < n; i++) {
        x->stop[i] = json_string_value(json_is_string(list) ? list : json_array_get(list, i));
        if (!*x->stop[i]) return srv_error(r, 422, "Validation", "`stop`: expected strings that are not empty"), false;
    }
    x->o.stop_string = x->stop;
    x->o.stop_strings = (int64_t)n;
    return true;
}

static writing *new_writing(srv_request *r, const char *model)
{
    rf_error why = {0};
    if (!srv_need_model(r, model) || !is_causal(r)) return NULL;
    writing *x = srv_own(r, sizeof *x, free_writing);
    if (!x) return NULL;
    x->call = (srv_call){.r = r, .compute = compute, .same = same};
    if (!rf_generate_defaults_of(r->model->pipeline, &x->o, &why)) return x;
    srv_fail(r, &why);
    return NULL;
}

/* Requests without a seed get different random numbers each time, also within a batch. */
static void set_sampling(srv_request *r, writing *x, const json_t *in)
{
    x->o.seed = (uint64_t)srv_int(in, "seed", (int64_t)x->o.seed);
    x->o.occurrence = srv_member(in, "seed") ? 0 : (uint64_t)atomic_fetch_add(&r->s->serial, 1);
    x->o.top_p = srv_real(in, "top_p", x->o.top_p);
    x->o.min_p = srv_real(in, "min_p", x->o.min_p);
    x->o.top_k = srv_int(in, "top_k", x->o.top_k);
    x->o.repetition_penalty = srv_real(in, "repetition_penalty", x->o.repetition_penalty);
    const double temperature = srv_real(in, "temperature", x->o.temperature);
    if (temperature > 0) x->o.temperature = temperature;
    else x->o.do_sample = 0;
    if (!x->o.do_sample)
        x->o.temperature = x->o.top_p = 1, x->o.min_p = 0, x->o.top_k = 0, x->o.occurrence = x->o.seed = 0;
    x->most = srv_int(in, "max_tokens", srv_int(in, "max_new_tokens", x->most));
    x->o.max_new_tokens = x->most;
}

/* Whether the prompt and one more token are within the context of the model. false: answered, on OpenAI's routes with
 * 400. */
static bool prompt_fits(srv_request *r, const writing *x, const char *name)
{
    enum { BYTES = 250 };
    const int64_t most = r->model->config->max_position_embeddings;
    rf_encoding e;
    rf_error why = {0};
    if (most <= 0) return true;
    rf_encoding_init(&e, r->s->o.ctx);
    const bool read = x->bytes <= BYTES * (size_t)most;
    if (read && rf_encode(r->model->tokenizer, x->prompt, x->bytes, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why))
        srv_fail(r, &why);
    else if (!read || (int64_t)e.n >= most)
        srv_error(r, 422, "Validation", "`%s`: this model's maximum context length is %lld tokens, got a prompt of %zu "
                  "%s; shorten it", name, (long long)most, read ? e.n : x->bytes, read ? "tokens" : "bytes");
    rf_encoding_clear(&e);
    return !r->status;
}

static void submit(srv_request *r, writing *x)
{
    if (!prompt_fits(r, x, x->openai ? "prompt" : "inputs")) return;
    if (x->most > r->s->o.limits.max_new_tokens) {
        srv_error(r, 422, "Validation", "`%s`: expected at most %lld (--max-new-tokens), got %lld",
                  x->openai ? "max_tokens" : "max_new_tokens", (long long)r->s->o.limits.max_new_tokens,
                  (long long)x->most);
        return;
    }
    r->characters = srv_length(x->prompt, x->bytes);
    if (srv_hold(r, 1)) srv_call_submit(&x->call, finish);
}

static bool one_string(srv_request *r, const json_t *v, const char *name, const char **text, size_t *bytes)
{
    if (json_is_array(v) && json_array_size(v) == 1) v = json_array_get(v, 0);
    if (!json_is_string(v))
        return srv_error(r, 422, "Validation", "`%s`: expected one string, got %zu", name, json_array_size(v)),
               false;
    *text = json_string_value(v);
    *bytes = json_string_length(v);
    return true;
}

void srv_api_completions(srv_request *r)
{
    writing *x = srv_read_body(r) ? new_writing(r, srv_string(r->in, "model")) : NULL;
    if (!x || !one_string(r, json_object_get(r->in, "prompt"), "prompt", &x->prompt, &x->bytes) ||
        !read_stops(r, x, srv_member(r->in, "stop")))
        return;
    x->openai = true;
    x->stream = srv_bool(r->in, "stream", false);
    x->usage = srv_bool(srv_member(r->in, "stream_options"), "include_usage", false);
    if (!x->stream && srv_member(r->in, "stream_options")) {
        srv_error(r, 422, "Validation", "`stream_options`: expected `stream`: true, too, got false");
        return;
    }
    x->most = 16; /* OpenAI's default */
    x->o.do_sample = 1;
    x->o.temperature = 1;
    set_sampling(r, x, r->in);
    submit(r, x);
}

/* The text-generation pipeline, whose defaults are the folder's. */
void srv_generate_text(srv_request *r)
{
    const json_t *in = srv_member(r->in, "parameters");
    writing *x = new_writing(r, NULL);
    if (!x || !one_string(r, json_object_get(r->in, "inputs"), "inputs", &x->prompt, &x->bytes) ||
        !read_stops(r, x, srv_member(in, "stop")))
        return;
    x->with_prompt = srv_bool(in, "return_full_text", true);
    x->most = x->o.max_new_tokens;
    x->o.do_sample = srv_bool(in, "do_sample", x->o.do_sample);
    set_sampling(r, x, in);
    submit(r, x);
}

void srv_api_generate(srv_request *r)
{
    if (srv_read_body(r)) srv_generate_text(r);
}

void srv_api_chat(srv_request *r)
{
    srv_error(r, 404, "NotFound",
              "chat is not served: the models are language models without a chat template; use "
              "/v1/completions");
}
