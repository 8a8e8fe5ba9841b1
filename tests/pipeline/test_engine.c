/* test_engine.c — mirrors src/pipeline/engine/: vectors of jobs from many threads have the bits of rf_embed_texts; a
 * bad text, a canceled or late job, a full queue and a closed engine end only the affected jobs; failing
 * allocations. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "roformer/engine.h"
#include "small_pipeline.h"

enum { TEXTS = 60, C = 32, THREADS = 8, JOBS = 12 };

typedef struct engine_setup { rf_ctx *ctx; char *folder, *text[TEXTS]; rf_pipeline *p; rf_engine *e; } engine_setup;

static engine_setup begin_in(rf_ctx *ctx, const rf_engine_options *o)
{
    engine_setup s = {.ctx = ctx, .folder = tiny_model()};
    rf_error why = {0};
    write_config_of(s.folder, 34, "");
    random_weights(s.ctx, s.folder, 5);
    for (unsigned i = 0; i < TEXTS; i++) {
        s.text[i] = t_bytes(1024);
        int at = 0;
        *s.text[i] = 0;
        for (unsigned k = 0; k < i * 7 % 5; k++) at += tiny_sentence(s.text[i] + at, (size_t)(1024 - at), i, k);
    }
    if (rf_pipeline_open(s.ctx, s.folder, RF_F32, &s.p, &why) || rf_engine_open(s.ctx, s.folder, o, &s.e, &why))
        fail_msg("%s", why.text);
    return s;
}

static engine_setup begin(const rf_engine_options *o) { return begin_in(t_ctx(2, NULL), o); }

static void finish(engine_setup *s)
{
    rf_engine_close(s->e);
    rf_pipeline_close(s->p);
    rf_ctx_free(s->ctx);
    free(s->folder);
    t_free_all();
}

static rf_embed_options options_of(int kind)
{
    rf_embed_options o;
    rf_embed_defaults(&o);
    o.normalize = kind % 2;
    o.dimensions = kind % 3 == 2 ? 8 : 0;
    o.pooling = kind % 3 == 1 ? RF_POOL_MAX : RF_POOL_MEAN;
    return o;
}

/* Vectors of the pipeline, [TEXTS,D] for each kind of options. */
static float *expected[6];

static void expect_vectors(const engine_setup *s)
{
    rf_error why = {0};
    for (int kind = 0; kind < 6; kind++) {
        const rf_embed_options o = options_of(kind);
        const float *v;
        if (rf_embed_texts(s->p, (const char *const *)s->text, NULL, TEXTS, &o, &v, NULL, &why))
            fail_msg("%s", why.text);
        expected[kind] = t_floats(TEXTS * C);
        memcpy(expected[kind], v, TEXTS * (size_t)(o.dimensions ? o.dimensions : C) * sizeof *v);
    }
}

typedef struct caller { const engine_setup *s; unsigned number; int bad; } caller;

/* Several jobs at the same time, of 0 to 5 texts, with different options. */
static void *call(void *user)
{
    caller *c = user;
    rf_engine_job *job[JOBS];
    unsigned from[JOBS], n[JOBS];
    rf_error why = {0};
    for (unsigned i = 0; i < JOBS; i++) {
        const rf_embed_options o = options_of((int)(c->number + i / 4) % 6);
        from[i] = (c->number * 7 + i * 5) % (TEXTS - 5);
        n[i] = (c->number + i) % 6;
        if (rf_engine_embed(c->s->e, (const char *const *)c->s->text + from[i], NULL, n[i], &o, NULL, &job[i], &why))
            return c->bad++, NULL;
    }
    for (unsigned i = 0; i < JOBS; i++) {
        const int kind = (int)(c->number + i / 4) % 6;
        const size_t D = kind % 3 == 2 ? 8 : C;
        int64_t texts = -1, width = -1;
        double waited = -1, total = -1;
        if (rf_engine_wait(job[i], -1, &why)) return c->bad++, NULL;
        const float *v = rf_engine_result(job[i], &texts, &width);
        rf_engine_times(job[i], &waited, &total);
        c->bad +=
            texts != n[i] || width != (int64_t)D || !v || memcmp(v, expected[kind] + from[i] * D, n[i] * D * sizeof *v);
        c->bad += !(waited >= 0 && total >= waited) || rf_engine_report(job[i])->done != n[i];
        rf_engine_job_free(job[i]);
    }
    return NULL;
}

