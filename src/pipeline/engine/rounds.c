/* rounds.c — vectors for many jobs: a thread that finds no part of a round left begins the next one.
 *
 * The jobs that are taken together are a round, which is divided into parts. A thread computes one part after the
 * other. If it waited at the end of a round for the others, it would be idle for half a part on average; therefore it
 * takes the jobs that wait meanwhile as the next round. At most two rounds are computed at the same time:
 *
 *     thread 0   | 0.a | 0.c | 1.a | 1.c |       0.a: part a of round 0
 *     thread 1   | 0.b    | 1.b    | 2.a |
 *
 * A thread that finds nothing to do ends the sequence of rounds, since it cannot come back before the others have
 * ended; the engine's thread then begins another one. The vector of a text does not depend on its round. */
#include "pipeline/engine/engine.h"

typedef struct engine_round {
    rf__parts *parts;
    rf_engine_job *jobs;                /* linked by `peer`; NULL: there is no such round now                         */
    int64_t next, done;                 /* parts that were handed out, that have ended                                */
    int64_t tokens;
    double begun;
    rf_error why;                       /* the failure of a part                                                      */
} engine_round;

typedef struct rounds {
    rf_engine *e;
    rf_engine_job like;                 /* the kind and options of all jobs                                           */
    pthread_mutex_t lock;               /* taken before that of the engine; protects what follows                     */
    engine_round round[2];
    int now;                            /* the round whose parts are handed out                                       */
    bool over;                          /* no further round begins                                                    */
    double begun, mark;                 /* of the sequence; when the last round ended, or `begun`                     */
} rounds;

/* ---- the end of a round ---- */

static void remove_running(rf_engine *e, const rf_engine_job *which)
{
    rf_engine_job **at = &e->running;
    while (*at && *at != which) at = &(*at)->next;
    if (*at) *at = which->next;
}

/* Ends the jobs of a round whose parts have all ended. No other thread uses the round. */
static void end_round(rounds *x, engine_round *r)
{
    rf_engine *e = x->e;
    rf_engine_job *told = NULL;
    if (!r->why.code) rf__jobs_store_vectors(e, r->jobs, r->parts->vectors, &r->why);
    const double end = rf__seconds();
    pthread_mutex_lock(&x->lock);
    pthread_mutex_lock(&e->lock);
    const engine_round *other = &x->round[r == &x->round[0]];
    e->begun = other->jobs ? other->begun : end;
    if (!r->why.code) rf__engine_measure(e, r->tokens, end - x->mark);
    x->mark = end;
    x->over |= r->why.code != RF_OK;
    e->now.batches += r->why.code != RF_ECANCELED;
    for (rf_engine_job *j = r->jobs; j; j = j->peer) {
        remove_running(e, j);
        e->now.running--;
    }
    rf__jobs_settle(e, r->jobs, &r->why, &told);
    r->jobs = NULL;
    rf__engine_watch(e);
    pthread_mutex_unlock(&e->lock);
    pthread_mutex_unlock(&x->lock);
    rf__jobs_notify(e, told);
}

/* ---- the beginning of a round ---- */

/* Joins and divides the texts of a round's jobs. */
static void open_round(const rounds *x, engine_round *r)
{
    rf__parts *parts = r->parts;
    r->next = r->done = 0;
    r->why = (rf_error){0};
    if (rf__jobs_join(x->e, r->jobs, &parts->window, &r->why) ||
        rf__embed_divide(x->e->pipeline, &x->like.o, parts, &r->why))
        parts->n = 0;
    r->tokens = parts->window.n ? parts->window.start[parts->window.n] : 0;
}

/* Whether a round may begin; under both locks. If all running jobs are canceled or late, the flag is set that cancels
 * them, and would cancel the new jobs, too. */
