/* engine.c — one model for many callers; see include/roformer/engine.h.
 *
 *     submit      tokenizes in the caller's thread, puts a job at the end of the queue
 *     serve       the engine's thread: takes jobs from the front while they fit together, computes, ends them
 *
 * Everything of a job but its texts and results is under the engine's lock.  What is computed belongs to the engine's
 * thread alone until the job has ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "roformer/engine.h"
#include "task/answerer.h"
#include "text/tokenizer.h"

typedef enum state { WAITING, RUNNING, ENDED } state;

/* What a job computes. */
typedef struct kind {
    bool (*together)(const rf_engine_job *a, const rf_engine_job *b);      /* may two of the kind be; NULL: never     */
    rf_status (*compute)(rf_engine *e, rf_error *why);                     /* the results of all that are running     */
} kind;

struct rf_engine_job {
    rf_engine *engine;
    rf_engine_job *next; /* in the queue, or among those that are computed                             */
    state state;
    pthread_cond_t end;                 /* of its own: those who wait for other jobs sleep on                         */
    bool canceled, freed;               /* freed: by its owner, while the engine's thread has it                      */
    const kind *kind;
    rf_engine_function *function;       /* of calls                                                                   */
    void *function_user;
    rf_embed_options o;                 /* of vectors, settled                                                        */
    rf__text_window window;
    float *result;                      /* [texts, columns]                                                           */
    int64_t columns;
    rf_texts_report report;
    rf_engine_job_options own;
    double submitted, begun, ended, deadline;
    rf_error why;
};

struct rf_engine {
    const rf_ctx *ctx;
    rf_ctx *made;                       /* the context, when nobody gave one                                          */
    rf_engine_options o;
    rf_pipeline *pipeline;              /* of the engine's thread                                                     */
    rf_cancel *cancel;                  /* ends what is computed                                                      */
    pid_t process;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;                /* a job came, or the engine closes                                           */
    bool started, closing;
    int64_t users;                      /* who opened it, until it is closed, and jobs                                */
    rf_engine_job *first, *last, *running, *spare;
    int spares;
    rf_engine_state now;
};

void rf_engine_options_init(rf_engine_options *o, size_t size)
{
    const rf_engine_options own = {.type = RF_F32, .max_batch_tokens = 2048, .max_queue_tokens = 4194304};
    rf__options_init(o, size, &own, sizeof own);
}

void rf_engine_job_options_init(rf_engine_job_options *o, size_t size)
{
    const rf_engine_job_options own = {.timeout = 0};
    rf__options_init(o, size, &own, sizeof own);
}

/* Seconds of the clock that conditions wait by. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* In a forked child there is no thread of the engine, and its lock may be held for ever. */
static bool is_ours(const rf_engine *e) { return e->process == getpid(); }

static int64_t tokens_of(const rf_engine_job *j) { return j->window.n ? j->window.start[j->window.n] : 0; }

/* ---- ends of jobs ---- */

static void destroy(rf_engine_job *j)
{
    const rf_ctx *ctx = j->engine->ctx;
    pthread_cond_destroy(&j->end);
    rf_encoding_clear(&j->window.e);
    rf__free(ctx, j->window.start);
    rf__free(ctx, j->result);
    rf__free(ctx, j);
}

/* Under the lock, of a job that is in no list.  Some are kept: what the tokenizer works with is made once for each. */
static void put_away(rf_engine *e, rf_engine_job *j)
{
    enum { SPARES = 256, LARGEST = 1 << 14 };                       /* jobs; tokens of one that is kept */
    if (e->closing || e->spares == SPARES || j->window.e.capacity > LARGEST) {
        destroy(j);
        return;
    }
    rf__free(e->ctx, j->result);
    j->result = NULL;
    j->next = e->spare;
    e->spare = j;
    e->spares++;
}

/* Ends a job that is in no list, under the lock.  With `done` it goes to *told, those that are to be told; without, any
 * thread may free it from now on. */
