/* shared_call.c — requests that a model computes together. */
#include "serve/shared_call.h"

#include <stdlib.h>

struct srv_shared {
    pthread_mutex_t lock;
    srv_call *first, *last; /* that wait                                                                  */
    srv_call *running;      /* that have been taken and have not ended                                    */
    srv_request *leader;    /* whose job computes them, or NULL                                           */
    bool canceled;          /* all of them are over; no more are taken                                    */
};

srv_shared *srv_shared_new(void)
{
    srv_shared *c = calloc(1, sizeof *c);
    if (c) pthread_mutex_init(&c->lock, NULL);
    return c;
}

void srv_shared_free(srv_shared *c)
{
    if (!c) return;
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static bool together(const srv_call *a, const srv_call *b)
{
    return a->compute == b->compute && a->same && a->same(a, b);
}

/* Takes the first waiting call that `fits` accepts, or `only` that one; under no lock. */
static srv_call *take(srv_shared *all, const srv_call *like, const srv_call *only)
{
    pthread_mutex_lock(&all->lock);
    srv_call *before = NULL, *c = like && all->canceled ? NULL : all->first;
    while (c && !(only ? c == only : like && together(like, c))) before = c, c = c->next;
    if (c) {
        if (before) before->next = c->next;
        else all->first = c->next;
        if (all->last == c) all->last = before;
        c->taken = rf__seconds();
        c->next = all->running;
        all->running = c;
    }
    pthread_mutex_unlock(&all->lock);
    return c;
}

static void cancel_if_over(srv_shared *all)
{
    pthread_mutex_lock(&all->lock);
    bool over = all->leader && all->running && !all->canceled;
    for (const srv_call *c = all->running; c && over; c = c->next) over = srv_is_over(c->r);
    if (over) {
        all->canceled = true;
        rf_engine_cancel(all->leader->job); /* it is running, so it is not freed */
    }
    pthread_mutex_unlock(&all->lock);
}

void srv_call_leave(srv_call *c)
{
    srv_shared *all = c->r->model->shared;
    if (take(all, NULL, c)) {
        const rf_error why = srv_over(c->r);
        srv_call_end(c, &why);
    } else cancel_if_over(all); /* it is being computed, or has ended */
}

/* Ends a call that is over before it is computed. */
static bool drop(srv_call *c)
{
    if (!srv_is_over(c->r)) return false;
    const rf_error why = srv_over(c->r);
    srv_call_end(c, &why);
    return true;
}

srv_call *srv_call_next(const srv_call *first)
{
    srv_call *c;
    while ((c = take(first->r->model->shared, first, NULL)) && drop(c)) {}
    return c;
}

/* The number of calls that srv_call_next would return. */
static int64_t still_waiting(const srv_call *first)
{
    srv_shared *all = first->r->model->shared;
    int64_t n = 0;
    pthread_mutex_lock(&all->lock);
    for (const srv_call *c = all->first; c; c = c->next) n += together(first, c);
    pthread_mutex_unlock(&all->lock);
    return n;
}

bool srv_call_may_join(const srv_call *first, int64_t joined, int64_t n, double begun)
{
    enum { INPUTS = 4096 };
    const double patience = 1;
    rf_engine_state state = {.waiting = 0};
    const int64_t own = joined + still_waiting(first);
    rf_engine_get_state(first->r->model->engine, &state);
    return n < INPUTS && (state.waiting <= own || rf__seconds() <= begun + patience);
}

static void lead(srv_shared *all, srv_request *leader)
{
    pthread_mutex_lock(&all->lock);
    all->leader = leader;
    all->canceled = false;
    pthread_mutex_unlock(&all->lock);
}

/* The job of a call: another one may have computed it. */
static rf_status run_call(void *user, rf_pipeline *p, rf_error *why)
{
    srv_call *c = user;
    srv_shared *all = c->r->model->shared;
    srv_request *r = c->r;
    if (!take(all, NULL, c)) return rf_fail(why, RF_ECANCELED, "canceled: another job computed it");
    c->leads = true;
    lead(all, r);
    if (!drop(c)) c->compute(c, p);
    lead(all, NULL);
    return RF_OK;
}

void srv_call_answer(srv_request *r)
{
    srv_call *c = r->own;
    srv_text_clear(&r->out);
    r->out = c->out;
    c->out = (srv_text){0};
    srv_answer_json(r);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void call_over(srv_request *r)
{
    srv_call *c = r->own;
    if (!c->leads) srv_request_cancel(r, true); /* its own job, which waits, will find nothing to do */
    srv_let_go(r);
    if (!c->why.code) {
        r->waited = c->taken - r->arrived - r->parsed;
        r->computed = c->ended - c->taken;
        r->inference = true;
        r->finish(r);
    } else if (!r->status) srv_fail(r, &c->why);
    else r->failure = atomic_load(&r->gone) ? "dropped" : "inference"; /* a stream has begun */
    srv_request_release(r);
}

void srv_call_end(srv_call *c, const rf_error *why)
{
    srv_shared *all = c->r->model->shared;
    pthread_mutex_lock(&all->lock);
    srv_call **at = &all->running;
    while (*at && *at != c) at = &(*at)->next;
    if (*at) *at = c->next;
    pthread_mutex_unlock(&all->lock);
    if (why) c->why = *why;
    c->ended = rf__seconds();
    srv_later(c->r, call_over, 0);
}

/* Called when the job of a call has ended. The call was computed here or by the job of another call, or was never
 * begun. */
static void job_over(srv_request *r)
{
    srv_call *c = r->own;
    rf_error why = {0};
    if (rf_engine_wait(r->job, -1, &why) && take(r->model->shared, NULL, c)) srv_call_end(c, &why);
    srv_job_free(r);
    srv_request_release(r);
}

static void job_done(void *user, rf_engine_job *job)
{
    (void)job;
    srv_later(user, job_over, 1);
}

void srv_call_submit(srv_call *c, srv_step *finish)
{
    srv_request *r = c->r;
    srv_shared *all = r->model->shared;
    rf_error why = {0};
    rf_engine_job_options o = srv_job_options(r, finish);
    c->out.most = r->out.most;
    o.timeout = 0; /* the job of one may compute the calls of others */
    o.done = job_done;
    r->shared = true;
    atomic_fetch_add(&r->users, 2); /* until job_over, and until call_over */
    pthread_mutex_lock(&all->lock);
    c->next = NULL;
    if (all->last) all->last->next = c;
    else all->first = c;
    all->last = c;
    pthread_mutex_unlock(&all->lock);
    if (!rf_engine_call(r->model->engine, run_call, c, &o, &r->job, &why)) {
        srv_cancelable(r);
        return;
    }
    srv_request_release(r); /* there is no job */
    if (take(all, NULL, c)) srv_call_end(c, &why);
}
