/* metrics.c — writes the counters of the server in Prometheus' format. */
#include "serve/server.h"

#include <math.h>
#include <stdio.h>

#include "base/os/os.h"

static const char *const failures[SRV_FAILURES] = {"overloaded", "validation",     "batch_size",
                                                   "model_type", "tokenization",   "inference",
                                                   "dropped",    "missing_values", "other"};

void srv_metrics_init(srv_metrics *m)
{
    *m = (srv_metrics){0};
    pthread_mutex_init(&m->lock, NULL);
}

void srv_metrics_free(srv_metrics *m) { pthread_mutex_destroy(&m->lock); }

static double end_of(int k, bool lengths) { return lengths ? pow(2, k) : 1.5e-5 * pow(1.5, k); }

/* x, n times. */
static void observe_all(srv_histogram *h, double x, bool lengths, uint64_t n)
{
    int k = 0;
    while (k < SRV_BUCKETS && x > end_of(k, lengths)) k++;
    h->bucket[k] += n;
    h->sum += x * (double)n;
    h->n += n;
}

static void observe(srv_histogram *h, double x, bool lengths) { observe_all(h, x, lengths, 1); }

static int failure_of(const char *name)
{
    for (int i = 0; i < SRV_FAILURES; i++)
        if (!strcmp(failures[i], name)) return i;
    return SRV_FAILURES - 1;
}

void srv_metrics_batch(srv_server *s, int64_t texts, int64_t tokens)
{
    pthread_mutex_lock(&s->metrics.lock);
    observe(&s->metrics.batch_size, (double)texts, true);
    observe(&s->metrics.batch_tokens, (double)tokens, true);
    pthread_mutex_unlock(&s->metrics.lock);
}

void srv_metrics_accept(const srv_request *r, int64_t inputs)
{
    srv_metrics *m = &r->s->metrics;
    pthread_mutex_lock(&m->lock);
    m->count[inputs > 1]++;
    m->inputs[r->kind].count += (uint64_t)inputs;
    pthread_mutex_unlock(&m->lock);
}

/* The inputs of a request have been answered. */
static void count_inputs(srv_inputs *x, const srv_request *r)
{
    const uint64_t n = (uint64_t)r->permits;
    x->success += n;
    observe_all(&x->total, r->answered, false, n);
    observe_all(&x->tokenization, r->parsed, false, n);
    observe_all(&x->queue, r->waited, false, n);
    observe_all(&x->inference, r->computed, false, n);
}