static void end_job(rf_engine *e, rf_engine_job *j, const rf_error *why, rf_engine_job **told)
{
    if (!j->why.code && why) j->why = *why;
    j->state = ENDED;
    j->ended = now();
    e->now.done++;
    if (j->freed) {
        put_away(e, j);
        e->users--;                                               /* not the last one: the engine is being used */
        return;
    }
    if (j->own.done) {
        j->next = *told;
        *told = j;
    }
    pthread_cond_broadcast(&j->end);
}

/* Calls `done` of the jobs of a list, the last one first; without the lock. */
static void tell(rf_engine_job *list)
{
    for (rf_engine_job *j = list, *next; j; j = next) {
        next = j->next;
        j->own.done(j->own.user, j);
    }
}

static void cancel_job(rf_engine_job *j, double t)
{
    if (j->canceled || t < j->deadline)
        rf_fail(&j->why, RF_ECANCELED, "canceled by the caller");
    else rf_fail(&j->why, RF_ECANCELED, "canceled: no result within its timeout of %g s", j->own.timeout);
}

/* Takes a job out of the queue, under the lock; false: it is not there. */
static bool take_out(rf_engine *e, rf_engine_job *which)
{
    rf_engine_job *before = NULL, *j = e->first;
    while (j && j != which) before = j, j = j->next;
    if (!j) return false;
    if (before) before->next = j->next;
    else e->first = j->next;
    if (e->last == j) e->last = before;
    j->next = NULL;
    e->now.waiting--;
    e->now.waiting_tokens -= tokens_of(j);
    return true;
}

/* What is computed ends when all of its jobs are canceled or late, under the lock. */
static void cancel_running(rf_engine *e)
{
    const double t = now();
    for (const rf_engine_job *j = e->running; j; j = j->next)
        if (!j->canceled && t < j->deadline) return;
    if (e->running) rf_cancel_set(e->cancel);
}

/* ---- computing ---- */

/* Can a job be computed with those that were taken? */
static bool fits(const rf_engine *e, const rf_engine_job *j)
{
    const rf_engine_job *first = e->running;
    if (!first) return true;
    return j->kind == first->kind && first->kind->together && first->kind->together(first, j) &&
           e->now.running_tokens + tokens_of(j) <= e->o.max_batch_tokens;
}

/* Moves jobs from the queue to `running`, and ends those that are late, under the lock. */
static void take(rf_engine *e, rf_engine_job **told)
{
    rf_engine_job **to = &e->running;
    const double t = now();
    for (rf_engine_job *j; (j = e->first);) {
        const bool ends = j->canceled || t >= j->deadline;
        if (!ends && !fits(e, j)) return;
        take_out(e, j);
        if (ends) {
            cancel_job(j, t);
            end_job(e, j, NULL, told);
            continue;
        }
        j->state = RUNNING;
        j->begun = t;
        e->now.running++;
        e->now.running_tokens += tokens_of(j);
        *to = j;
        to = &j->next;
    }
}

/* The texts of all jobs, one behind the other. */
static rf_status join(rf_engine *e, rf__text_window *w, rf_error *why)
{
    rf_encoding *all = &w->e;
    w->n = 0;
    all->n = 0;
    for (const rf_engine_job *j = e->running; j; j = j->next) {
        const rf__text_window *own = &j->window;
        const size_t n = own->e.n, at = all->n;
        if (at + n > INT32_MAX)
            return rf_fail(why, RF_ERANGE, "texts: expected at most %d tokens, got more", INT32_MAX);
        if (!rf__reserve_tokens(all, n) ||
            !rf__grow(e->ctx, &w->start, &w->capacity, (size_t)(w->n + own->n) + 1, sizeof *w->start))
            return rf_fail(why, RF_ENOMEM, "out of memory: %lld texts", (long long)(w->n + own->n));
        w->start[0] = 0;
        for (int64_t i = 0; i < own->n; i++) w->start[w->n + i + 1] = (int32_t)at + own->start[i + 1];
        if (n) memcpy(all->id + at, own->e.id, n * sizeof *all->id);
        if (n) memcpy(all->type + at, own->e.type, n * sizeof *all->type);
        if (n) memcpy(all->added + at, own->e.added, n * sizeof *all->added);
        all->n += n;
        w->n += own->n;
    }
    return RF_OK;
}

