/* workers.c — threads that read bodies, tokenize and write answers. */
#include <stdlib.h>

#include "base/system/thread.h"
#include "serve/server.h"

rf_status srv_thread(pthread_t *out, void *(*body)(void *), void *user, rf_error *why)
{
    const int failed = rf__thread_start(out, body, user);
    return failed ? rf_fail(why, RF_EIO, "server: expected a new thread, got: %s", strerror(failed)) : RF_OK;
}

void srv_later(srv_request *r, srv_step *step, int which)
{
    srv_workers *w = &r->s->workers;
    srv_task *t = &r->task[which];
    atomic_fetch_add(&r->users, 1); /* the queue and its worker */
    *t = (srv_task){.r = r, .step = step};
    srv_queue *q = !which && r->size > SRV_LARGE ? &w->large : &w->small;
    pthread_mutex_lock(&w->lock);
    if (q->last) q->last->after = t;
    else q->first = t;
    q->last = t;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
}

static srv_task *take(srv_queue *q)
{
    srv_task *t = q->first;
    if (!t) return NULL;
    q->first = t->after;
    if (!q->first) q->last = NULL;
    return t;
}

static void *work(void *user)
{
    srv_workers *w = user;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        srv_task *t = take(&w->small);
        const bool large = !t && w->running < w->most && (t = take(&w->large));
        if (!t && w->closing) break;
        if (!t) {
            pthread_cond_wait(&w->more, &w->lock);
            continue;
        }
        w->running += large;
        pthread_mutex_unlock(&w->lock);
        srv_request *r = t->r;
        t->step(r); /* the step may use the task again */
        srv_request_release(r);
        pthread_mutex_lock(&w->lock);
        w->running -= large;
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

rf_status srv_workers_start(srv_server *s, int threads, rf_error *why)
{
    srv_workers *w = &s->workers;
    w->thread = calloc((size_t)threads, sizeof *w->thread);
    if (!w->thread) return rf_fail(why, RF_ENOMEM, "out of memory: %d threads", threads);
    w->most = threads / 2;
    for (int i = 0; i < threads; i++) {
        const rf_status status = srv_thread(&w->thread[i], work, w, why);
        if (status) return status;
        w->threads++;
    }
    return RF_OK;
}

void srv_workers_stop(srv_server *s)
{
    srv_workers *w = &s->workers;
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_cond_broadcast(&w->more);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->threads; i++) pthread_join(w->thread[i], NULL);
    free(w->thread);
    w->thread = NULL;
    w->threads = 0;
}
