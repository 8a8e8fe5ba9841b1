/* engine.c — opens and closes an engine, and its thread; see include/roformer/engine.h. */
#include "pipeline/engine/engine.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/system/thread.h"

void rf_engine_options_init(rf_engine_options *o, size_t size)
{
    const rf_engine_options own = {.type = RF_F32, .max_batch_tokens = 2048, .max_queue_tokens = 4194304};
    rf__options_init(o, size, &own, sizeof own);
}

/* ---- the engine's thread ---- */

/* Measures the speed of the latest batches, weighted by their tokens. Batches of a few tokens are much slower per token
 * than those of a queue will be, so they are not used to predict waiting times. */
void rf__engine_measure(rf_engine *e, int64_t tokens, double seconds)
{
    enum { LEAST = 256 };                                     /* minimum tokens of a batch that counts */
    const double kept = 0.8;                                  /* weight of the previous batches */
    if (tokens < rf__min64(LEAST, e->o.max_batch_tokens / 2) || !tokens) return;
    e->tokens = kept * e->tokens + (double)tokens;
    e->seconds = kept * e->seconds + fmax(seconds, 1e-9);
    e->now.tokens_per_second = e->tokens / e->seconds;
}

/* Computes the jobs that were taken, without the lock. */
static void compute(rf_engine *e, rf_error *why)
{
    const rf_status status = e->running->kind->compute(e, why);
    if (status && !why->code) rf_fail(why, status, "%s", rf_status_text(status));
}

/* Takes jobs, computes them and ends them; under the lock, which is released during the computation. */
static void serve_once(rf_engine *e, rf_engine_job **told)
{
    rf_error why = {0};
    e->running = rf__queue_take(e, NULL, told);
    if (!e->running) return;
    rf_cancel_clear(e->cancel);
    rf__engine_watch(e);
    const double begin = e->begun = rf__seconds();
    pthread_mutex_unlock(&e->lock);
    compute(e, &why);
    const double end = rf__seconds();
    pthread_mutex_lock(&e->lock);
    rf_engine_job *list = e->running;                         /* NULL: rf__engine_rounds has ended them */
    if (list && !why.code) rf__engine_measure(e, e->now.running_tokens, end - begin);
    e->running = NULL;
    e->now.running = e->now.running_tokens = 0;
    e->now.batches += list && why.code != RF_ECANCELED;
    rf__jobs_settle(e, list, &why, told);
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
        rf__jobs_notify(e, told);
        pthread_mutex_lock(&e->lock);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

void rf__engine_serve(rf_engine *e)
{
    if (e->started) return;
    while (e->first && !e->running) {
        rf_engine_job *told = NULL;
        serve_once(e, &told);
        pthread_mutex_unlock(&e->lock);
        rf__jobs_notify(e, told);
        pthread_mutex_lock(&e->lock);
    }
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

static rf_status start(rf_engine *e, rf_error *why)
{
    const int failed = rf__thread_start(&e->thread, serve, e);
    e->started = !failed;
    if (!failed || failed == ENOTSUP) return RF_OK;
    return rf_fail(why, RF_EIO, "engine: expected a new thread, got: %s", strerror(failed));
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
    *e = (rf_engine){.ctx = ctx, .made = made, .o = o, .process = rf__os_process(), .users = 1};
    make_locks(e);
    for (size_t k = 0; k < RF_COUNT(e->parts); k++) rf_encoding_init(&e->parts[k].window.e, ctx);
    status = rf_pipeline_open(ctx, folder, o.type, &e->pipeline, why);
    if (!status) status = rf_cancel_new(ctx, &e->cancel, why);
    if (!status) {
        rf_pipeline_set_cancel(e->pipeline, e->cancel);
        rf__pipeline_clock(e->pipeline, &e->passed);
    }
    if (!status) status = start(e, why);
    if (status) rf_engine_close(e);
    else *out = e;
    return status;
}

void rf__engine_release(rf_engine *e)
{
    const rf_ctx *ctx = e->ctx;
    rf_ctx *made = e->made;
    const bool last = !--e->users;
    pthread_mutex_unlock(&e->lock);
    if (!last) return;
    while (e->scratches) {
        rf_encoding own;
        rf_encoding_init(&own, ctx);
        own.scratch = e->scratch[--e->scratches];
        rf_encoding_clear(&own);
    }
    pthread_cond_destroy(&e->more);
    pthread_mutex_destroy(&e->lock);
    rf__free(ctx, e);
    rf_ctx_free(made);
}

void rf_engine_close(rf_engine *e)
{
    if (!e || !rf__engine_is_ours(e)) return;
    rf_engine_job *told = NULL;
    pthread_mutex_lock(&e->lock);
    e->closing = true;
    pthread_cond_signal(&e->more);
    pthread_mutex_unlock(&e->lock);
    if (e->started) pthread_join(e->thread, NULL);
    pthread_mutex_lock(&e->lock);
    for (rf_engine_job *j; (j = e->first);) {
        rf__queue_remove(e, j);
        rf_fail(&j->why, RF_ECANCELED, "canceled: the engine was closed");
        rf__job_end(e, j, NULL, &told);
    }
    pthread_mutex_unlock(&e->lock);
    rf__jobs_notify(e, told);
    for (size_t k = 0; k < RF_COUNT(e->parts); k++) rf__parts_clear(e->ctx, &e->parts[k]);
    rf_pipeline_close(e->pipeline);
    rf_cancel_free(e->cancel);
    e->pipeline = NULL;
    pthread_mutex_lock(&e->lock);
    rf__engine_release(e);
}

const rf_model *rf_engine_model(const rf_engine *e) { return e ? rf_pipeline_model(e->pipeline) : NULL; }

double rf__engine_wait_seconds(const rf_engine *e)
{
    enum { ENOUGH = 256 };                                    /* tokens from which the speed is considered known */
    const double speed = e->now.tokens_per_second;
    return e->tokens >= ENOUGH ? (double)(e->now.waiting_tokens + e->now.running_tokens) / speed : 0;
}

void rf_engine_get_state_sized(const rf_engine *given, rf_engine_state *out, size_t size)
{
    rf_engine *e = (rf_engine *)(uintptr_t)given;                                     /* the lock is modified */
    if (!e || !out || !rf__engine_is_ours(e)) return;
    pthread_mutex_lock(&e->lock);
    rf_engine_state own = e->now;
    own.wait = rf__engine_wait_seconds(e);
    const double now = rf__seconds();
    own.running_seconds = e->running ? now - e->begun : 0;
    own.stalled_seconds = fmin(own.running_seconds, now - atomic_load(&e->passed));
    pthread_mutex_unlock(&e->lock);
    memcpy(out, &own, size < sizeof own ? size : sizeof own);
}