/* Space for the results of a job. */
static rf_status make_result(const rf_engine *e, rf_engine_job *j, int64_t columns, rf_error *why)
{
    const size_t n = (size_t)(j->window.n * columns);
    j->columns = columns;
    j->result = rf__calloc(e->ctx, n ? n : 1, sizeof *j->result);
    return j->result ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: the results of %lld texts",
                                       (long long)j->window.n);
}

/* ---- vectors ---- */

static bool same_options(const rf_engine_job *x, const rf_engine_job *y)
{
    const rf_embed_options *a = &x->o, *b = &y->o;
    return a->pooling == b->pooling && a->normalize == b->normalize && a->dimensions == b->dimensions &&
           a->cut_last == b->cut_last && a->batch_tokens == b->batch_tokens && a->layer_norm == b->layer_norm &&
           a->skip_special_tokens == b->skip_special_tokens;
}

static rf_status compute_vectors(rf_engine *e, rf_error *why)
{
    rf_pipeline *p = e->pipeline;
    rf_engine_job *first = e->running;
    const int64_t D = rf__embed_width(p, &first->o);
    const float *vectors;
    rf_status status = join(e, &p->window, why);
    if (!status) status = rf__embed_window(p, &first->o, &vectors, why);
    for (rf_engine_job *j = first; j && !status; j = j->next) {
        const size_t n = (size_t)(j->window.n * D);
        status = make_result(e, j, D, why);
        if (!status && n) memcpy(j->result, vectors, n * sizeof *vectors);
        vectors += n;
    }
    return status;
}

static const kind of_vectors = {same_options, compute_vectors};

/* ---- labels, and scores of pairs ---- */

static bool always(const rf_engine_job *a, const rf_engine_job *b)
{
    (void)a, (void)b;
    return true;
}

/* Logits [texts, num_labels] of all jobs; none where there are no texts. */
static rf_status logits_of(rf_engine *e, const float **z, rf_error *why)
{
    rf_pipeline *p = e->pipeline;
    rf__text_window *w = &p->window;
    int64_t rows;
    const rf_status status = join(e, w, why);
    if (status || !w->n) return status;
    const rf_batch b = {.N = w->start[w->n], .B = w->n, .id = w->e.id, .type = w->e.type, .start = w->start};
    return rf_session_logits(p->session, &b, z, &rows, why);
}

static rf_status compute_labels(rf_engine *e, rf_error *why)
{
    const rf_answerer *a = e->pipeline->answerer;
    const int64_t outputs = rf_model_config(rf_pipeline_model(e->pipeline))->num_labels,
                  labels = rf_answerer_labels(a)->n;
    const float *z = NULL;
    float *score = rf__calloc(e->ctx, (size_t)rf__max64(outputs, labels), sizeof *score);
    rf_status status = score ? logits_of(e, &z, why) : rf_fail(why, RF_ENOMEM, "out of memory: scores");
    for (rf_engine_job *j = e->running; j && !status; j = j->next) {
        status = make_result(e, j, labels, why);
        for (int64_t i = 0; i < j->window.n && !status; i++, z += outputs) {
            rf__answerer_label(a, z, score);
            memcpy(j->result + i * labels, score, (size_t)labels * sizeof *score);
        }
    }
    rf__free(e->ctx, score);
    return status;
}

static rf_status compute_pairs(rf_engine *e, rf_error *why)
{
    double (*f)(double z) = NULL;
    const float *z = NULL;
    rf_status status = rf__answerer_can_cross(e->pipeline->answerer, &f, why);
    if (!status) status = logits_of(e, &z, why);
    for (rf_engine_job *j = e->running; j && !status; j = j->next) {
        status = make_result(e, j, 1, why);
        for (int64_t i = 0; i < j->window.n && !status; i++) j->result[i] = (float)f((double)*z++);
    }
    return status;
}