static void many_threads_get_the_bits_of_one(void **state)
{
    (void)state;
    rf_engine_options o;
    rf_engine_defaults(&o);
    for (int64_t most = 16; most <= 16384; most *= 32) {
        o.max_batch_tokens = most;
        engine_setup s = begin(&o);
        pthread_t thread[THREADS];
        caller c[THREADS];
        rf_engine_state now;
        expect_vectors(&s);
        for (unsigned i = 0; i < THREADS; i++) {
            c[i] = (caller){&s, i, 0};
            assert_int_equal(pthread_create(&thread[i], NULL, call, &c[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
        for (int i = 0; i < THREADS; i++) assert_int_equal(c[i].bad, 0);
        rf_engine_get_state(s.e, &now);
        assert_int_equal(now.done, THREADS * JOBS);
        assert_int_equal(now.waiting + now.running + now.waiting_tokens + now.running_tokens, 0);
        assert_true(now.batches > 0 && now.batches <= THREADS * JOBS && now.tokens_per_second > 0);
        finish(&s);
    }
}

/* ---- a job that holds the engine ---- */

typedef struct gate { pthread_mutex_t lock; pthread_cond_t change; bool open, entered; } gate;

static rf_status hold(void *user, rf_pipeline *p, rf_error *why)
{
    gate *g = user;
    (void)p, (void)why;
    pthread_mutex_lock(&g->lock);
    g->entered = true;
    pthread_cond_broadcast(&g->change);
    while (!g->open) pthread_cond_wait(&g->change, &g->lock);
    pthread_mutex_unlock(&g->lock);
    return RF_OK;
}

static gate *close_gate(const engine_setup *s, rf_engine_job **job)
{
    rf_error why = {0};
    gate *g = t_bytes(sizeof *g);
    *g = (gate){.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};
    if (rf_engine_call(s->e, hold, g, NULL, job, &why)) fail_msg("%s", why.text);
    pthread_mutex_lock(&g->lock);
    while (!g->entered) pthread_cond_wait(&g->change, &g->lock);
    pthread_mutex_unlock(&g->lock);
    return g;
}

static void open_gate(gate *g, rf_engine_job *job)
{
    rf_error why = {0};
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_broadcast(&g->change);
    pthread_mutex_unlock(&g->lock);
    if (rf_engine_wait(job, -1, &why)) fail_msg("%s", why.text);
    rf_engine_job_free(job);
}

static rf_engine_job *submit(const engine_setup *s, int64_t n, const rf_engine_job_options *o)
{
    rf_engine_job *job = NULL;
    rf_error why = {0};
    if (rf_engine_embed(s->e, (const char *const *)s->text, NULL, n, NULL, o, &job, &why)) fail_msg("%s", why.text);
    return job;
}

static void count(void *user, rf_engine_job *job)
{
    (void)job;
    atomic_fetch_add((atomic_int *)user, 1);
}

static void count_slowly(void *user, rf_engine_job *job)
{
    assert_int_equal(rf_engine_wait(job, -1, NULL), RF_OK);                   /* within `done` it has ended */
    assert_non_null(rf_engine_result(job, NULL, NULL));
    usleep(2000);
    atomic_fetch_add((atomic_int *)user, 1);
}

/* A job is finished for other threads when its `done` has returned: they may free it, and what `done` uses. */
static void done_returns_before_wait(void **state)
{
    (void)state;
    engine_setup s = begin(NULL);
    rf_engine_job_options o;
    atomic_int done = 0;
    rf_engine_job_defaults(&o);
    o.done = count_slowly;
    o.user = &done;
    for (int i = 0; i < 20; i++) {
        rf_engine_job *job = submit(&s, 2, &o);
        rf_error why = {0};
        if (i % 2) while (rf_engine_wait(job, 0, &why) == RF_EBUSY) usleep(100);
        else if (rf_engine_wait(job, -1, &why)) fail_msg("%s", why.text);
        assert_int_equal(atomic_load(&done), i + 1);
        rf_engine_job_free(job);
    }
    finish(&s);
}

/* If a job is freed at any moment, `done` is either not called or has returned. */
static void done_is_not_called_after_free(void **state)
{
    (void)state;
    engine_setup s = begin(NULL);
    rf_engine_job_options o;
    rf_engine_job_defaults(&o);
    o.done = count_slowly;
    for (int i = 0; i < 40; i++) {
        atomic_int *done = t_bytes(sizeof *done);
        *done = 0;
        o.user = done;
        rf_engine_job *job = submit(&s, 1, &o);
        usleep((useconds_t)(100 * i));
        rf_engine_job_free(job);
        const int before = atomic_load(done);
        usleep(3000);
        assert_int_equal(atomic_load(done), before);
    }
    finish(&s);
}

static void waiting_jobs_end_at_once(void **state)
{
    (void)state;
    engine_setup s = begin(NULL);
    rf_engine_job *first, *job;
    gate *g = close_gate(&s, &first);
    rf_error why = {0};
    rf_engine_job_options o;
    atomic_int done = 0;
    rf_engine_job_defaults(&o);
    o.done = count;
    o.user = &done;
    job = submit(&s, 3, &o);
    assert_int_equal(rf_engine_wait(job, 0, &why), RF_EBUSY);
    t_failed(&why, RF_EBUSY, "got none yet");
    assert_null(rf_engine_result(job, NULL, NULL));
    rf_engine_cancel(job);
    why = (rf_error){0};
    assert_int_equal(rf_engine_wait(job, 0, &why), RF_ECANCELED);
    t_failed(&why, RF_ECANCELED, "canceled by the caller");
    assert_null(rf_engine_result(job, NULL, NULL));
    rf_engine_job_free(job);

    o.timeout = 0.02;
    job = submit(&s, 3, &o);
    why = (rf_error){0};
    assert_int_equal(rf_engine_wait(job, -1, &why), RF_ECANCELED);
    t_failed(&why, RF_ECANCELED, "no result within its timeout of 0.02 s");
    rf_engine_job_free(job);
    assert_int_equal(atomic_load(&done), 2);

    rf_engine_job *kept = submit(&s, 3, NULL), *late;
    late = submit(&s, 3, &o); /* nobody waits for it: it ends when it reaches the front */
    rf_engine_job_free(submit(&s, 3, NULL));
    rf_engine_state now;
    rf_engine_get_state(s.e, &now);
    assert_int_equal(now.waiting, 2);
    usleep(30000);
    open_gate(g, first);
    why = (rf_error){0};
    if (rf_engine_wait(kept, -1, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_engine_wait(late, -1, NULL), RF_ECANCELED);
    rf_engine_job_free(kept);
    rf_engine_job_free(late);
    finish(&s);
    assert_int_equal(atomic_load(&done), 3);
}

/* A function sees the flag; a job that is freed during its computation disappears afterwards. */
static rf_status until_canceled(void *user, rf_pipeline *p, rf_error *why)
{
    static const char *const text[] = {"the river is", "a house"};
    atomic_int *begun = user;
    rf_status status = RF_OK;
    while (!status) {
        status = rf_embed_texts(p, text, NULL, 2, NULL, NULL, NULL, why);
        atomic_store(begun, 1);
    }
    return status;
}

static void running_jobs_can_be_canceled(void **state)
{
    (void)state;
    engine_setup s = begin(NULL);
    for (int how = 0; how < 4; how++) {
        atomic_int begun = 0;
        rf_engine_job *job = NULL;
        rf_error why = {0};
        rf_engine_job_options o;
        rf_engine_job_defaults(&o);
        if (how >= 2) o.timeout = 0.05;
        if (rf_engine_call(s.e, until_canceled, &begun, &o, &job, &why)) fail_msg("%s", why.text);
        while (!atomic_load(&begun)) usleep(100);
        if (how == 0) rf_engine_cancel(job);
        if (how == 1) rf_engine_job_free(job);
        else {
            while (how == 3 && rf_engine_wait(job, 0, NULL) == RF_EBUSY) usleep(100);      /* nobody waits for it */
            assert_int_equal(rf_engine_wait(job, -1, &why), RF_ECANCELED);
            t_failed(&why, RF_ECANCELED, how ? "no result within its timeout" : "canceled by the caller");
            rf_engine_job_free(job);
        }
        job = submit(&s, 2, NULL);                                            /* the next one is computed */
        why = (rf_error){0};
        if (rf_engine_wait(job, -1, &why)) fail_msg("%s", why.text);
        rf_engine_job_free(job);
    }
    finish(&s);
}

static rf_status fails(void *user, rf_pipeline *p, rf_error *why)
{
    (void)p;
    return user ? rf_fail(why, RF_EDATA, "%s", (const char *)user) : RF_ENUMERIC;
}

/* Three forward passes in one job, each after a pause: the time without one begins again with each. */
static rf_status pass_and_look(void *user, rf_pipeline *p, rf_error *why)
{
    enum { PAUSE = 20000 };
    const engine_setup *s = user;
    const char *const text[] = {"the river"};
    const float *v;
    for (int i = 0; i < 3; i++) {
        rf_engine_state state;
        usleep(PAUSE);
        rf_engine_get_state(s->e, &state);
        assert_true(state.stalled_seconds >= 1e-6 * PAUSE && state.running_seconds >= state.stalled_seconds);
        if (rf_embed_texts(p, text, NULL, 1, NULL, &v, NULL, why)) return why->code;
        rf_engine_get_state(s->e, &state);
        assert_true(state.running_seconds - state.stalled_seconds >= 1e-6 * PAUSE * (i + 1));
    }
    return RF_OK;
}

static void a_forward_pass_is_progress(void **state)
{
    engine_setup s = begin(NULL);
    rf_engine_job *job;
    rf_engine_state now;
    rf_error why = {0};
    (void)state;
    if (rf_engine_call(s.e, pass_and_look, &s, NULL, &job, &why) || rf_engine_wait(job, -1, &why))
        fail_msg("%s", why.text);
    rf_engine_job_free(job);
    rf_engine_get_state(s.e, &now);
    assert_true(!(now.stalled_seconds > 0));
    finish(&s);
}

/* A job of more tokens than may wait is refused while another one waits, unless it has been admitted. */
static void parts_of_accepted_work_are_not_refused(void **state)
{
    (void)state;
    rf_engine_options o;
    rf_engine_defaults(&o);
    o.max_queue_tokens = 1;
    engine_setup s = begin(&o);
    static const char *const text[] = {"the river"};
    rf_engine_job *held, *first, *second = NULL;
    gate *g = close_gate(&s, &held);
    rf_engine_job_options j;
    rf_error why = {0};
    rf_engine_job_defaults(&j);
    assert_int_equal(rf_engine_embed(s.e, text, NULL, 1, NULL, &j, &first, &why), RF_OK);
    assert_int_equal(rf_engine_embed(s.e, text, NULL, 1, NULL, &j, &second, &why), RF_EBUSY);
    j.admitted = 1;
    assert_int_equal(rf_engine_embed(s.e, text, NULL, 1, NULL, &j, &second, NULL), RF_OK);
    open_gate(g, held);
    assert_int_equal(rf_engine_wait(first, -1, NULL), RF_OK);
    assert_int_equal(rf_engine_wait(second, -1, NULL), RF_OK);
    rf_engine_job_free(first);
    rf_engine_job_free(second);
    finish(&s);
}

static void what_cannot_be_computed_is_refused(void **state)
{
    (void)state;
    rf_engine_options o;
    rf_engine_defaults(&o);
    o.max_queue_tokens = 40;
    engine_setup s = begin(&o);
    static const char *const bad[] = {"a house", "\xff", "the river"};
    static char told[] = "of its own";
    rf_engine_job *job = NULL, *first, *second;
    rf_embed_options wrong;
    rf_error why = {0};
    assert_int_equal(rf_engine_embed(s.e, bad, NULL, 3, NULL, NULL, &job, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "text 1: ");
    rf_embed_defaults(&wrong);
    wrong.dimensions = 99;
    why = (rf_error){0};
    assert_int_equal(rf_engine_embed(s.e, bad, NULL, 1, &wrong, NULL, &job, &why), RF_EARG);
    rf_engine_job_options never = {0};
    assert_int_equal(rf_engine_embed(s.e, bad, NULL, 1, NULL, &never, &job, NULL), RF_EARG);
    rf_engine_job_defaults(&never);
    never.timeout = NAN;
    assert_int_equal(rf_engine_embed(s.e, bad, NULL, 1, NULL, &never, &job, NULL), RF_EARG);
    assert_int_equal(rf_engine_embed(NULL, bad, NULL, 1, NULL, NULL, &job, NULL), RF_EARG);
    assert_int_equal(rf_engine_call(s.e, NULL, NULL, NULL, &job, NULL), RF_EARG);
    assert_int_equal(rf_engine_classify(s.e, bad, NULL, NULL, NULL, 1, NULL, &job, NULL), RF_EUNSUPPORTED);
    assert_int_equal(rf_engine_cross(s.e, "a", 1, bad, NULL, 1, 0, NULL, &job, NULL), RF_EUNSUPPORTED);
    assert_null(rf_engine_labels(s.e));
    assert_int_equal(rf_model_config(rf_engine_model(s.e))->hidden_size, C);
    assert_null(job);
    for (int i = 0; i < 2; i++) {
        why = (rf_error){0};
        if (rf_engine_call(s.e, fails, i ? told : NULL, NULL, &job, &why)) fail_msg("%s", why.text);
        assert_int_equal(rf_engine_wait(job, -1, &why), i ? RF_EDATA : RF_ENUMERIC);
        t_failed(&why, i ? RF_EDATA : RF_ENUMERIC, i ? "of its own" : "a result is not finite");
        assert_null(rf_engine_report(job));
        rf_engine_job_free(job);
    }

    /* A full queue: the first job may have any size. */
    gate *g = close_gate(&s, &first);
    second = submit(&s, 12, NULL);
    why = (rf_error){0};
    assert_int_equal(rf_engine_embed(s.e, (const char *const *)s.text, NULL, 12, NULL, NULL, &job, &why), RF_EBUSY);
    t_failed(&why, RF_EBUSY, "expected at most 40 tokens to wait, got ");
    open_gate(g, first);
    if (rf_engine_wait(second, -1, NULL)) fail();
    rf_engine_job_free(second);

    rf_engine *none = NULL;
    o.max_batch_tokens = 0;
    assert_int_equal(rf_engine_open(s.ctx, s.folder, &o, &none, NULL), RF_EARG);
    rf_engine_defaults(&o);
    o.max_wait = -1;
    assert_int_equal(rf_engine_open(s.ctx, s.folder, &o, &none, NULL), RF_EARG);
    assert_int_equal(rf_engine_open(s.ctx, "/nowhere", NULL, &none, NULL), RF_EIO);
    assert_null(none);
    finish(&s);
}

/* By the speed of earlier jobs. */
static void a_long_wait_is_refused(void **state)
{
    (void)state;
    rf_engine_options o;
    rf_engine_defaults(&o);
    o.max_wait = 1e-9;
    engine_setup s = begin(&o);
    rf_engine_job *first, *job = submit(&s, 20, NULL), *waits;
    rf_error why = {0};
    if (rf_engine_wait(job, -1, &why)) fail_msg("%s", why.text);
    rf_engine_job_free(job);
    gate *g = close_gate(&s, &first);
    waits = submit(&s, 5, NULL);                                              /* nothing is before it */
    assert_int_equal(rf_engine_embed(s.e, (const char *const *)s.text, NULL, 5, NULL, NULL, &job, &why), RF_EBUSY);
    t_failed(&why, RF_EBUSY, "expected a wait of at most 1e-09 s");
    open_gate(g, first);
    rf_engine_job_free(waits);
    finish(&s);
}

/* Waiting jobs end with the engine, and exist until their owner frees them. */
static void closing_ends_what_waits(void **state)
{
    (void)state;
    engine_setup s = begin(NULL);
    rf_engine_job *first, *job[3];
    rf_engine_job_options o;
    rf_error why = {0};
    atomic_int done = 0;
    gate *g = close_gate(&s, &first);
    rf_engine_job_defaults(&o);
    o.done = count;
    o.user = &done;
    for (int i = 0; i < 3; i++) job[i] = submit(&s, 2, &o);
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_broadcast(&g->change);
    pthread_mutex_unlock(&g->lock);
    rf_engine_close(s.e);
    s.e = NULL;
    assert_int_equal(rf_engine_wait(first, 0, &why), RF_OK);
    rf_engine_job_free(first);
    assert_int_equal(atomic_load(&done), 3);
    for (int i = 0; i < 3; i++) {
        const rf_status status = rf_engine_wait(job[i], 0, NULL);
        assert_true(status == RF_OK || status == RF_ECANCELED);
        rf_engine_job_free(job[i]);
    }
    rf_engine_job_free(NULL);
    rf_engine_close(NULL);
    finish(&s);
}

static void free_it(void *user, rf_engine_job *job)
{
    rf_engine_job_free(job);
    atomic_fetch_add((atomic_int *)user, 1);
}

static void done_may_free_its_job(void **state)
{
    (void)state;
    engine_setup s = begin(NULL);
    rf_engine_job_options o;
    atomic_int done = 0;
    rf_engine_job_defaults(&o);
    o.done = free_it;
    o.user = &done;
    for (int i = 0; i < 50; i++) submit(&s, i % 4, &o);
    while (atomic_load(&done) < 50) usleep(200);
    finish(&s);
}

static void a_child_is_told(void **state)
{
    (void)state;
    engine_setup s = begin(NULL);
    rf_engine_job *before = submit(&s, 2, NULL);
    assert_int_equal(rf_engine_wait(before, -1, NULL), RF_OK);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        rf_engine_job *job;
        rf_error why = {0};
        const rf_status status = rf_engine_embed(s.e, (const char *const *)s.text, NULL, 2, NULL, NULL, &job, &why);
        if (rf_engine_wait(before, 0, NULL) != RF_EUNSUPPORTED) _exit(2);
        rf_engine_cancel(before);
        rf_engine_job_free(before);
        rf_engine_close(s.e);
        _exit(status == RF_EUNSUPPORTED && strstr(why.text, "got a child of it") ? 7 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    rf_engine_job_free(before);
    finish(&s);
}

/* Allocations fail while jobs are created and computed: RF_ENOMEM, and the engine continues. */
static void memory_ends(void **state)
{
    (void)state;
    t_memory memory = {0};
    engine_setup s = begin_in(t_counting_ctx(2, NULL, &memory), NULL);
    long refused = 0;
    for (long n = 1; n < 60; n++) {
        rf_engine_job *job = NULL;
        rf_error why = {0};
        memory.fail = memory.calls + n;
        memory.forever = n % 2;
        rf_status status = rf_engine_embed(s.e, (const char *const *)s.text, NULL, 9, NULL, NULL, &job, &why);
        if (!status) status = rf_engine_wait(job, -1, &why);
        memory.fail = 0;
        if (status) assert_int_equal(status, RF_ENOMEM);
        refused += status != RF_OK;
        rf_engine_job_free(job);
        job = submit(&s, 4, NULL);
        assert_int_equal(rf_engine_wait(job, -1, NULL), RF_OK);
        rf_engine_job_free(job);
    }
    assert_true(refused > 5);
    finish(&s);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_get_the_bits_of_one),
        cmocka_unit_test(waiting_jobs_end_at_once),
        cmocka_unit_test(done_returns_before_wait),
        cmocka_unit_test(done_is_not_called_after_free),
        cmocka_unit_test(running_jobs_can_be_canceled),
        cmocka_unit_test(a_forward_pass_is_progress),
        cmocka_unit_test(parts_of_accepted_work_are_not_refused),
        cmocka_unit_test(what_cannot_be_computed_is_refused),
        cmocka_unit_test(a_long_wait_is_refused),
        cmocka_unit_test(closing_ends_what_waits),
        cmocka_unit_test(done_may_free_its_job),
        cmocka_unit_test(a_child_is_told),
        cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests_name("pipeline/engine", tests, NULL, NULL);
}