void srv_metrics_count(srv_server *s, const srv_request *r)
{
    srv_metrics *m = &s->metrics;
    const int many = r->permits > 1, kind = r->status / 100;
    pthread_mutex_lock(&m->lock);
    if (kind > 0 && kind < 6) m->answers[kind]++;
    if (r->failure && !r->permits) m->count[many]++; /* others were counted when they were accepted */
    if (r->failure) m->failure[failure_of(r->failure)]++;
    if (r->inference && !r->failure) {
        m->success[many]++;
        count_inputs(&m->inputs[r->kind], r);
        m->tokens += (uint64_t)r->tokens;
        observe(&m->total, r->answered, false);
        observe(&m->tokenization, r->parsed, false);
        observe(&m->queue, r->waited, false);
        observe(&m->inference, r->computed, false);
        observe(&m->length, (double)r->tokens, true);
    }
    pthread_mutex_unlock(&m->lock);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void head(srv_text *t, const char *name, const char *type, const char *help)
{
    srv_printf(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void counter(srv_text *t, const char *name, const char *help, uint64_t n)
{
    head(t, name, "counter", help);
    srv_printf(t, "%s %llu\n", name, (unsigned long long)n);
}

static void histogram(srv_text *t, const char *name, const char *help, const srv_histogram *h, bool lengths)
{
    uint64_t n = 0;
    head(t, name, "histogram", help);
    for (int k = 0; k < SRV_BUCKETS; k++) {
        n += h->bucket[k];
        srv_printf(t, "%s_bucket{le=\"%.9g\"} %llu\n", name, end_of(k, lengths), (unsigned long long)n);
    }
    srv_printf(t, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9g\n%s_count %llu\n", name, (unsigned long long)h->n, name,
               h->sum, name, (unsigned long long)h->n);
}

static void by_method(srv_text *t, const char *name, const char *help, const uint64_t n[2])
{
    head(t, name, "counter", help);
    srv_printf(t, "%s{method=\"single\"} %llu\n%s{method=\"batch\"} %llu\n", name, (unsigned long long)n[0], name,
               (unsigned long long)n[1]);
}

static void write_inputs(srv_text *t, const srv_metrics *m)
{
    static const char *const names[] = {[SRV_EMBED] = "embed", [SRV_PREDICT] = "predict"};
    static const struct {
        const char *name, *help;
        size_t at;
    } times[] = {
        {"duration", "Seconds from the first byte of a request to its answer, for each input.",
         offsetof(srv_inputs, total)},
        {"tokenization_duration", "Seconds until a request was tokenized, for each input.",
         offsetof(srv_inputs, tokenization)},
        {"queue_duration", "Seconds in the queue of the model, for each input.", offsetof(srv_inputs, queue)},
        {"inference_duration", "Seconds of computing, for each input.", offsetof(srv_inputs, inference)},
    };
    char name[64];
    for (int k = SRV_EMBED; k < SRV_COUNTED; k++) {
        const srv_inputs *x = &m->inputs[k];
        snprintf(name, sizeof name, "te_%s_count", names[k]);
        counter(t, name, "Inputs that reached a model.", x->count);
        snprintf(name, sizeof name, "te_%s_success", names[k]);
        counter(t, name, "Inputs that a model answered.", x->success);
        for (size_t i = 0; i < RF_COUNT(times); i++) {
            snprintf(name, sizeof name, "te_%s_%s", names[k], times[i].name);
            histogram(t, name, times[i].help, (const srv_histogram *)((const char *)x + times[i].at), false);
        }
    }
}

static void write_requests(srv_text *t, const srv_metrics *m)
{
    by_method(t, "te_request_count", "Requests that reached a model, or should have.", m->count);
    by_method(t, "te_request_success", "Requests that a model answered.", m->success);
    head(t, "te_request_failure", "counter", "Requests that were refused or failed, by reason.");
    for (int i = 0; i < SRV_FAILURES; i++)
        srv_printf(t, "te_request_failure{err=\"%s\"} %llu\n", failures[i], (unsigned long long)m->failure[i]);
    histogram(t, "te_request_duration", "Seconds from the first byte of a request to its answer.", &m->total, false);
    histogram(t, "te_request_tokenization_duration", "Seconds until a request was tokenized.", &m->tokenization, false);
    histogram(t, "te_request_queue_duration", "Seconds in the queue of the model.", &m->queue, false);
    histogram(t, "te_request_inference_duration", "Seconds of computing.", &m->inference, false);
    histogram(t, "te_request_input_length", "Tokens of a request.", &m->length, true);
    histogram(t, "te_batch_next_size", "Texts that a model computed together.", &m->batch_size, true);
    histogram(t, "te_batch_next_tokens", "Tokens that a model computed together.", &m->batch_tokens, true);
    head(t, "roformer_http_responses_total", "counter", "Answers by class of status.");
    for (int i = 2; i < 6; i++)
        srv_printf(t, "roformer_http_responses_total{code=\"%dxx\"} %llu\n", i, (unsigned long long)m->answers[i]);
    counter(t, "roformer_tokens_total", "Tokens of all answered requests.", m->tokens);
}

/* One line for each model that is loaded. */
static void by_model(srv_server *s, srv_text *t, const char *name, const char *type, const char *help,
                     double (*value)(const rf_engine_state *state))
{
    head(t, name, type, help);
    for (int i = 0; i < s->o.models; i++) {
        srv_model *m = srv_model_acquire(s, i);
        rf_engine_state state = {0};
        if (!m) continue;
        rf_engine_get_state(m->engine, &state);
        srv_printf(t, "%s{model=", name);
        srv_put_string(t, s->o.model[i].name, strlen(s->o.model[i].name));
        srv_printf(t, "} %.9g\n", value(&state));
        srv_model_release(m);
    }
}

static double waiting(const rf_engine_state *e) { return (double)e->waiting; }
static double waiting_tokens(const rf_engine_state *e) { return (double)e->waiting_tokens; }
static double speed(const rf_engine_state *e) { return e->tokens_per_second; }
static double wait_of(const rf_engine_state *e) { return e->wait; }
static double jobs(const rf_engine_state *e) { return (double)e->done; }
static double batches(const rf_engine_state *e) { return (double)e->batches; }

static void write_models(srv_server *s, srv_text *t)
{
    by_model(s, t, "te_queue_size", "gauge", "Jobs that wait.", waiting);
    by_model(s, t, "roformer_queue_tokens", "gauge", "Tokens that wait.", waiting_tokens);
    by_model(s, t, "roformer_queue_seconds", "gauge", "Estimated time until a new job begins.", wait_of);
    by_model(s, t, "roformer_tokens_per_second", "gauge", "Speed of the latest batches.", speed);
    by_model(s, t, "roformer_jobs_total", "counter", "Jobs that have ended.", jobs);
    by_model(s, t, "roformer_batches_total", "counter", "How often jobs were computed together.", batches);
}

static void gauge(srv_text *t, const char *name, const char *help, double x)
{
    head(t, name, "gauge", help);
    srv_printf(t, "%s %.15g\n", name, x);
}

void srv_metrics_write(srv_server *s, srv_text *t)
{
    pthread_mutex_lock(&s->metrics.lock);
    const srv_metrics m = s->metrics;
    pthread_mutex_unlock(&s->metrics.lock);
    write_requests(t, &m);
    write_inputs(t, &m);
    write_models(s, t);
    counter(t, "roformer_http_unreadable_total", "Requests that libmicrohttpd could not read and answered itself.",
            (uint64_t)atomic_load(&s->unreadable));
    gauge(t, "roformer_connections", "Open connections.", (double)srv_connections_count(s));
    gauge(t, "roformer_inputs", "Inputs that wait or are computed.", (double)atomic_load(&s->permits));
    gauge(t, "process_resident_memory_bytes", "Resident memory.", rf__os_memory());
    gauge(t, "process_open_fds", "Open file descriptors.", rf__os_open_files());
    gauge(t, "process_start_time_seconds", "Start of the server, seconds since 1970.", s->begun);
}
