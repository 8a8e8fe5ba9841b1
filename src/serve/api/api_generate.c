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

/* A text of a request: a prompt and its continuation. */
typedef struct item {
    const char *prompt;
    size_t bytes;
    srv_text text;
    size_t sent; /* bytes of `text` that the stream has sent                                   */
    int64_t tokens, prompt_tokens;
    bool begun;         /* the stream has sent the prompt, if it is a part of the answer              */
    bool stopped, full; /* the text ended with a stop string; has `most` tokens                       */
} item;

typedef struct writing {
    srv_call call;        /* first, because a call is cast to this type                                 */
    struct writing *next; /* in the batch                                                               */
    bool openai, stream, begun, with_prompt;
    bool usage; /* the last event of the stream reports the numbers of tokens                 */
    rf_generate_options o;
    const char *stop[STOPS];
    item *item; /* [items] prompt by prompt, `times` texts of each                            */
    int64_t items, times;
    int64_t first, given, left; /* number of its first text in the batch; texts given to the model; to come   */
    int64_t most;               /* new tokens of a text                                                       */
    rf_error why;
} writing;

static void free_writing(void *own)
{
    writing *x = own;
    for (int64_t i = 0; i < x->items; i++) srv_text_clear(&x->item[i].text);
    free(x->item);
    free(x);
}

/* The first byte of the first stop string in the text from `from` on, or n. */
static size_t stop_at(const writing *x, const item *y, size_t from)
{
    const srv_text *t = &y->text;
    for (; from < t->n; from++)
        for (int64_t i = 0; i < x->o.stop_strings; i++) {
            const size_t n = strlen(x->stop[i]);
            if (n <= t->n - from && !memcmp(t->at + from, x->stop[i], n)) return from;
        }
    return t->n;
}

