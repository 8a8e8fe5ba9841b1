/* parallel.c — n independent bodies on the workers of the context. A context of T threads has T - 1 workers, which its
 * first job starts; the caller is worker 0. A job is published by its ticket, from which all threads take indices:
 *
 *     ticket = number of the job << 32 | next index                  taken by compare-and-swap, so a worker that comes
 *                                                                    late can never take an index of another job
 *
 * Indices are handed out as workers become free. A body writes only what belongs to its index, so the order does not
 * affect the result. An idle worker polls for about 20 microseconds, which bridges the gap between two operations, and
 * then sleeps. Waiting therefore does not keep a shared machine busy, as an OpenMP barrier would
 * (docs/architecture.md). If a second thread comes while a job runs, or a body starts another job, the caller does the
 * work alone. So does a forked process, which has no workers. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/context.h"
#include "base/os/os.h"
#include "base/system/thread.h"

enum { LOOKS = 1500 };                  /* at 10 to 40 nanoseconds each */

struct rf__thread_pool {
    const rf_ctx *ctx;
    pthread_mutex_t job_lock;           /* held by the caller that owns the job */
    pthread_mutex_t lock;               /* only for sleeping */
    pthread_cond_t work, finished;
    int started;                        /* workers; fewer than requested if the system grants no more threads */
    bool tried;
    long owner;                         /* the process that owns them */
    _Atomic(rf_body *) body;            /* the job; written while no index is left to take */
    _Atomic(void *) arg;
    _Atomic uint32_t n;
    _Atomic uint64_t ticket;
    _Atomic uint32_t done;
    _Atomic int asleep;                 /* workers */
    _Atomic int caller_asleep;
    _Atomic bool end;
    struct worker { pthread_t thread; struct rf__thread_pool *pool; int number; } worker[];
};

static inline void pause_a_little(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#else
    for (int i = 0; i < 16; i++) __asm__ volatile("");          /* WebAssembly has no such instruction */
#endif
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

static bool has_work(struct rf__thread_pool *p) { return (uint32_t)atomic_load(&p->ticket) < atomic_load(&p->n); }

/* Takes indices until none is left. What was read of the job belongs to the ticket if the swap succeeds: before the
 * index that the swap takes is done, the job cannot end and the next job cannot be written. */
static void take(struct rf__thread_pool *p, int worker)
{
    uint64_t t = atomic_load(&p->ticket);
    for (;;) {
        rf_body *body = atomic_load(&p->body);
        void *arg = atomic_load(&p->arg);
        const uint32_t n = atomic_load(&p->n), i = (uint32_t)t;
        if (i >= n) return;
        if (!atomic_compare_exchange_weak(&p->ticket, &t, t + 1)) continue;
        body(arg, i, worker);
        if (atomic_fetch_add(&p->done, 1) + 1 == n && atomic_load(&p->caller_asleep)) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->finished);
            pthread_mutex_unlock(&p->lock);
        }
        t = atomic_load(&p->ticket);
    }
}

static void *work(void *arg)
{
    const struct worker *w = arg;
    struct rf__thread_pool *p = w->pool;
    p->ctx->thread_start();
    while (!atomic_load(&p->end)) {
        take(p, w->number);
        int looks = LOOKS;
        while (looks && !has_work(p) && !atomic_load(&p->end)) {
            pause_a_little();
            looks--;
        }
        if (looks) continue;
        pthread_mutex_lock(&p->lock);
        atomic_fetch_add(&p->asleep, 1);                         /* before the last check: a later publisher sees it */
        while (!has_work(p) && !atomic_load(&p->end)) pthread_cond_wait(&p->work, &p->lock);
        atomic_fetch_sub(&p->asleep, 1);
        pthread_mutex_unlock(&p->lock);
    }
    p->ctx->thread_end();
    return NULL;
}

static void wait_for(struct rf__thread_pool *p, uint32_t n)
{
    for (int looks = LOOKS; looks; looks--) {
        if (atomic_load(&p->done) == n) return;
        pause_a_little();
    }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->caller_asleep, 1);
    while (atomic_load(&p->done) != n) pthread_cond_wait(&p->finished, &p->lock);
    atomic_store(&p->caller_asleep, 0);
    pthread_mutex_unlock(&p->lock);
}

static void run(struct rf__thread_pool *p, uint32_t n, rf_body *body, void *arg)
{
    const uint64_t job = atomic_load(&p->ticket) >> 32;
    atomic_store(&p->body, body);
    atomic_store(&p->arg, arg);
    atomic_store(&p->done, 0);
    atomic_store(&p->n, 0);                                      /* the old ticket stays invalid ...              */
    atomic_store(&p->ticket, (job + 1) << 32);
    atomic_store(&p->n, n);                                      /* ... until the new one is complete             */
    if (atomic_load(&p->asleep)) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->work);
        pthread_mutex_unlock(&p->lock);
    }
    take(p, 0);
    wait_for(p, n);
}

/* ---- workers ----------------------------------------------------------------------------------------------------- */

static void start(struct rf__thread_pool *p)
{
    p->tried = true;
    p->owner = rf__os_process();
    for (int i = 0; i < p->ctx->threads - 1; i++) {
        struct worker *w = &p->worker[i];
        *w = (struct worker){.pool = p, .number = i + 1};
        if (rf__worker_start(&w->thread, work, w)) break;
        p->started++;
    }
}

rf_status rf__pool_new(rf_ctx *ctx, rf_error *why)
{
    if (ctx->threads < 2) return RF_OK;
    const size_t bytes = sizeof(struct rf__thread_pool) + (size_t)(ctx->threads - 1) * sizeof(struct worker);
    struct rf__thread_pool *p = rf__calloc(ctx, 1, bytes);
    if (!p) return rf_fail(why, RF_ENOMEM, "out of memory: %d workers, %zu bytes", ctx->threads, bytes);
    p->ctx = ctx;
    pthread_mutex_init(&p->job_lock, NULL);                      /* the defaults of these four cannot fail on Linux */
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->finished, NULL);
    ctx->pool = p;
    return RF_OK;
}

void rf__pool_free(rf_ctx *ctx)
{
    struct rf__thread_pool *p = ctx->pool;
    if (!p) return;
    ctx->pool = NULL;
    if (p->tried && p->owner != rf__os_process()) {     /* forked: no thread to wait for, and locks keep their state */
        rf__free(ctx, p);
        return;
    }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->end, true);
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->started; i++) pthread_join(p->worker[i].thread, NULL);
    pthread_cond_destroy(&p->finished);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->job_lock);
    rf__free(ctx, p);
}

void rf__parallel(const rf_ctx *ctx, int64_t n, rf_body *body, void *arg)
{
    struct rf__thread_pool *p = ctx->pool;
    if (p && n > 1 && n <= UINT32_MAX - 1024 && !pthread_mutex_trylock(&p->job_lock)) {
        if (!p->tried) start(p);
        const bool ours = p->owner == rf__os_process();
        if (ours) run(p, (uint32_t)n, body, arg);
        pthread_mutex_unlock(&p->job_lock);
        if (ours) return;
    }
    for (int64_t i = 0; i < n; i++) body(arg, i, 0);
}
