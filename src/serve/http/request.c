/* request.c — a request from its first byte to its answer. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/server.h"
#include "serve/http/stream.h"
#include "serve/shared_call.h"

srv_request *srv_request_new(srv_server *s, const char *path)
{
    srv_request *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->path = strdup(path);
    if (!r->path) {
        free(r);
        return NULL;
    }
    r->s = s;
    atomic_init(&r->users, 1);
    pthread_mutex_init(&r->lock, NULL);
    r->arrived = rf__seconds();
    r->type = "application/json";
    r->out.most = (size_t)s->o.limits.max_answer_bytes;
    return r;
}

void srv_request_release(srv_request *r)
{
    if (atomic_fetch_sub(&r->users, 1) != 1) return;
    if (r->stream && *r->method) srv_log(r, r->complete); /* its writer has ended only now */
    srv_job_free(r);
    srv_let_go(r);
    free(r->pieces.own);
    atomic_fetch_sub(&r->s->memory, r->charged);
    atomic_fetch_add(&r->s->released, r->charged);
    if (r->free_own) r->free_own(r->own);
    if (r->model) srv_model_release(r->model);
    srv_stream_free(r->stream);
    json_decref(r->in);
    srv_text_clear(&r->out);
    free(r->body);
    free(r->path);
    pthread_mutex_destroy(&r->lock);
    if (r->counted) atomic_fetch_sub(&r->s->active, 1);
    if (r->whole) srv_request_release(r->whole);
    free(r);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

void srv_request_take_part(srv_request *r, srv_request *part)
{
    pthread_mutex_lock(&r->lock);
    r->part = part;
    pthread_mutex_unlock(&r->lock);
}

void srv_answer(srv_request *r, int status, const char *type)
{
    if (r->out.failed && status < 400) {
        if (r->out.full) srv_refuse_answer(r, 0, "the result");
        else srv_error(r, 503, "Overloaded", "out of memory: the answer");
        return;
    }
    atomic_fetch_add(&r->s->memory, (long long)r->out.n);
    r->charged += (int64_t)r->out.n;
    r->status = status;
    r->type = type;
    r->answered = rf__seconds() - r->arrived;
    if (r->phase != SRV_WORK) return;
    (r->over ? r->over : srv_http_resume)(r);
    srv_request_release(r); /* the user that http.c counted when it passed the request on */
}

void srv_refuse_answer(srv_request *r, int64_t bytes, const char *what)
{
    char got[32] = "more";
    if (bytes) snprintf(got, sizeof got, "about %lld", (long long)bytes);
    srv_error(r, 422, "Validation", "the answer: expected at most %lld bytes (--max-answer-bytes), got %s for %s",
              (long long)r->s->o.limits.max_answer_bytes, got, what);
}

bool srv_answer_fits(srv_request *r, double bytes, const char *what)
{
    if (bytes <= (double)r->s->o.limits.max_answer_bytes) return true;
    srv_refuse_answer(r, (int64_t)fmin(bytes, 9e18), what);
    return false;
}

void srv_each_time(const srv_request *r, void (*add)(void *to, const char *name, const char *value), void *to)
{
    const struct {
        const char *name;
        double value;
    } rows[] = {
        {"x-compute-time", 1e3 * r->answered},       {"x-compute-characters", (double)r->characters},
        {"x-compute-tokens", (double)r->tokens},     {"x-total-time", 1e3 * r->answered},
        {"x-tokenization-time", 1e3 * r->parsed},    {"x-queue-time", 1e3 * r->waited},
        {"x-inference-time", 1e3 * r->computed},
    };
    add(to, "x-compute-type", "cpu");
    for (size_t i = 0; i < RF_COUNT(rows); i++) {
        char text[32];
        snprintf(text, sizeof text, "%.0f", fmax(0, rows[i].value));
        add(to, rows[i].name, text);
    }
}

void srv_answer_json(srv_request *r) { srv_answer(r, 200, "application/json"); }

static bool client_is_gone(const srv_request *r) { return atomic_load(r->whole ? &r->whole->gone : &r->gone); }

/* OpenAI's names. */
static const char *openai_type(int status)
{
    return status == 401   ? "authentication_error"
           : status == 404 ? "not_found_error"
           : status == 429 ? "rate_limit_error"
           : status >= 500 ? "server_error"
                           : "invalid_request_error";
}

