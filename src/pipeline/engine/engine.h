/* engine.h — the jobs of an engine and its queue; see include/roformer/engine.h.
 *
 *     submit.c    tokenizes in the caller's thread, puts a job at the end of the queue
 *     queue.c     takes jobs from the front while they fit together; ends them
 *     kinds.c     computes the jobs that were taken
 *     wait.c      waiting, canceling, results
 *     engine.c    opening and closing; the engine's thread
 *
 * Everything of a job but its texts and results is under the engine's lock.  What is computed belongs to the engine's
 * thread alone until the job has ended. */
#ifndef RF_PIPELINE_ENGINE_H
#define RF_PIPELINE_ENGINE_H

#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "roformer/engine.h"

typedef enum rf__job_state { RF__JOB_WAITING, RF__JOB_RUNNING, RF__JOB_ENDED } rf__job_state;

/* What a job computes. */
typedef struct rf__job_kind {
    bool (*together)(const rf_engine_job *a, const rf_engine_job *b);      /* may two of the kind be; NULL: never     */
    rf_status (*compute)(rf_engine *e, rf_error *why);                     /* the results of all that are running     */
} rf__job_kind;
extern const rf__job_kind rf__job_vectors, rf__job_labels, rf__job_pairs, rf__job_calls;

struct rf_engine_job {
    rf_engine *engine;
    rf_engine_job *next;                /* in the queue, or among those that are computed                             */
    rf__job_state state;
    pthread_cond_t end;                 /* of its own: those who wait for other jobs sleep on                         */
    bool canceled, freed;               /* freed: by its owner, while a thread of the engine's functions has it       */
    bool telling;                       /* ended, and `done` has not returned                                         */
    pthread_t teller;                   /* the thread that calls `done`                                               */
    const rf__job_kind *kind;
    rf_engine_function *function;       /* of calls                                                                   */
    void *function_user;
    rf_embed_options o;                 /* of vectors, settled                                                        */
    bool raw;                           /* of scores: without the folder's function                                   */
    rf__text_window window;
    float *result;                      /* [texts, columns]                                                           */
    int64_t columns;
    rf_texts_report report;
    rf_engine_job_options own;
    double submitted, begun, ended, deadline;
    rf_error why;
};

enum { RF__ENGINE_SCRATCHES = 16 };

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
    rf_engine_job *first, *last, *running;
    void *scratch[RF__ENGINE_SCRATCHES];        /* of encodings, for the next texts                                   */
    int scratches;
    double begun;                       /* when what is running began                                                 */
    double tokens, seconds;             /* of what was computed lately                                                */
    rf_engine_state now;
};

/* In a forked child there is no thread of the engine, and its lock may be held for ever. */
static inline bool rf__engine_is_ours(const rf_engine *e) { return e->process == getpid(); }

static inline int64_t rf__job_tokens(const rf_engine_job *j)
{
    return j->window.n ? j->window.start[j->window.n] : 0;
}

/* Whether another thread is to call `done`, or calls it, under the lock. */
static inline bool rf__job_is_told_elsewhere(const rf_engine_job *j)
{
    return j->telling && !pthread_equal(j->teller, pthread_self());
}

/* All but rf__job_destroy, rf__jobs_tell and rf__engine_release are called under the lock.
 *
 *   destroy    frees a job that is in no list
 *   end        ends a job that is in no list.  With `done` it goes to *told, for tell
 *   cancel     the message of a job that ends at time t without a result
 *   tell       calls `done` of the jobs of a list that this thread has ended, the last one first; without the lock
 *   remove     takes a job out of the queue; false: it is not there
 *   take       moves jobs from the queue to `running`, and ends those that are late
 *   watch      ends what is computed when all of its jobs are canceled or late
 *   wait       seconds until what waits has been computed; 0: not known
 *   release    one user less, and unlocks: the engine and its context stay until the last of its jobs is freed */
void rf__job_destroy(rf_engine_job *j);
void rf__job_end(rf_engine *e, rf_engine_job *j, const rf_error *why, rf_engine_job **told);
void rf__job_cancel(rf_engine_job *j, double t);
void rf__jobs_tell(rf_engine *e, rf_engine_job *list);
bool rf__queue_remove(rf_engine *e, rf_engine_job *which);
void rf__queue_take(rf_engine *e, rf_engine_job **told);
void rf__engine_watch(rf_engine *e);
double rf__engine_wait_seconds(const rf_engine *e);
void rf__engine_release(rf_engine *e);

#endif
