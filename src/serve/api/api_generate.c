/* api_generate.c — text by a causal model: the batches of all routes that continue texts (writing.h).
 *
 * Texts of requests with the same options are generated in one running batch: a request joins it when there is space,
 * and leaves it when its text ends (rf_generate_texts_from). Other requests wait until the batch has ended
 * (srv_call_may_join). */
#include <stdlib.h>

#include "serve/api/writing.h"
#include "serve/http/stream.h"

enum { JOINT = 4096 }; /* least number of new tokens for which a batch reserves space: longer texts may join it */

static void free_writing(void *own)
{
    writing *x = own;
    for (int64_t i = 0; i < x->items; i++) {
        srv_text_clear(&x->item[i].text);
        free(x->item[i].note);
        free(x->item[i].top);
        if (i % x->times) continue;
        free(x->item[i].id);
        free(x->item[i].own);
    }
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

/* A prompt counts once, however many texts continue it. */
int64_t srv_prompt_tokens(const writing *x)
{
    int64_t n = 0;
    for (int64_t i = 0; i < x->items; i += x->times) n += x->item[i].prompt_tokens;
    return n;
}

int64_t srv_new_tokens(const writing *x)
{
    int64_t n = 0;
    for (int64_t i = 0; i < x->items; i++) n += x->item[i].tokens;
    return n;
}

/* Sends an event with what the stream's buffer has. false: the client has left, or there is no memory. */
static bool send_event(srv_request *r, srv_text *t)
{
    srv_puts(t, "\n\n");
    const bool good = !t->failed && srv_stream_write(r, t->at, t->n);
    srv_text_clear(t);
    return good;
}

/* A server-sent event with a piece of text, or with the end. */
static bool send_piece(const writing *x, item *y, const char *piece, size_t size, const char *reason)
{
    srv_text t = {0};
    if (!y->begun && x->form->opens) {
        srv_puts(&t, "data: ");
        x->form->piece(&t, x, y, NULL, 0, NULL);
        if (!send_event(x->call.r, &t)) return false;
    }
    srv_puts(&t, "data: ");
    x->form->piece(&t, x, y, piece, size, reason);
    y->begun = true;
    return send_event(x->call.r, &t);
}

static bool send_usage(const writing *x)
{
    srv_text t = {0};
    srv_puts(&t, "data: ");
    x->form->usage(&t, x);
    return send_event(x->call.r, &t);
}

static bool send_error(srv_request *r, const char *message)
{
    srv_text t = {0};
    srv_puts(&t, "data: {\"error\":{\"message\":");
    srv_put_string(&t, message, strlen(message));
    srv_puts(&t, ",\"type\":\"server_error\",\"param\":null,\"code\":null}}");
    return send_event(r, &t);
}

static bool begin_stream(writing *x)
{
    if (!x->begun) x->begun = srv_stream_begin(x->call.r, "text/event-stream; charset=utf-8");
    return x->begun;
}

/* Events for tokens up to i. */
static bool send_tokens(const writing *x, item *y, int64_t to, bool last)
{
    for (; y->shown < to; y->shown++) {
        srv_text t = {0};
        srv_puts(&t, "data:");
        x->form->token(&t, x, y, y->shown, last && y->shown + 1 == to);
        if (!send_event(x->call.r, &t)) return false;
    }
    return true;
}

/* The end of a text. */
static bool send_text_end(const writing *x, item *y)
{
    if (x->form->token) return send_tokens(x, y, y->notes, true);
    const size_t end = stop_at(x, y, y->sent);
    if (end > y->sent && !send_piece(x, y, y->text.at + y->sent, end - y->sent, NULL)) return false;
    return send_piece(x, y, "", 0, srv_finish_reason(y));
}

/* A stream without "[DONE]" is incomplete. */
static void send_end(const writing *x, const rf_error *why)
{
    srv_request *r = x->call.r;
    const bool good = !why && (!x->usage || send_usage(x));
    if (!good) send_error(r, why ? why->text : "out of memory: the end of the text");
    else if (!x->form->token) srv_stream_write(r, "data: [DONE]\n\n", 14);
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
    *out = (rf_text_prompt){.text = y->prompt, .bytes = y->bytes, .occurrence = x->o.occurrence, .id = y->id,
                            .ids = y->ids};
    if (x->o.do_sample) out->occurrence += (uint64_t)(x->seeded ? x->given % x->times : x->given);
    b->n++;
    if (++x->given == x->items) b->now = NULL;
    return 1;
}

static bool grow(void *array, size_t *space, size_t need, size_t size)
{
    void **at = array;
    if (need <= *space) return true;
    void *more = realloc(*at, 2 * need * size);
    if (!more) return false;
    *at = more;
    *space = 2 * need;
    return true;
}

/* Space for n notes with their most likely tokens. */
static bool reserve_notes(const writing *x, item *y, size_t n)
{
    return grow(&y->note, &y->note_space, n + 1, sizeof *y->note) &&
           grow(&y->top, &y->top_space, n * (size_t)x->tops + 1, sizeof *y->top);
}

/* Notes a new token, before its text comes. */
static int hear(void *user, const rf_generated *token)
{
    batch *b = user;
    writing *x;
    item *y = find(b, token->text, &x);
    if (!y || x->tops < 0) return 0;
    const size_t tops = (size_t)rf__min64(x->tops, token->tops);
    if (!reserve_notes(x, y, (size_t)y->notes + 1)) return y->text.failed = true;
    y->note[y->notes] = (note){token->id, token->stops != 0, token->logprob, y->text.n};
    for (size_t i = 0; i < (size_t)x->tops; i++)
        y->top[(size_t)y->notes * (size_t)x->tops + i] = i < tops ? token->top[i] : (rf_token_logprob){-1, 0};
    y->notes++;
    return 0;
}

/* Notes the tokens of a prompt for all its texts; the first one has nothing before it. */
static rf_status hear_prompt(rf_pipeline *p, const writing *x, item *first, rf_error *why)
{
    const size_t n = (size_t)first->ids, tops = (size_t)x->tops;
    double *logprob = calloc(n + 1, sizeof *logprob);
    rf_token_logprob *top = calloc(n * tops + 1, sizeof *top);
    rf_status status = logprob && top ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: a prompt of %zu tokens", n);
    if (!status && n)
        status = rf_session_logprobs(rf_pipeline_session(p), first->id, first->ids, 0, 0, logprob, x->tops, top, why);
    for (item *y = first; y < first + x->times && !status; y++) {
        if (!reserve_notes(x, y, n)) {
            status = rf_fail(why, RF_ENOMEM, "out of memory: a prompt of %zu tokens", n);
            break;
        }
        for (size_t i = 0; i < n; i++) y->note[i] = (note){.id = first->id[i], .logprob = logprob[i]};
        memcpy(y->top, top, n * tops * sizeof *top);
        y->heard = y->notes = first->ids;
        y->last = -1;
    }
    free(logprob);
    free(top);
    return status;
}

static rf_status hear_prompts(rf_pipeline *p, writing *x, rf_error *why)
{
    rf_status status = RF_OK;
    for (int64_t i = 0; i < x->items && !status; i += x->times) {
        if (!srv_is_over(x->call.r)) status = hear_prompt(p, x, &x->item[i], why);
        else {
            *why = srv_over(x->call.r);
            status = why->code;
        }
    }
    return status;
}

/* Receives new text, and ends it at a stop string or at the request's own number of tokens. */
static int sink(void *user, int64_t number, const char *piece, size_t size)
{
    writing *x;
    item *y = find(user, number, &x);
    if (!y || srv_is_over(x->call.r)) return 1;
    y->tokens++;
    srv_put(&y->text, piece, size);
    if (y->notes) y->note[y->notes - 1].to = y->text.n;
    if (y->text.failed || (x->stream && !begin_stream(x))) return 1;
    if (x->stream && x->form->token && !send_tokens(x, y, y->notes - 1, false)) return 1;
    const size_t end = x->stream && !x->form->token ? sure_end(x, y) : 0;
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
    if (y->notes) y->note[y->notes - 1].to = y->text.n;
    if (!x->stream && x->form->cuts && !y->text.failed) y->text.n = stop_at(x, y, 0); /* without the stop string     */
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

/* Whether all texts of x's batch must have its maximum: a forced last token is that of the longest text, and beams are
 * compared when they have ended. */
static bool ends_together(const writing *x) { return x->o.forced_eos >= 0 || x->o.num_beams > 1; }

/* The maximum number of new tokens of a text in x's batch; each text ends at its own maximum. */
static int64_t longest(const writing *x)
{
    const int64_t limit = rf__min64(x->call.r->s->o.limits.max_new_tokens, JOINT);
    return ends_together(x) ? x->most : rf__max64(x->most, limit);
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
    o.occurrence = 0;                   /* each prompt has its own */
    o.token = hear;
    o.token_user = &b;
    join(&b, x);
    rf_status status = x->hears ? hear_prompts(p, x, &why) : RF_OK;
    if (!status && !x->most) leave(&b, x, NULL);
    if (!status && b.all) status = rf_generate_texts_from(p, next_prompt, &o, sink, done, &b, &why);
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
    if (x->hears || y->hears) return false;
    return a->do_sample == b->do_sample && a->temperature == b->temperature && a->top_k == b->top_k &&
           a->top_p == b->top_p && a->min_p == b->min_p && a->repetition_penalty == b->repetition_penalty &&
           a->presence_penalty == b->presence_penalty && a->frequency_penalty == b->frequency_penalty &&
           a->seed == b->seed && a->min_new_tokens == b->min_new_tokens && a->top_logprobs >= b->top_logprobs &&
           a->max_length == b->max_length && a->num_beams == b->num_beams &&
           (ends_together(x) ? x->most == y->most : y->most <= longest(x)) &&
           same_stops(x, y);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void finish(srv_request *r)
{
    const writing *x = r->own;
    r->tokens = srv_prompt_tokens(x) + srv_new_tokens(x);
    if (x->stream) return; /* all of it has been sent */
    x->form->whole(r, x);
    srv_answer_json(r);
}

static bool is_causal(srv_request *r)
{
    if (srv_generates(r->model)) return true;
    srv_wrong_model(r, "continues no text", srv_generates);
    return false;
}

/* false: answered. */
bool srv_read_stops(srv_request *r, writing *x, const json_t *list)
{
    const size_t n = json_is_string(list) ? 1 : json_array_size(list);
    if (n > SRV_STOPS)
        return srv_error(r, 422, "Validation", "`stop`: expected at most %d strings, got %zu", SRV_STOPS, n), false;
    for (size_t i = 0; i < n; i++) {
        x->stop[i] = json_string_value(json_is_string(list) ? list : json_array_get(list, i));
        if (!*x->stop[i]) return srv_error(r, 422, "Validation", "`stop`: expected strings that are not empty"), false;
    }
    x->o.stop_string = x->stop;
    x->o.stop_strings = (int64_t)n;
    return true;
}

writing *srv_new_writing(srv_request *r, const char *model, const srv_form *form)
{
    rf_error why = {0};
    if (!srv_need_model(r, model) || !is_causal(r)) return NULL;
    writing *x = srv_own(r, sizeof *x, free_writing);
    if (!x) return NULL;
    x->call = (srv_call){.r = r, .compute = compute, .same = same};
    x->form = form;
    x->times = 1;
    x->tops = -1;
    if (!rf_generate_defaults_of(r->model->pipeline, &x->o, &why)) return x;
    srv_fail(r, &why);
    return NULL;
}

void srv_set_openai(writing *x)
{
    x->o.do_sample = 1;
    x->o.num_beams = 1;
    x->o.max_length = 0;
}

/* Requests without a seed get different random numbers each time, also within a batch. */
void srv_set_sampling(srv_request *r, writing *x, const json_t *in)
{
    x->o.seed = (uint64_t)srv_int(in, "seed", (int64_t)x->o.seed);
    x->seeded = srv_member(in, "seed");
    x->o.occurrence = x->seeded ? 0 : (uint64_t)atomic_fetch_add(&r->s->serial, x->items);
    x->o.top_p = srv_real(in, "top_p", x->o.top_p);
    x->o.min_p = srv_real(in, "min_p", x->o.min_p);
    x->o.top_k = srv_int(in, "top_k", x->o.top_k);
    x->o.repetition_penalty = srv_real(in, "repetition_penalty", x->o.repetition_penalty);
    x->o.presence_penalty = srv_real(in, "presence_penalty", 0);
    x->o.frequency_penalty = srv_real(in, "frequency_penalty", 0);
    x->o.min_new_tokens = srv_int(in, "min_tokens", srv_int(in, "min_new_tokens", x->o.min_new_tokens));
    x->o.top_logprobs = rf__max64(x->tops, 0);
    const double temperature = srv_real(in, "temperature", x->o.temperature);
    if (temperature > 0) x->o.temperature = temperature;
    else x->o.do_sample = 0;
    if (!x->o.do_sample)
        x->o.temperature = x->o.top_p = 1, x->o.min_p = 0, x->o.top_k = 0, x->o.occurrence = x->o.seed = 0;
    else x->o.num_beams = 1;
    if (srv_member(in, "max_tokens") || srv_member(in, "max_new_tokens")) x->o.max_length = 0;
    x->most = srv_int(in, "max_tokens", srv_int(in, "max_new_tokens", x->most));
    x->o.max_new_tokens = x->most;
}

void srv_write(srv_request *r, writing *x)
{
    enum { TOKEN = 5, NOTE = 80 }; /* bytes, about */
    char what[64];
    if (x->most > r->s->o.limits.max_new_tokens) {
        srv_error(r, 422, "Validation", "`%s`: expected at most %lld (--max-new-tokens), got %lld",
                  x->form->most, (long long)r->s->o.limits.max_new_tokens,
                  (long long)x->most);
        return;
    }
    snprintf(what, sizeof what, "%lld texts of %lld tokens", (long long)x->items, (long long)x->most);
    const double each = TOKEN + (x->tops < 0 ? 0 : NOTE * (1 + (double)x->tops));
    double bytes = each * (double)x->items * (double)x->most;
    for (int64_t i = 0; i < x->items && x->with_prompt; i++) bytes += (double)x->item[i].bytes;
    for (int64_t i = 0; i < x->items && x->hears; i++) bytes += each * (double)x->item[i].ids;
    if (srv_answer_fits(r, bytes, what) && srv_hold(r, x->items))
        srv_call_submit(&x->call, finish);
}