static const kind of_labels = {always, compute_labels}, of_pairs = {always, compute_pairs};

/* ---- calls ---- */

static rf_status compute_call(rf_engine *e, rf_error *why)
{
    const rf_engine_job *j = e->running;
    return j->function(j->function_user, e->pipeline, why);
}

static const kind of_calls = {NULL, compute_call};

/* ---- the engine's thread ---- */

static void measure(rf_engine *e, double seconds)
{
    enum { LATEST = 5 };                                      /* a new speed counts as one of five */
    const double speed = (double)e->now.running_tokens / fmax(seconds, 1e-9), before = e->now.tokens_per_second;
    if (e->now.running_tokens) e->now.tokens_per_second = before > 0 ? before + (speed - before) / LATEST : speed;
}

/* Computes what was taken; without the lock. */
static void compute(rf_engine *e, rf_error *why)
{
    const rf_status status = e->running->kind->compute(e, why);
    if (status && !why->code) rf_fail(why, status, "%s", rf_status_text(status));
}

/* One round, under the lock, which is given up meanwhile. */
static void serve_once(rf_engine *e, rf_engine_job **told)
{
    rf_error why = {0};
    take(e, told);
    if (!e->running) return;
    rf_cancel_clear(e->cancel);
    pthread_mutex_unlock(&e->lock);
    const double begin = now();
    compute(e, &why);
    const double end = now();
    pthread_mutex_lock(&e->lock);
    rf_engine_job *list = e->running;
    if (!why.code) measure(e, end - begin);
    e->running = NULL;
    e->now.running = e->now.running_tokens = 0;
    e->now.batches++;
    for (rf_engine_job *j = list, *next; j; j = next) {
        next = j->next;
        if (why.code == RF_ECANCELED) cancel_job(j, end);
        end_job(e, j, &why, told);
    }
}

static void *serve(void *user)
{
    rf_engine *e = user;
    pthread_mutex_lock(&e->lock);
    while (!e->closing) {
        rf_engine_job *told = NULL;
        if (e->first) serve_once(e, &told);
        else pthread_cond_wait(&e->more, &e->lock);
        if (!told) continue;
        pthread_mutex_unlock(&e->lock);
        tell(told);
        pthread_mutex_lock(&e->lock);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* ---- opening ---- */

static rf_status read_options(const rf_engine_options *given, rf_engine_options *o, rf_error *why)
{
    rf_engine_defaults(o);
    const rf_status status = rf__options_read(o, sizeof *o, RF_SIZE_TO(rf_engine_options, max_batch_tokens), given,
                                              "rf_engine_options", why);
    if (status) return status;
    if (o->max_batch_tokens < 1 || o->max_batch_tokens > INT32_MAX)
        return rf_fail(why, RF_EARG, "max_batch_tokens: expected 1 to %d, got %lld", INT32_MAX,
                       (long long)o->max_batch_tokens);
    if (!(o->max_wait >= 0)) return rf_fail(why, RF_EARG, "max_wait: expected 0 or more, got %g", o->max_wait);
    if (o->max_queue_tokens < 0)
        return rf_fail(why, RF_EARG, "max_queue_tokens: expected 0 or more, got %lld", (long long)o->max_queue_tokens);
    return RF_OK;
}

/* The thread gets none of the program's signals. */
static rf_status start(rf_engine *e, rf_error *why)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int failed = pthread_create(&e->thread, NULL, serve, e);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    e->started = !failed;
    return failed ? rf_fail(why, RF_EIO, "engine: expected a new thread, got: %s", strerror(failed)) : RF_OK;
}

static void make_locks(rf_engine *e)
{
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->more, NULL);
}