static void put_error(srv_request *r, int status, const char *error_type, const char *text)
{
    srv_text *t = &r->out;
    srv_text_clear(t);
    switch (r->dialect) {
    case SRV_OPENAI: srv_puts(t, "{\"error\":{\"message\":"); break;
    case SRV_COHERE: srv_puts(t, "{\"message\":"); break;
    case SRV_TEI:
    case SRV_LIBRE: srv_puts(t, "{\"error\":"); break;
    }
    srv_put_string(t, text, strlen(text));
    if (r->dialect == SRV_OPENAI)
        srv_printf(t, ",\"type\":\"%s\",\"param\":null,\"code\":\"%s\"}", openai_type(status), error_type);
    if (r->dialect == SRV_TEI) srv_printf(t, ",\"error_type\":\"%s\"", error_type);
    srv_puts(t, "}");
}

/* OpenAI's clients expect 400 for whatever is wrong with a request, also for its model, and 500 for failures. */
static int status_of_dialect(const srv_request *r, int status)
{
    if (r->dialect != SRV_OPENAI) return status;
    if (status == 424) return r->failure && !strcmp(r->failure, "model_type") ? 400 : 500;
    return status == 422 ? 400 : status;
}

static const char *failure_of(const char *error_type)
{
    static const struct {
        const char *type, *failure;
    } rows[] = {
        {"Overloaded", "overloaded"}, {"Validation", "validation"}, {"Tokenizer", "tokenization"},
        {"Empty", "validation"},      {"Backend", "inference"},     {"Timeout", "inference"},
    };
    for (size_t i = 0; i < RF_COUNT(rows); i++)
        if (!strcmp(rows[i].type, error_type)) return rows[i].failure;
    return NULL;
}

void srv_error(srv_request *r, int status, const char *error_type, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    status = status_of_dialect(r, status);
    put_error(r, status, error_type, text);
    if (!r->failure) r->failure = failure_of(error_type);
    r->inference = false;
    srv_answer(r, status, "application/json");
}

static void retry_after(srv_request *r, double seconds)
{
    snprintf(r->header, sizeof r->header, "Retry-After");
    snprintf(r->header_value, sizeof r->header_value, "%.0f", seconds < 1 ? 1 : seconds > 3600 ? 3600 : ceil(seconds));
}

void srv_fail(srv_request *r, const rf_error *why)
{
    switch (why->code) {
    case RF_EBUSY: {
        rf_engine_state state = {.wait = 1};
        if (r->model) rf_engine_get_state(r->model->engine, &state);
        retry_after(r, state.wait - (double)r->s->o.limits.max_wait);
        srv_error(r, 429, "Overloaded", "the model is overloaded: %.300s", why->text);
        return;
    }
    case RF_ECANCELED:
        if (client_is_gone(r)) r->failure = "dropped";
        if (client_is_gone(r) && !atomic_load(&r->s->draining)) {
            srv_error(r, 499, "Dropped", "the client closed the connection"); /* for the log; nobody reads it */
            return;
        }
        srv_error(r, 504, "Timeout", "%.400s", why->text);
        return;
    case RF_ENOMEM: srv_error(r, 503, "Overloaded", "%.400s", why->text); return;
    case RF_EUNSUPPORTED:
        r->failure = "model_type";
        srv_error(r, 424, "Backend", "%.400s", why->text);
        return;
    case RF_ENUMERIC:
        r->failure = "missing_values";
        srv_error(r, 424, "Backend", "%.400s", why->text);
        return;
    case RF_EDATA: srv_error(r, 422, "Tokenizer", "%.400s", why->text); return;
    case RF_EARG:
    case RF_ERANGE: srv_error(r, 422, "Validation", "%.400s", why->text); return;
    default: srv_error(r, 424, "Backend", "%.400s", why->text); return;
    }
}

void srv_refuse_full(srv_request *r)
{
    retry_after(r, 1);
    srv_error(r, 429, "Overloaded", "the server is overloaded: %lld inputs are being answered",
              (long long)r->s->o.limits.max_concurrent_requests);
}

bool srv_charge(srv_request *r, int64_t bytes)
{
    const int64_t all = r->s->o.limits.max_memory, most = bytes > SRV_LARGE ? all / 2 : all, more = bytes - r->charged;
    const int64_t used = atomic_fetch_add(&r->s->memory, more) + more;
    r->charged = bytes;
    if (more < 0) atomic_fetch_sub(&r->s->released, more);
    if (more <= 0 || used <= most) return true;
    atomic_fetch_sub(&r->s->memory, more);
    r->charged -= more;
    r->close = true;
    if (bytes > most)
        srv_error(r, 413, "Validation",
                  "the body: expected to need at most %lld bytes of memory (half of --max-memory), got about %lld",
                  (long long)most, (long long)bytes);
    else {
        retry_after(r, 1);
        srv_error(r, 503, "Overloaded", "the server is overloaded: bodies have %lld bytes of --max-memory %lld",
                  (long long)(used - more), (long long)all);
    }
    return false;
}

