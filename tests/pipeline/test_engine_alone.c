/* test_engine_alone.c — mirrors rf__engine_serve of src/pipeline/engine/: on a system without threads, a job has ended
 * when the call that submits it returns, with the bits of rf_embed_texts; functions may submit jobs; other failures to
 * start a thread are errors. */
#define _GNU_SOURCE
#include <errno.h>

#include "base/system/thread.h"
#include "roformer/engine.h"
#include "small_pipeline.h"

enum { C = 32 };

static int reason; /* why no thread starts */

int __wrap_rf__thread_start(pthread_t *out, void *(*body)(void *user), void *user);
int __wrap_rf__thread_start(pthread_t *out, void *(*body)(void *user), void *user)
{
    (void)out, (void)body, (void)user;
    return reason;
}

typedef struct alone {
    rf_ctx *ctx;
    char *folder;
    rf_pipeline *p;
    rf_engine *e;
    rf_engine_job *inner; /* that a function submits */
    rf_error why;
} alone;

static alone begin(void)
{
    alone s = {.ctx = t_ctx(1, NULL), .folder = tiny_model()};
    write_config_of(s.folder, 34, "");
    random_weights(s.ctx, s.folder, 5);
    reason = ENOTSUP;
    if (rf_pipeline_open(s.ctx, s.folder, RF_F32, &s.p, &s.why) ||
        rf_engine_open(s.ctx, s.folder, NULL, &s.e, &s.why))
        fail_msg("%s", s.why.text);
    return s;
}

static void finish(alone *s)
{
    rf_engine_close(s->e);
    rf_pipeline_close(s->p);
    rf_ctx_free(s->ctx);
    free(s->folder);
    t_free_all();
}

static void count(void *user, rf_engine_job *job)
{
    (void)job;
    ++*(int *)user;
}

static void a_job_is_computed_when_it_is_submitted(void **state)
{
    (void)state;
    alone s = begin();
    char sentence[256];
    const char *const text[] = {sentence, sentence};
    const float *expected;
    int64_t n = 0, width = 0;
    int ends = 0;
    tiny_sentence(sentence, sizeof sentence, 3, 1);
    assert_int_equal(rf_embed_texts(s.p, text, NULL, 2, NULL, &expected, NULL, &s.why), RF_OK);
    for (int i = 0; i < 3; i++) {
        rf_engine_job *job = NULL;
        rf_engine_job_options o;
        rf_engine_job_defaults(&o);
        o.done = count;
        o.user = &ends;
        assert_int_equal(rf_engine_embed(s.e, text, NULL, 2, NULL, &o, &job, &s.why), RF_OK);
        assert_int_equal(ends, i + 1);
        assert_int_equal(rf_engine_wait(job, -1, &s.why), RF_OK);
        const float *v = rf_engine_result(job, &n, &width);
        assert_true(n == 2 && width == C && !memcmp(v, expected, 2 * C * sizeof *v));
        rf_engine_job_free(job);
    }
    finish(&s);
}

static rf_status submit_another(void *user, rf_pipeline *p, rf_error *why)
{
    alone *s = user;
    const char *const text[] = {"a"};
    rf_engine_state now;
    (void)p;
    const rf_status status = rf_engine_embed(s->e, text, NULL, 1, NULL, NULL, &s->inner, why);
    rf_engine_get_state(s->e, &now);
    assert_true(now.running == 1 && now.waiting == 1);
    return status;
}

static void a_function_may_submit_a_job(void **state)
{
    (void)state;
    alone s = begin();
    rf_engine_job *job = NULL;
    rf_engine_state now;
    assert_int_equal(rf_engine_call(s.e, submit_another, &s, NULL, &job, &s.why), RF_OK);
    assert_int_equal(rf_engine_wait(job, -1, &s.why), RF_OK);
    assert_int_equal(rf_engine_wait(s.inner, 0, &s.why), RF_OK); /* computed after the function */
    assert_non_null(rf_engine_result(s.inner, NULL, NULL));
    rf_engine_get_state(s.e, &now);
    assert_int_equal(now.waiting + now.running, 0);
    rf_engine_job_free(s.inner);
    rf_engine_job_free(job);
    finish(&s);
}

static void a_thread_that_cannot_start_is_an_error(void **state)
{
    (void)state;
#ifdef __wasm__
    skip();                                                  /* Zig's linker for WASI replaces no function */
#endif
    alone s = begin();
    rf_engine *other = NULL;
    reason = EAGAIN;
    assert_int_equal(rf_engine_open(s.ctx, s.folder, NULL, &other, &s.why), RF_EIO);
    assert_null(other);
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_computed_when_it_is_submitted),
        cmocka_unit_test(a_function_may_submit_a_job),
        cmocka_unit_test(a_thread_that_cannot_start_is_an_error),
    };
    return cmocka_run_group_tests_name("pipeline/engine_alone", tests, NULL, NULL);
}