rf_status rf_engine_open(const rf_ctx *ctx, const char *folder, const rf_engine_options *options, rf_engine **out,
                         rf_error *why)
{
    rf_engine_options o;
    rf_ctx *made = NULL;
    if (!folder || !out) return rf__missing("rf_engine_open", "folder, out", why);
    rf_status status = read_options(options, &o, why);
    if (!status && !ctx) status = rf_ctx_new(NULL, &made, why);
    if (status) return status;
    if (!ctx) ctx = made;
    rf_engine *e = rf__calloc(ctx, 1, sizeof *e);
    if (!e) {
        rf_ctx_free(made);
        return rf_fail(why, RF_ENOMEM, "out of memory: an engine");
    }
    *e = (rf_engine){.ctx = ctx, .made = made, .o = o, .process = getpid(), .users = 1};
    make_locks(e);
    status = rf_pipeline_open(ctx, folder, o.type, &e->pipeline, why);
    if (!status) status = rf_cancel_new(ctx, &e->cancel, why);
    if (!status) rf_pipeline_set_cancel(e->pipeline, e->cancel);
    if (!status) status = start(e, why);
    if (status) rf_engine_close(e);
    else *out = e;
    return status;
}

/* The engine, its locks and its context stay until the last of its jobs is freed.  Unlocks. */
static void release(rf_engine *e)
{
    const rf_ctx *ctx = e->ctx;
    rf_ctx *made = e->made;
    const bool last = !--e->users;
    pthread_mutex_unlock(&e->lock);
    if (!last) return;
    pthread_cond_destroy(&e->more);
    pthread_mutex_destroy(&e->lock);
    rf__free(ctx, e);
    rf_ctx_free(made);
}

void rf_engine_close(rf_engine *e)
{
    if (!e || !is_ours(e)) return;
    rf_engine_job *told = NULL;
    pthread_mutex_lock(&e->lock);
    e->closing = true;
    pthread_cond_signal(&e->more);
    pthread_mutex_unlock(&e->lock);
    if (e->started) pthread_join(e->thread, NULL);
    pthread_mutex_lock(&e->lock);
    for (rf_engine_job *j; (j = e->spare);) {
        e->spare = j->next;
        destroy(j);
    }
    for (rf_engine_job *j; (j = e->first);) {
        take_out(e, j);
        rf_fail(&j->why, RF_ECANCELED, "canceled: the engine was closed");
        end_job(e, j, NULL, &told);
    }
    pthread_mutex_unlock(&e->lock);
    tell(told);
    rf_pipeline_close(e->pipeline);
    rf_cancel_free(e->cancel);
    e->pipeline = NULL;
    pthread_mutex_lock(&e->lock);
    release(e);
}

const rf_model *rf_engine_model(const rf_engine *e) { return e ? rf_pipeline_model(e->pipeline) : NULL; }

/* Seconds until what waits has been computed, under the lock; 0: not known. */
static double wait_of(const rf_engine *e)
{
    const double speed = e->now.tokens_per_second;
    return speed > 0 ? (double)(e->now.waiting_tokens + e->now.running_tokens) / speed : 0;
}

void rf_engine_look_sized(const rf_engine *given, rf_engine_state *out, size_t size)
{
    rf_engine *e = (rf_engine *)(uintptr_t)given;                                     /* the lock is not constant */
    if (!e || !out || !is_ours(e)) return;
    pthread_mutex_lock(&e->lock);
    rf_engine_state own = e->now;
    own.wait = wait_of(e);
    pthread_mutex_unlock(&e->lock);
    memcpy(out, &own, size < sizeof own ? size : sizeof own);
}

/* ---- submitting ---- */

static rf_status read_job_options(const rf_engine_job_options *given, rf_engine_job_options *o, rf_error *why)
{
    rf_engine_job_defaults(o);
    const rf_status status =
        rf__options_read(o, sizeof *o, RF_SIZE_TO(rf_engine_job_options, user), given, "rf_engine_job_options", why);
    if (!status && !(o->timeout >= 0)) return rf_fail(why, RF_EARG, "timeout: expected 0 or more, got %g", o->timeout);
    return status;
}

static void make_job(rf_engine *e, rf_engine_job *j)
{
    pthread_condattr_t by;
    pthread_condattr_init(&by);
    pthread_condattr_setclock(&by, CLOCK_MONOTONIC);
    pthread_cond_init(&j->end, &by);
    pthread_condattr_destroy(&by);
    rf_encoding_init(&j->window.e, e->ctx);
    j->engine = e;
}

