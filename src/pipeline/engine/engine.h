/* engine.h — the jobs of an engine and its queue; see include/roformer/engine.h.
 *
 *     submit.c    tokenizes in the caller's thread, puts a job at the end of the queue
 *     queue.c     takes jobs from the front while they fit together; ends them
 *     kinds.c     computes the jobs that were taken
 *     rounds.c    vectors of many jobs, taking further ones meanwhile
 *     wait.c      waiting, canceling, results
 *     engine.c    opening and closing; the engine's thread
 *
 * The engine's lock protects everything of a job except its texts and results. While a job is computed, these belong to
 * the engine's thread. */
#ifndef RF_PIPELINE_ENGINE_H
#define RF_PIPELINE_ENGINE_H

#include <pthread.h>

#include "base/os/os.h"
#include "pipeline/pipeline.h"
#include "roformer/engine.h"

typedef enum rf__job_state { RF__JOB_WAITING, RF__JOB_RUNNING, RF__JOB_ENDED } rf__job_state;

/* A kind of job. */
typedef struct rf__job_kind {
    bool (*together)(const rf_engine_job *a, const rf_engine_job *b);      /* whether two jobs may be computed
                                                                              together; NULL: never */
    rf_status (*compute)(rf_engine *e, rf_error *why);                    /* computes the results of all running jobs */
} rf__job_kind;
extern const rf__job_kind rf__job_vectors, rf__job_labels, rf__job_pairs, rf__job_calls;

struct rf_engine_job {
    rf_engine *engine;
    rf_engine_job *next;                /* in the queue, or among the running jobs                                    */
    rf_engine_job *peer;                /* the next of the jobs that were taken together                              */
    rf__job_state state;
    pthread_cond_t end;                 /* signaled at its end; threads that wait for other jobs do not wake up       */
    bool canceled, freed;          /* freed: by its owner, while a thread inside the engine's functions still uses it */
    bool alone;                         /* others with which it was computed may have made it fail                    */
    bool telling;                       /* ended, and `done` has not returned                                         */
    pthread_t teller;                   /* the thread that calls `done`                                               */
    const rf__job_kind *kind;
    rf_engine_function *function;       /* of calls                                                                   */
    void *function_user;
    rf_embed_options o;                 /* for vectors, complete                                                      */
    bool raw;                           /* for scores: without the folder's function                                  */
    rf__text_window window;
    float *result;                      /* [texts, columns]                                                           */
    int64_t columns;
    rf_texts_report report;
    rf_engine_job_options own;
    double submitted, begun, ended, deadline;
    rf_error why;
};

enum { RF__ENGINE_SCRATCHES = 16 };
typedef void rf__engine_batch(void *user, int64_t texts, int64_t tokens);

struct rf_engine {
    const rf_ctx *ctx;
    rf_ctx *made;                       /* the context, if the engine created it                                      */
    rf_engine_options o;
    rf_pipeline *pipeline;              /* used by the engine's thread                                                */
    rf_cancel *cancel;                  /* cancels the running jobs                                                   */
    long process;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;                /* a job was added, or the engine closes                                      */
    bool started, closing;
    int64_t users;                      /* the opener, until it is closed, and jobs                                   */
    rf_engine_job *first, *last, *running;
    void *scratch[RF__ENGINE_SCRATCHES];        /* scratch memory of encodings, for later texts                       */
    int scratches;
    rf__parts parts[2];                 /* of rounds                                                                  */
    double begun;                       /* when the running jobs began                                                */
    _Atomic double passed;              /* when a forward pass ended last                                             */
    double tokens, seconds;             /* of the latest batches                                                      */
    rf_engine_state now;
    rf__engine_batch *batch;            /* or NULL                                                                    */
    void *batch_user;
};

/* From now on, `batch` is called before texts are computed, under the lock, with their number and their tokens.
 * Functions (rf_engine_call) have no texts. */
void rf__engine_on_batch(rf_engine *e, rf__engine_batch *batch, void *user);

/* A forked child has no engine thread, and the engine's lock may stay locked there. */
static inline bool rf__engine_is_ours(const rf_engine *e) { return e->process == rf__os_process(); }

static inline int64_t rf__job_tokens(const rf_engine_job *j)
{
    return j->window.n ? j->window.start[j->window.n] : 0;
}

/* Whether another thread will call `done`, or is calling it; under the lock. */
static inline bool rf__job_is_notified_elsewhere(const rf_engine_job *j)
{
    return j->telling && !pthread_equal(j->teller, pthread_self());
}

/* All except rf__job_destroy, rf__jobs_notify and rf__engine_release are called under the lock.
 *
 *   destroy    frees a job that is in no list
 *   end        ends a job that is in no list; if it has `done`, adds it to *told, for notify
 *   cancel     the message of a job that ends at time t without a result
 *   settle     ends jobs that were computed together. If they failed, each is put back into the queue to be computed
 *              alone, since the cause may be a text of another one
 *   notify     calls `done` of the jobs of a list that this thread has ended, the last one first; without the lock
 *   remove     removes a job from the queue; false: it is not there
 *   take       removes jobs from the queue that fit together, and ends those that are late; returns a list, linked by
 *              `next` and by `peer`. like: a job that they must fit, with those that run; NULL: none runs
 *   watch      cancels the computation when all of its jobs are canceled or late
 *   wait       seconds until the waiting jobs have been computed; 0: unknown
 *   measure    notes the speed of a batch
 *   serve      computes the waiting jobs in this thread, if the engine has none of its own
 *   release    decrements the users and unlocks: the engine and its context exist until its last job is freed */
void rf__job_destroy(rf_engine_job *j);
void rf__job_end(rf_engine *e, rf_engine_job *j, const rf_error *why, rf_engine_job **told);
void rf__job_cancel(rf_engine_job *j, double t);
void rf__jobs_settle(rf_engine *e, rf_engine_job *list, const rf_error *why, rf_engine_job **told);
void rf__jobs_notify(rf_engine *e, rf_engine_job *list);
bool rf__queue_remove(rf_engine *e, rf_engine_job *which);
rf_engine_job *rf__queue_take(rf_engine *e, const rf_engine_job *like, rf_engine_job **told);
void rf__engine_watch(rf_engine *e);
void rf__engine_serve(rf_engine *e);
double rf__engine_wait_seconds(const rf_engine *e);
void rf__engine_measure(rf_engine *e, int64_t tokens, double seconds);
void rf__engine_release(rf_engine *e);

/* What kinds share, in the threads that compute.
 *
 *   join           joins the texts of jobs that are linked by `peer`
 *   store_vectors  copies the vectors of their texts, in order, into the results of jobs that are linked by `peer`
 *   rounds         vectors of the running jobs, and of those that come meanwhile; ends them all. If it fails, the
 *                  running jobs have not begun */
rf_status rf__jobs_join(rf_engine *e, const rf_engine_job *list, rf__text_window *w, rf_error *why);
rf_status rf__jobs_store_vectors(const rf_engine *e, rf_engine_job *list, const float *vectors, rf_error *why);
rf_status rf__engine_rounds(rf_engine *e, rf_error *why);

#endif