bool srv_hold(srv_request *r, int64_t inputs)
{
    const int64_t most = r->s->o.limits.max_concurrent_requests,
                  counted = rf__min64(inputs, r->s->o.limits.max_client_batch_size);
    if (atomic_fetch_add(&r->s->permits, counted) + counted > most && counted <= most) {
        atomic_fetch_sub(&r->s->permits, counted);
        srv_refuse_full(r);
        return false;
    }
    r->permits += inputs;
    r->held += counted;
    srv_metrics_accept(r, inputs);
    return true;
}

void srv_let_go(srv_request *r)
{
    atomic_fetch_sub(&r->s->permits, r->held);
    r->held = 0;
}

bool srv_is_over(const srv_request *r)
{
    return client_is_gone(r) || rf__seconds() > r->arrived + (double)r->s->o.limits.request_timeout;
}

rf_error srv_over(const srv_request *r)
{
    rf_error why = {0};
    rf_fail(&why, RF_ECANCELED, "canceled: no result within %lld s", (long long)r->s->o.limits.request_timeout);
    return why;
}

bool srv_go_on(srv_request *r)
{
    if (!srv_is_over(r)) return true;
    const rf_error why = srv_over(r);
    return srv_fail(r, &why), false;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

void *srv_own(srv_request *r, size_t size, void (*free_own)(void *own))
{
    r->own = calloc(1, size);
    if (r->own) r->free_own = free_own;
    else srv_error(r, 503, "Overloaded", "out of memory: a request");
    return r->own;
}

/* The next step needs the end of the job and that of the call that submitted it, which come in any order. */
static void count_end(srv_request *r)
{
    if (atomic_fetch_add(&r->ends, 1) % 2) srv_later(r, r->finish, 0);
}

static void job_done(void *user, rf_engine_job *job)
{
    (void)job;
    count_end(user);
}

rf_engine_job_options srv_job_options(srv_request *r, srv_step *finish)
{
    rf_engine_job_options o;
    rf_engine_job_defaults(&o);
    o.timeout = (double)r->s->o.limits.request_timeout - (rf__seconds() - r->arrived);
    if (o.timeout < 0.001) o.timeout = 0.001;
    o.done = job_done;
    o.user = r;
    r->finish = finish;
    if (!(r->parsed > 0)) r->parsed = rf__seconds() - r->arrived;
    return o;
}

void srv_submitted(srv_request *r, rf_status status, const rf_error *why)
{
    if (status) {
        srv_fail(r, why);
        return;
    }
    srv_cancelable(r);
    count_end(r);
}

void srv_cancelable(srv_request *r)
{
    pthread_mutex_lock(&r->lock);
    r->submitted = true;
    pthread_mutex_unlock(&r->lock);
    if (client_is_gone(r)) srv_request_cancel(r, false);
}

void srv_request_cancel(srv_request *r, bool every)
{
    pthread_mutex_lock(&r->lock);
    if (r->part) srv_request_cancel(r->part, every);
    const bool shared = r->submitted && r->shared;
    if (r->submitted && r->job && (every || !r->shared)) rf_engine_cancel(r->job);
    pthread_mutex_unlock(&r->lock);
    if (shared) srv_call_leave(r->own);
}

void srv_request_late(srv_request *r)
{
    pthread_mutex_lock(&r->lock);
    if (r->part) srv_request_late(r->part);
    const bool shared = r->submitted && r->shared;
    pthread_mutex_unlock(&r->lock);
    if (shared) srv_call_leave(r->own);
}

rf_status srv_job_end(srv_request *r)
{
    rf_error why = {0};
    double waited = 0, total = 0;
    const rf_status status = rf_engine_wait(r->job, -1, &why);
    const rf_texts_report *report = rf_engine_report(r->job);
    rf_engine_times(r->job, &waited, &total);
    r->waited += waited;
    r->computed += total - waited;
    if (report) r->tokens += report->tokens;
    if (status) srv_fail(r, &why);
    else r->inference = true;
    return status;
}

void srv_job_free(srv_request *r)
{
    pthread_mutex_lock(&r->lock);
    rf_engine_job *job = r->job;
    r->job = NULL;
    r->submitted = false;
    pthread_mutex_unlock(&r->lock);
    rf_engine_job_free(job);
}
