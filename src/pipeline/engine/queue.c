/* queue.c — moves jobs from the queue to the engine's thread, and ends them. */
#include "pipeline/engine/engine.h"

#include <math.h>

void rf__job_destroy(rf_engine_job *j)
{
    const rf_ctx *ctx = j->engine->ctx;
    pthread_cond_destroy(&j->end);
    rf_encoding_clear(&j->window.e);
    rf__free(ctx, j->window.start);
    rf__free(ctx, j->result);
    rf__free(ctx, j);
}

void rf__job_end(rf_engine *e, rf_engine_job *j, const rf_error *why, rf_engine_job **told)
{
    if (!j->why.code && why) j->why = *why;
    j->state = RF__JOB_ENDED;
    j->ended = rf__seconds();
    e->now.done++;
    if (j->freed) {
        rf__job_destroy(j);
        e->users--;                                               /* not the last user: the engine is in use */
        return;
    }
    if (j->own.done) {
        j->telling = true;
        j->teller = pthread_self();
        j->next = *told;
        *told = j;
    }
    pthread_cond_broadcast(&j->end);
}

/* Puts jobs back at the front of the queue. */
static void return_jobs(rf_engine *e, rf_engine_job *first, rf_engine_job *last)
{
    for (rf_engine_job *j = first; j; j = j->next) {
        j->state = RF__JOB_WAITING;
        j->alone = true;
        rf__free(e->ctx, j->result);
        j->result = NULL;
        e->now.waiting++;
        e->now.waiting_tokens += rf__job_tokens(j);
    }
    last->next = e->first;
    e->first = first;
    if (!e->last) e->last = last;
}

void rf__jobs_settle(rf_engine *e, rf_engine_job *list, const rf_error *why, rf_engine_job **told)
{
    const double end = rf__seconds();
    const bool again = why->code && why->code != RF_ECANCELED && list && list->peer;
    rf_engine_job *first = NULL, *last = NULL;
    for (rf_engine_job *j = list, *peer; j; j = peer) {
        peer = j->peer;
        j->next = NULL;
        if (again && !j->canceled) {
            if (last) last->next = j;
            else first = j;
            last = j;
            continue;
        }
        if (why->code == RF_ECANCELED) rf__job_cancel(j, end);
        rf__job_end(e, j, why, told);
    }
    if (first) return_jobs(e, first, last);
}

void rf__jobs_notify(rf_engine *e, rf_engine_job *list)
{
    for (rf_engine_job *j = list, *next; j; j = next) {
        next = j->next;
        if (!j->freed) j->own.done(j->own.user, j);             /* freed: by `done` of another job */
        pthread_mutex_lock(&e->lock);
        j->telling = false;
        pthread_cond_broadcast(&j->end);
        if (!j->freed) {
            pthread_mutex_unlock(&e->lock);
            continue;
        }
        rf__job_destroy(j);
        rf__engine_release(e);
    }
}

void rf__job_cancel(rf_engine_job *j, double t)
{
    const double rounding = 1e-6;                          /* of the deadline, in the clock of the flag */
    if (j->canceled || t + rounding < j->deadline)
        rf_fail(&j->why, RF_ECANCELED, "canceled by the caller");
    else rf_fail(&j->why, RF_ECANCELED, "canceled: no result within its timeout of %g s", j->own.timeout);
}

bool rf__queue_remove(rf_engine *e, rf_engine_job *which)
{
    rf_engine_job *before = NULL, *j = e->first;
    while (j && j != which) before = j, j = j->next;
    if (!j) return false;
    if (before) before->next = j->next;
    else e->first = j->next;
    if (e->last == j) e->last = before;
    j->next = NULL;
    e->now.waiting--;
    e->now.waiting_tokens -= rf__job_tokens(j);
    return true;
}

void rf__engine_watch(rf_engine *e)
{
    double last = -INFINITY;                                                            /* the last deadline */
    if (!e->running) return;
    for (const rf_engine_job *j = e->running; j; j = j->next)
        if (!j->canceled) last = fmax(last, j->deadline);
    if (isinf(last) && last < 0) rf_cancel_set(e->cancel);
    else rf_cancel_after(e->cancel, last - rf__seconds());
}

/* Whether a job can be computed with `first` (NULL: there is none) and those that run. */
static bool fits(const rf_engine *e, const rf_engine_job *first, const rf_engine_job *j)
{
    if (!first) return true;
    return !first->alone && !j->alone && j->kind == first->kind && first->kind->together &&
           first->kind->together(first, j) &&
           (!e->now.running_tokens || e->now.running_tokens + rf__job_tokens(j) <= e->o.max_batch_tokens);
}

void rf__engine_on_batch(rf_engine *e, rf__engine_batch *batch, void *user)
{
    pthread_mutex_lock(&e->lock);
    e->batch = batch;
    e->batch_user = user;
    pthread_mutex_unlock(&e->lock);
}

static void notify_batch(const rf_engine *e, const rf_engine_job *list)
{
    int64_t texts = 0, tokens = 0;
    for (const rf_engine_job *j = list; j; j = j->peer) texts += j->window.n, tokens += rf__job_tokens(j);
    if (texts && e->batch) e->batch(e->batch_user, texts, tokens);
}

rf_engine_job *rf__queue_take(rf_engine *e, const rf_engine_job *like, rf_engine_job **told)
{
    rf_engine_job *list = NULL, *last = NULL;
    const double t = rf__seconds();
    for (rf_engine_job *j; (j = e->first);) {
        const bool ends = j->canceled || t >= j->deadline;
        if (!ends && !fits(e, list ? list : like, j)) break;
        rf__queue_remove(e, j);
        if (ends) {
            rf__job_cancel(j, t);
            rf__job_end(e, j, NULL, told);
            continue;
        }
        j->state = RF__JOB_RUNNING;
        j->begun = t;
        e->now.running++;
        e->now.running_tokens += rf__job_tokens(j);
        j->next = j->peer = NULL;
        if (last) last->next = last->peer = j;
        else list = j;
        last = j;
    }
    notify_batch(e, list);
    return list;
}