/* How many bytes of the text are certain not to belong to a stop string; the rest may become one. */
static size_t sure_end(const writing *x, const item *y)
{
    const srv_text *t = &y->text;
    size_t end = stop_at(x, y, y->sent);
    for (int64_t i = 0; i < x->o.stop_strings; i++)
        for (size_t n = strlen(x->stop[i]) - 1; n; n--)
            if (n <= t->n - y->sent && t->n - n < end && !memcmp(t->at + t->n - n, x->stop[i], n)) end = t->n - n;
    return end;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static const char *finish_reason(const item *y) { return y->stopped ? "stop" : "length"; }

static void put_head(srv_text *t, const srv_request *r)
{
    const char *name = r->s->o.model[r->model->slot].name;
    srv_printf(t, "{\"id\":\"cmpl-%s\",\"object\":\"text_completion\",\"created\":%lld,\"model\":", r->id,
               (long long)time(NULL));
    srv_put_string(t, name, strlen(name));
}

/* A prompt counts once, however many texts continue it. */
static int64_t prompt_tokens(const writing *x)
{
    int64_t n = 0;
    for (int64_t i = 0; i < x->items; i += x->times) n += x->item[i].prompt_tokens;
    return n;
}

static int64_t new_tokens(const writing *x)
{
    int64_t n = 0;
    for (int64_t i = 0; i < x->items; i++) n += x->item[i].tokens;
    return n;
}

static void put_usage(srv_text *t, const writing *x)
{
    const long long prompts = prompt_tokens(x), tokens = new_tokens(x);
    srv_printf(t, ",\"usage\":{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,\"total_tokens\":%lld}", prompts,
               tokens, prompts + tokens);
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
static bool send_piece(const writing *x, item *y, const char *piece, size_t size, const char *reason)
{
    srv_request *r = x->call.r;
    srv_text t = {0}, whole = {0};
    if (!y->begun && x->with_prompt) srv_put(&whole, y->prompt, y->bytes);
    srv_put(&whole, piece, size);
    y->begun = true;
    srv_puts(&t, "data: ");
    put_head(&t, r);
    srv_printf(&t, ",\"choices\":[{\"index\":%lld,\"text\":", (long long)(y - x->item));
    srv_put_string(&t, whole.at ? whole.at : "", whole.n);
    srv_puts(&t, ",\"logprobs\":null,\"finish_reason\":");
    if (reason) srv_printf(&t, "\"%s\"", reason);
    else srv_puts(&t, "null");
    srv_puts(&t, x->usage ? "}],\"usage\":null" : "}]");
    t.failed |= whole.failed;
    srv_text_clear(&whole);
    return send_event(r, &t);
}

/* As OpenAI's: no choices. */
static bool send_usage(const writing *x)
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

static bool begin_stream(writing *x)
{
    if (!x->begun) x->begun = srv_stream_begin(x->call.r, "text/event-stream; charset=utf-8");
    return x->begun;
}

/* The end of a text. */
static bool send_text_end(const writing *x, item *y)
{
    const size_t end = stop_at(x, y, y->sent);
    if (end > y->sent && !send_piece(x, y, y->text.at + y->sent, end - y->sent, NULL)) return false;
    return send_piece(x, y, "", 0, finish_reason(y));
}

/* A stream without "[DONE]" is incomplete. */
static void send_end(const writing *x, const rf_error *why)
{
    srv_request *r = x->call.r;
    bool good = !why;
    if (good && x->usage) good = send_usage(x);
    if (!good) good = send_error(r, why ? why->text : "out of memory: the end of the text");
    if (good) srv_stream_write(r, "data: [DONE]\n\n", 14);
    srv_stream_end(r);
}

/* ---- the batch, in the engine's thread --------------------------------------------------------------------------- */

typedef struct batch {
    rf_pipeline *p;
    writing *first, *all; /* all requests whose texts are being generated                               */
    writing *now;         /* the request whose prompts are added to the batch, or NULL                  */
    int64_t n;            /* prompts given                                                              */
    double begun;
} batch;

static item *find(const batch *b, int64_t number, writing **of)
{
    writing *x = b->all;
    while (x && (number < x->first || number >= x->first + x->given)) x = x->next;
    *of = x;
    return x ? &x->item[number - x->first] : NULL;
}

static void leave(batch *b, writing *x, const rf_error *why)
{
    writing **at = &b->all;
    while (*at && *at != x) at = &(*at)->next;
    if (*at) *at = x->next;
    if (b->now == x) b->now = NULL;
    if (x->stream && x->begun) send_end(x, why);
    srv_call_end(&x->call, why);
}

static bool may_join(const batch *b)
{
    int64_t joined = 0;
    for (const writing *x = b->all; x; x = x->next) joined += !x->call.leads;
    return srv_call_may_join(&b->first->call, joined, b->n, b->begun);
}

static void join(batch *b, writing *x)
{
    x->first = b->n;
    x->left = x->items;
    x->next = b->all;
    b->all = b->now = x;
}

/* The texts of a request that is over, and that have not begun, are not generated. */
static void drop_rest(batch *b)
{
    writing *x = b->now;
    x->why = srv_over(x->call.r);
    x->left -= x->items - x->given;
    b->now = NULL;
    if (!x->left) leave(b, x, &x->why);
}

static int next_prompt(void *user, int idle, rf_text_prompt *out)
{
    batch *b = user;
    (void)idle;
    if (b->now && srv_is_over(b->now->call.r)) drop_rest(b);
    if (!b->now) {
        if (b->n && !may_join(b)) return 0;
        writing *x = (writing *)srv_call_next(&b->first->call);
        if (!x) return 0;
        join(b, x);
    }
    writing *x = b->now;
    const item *y = &x->item[x->given];
    *out = (rf_text_prompt){.text = y->prompt, .bytes = y->bytes, .occurrence = x->o.occurrence};
    if (x->o.do_sample) out->occurrence += (uint64_t)(x->given % x->times);
    b->n++;
    if (++x->given == x->items) b->now = NULL;
    return 1;
}

/* Receives new text, and ends it at a stop string or at the request's own number of tokens. */
static int sink(void *user, int64_t number, const char *piece, size_t size)
{
    writing *x;
    item *y = find(user, number, &x);
    if (!y || srv_is_over(x->call.r)) return 1;
    y->tokens++;
    srv_put(&y->text, piece, size);
    if (y->text.failed || (x->stream && !begin_stream(x))) return 1;
    const size_t end = x->stream ? sure_end(x, y) : 0;
    if (end > y->sent && !send_piece(x, y, y->text.at + y->sent, end - y->sent, NULL)) return 1;
    if (end > y->sent) y->sent = end;
    y->full = y->tokens >= x->most;
    return y->full;
}

/* The text as the model ended it. */
static void take_text(const writing *x, item *y, const rf_generation *g)
{
    y->stopped = g->end == RF_GENERATE_STOP || (g->end == RF_GENERATE_SINK && y->full && g->n < x->most);
    y->tokens = g->n;
    y->prompt_tokens = g->prompt_tokens;
    y->text.n = 0;                                          /* a stream lacks an incomplete last character (U+FFFD) */
    srv_put(&y->text, g->text, g->bytes);
    if (!x->stream && x->openai && !y->text.failed) y->text.n = stop_at(x, y, 0);     /* without the stop string    */
}

static int done(void *user, int64_t number, const rf_generation *g, const rf_error *why)
{
    batch *b = user;
    writing *x;
    item *y = find(b, number, &x);
    if (!y) return 0;
    rf_error own = {0};
    if (why) own = *why;
    if (g) take_text(x, y, g);
    if (!why && y->text.failed) rf_fail(&own, RF_ENOMEM, "out of memory: the text");
    else if (!why && g && g->end == RF_GENERATE_SINK && !y->full) own = srv_over(x->call.r);
    if (!own.code && x->stream && (!begin_stream(x) || !send_text_end(x, y)))
        rf_fail(&own, RF_ENOMEM, "out of memory: the end of the text");
    if (own.code && !x->why.code) x->why = own;
    if (!--x->left) leave(b, x, x->why.code ? &x->why : NULL);
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
    batch b = {.p = p, .first = x, .begun = rf__seconds()};
    rf_generate_options o = x->o;
    o.max_new_tokens = longest(x);
    join(&b, x);
    const rf_status status = rf_generate_texts_from(p, next_prompt, &o, sink, done, &b, &why);
    if (!status && b.all) rf_fail(&why, RF_ECANCELED, "canceled: the batch ended");
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

/* The text with its prompt, if that is asked for. */
static void put_whole(srv_request *r, const writing *x, const item *y)
{
    srv_text whole = {0};
    if (x->with_prompt) srv_put(&whole, y->prompt, y->bytes);
    srv_put(&whole, y->text.at ? y->text.at : "", y->text.n);
    srv_put_string(&r->out, whole.at ? whole.at : "", whole.n);
    r->out.failed |= whole.failed || y->text.failed;
    srv_text_clear(&whole);
}

static void put_openai(srv_request *r, const writing *x)
{
    srv_text *t = &r->out;
    put_head(t, r);
    srv_puts(t, ",\"choices\":[");
    for (int64_t i = 0; i < x->items; i++) {
        srv_printf(t, "%s{\"index\":%lld,\"text\":", i ? "," : "", (long long)i);
        put_whole(r, x, &x->item[i]);
        srv_printf(t, ",\"logprobs\":null,\"finish_reason\":\"%s\"}", finish_reason(&x->item[i]));
    }
    srv_puts(t, "]");
    put_usage(t, x);
    srv_puts(t, "}");
}

static void put_pipeline(srv_request *r, const writing *x)
{
    for (int64_t i = 0; i < x->items; i++) {
        srv_puts(&r->out, i ? ",{\"generated_text\":" : "[{\"generated_text\":");
        put_whole(r, x, &x->item[i]);
        srv_puts(&r->out, "}");
    }
    srv_puts(&r->out, "]");
}

static void finish(srv_request *r)
{
    const writing *x = r->own;
    r->tokens = prompt_tokens(x) + new_tokens(x);
    if (x->stream) return; /* all of it has been sent */
    if (x->openai) put_openai(r, x);
    else put_pipeline(r, x);
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
    x->o.occurrence = srv_member(in, "seed") ? 0 : (uint64_t)atomic_fetch_add(&r->s->serial, x->times);
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

/* Whether a prompt and one more token are within the context of the model. false: answered, on OpenAI's routes with
 * 400. */
static bool prompt_fits(srv_request *r, const item *y, const char *name)
{
    const int64_t most = r->model->config->max_position_embeddings;
    rf_encoding e;
    rf_error why = {0};
    if (most <= 0) return true;
    rf_encoding_init(&e, r->s->o.ctx);
    const bool read = y->bytes <= SRV_TOKEN_BYTES * (size_t)most;
    if (read && rf_encode(r->model->tokenizer, y->prompt, y->bytes, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why))
        srv_fail(r, &why);
    else if (!read || (int64_t)e.n >= most)
        srv_error(r, 422, "Validation", "`%s`: this model's maximum context length is %lld tokens, got a prompt of %zu "
                  "%s; shorten it", name, (long long)most, read ? e.n : y->bytes, read ? "tokens" : "bytes");
    rf_encoding_clear(&e);
    return !r->status;
}

/* The prompts of a request, and `times` texts of each. false: answered. */
static bool read_prompts(srv_request *r, writing *x, const json_t *v, const char *name, int64_t times)
{
    const bool one = json_is_string(v);
    const size_t prompts = one ? 1 : json_array_size(v), n = prompts * (size_t)times;
    if (!srv_check_count(r, name, n)) return false;
    x->item = calloc(n, sizeof *x->item);
    if (!x->item) return srv_error(r, 503, "Overloaded", "out of memory: %zu texts", n), false;
    x->items = (int64_t)n;
    x->times = times;
    for (size_t i = 0; i < n && srv_go_on(r); i++) {
        const json_t *text = one ? v : json_array_get(v, i / (size_t)times);
        x->item[i].prompt = json_string_value(text);
        x->item[i].bytes = json_string_length(text);
        if (i % (size_t)times) continue;
        r->characters += srv_length(x->item[i].prompt, x->item[i].bytes);
        if (!prompt_fits(r, &x->item[i], name)) return false;
    }
    return !r->status;
}

static void submit(srv_request *r, writing *x)
{
    enum { TOKEN = 5 }; /* bytes, about */
    char what[64];
    if (x->most > r->s->o.limits.max_new_tokens) {
        srv_error(r, 422, "Validation", "`%s`: expected at most %lld (--max-new-tokens), got %lld",
                  x->openai ? "max_tokens" : "max_new_tokens", (long long)r->s->o.limits.max_new_tokens,
                  (long long)x->most);
        return;
    }
    snprintf(what, sizeof what, "%lld texts of %lld tokens", (long long)x->items, (long long)x->most);
    double bytes = (double)TOKEN * (double)x->items * (double)x->most;
    for (int64_t i = 0; i < x->items && x->with_prompt; i++) bytes += (double)x->item[i].bytes;
    if (srv_answer_fits(r, bytes, what) && srv_hold(r, x->items))
        srv_call_submit(&x->call, finish);
}

void srv_api_completions(srv_request *r)
{
    writing *x = srv_read_body(r) ? new_writing(r, srv_string(r->in, "model")) : NULL;
    const int64_t times = x ? srv_int(r->in, "n", 1) : 1;
    if (!x || !read_prompts(r, x, json_object_get(r->in, "prompt"), "prompt", times) ||
        !read_stops(r, x, srv_member(r->in, "stop")))
        return;
    if (srv_int(r->in, "best_of", times) != times) {
        srv_error(r, 422, "Validation", "`best_of`: expected that of `n`, %lld, as no text is left out",
                  (long long)times);
        return;
    }
    x->with_prompt = srv_bool(r->in, "echo", false);
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
    if (!x || !read_prompts(r, x, json_object_get(r->in, "inputs"), "inputs", srv_int(in, "num_return_sequences", 1)) ||
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
              "chats and responses are not served: the models are language models without a chat template; use "
              "/v1/completions");
}