/* A job that was put away, as new but for the space of its texts; NULL: there is none. */
static rf_engine_job *take_spare(rf_engine *e)
{
    pthread_mutex_lock(&e->lock);
    rf_engine_job *j = e->spare;
    if (j) e->spare = j->next, e->spares--;
    pthread_mutex_unlock(&e->lock);
    if (!j) return NULL;
    j->next = NULL;
    j->state = WAITING;
    j->canceled = j->freed = false;
    j->function = NULL;
    j->window.n = 0;
    j->window.e.n = 0;
    j->report = (rf_texts_report){0};
    j->begun = 0;
    j->why = (rf_error){0};
    return j;
}

/* A job that is nowhere yet. */
static rf_status new_job(rf_engine *e, const kind *what, const rf_engine_job_options *given, rf_engine_job **out,
                         rf_error *why)
{
    rf_engine_job_options own;
    const rf_status status = read_job_options(given, &own, why);
    if (status) return status;
    if (!is_ours(e))
        return rf_fail(why, RF_EUNSUPPORTED, "engine: expected the process that opened it, got a child of it; open an "
                       "engine in each process");
    rf_engine_job *j = take_spare(e);
    if (!j && !(j = rf__calloc(e->ctx, 1, sizeof *j))) return rf_fail(why, RF_ENOMEM, "out of memory: a job");
    if (!j->engine) make_job(e, j);
    j->kind = what;
    j->own = own;
    j->report.bad = -1;
    *out = j;
    return RF_OK;
}

/* Whether so many tokens more may wait, under the lock. */
static rf_status admit(const rf_engine *e, int64_t tokens, rf_error *why)
{
    const double wait = wait_of(e);
    if (e->closing) return rf_fail(why, RF_ECANCELED, "engine: expected an open engine, got one that is being closed");
    if (e->o.max_wait > 0 && wait > e->o.max_wait)
        return rf_fail(why, RF_EBUSY, "engine: expected a wait of at most %g s, got %.2g s; try again later",
                       e->o.max_wait, wait);
    if (e->o.max_queue_tokens && e->now.waiting && e->now.waiting_tokens + tokens > e->o.max_queue_tokens)
        return rf_fail(why, RF_EBUSY, "engine: expected at most %lld tokens to wait, got %lld; try again later",
                       (long long)e->o.max_queue_tokens, (long long)(e->now.waiting_tokens + tokens));
    return RF_OK;
}

/* To the end of the queue; a job that is refused is gone. */
static rf_status submit(rf_engine *e, rf_engine_job *j, rf_engine_job **out, rf_error *why)
{
    pthread_mutex_lock(&e->lock);
    const rf_status status = admit(e, tokens_of(j), why);
    if (status) {
        pthread_mutex_unlock(&e->lock);
        destroy(j);
        return status;
    }
    *out = j;                                                     /* before the engine's thread can call `done` */
    j->submitted = now();
    j->deadline = j->own.timeout > 0 ? j->submitted + j->own.timeout : INFINITY;
    if (e->last) e->last->next = j;
    else e->first = j;
    e->last = j;
    e->users++;
    e->now.waiting++;
    e->now.waiting_tokens += tokens_of(j);
    pthread_cond_signal(&e->more);
    pthread_mutex_unlock(&e->lock);
    return RF_OK;
}

rf_status rf_engine_embed(rf_engine *e, const char *const text[], const size_t bytes[], int64_t n,
                          const rf_embed_options *options, const rf_engine_job_options *job_options,
                          rf_engine_job **out, rf_error *why)
{
    rf_engine_job *j = NULL;
    if (!(e && out)) return rf__missing("rf_engine_embed", "engine, out", why);
    rf_status status = rf__pipeline_check(e->pipeline, text, n, why);
    if (!status) status = new_job(e, &of_vectors, job_options, &j, why);
    if (status) return status;
    status = rf_embed_settle(e->pipeline, options, &j->o, why);
    if (!status) status = rf__embed_encode(e->pipeline, &j->o, text, bytes, n, &j->window, &j->report, why);
    j->o.prompt = NULL;                                               /* somebody else's; it is in the tokens */
    if (!status) return submit(e, j, out, why);
    destroy(j);
    return status;
}

