/* threads.c — POSIX threads for the module with threads, as far as the library uses them: locks, conditions, and threads
 * that run in workers of JavaScript. Zig's C library has stubs of these functions, for one thread.
 *
 * thread.js calls roformer_thread in a worker, which waits there for threads to run. What the module starts first,
 * worker 0 runs, and so on; there are as many as roformer_workers was told. The thread that calls the library waits, too:
 * it may not be that of a page, where waiting is not allowed. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name)))

enum { MOST = 63, FREE = 0, LOCKED, CONTENDED };

static struct worker {
    _Atomic int busy;
    void *(*body)(void *user);
    void *user;
} list[MOST];
static int workers;                     /* that there are */
static _Atomic int broken;              /* a worker has failed */

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* Until *at is not `value`, or sooner. A thread that waits for a worker that has failed fails, too. */
static void wait(_Atomic int *at, int value)
{
    const int64_t second = 1000000000;
    __builtin_wasm_memory_atomic_wait32((int *)at, value, second);
    if (atomic_load(&broken)) __builtin_trap();
}

static void wake(_Atomic int *at, unsigned threads) { __builtin_wasm_memory_atomic_notify((int *)at, threads); }

/* The members that musl uses, too. */
static _Atomic int *lock_of(pthread_mutex_t *m) { return (_Atomic int *)&m->__u.__i[1]; }
static _Atomic int *count_of(pthread_cond_t *c) { return (_Atomic int *)&c->__u.__i[2]; }

/* ---- locks and conditions ---------------------------------------------------------------------------------------- */

int pthread_mutex_trylock(pthread_mutex_t *m)
{
    int was = FREE;
    return atomic_compare_exchange_strong(lock_of(m), &was, LOCKED) ? 0 : EBUSY;
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
    if (!pthread_mutex_trylock(m)) return 0;
    while (atomic_exchange(lock_of(m), CONTENDED) != FREE) wait(lock_of(m), CONTENDED);
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
    if (atomic_exchange(lock_of(m), FREE) == CONTENDED) wake(lock_of(m), 1);
    return 0;
}

int pthread_cond_init(pthread_cond_t *restrict c, const pthread_condattr_t *restrict a)
{
    (void)a;
    *c = (pthread_cond_t){0};
    return 0;
}

int pthread_cond_wait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m)
{
    const int count = atomic_load(count_of(c));
    pthread_mutex_unlock(m);
    wait(count_of(c), count);
    return pthread_mutex_lock(m);
}

static int change(pthread_cond_t *c, unsigned threads)
{
    atomic_fetch_add(count_of(c), 1);
    wake(count_of(c), threads);
    return 0;
}

int pthread_cond_signal(pthread_cond_t *c) { return change(c, 1); }
int pthread_cond_broadcast(pthread_cond_t *c) { return change(c, UINT32_MAX); }

int pthread_once(pthread_once_t *control, void (*init)(void))
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    _Atomic int *done = (_Atomic int *)control;
    if (atomic_load(done)) return 0;
    pthread_mutex_lock(&one);
    if (!atomic_load(done)) init();
    atomic_store(done, 1);
    return pthread_mutex_unlock(&one);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

int pthread_create(pthread_t *restrict out, const pthread_attr_t *restrict a, void *(*body)(void *), void *restrict user)
{
    (void)a;
    int i = 0;
    while (i < workers && atomic_load(&list[i].busy)) i++;
    if (i == workers) return EAGAIN;
    list[i].body = body;
    list[i].user = user;
    atomic_store(&list[i].busy, 1);
    wake(&list[i].busy, 1);
    *out = (pthread_t)(void *)&list[i];
    return 0;
}

int pthread_join(pthread_t t, void **value)
{
    struct worker *w = (void *)t;
    while (atomic_load(&w->busy)) wait(&w->busy, 1);
    if (value) *value = NULL;
    return 0;
}

/* How many workers there will be; before anything else is computed. The number that are used. */
EXPORT(roformer_workers) int roformer_workers(int n) { return workers = n < MOST ? n : MOST; }

/* The life of worker i. */
EXPORT(roformer_thread) void roformer_thread(int i)
{
    struct worker *w = &list[i];
    for (;;) {
        while (!atomic_load(&w->busy)) wait(&w->busy, 0);
        w->body(w->user);
        atomic_store(&w->busy, 0);
        wake(&w->busy, 1);
    }
}

EXPORT(roformer_broken) void roformer_broken(void) { atomic_store(&broken, 1); }