static bool may_begin(const rounds *x, double t)
{
    const double longest = 1;                        /* seconds, so that other engines of the context get its workers */
    const rf_engine *e = x->e;
    bool alive = !e->running;
    for (const rf_engine_job *j = e->running; j && !alive; j = j->next) alive = !j->canceled && t < j->deadline;
    return alive && !x->over && !e->closing && t < x->begun + longest;
}

/* Takes the jobs that wait; under the lock of x. false: there are none. */
static bool begin_round(rounds *x, engine_round *r, rf_engine_job **told)
{
    rf_engine *e = x->e;
    const double t = rf__seconds();
    pthread_mutex_lock(&e->lock);
    r->jobs = may_begin(x, t) ? rf__queue_take(e, &x->like, told) : NULL;
    r->begun = t;
    if (r->jobs) {
        if (!e->running) rf_cancel_clear(e->cancel), e->begun = t;
        rf_engine_job **end = &e->running;
        while (*end) end = &(*end)->next;
        *end = r->jobs;
        rf__engine_watch(e);
    }
    pthread_mutex_unlock(&e->lock);
    if (r->jobs) open_round(x, r);
    return r->jobs;
}

/* ---- parts ---- */

/* The next part; -1: the round has none. NULL: there is nothing to do. */
static engine_round *take_part(rounds *x, int64_t *i, rf_engine_job **told)
{
    pthread_mutex_lock(&x->lock);
    engine_round *r = &x->round[x->now], *free_one = &x->round[!x->now];
    if (r->next == r->parts->n) {
        const bool begins = !x->over && !free_one->jobs && begin_round(x, free_one, told);
        if (begins) x->now = !x->now;
        else x->over = true;
        r = begins ? free_one : NULL;
    }
    if (r) *i = r->parts->n ? r->next++ : -1;
    pthread_mutex_unlock(&x->lock);
    return r;
}

/* Returns whether it was the last part of its round. */
static bool end_part(rounds *x, engine_round *r, int64_t i, const rf_error *why)
{
    const int64_t tokens = rf__parts_tokens(r->parts, i);
    pthread_mutex_lock(&x->lock);
    if (why->code && !r->why.code) r->why = *why;
    const bool last = ++r->done == r->parts->n;
    pthread_mutex_lock(&x->e->lock);
    x->e->now.running_tokens -= tokens;
    pthread_mutex_unlock(&x->e->lock);
    pthread_mutex_unlock(&x->lock);
    return last;
}

static bool has_failed(rounds *x, const engine_round *r)
{
    pthread_mutex_lock(&x->lock);
    const bool failed = r->why.code != RF_OK;
    pthread_mutex_unlock(&x->lock);
    return failed;
}

static void run_parts(void *user, int64_t index, int worker)
{
    rounds *x = user;
    (void)index;
    for (;;) {
        rf_error why = {0};
        rf_engine_job *told = NULL;
        int64_t i = -1;
        engine_round *r = take_part(x, &i, &told);
        rf__jobs_notify(x->e, told);
        if (!r) return;
        if (i >= 0 && !has_failed(x, r)) rf__embed_part(x->e->pipeline, &x->like.o, r->parts, i, worker, &why);
        if (i < 0 || end_part(x, r, i, &why)) end_round(x, r);
    }
}

rf_status rf__engine_rounds(rf_engine *e, rf_error *why)
{
    if (rf__pipeline_workers(e->pipeline, why)) return why->code;
    rounds x = {.e = e, .lock = PTHREAD_MUTEX_INITIALIZER, .begun = e->begun, .mark = e->begun};
    x.like.kind = e->running->kind;
    x.like.o = e->running->o;
    for (int k = 0; k < 2; k++) x.round[k] = (engine_round){.parts = &e->parts[k], .begun = e->begun};
    x.round[0].jobs = e->running;
    e->parts[1].n = 0;
    open_round(&x, &x.round[0]);
    if (e->parts[0].n) rf__parallel(e->ctx, e->ctx->threads, run_parts, &x);
    else end_round(&x, &x.round[0]);
    pthread_mutex_destroy(&x.lock);
    return RF_OK;
}