/* Texts, or pairs, to the end of the job's window. */
static rf_status encode(rf_engine_job *j, const char *const text[], const size_t bytes[], const char *const pair[],
                        const size_t pair_bytes[], int64_t n, int64_t limit, rf_error *why)
{
    rf__text_window *w = &j->window;
    const rf_tokenizer *t = rf_model_tokenizer(rf_pipeline_model(j->engine->pipeline));
    rf_error bad = {0};
    for (int64_t i = 0; i < n; i++) {
        bool cut = false;
        if (rf__window_add_pair(w, t, text[i], rf__text_bytes(text, bytes, i), pair ? pair[i] : NULL,
                                pair ? rf__text_bytes(pair, pair_bytes, i) : 0, limit, &cut, &bad))
            return rf__text_fail(NULL, i, n, &bad, why);
        j->report.cut += cut;
    }
    j->report.done = n;
    j->report.tokens = tokens_of(j);
    return RF_OK;
}

rf_status rf_engine_classify(rf_engine *e, const char *const text[], const size_t bytes[], const char *const pair[],
                             const size_t pair_bytes[], int64_t n, const rf_engine_job_options *job_options,
                             rf_engine_job **out, rf_error *why)
{
    rf_engine_job *j = NULL;
    if (!(e && out)) return rf__missing("rf_engine_classify", "engine, out", why);
    rf_status status = rf__pipeline_check(e->pipeline, text, n, why);
    if (!status) status = rf__can_classify(e->pipeline, pair != NULL, why);
    if (!status) status = rf__answerer_can_label(e->pipeline->answerer, why);
    if (!status) status = new_job(e, &of_labels, job_options, &j, why);
    if (status) return status;
    status = encode(j, text, bytes, pair, pair_bytes, n, e->pipeline->answerer->max_length, why);
    if (!status) return submit(e, j, out, why);
    destroy(j);
    return status;
}

rf_status rf_engine_cross(rf_engine *e, const char *query, size_t query_bytes, const char *const text[],
                          const size_t bytes[], int64_t n, const rf_engine_job_options *job_options,
                          rf_engine_job **out, rf_error *why)
{
    rf_engine_job *j = NULL;
    double (*f)(double z);
    if (!(e && query && out)) return rf__missing("rf_engine_cross", "engine, query, out", why);
    rf_status status = rf__pipeline_check(e->pipeline, text, n, why);
    if (!status) status = rf__can_classify(e->pipeline, true, why);
    if (!status) status = rf__answerer_can_cross(e->pipeline->answerer, &f, why);
    if (!status) status = new_job(e, &of_pairs, job_options, &j, why);
    if (status) return status;
    const size_t size = query_bytes == RF_STRING ? strlen(query) : query_bytes;
    for (int64_t i = 0; i < n && !status; i++) {
        const char *one[] = {query};
        const size_t of_one[] = {size}, of_text[] = {rf__text_bytes(text, bytes, i)};
        rf_error bad = {0};
        if (encode(j, one, of_one, &text[i], of_text, 1, e->pipeline->answerer->max_length, &bad))
            status = rf__text_fail(NULL, i, n, &bad, why);
    }
    j->report.done = n;
    if (!status) return submit(e, j, out, why);
    destroy(j);
    return status;
}

const rf_labels *rf_engine_labels(const rf_engine *e)
{
    return e && e->pipeline->answerer ? rf_answerer_labels(e->pipeline->answerer) : NULL;
}

