/* saver.c — the thread that writes a checkpoint.
 *
 * It shares with the run only what neither of them changes: weights and moments, until it has read them, for which the
 * run waits; tokenizer, config and options, which are constant; and the descriptors of the logs, which it syncs. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/system/thread.h"
#include "train/checkpoint/folder.h"
#include "train/checkpoint/saver.h"

static rf_status sync_logs(const rf__save *s, rf_error *why)
{
    const rf_status status = rf__journal_sync(s->metrics, why);
    return status ? status : rf__journal_sync(s->events, why);
}

/* ---- synchronous saving ---- */

static rf_status read_in_place(void *user, rf_error *why) { return sync_logs(user, why); }

/* Whether these weights are known to be bad. */
static bool is_ill(const rf__state *t)
{
    return t->skipped_in_a_row || (t->eval_step == t->step && !isfinite(t->eval_loss));
}

/* If the best one cannot be determined, all are kept. With bad weights, the last good checkpoint is kept as well. */
static void prune(const rf__save *s)
{
    const rf__checkpoint *c = &s->checkpoint;
    int64_t best[RF__RANKED + 2];
    size_t n;
    if (rf__checkpoints_best(c->ctx, s->folder, c->state->step, &s->best, best, &n, NULL)) return;
    best[n++] = c->state->best_step;
    if (is_ill(c->state)) best[n++] = rf__checkpoint_newest(c->ctx, s->folder, c->state->good_step);
    rf__checkpoints_prune(c->ctx, s->folder, c->state->step, s->keep, best, n);
}

static rf_status write_and_prune(rf__save *s, char *path, size_t size, rf_error *why)
{
    const rf__checkpoint *c = &s->checkpoint;
    const rf_status status = rf__checkpoint_save(c, s->folder, path, size, why);
    if (!status) prune(s);
    return status;
}

rf_status rf__save_write(const rf__save *s, char *path, size_t size, rf_error *why)
{
    rf__save own = *s;
    own.checkpoint.read = read_in_place;
    own.checkpoint.user = &own;
    return write_and_prune(&own, path, size, why);
}

/* ---- the thread ---- */

static void note_read(rf__saver *s)
{
    pthread_mutex_lock(&s->lock);
    s->read = true;
    pthread_cond_signal(&s->change);
    pthread_mutex_unlock(&s->lock);
}

static rf_status read_in_thread(void *user, rf_error *why)
{
    rf__saver *s = user;
    note_read(s);
    return sync_logs(&s->save, why);
}

static void *write_meanwhile(void *arg)
{
    rf__saver *s = arg;
    s->status = write_and_prune(&s->save, s->path, sizeof s->path, &s->why);
    atomic_store(&s->done, true);
    note_read(s);                                                   /* a failed save reads nothing more */
    return NULL;
}

static void destroy(rf__saver *s)
{
    pthread_cond_destroy(&s->change);
    pthread_mutex_destroy(&s->lock);
}

bool rf__saver_start(rf__saver *s, const rf__save *what)
{
    const double begin = rf__seconds();
    s->state = *what->checkpoint.state;
    s->save = *what;
    s->save.checkpoint.state = &s->state;
    s->save.checkpoint.read = read_in_thread;
    s->save.checkpoint.user = s;
    s->status = RF_OK;
    s->why = (rf_error){0};
    s->path[0] = 0;
    atomic_store(&s->done, false);
    s->read = false;
    if (pthread_mutex_init(&s->lock, NULL)) return false;
    if (pthread_cond_init(&s->change, NULL)) {
        pthread_mutex_destroy(&s->lock);
        return false;
    }
    s->running = s->reading = !rf__thread_start(&s->thread, write_meanwhile, s);
    if (!s->running) destroy(s);
    s->waited += rf__seconds() - begin;
    return s->running;
}

void rf__saver_read(rf__saver *s)
{
    if (!s->reading) return;
    const double begin = rf__seconds();
    pthread_mutex_lock(&s->lock);
    while (!s->read) pthread_cond_wait(&s->change, &s->lock);
    pthread_mutex_unlock(&s->lock);
    s->reading = false;
    s->waited += rf__seconds() - begin;
}

bool rf__saver_done(const rf__saver *s) { return !s->running || atomic_load(&s->done); }

rf_status rf__saver_end(rf__saver *s, char *path, size_t size, rf_error *why)
{
    const double begin = rf__seconds();
    pthread_join(s->thread, NULL);
    destroy(s);
    s->running = s->reading = false;
    s->waited += rf__seconds() - begin;
    snprintf(path, size, "%s", s->path);
    return s->status ? rf_fail(why, s->status, "%s", s->why.text) : RF_OK;
}

void rf__saver_free(rf__saver *s)
{
    char path[1];
    if (s->running) (void)rf__saver_end(s, path, sizeof path, NULL);
}
