/* wait.c — waiting for a job, canceling it, and its result. */
#include "pipeline/engine/engine.h"

#include <math.h>

/* Ends a waiting job, under the lock. */
static void end_waiting(rf_engine *e, rf_engine_job *j, rf_engine_job **told)
{
    if (j->state != RF__JOB_WAITING || !rf__queue_remove(e, j)) return;
    rf__job_cancel(j, rf__seconds());
    rf__job_end(e, j, NULL, told);
}

/* Whether the job has ended, and its `done` has returned. Inside `done`, the job counts as ended. */
static bool is_over(const rf_engine_job *j) { return j->state == RF__JOB_ENDED && !rf__job_is_notified_elsewhere(j); }

/* Waits until the job has ended, or until the time `until`; under the lock. */
static void wait_until(rf_engine *e, rf_engine_job *j, double until, rf_engine_job **told)
{
    bool late = false;
    for (double t = rf__seconds(); !is_over(j) && t < until; t = rf__seconds()) {
        if (!late && t >= j->deadline) {
            late = true;
            end_waiting(e, j, told);
            continue;
        }
        rf__os_wait_until(&j->end, &e->lock, late ? until : fmin(until, j->deadline));
    }
}

rf_status rf_engine_wait(rf_engine_job *j, double seconds, rf_error *why)
{
    if (!j) return rf__missing("rf_engine_wait", "job", why);
    rf_engine *e = j->engine;
    rf_engine_job *told = NULL;
    if (!rf__engine_is_ours(e))
        return rf_fail(why, RF_EUNSUPPORTED, "engine: expected the process that opened it, got a child of it");
    pthread_mutex_lock(&e->lock);
    wait_until(e, j, seconds < 0 ? INFINITY : rf__seconds() + seconds, &told);
    const bool ended = is_over(j);
    const rf_error own = j->why;
    pthread_mutex_unlock(&e->lock);
    rf__jobs_notify(e, told);
    if (!ended) return rf_fail(why, RF_EBUSY, "job: expected a result within %g s, got none yet", seconds);
    return own.code ? rf_fail(why, own.code, "%s", own.text) : RF_OK;
}

void rf_engine_cancel(rf_engine_job *j)
{
    if (!j || !rf__engine_is_ours(j->engine)) return;
    rf_engine *e = j->engine;
    rf_engine_job *told = NULL;
    pthread_mutex_lock(&e->lock);
    j->canceled = true;
    if (j->state == RF__JOB_RUNNING) rf__engine_watch(e);
    end_waiting(e, j, &told);
    pthread_mutex_unlock(&e->lock);
    rf__jobs_notify(e, told);
}

static bool has_result(const rf_engine_job *j) { return j && j->state == RF__JOB_ENDED && !j->why.code && j->result; }

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
    if (!j || j->state != RF__JOB_ENDED) return;
    if (waited) *waited = (j->begun > 0 ? j->begun : j->ended) - j->submitted;
    if (total) *total = j->ended - j->submitted;
}

void rf_engine_job_free(rf_engine_job *j)
{
    if (!j || !rf__engine_is_ours(j->engine)) return;
    rf_engine *e = j->engine;
    pthread_mutex_lock(&e->lock);
    while (rf__job_is_notified_elsewhere(j)) pthread_cond_wait(&j->end, &e->lock);
    if (j->state == RF__JOB_RUNNING || j->telling) {
        j->canceled = j->freed = true;
        rf__engine_watch(e);
        pthread_mutex_unlock(&e->lock);
        return;
    }
    if (j->state == RF__JOB_WAITING) rf__queue_remove(e, j);
    rf__job_destroy(j);
    rf__engine_release(e);
}