rf_status rf_engine_call(rf_engine *e, rf_engine_function *function, void *user,
                         const rf_engine_job_options *job_options, rf_engine_job **out, rf_error *why)
{
    rf_engine_job *j = NULL;
    if (!(e && function && out)) return rf__missing("rf_engine_call", "engine, function, out", why);
    const rf_status status = new_job(e, &of_calls, job_options, &j, why);
    if (status) return status;
    j->function = function;
    j->function_user = user;
    return submit(e, j, out, why);
}

/* ---- waiting ---- */

static struct timespec time_of(double t)
{
    struct timespec at = {.tv_sec = (time_t)t};
    at.tv_nsec = (long)(1e9 * (t - (double)at.tv_sec));
    return at;
}

/* Ends a job that waits, under the lock. */
static void end_waiting(rf_engine *e, rf_engine_job *j, rf_engine_job **told)
{
    if (j->state != WAITING || !take_out(e, j)) return;
    cancel_job(j, now());
    end_job(e, j, NULL, told);
}

/* Until it has ended, or `until`; under the lock. */
static void wait_until(rf_engine *e, rf_engine_job *j, double until, rf_engine_job **told)
{
    bool late = false;
    for (double t = now(); j->state != ENDED && t < until; t = now()) {
        if (!late && t >= j->deadline) {
            late = true;
            cancel_running(e);
            end_waiting(e, j, told);
            continue;
        }
        const double next = late ? until : fmin(until, j->deadline);
        const struct timespec at = time_of(isinf(next) ? 0 : next);
        if (isinf(next)) pthread_cond_wait(&j->end, &e->lock);
        else pthread_cond_timedwait(&j->end, &e->lock, &at);
    }
}

rf_status rf_engine_wait(rf_engine_job *j, double seconds, rf_error *why)
{
    if (!j) return rf__missing("rf_engine_wait", "job", why);
    rf_engine *e = j->engine;
    rf_engine_job *told = NULL;
    if (!is_ours(e))
        return rf_fail(why, RF_EUNSUPPORTED, "engine: expected the process that opened it, got a child of it");
    pthread_mutex_lock(&e->lock);
    wait_until(e, j, seconds < 0 ? INFINITY : now() + seconds, &told);
    const bool ended = j->state == ENDED;
    const rf_error own = j->why;
    pthread_mutex_unlock(&e->lock);
    tell(told);
    if (!ended) return rf_fail(why, RF_EBUSY, "job: expected a result within %g s, got none yet", seconds);
    return own.code ? rf_fail(why, own.code, "%s", own.text) : RF_OK;
}

void rf_engine_cancel(rf_engine_job *j)
{
    if (!j || !is_ours(j->engine)) return;
    rf_engine *e = j->engine;
    rf_engine_job *told = NULL;
    pthread_mutex_lock(&e->lock);
    j->canceled = true;
    if (j->state == RUNNING) cancel_running(e);
    end_waiting(e, j, &told);
    pthread_mutex_unlock(&e->lock);
    tell(told);
}

static bool has_result(const rf_engine_job *j) { return j && j->state == ENDED && !j->why.code && j->result; }

const float *rf_engine_result(const rf_engine_job *j, int64_t *n, int64_t *columns)
{
    if (!has_result(j)) return NULL;
    if (n) *n = j->window.n;
    if (columns) *columns = j->columns;
    return j->result;
}

const rf_texts_report *rf_engine_report(const rf_engine_job *j) { return has_result(j) ? &j->report : NULL; }

void rf_engine_times(const rf_engine_job *j, double *waited, double *total)
{
    if (!j || j->state != ENDED) return;
    if (waited) *waited = (j->begun > 0 ? j->begun : j->ended) - j->submitted;
    if (total) *total = j->ended - j->submitted;
}

void rf_engine_job_free(rf_engine_job *j)
{
    if (!j || !is_ours(j->engine)) return;
    rf_engine *e = j->engine;
    pthread_mutex_lock(&e->lock);
    if (j->state == RUNNING) {
        j->canceled = j->freed = true;
        cancel_running(e);
        pthread_mutex_unlock(&e->lock);
        return;
    }
    if (j->state == WAITING) take_out(e, j);
    put_away(e, j);
    release(e);
}
