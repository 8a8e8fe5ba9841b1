/* test_cancel.c — mirrors src/base/cancel.c: a call whose flag is set ends without a result at the next operation,
 * calls no further callback, and leaves sequences and memory unchanged; after the flag is cleared, the same call gives
 * the same bits. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "decode/session.h"
#include "model/model.h"
#include "model/position.h"
#include "roformer/context.h"
#include "small_pipeline.h"

enum { C = 32, TEXTS = 40, NEW = 20, PROMPTS = 3 };

static setup begin(rf_ctx *ctx, const char *more)
{
    setup s = {.ctx = ctx, .folder = tiny_model()};
    write_config_of(s.folder, 34, more);
    random_weights(s.ctx, s.folder, 5);
    open_pipeline(&s);
    return s;
}

static rf_cancel *flag_of(const rf_ctx *ctx)
{
    rf_cancel *c;
    rf_error why = {0};
    if (rf_cancel_new(ctx, &c, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_cancel_is_set(c), 0);
    return c;
}

static void canceled(rf_status status, rf_error *why)
{
    assert_int_equal(status, RF_ECANCELED);
    t_failed(why, RF_ECANCELED, "canceled");
    *why = (rf_error){0};
}

/* A time limit sets the flag, and is removed when the flag is cleared. */
static void after_a_time(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_cancel *c = flag_of(ctx);
    rf_cancel_after(c, 3600);
    assert_int_equal(rf_cancel_is_set(c), 0);
    rf_cancel_after(c, 0.01);
    while (!rf_cancel_is_set(c)) usleep(1000);
    rf_cancel_after(c, INFINITY);
    assert_int_equal(rf_cancel_is_set(c), 0);
    static const double now[] = {0, -1, -INFINITY};
    for (int i = 0; i < 3; i++) {
        rf_cancel_after(c, now[i]);
        assert_int_equal(rf_cancel_is_set(c), 1);
    }
    rf_cancel_clear(c);
    assert_int_equal(rf_cancel_is_set(c), 0);
    static const double never[] = {1e300, NAN};
    for (int i = 0; i < 2; i++) {
        rf_cancel_after(c, never[i]);
        assert_int_equal(rf_cancel_is_set(c), 0);
    }
    rf_cancel_free(c);
    rf_ctx_free(ctx);
}

/* ---- within a model ---------------------------------------------------------------------------------------------- */

typedef struct looking { rf_cancel *cancel; int64_t at, seen; } looking;

static void set_at_a_layer(void *user, rf_graph *g, const rf__view *view)
{
    looking *x = user;
    (void)g;
    if (view->at->layer == x->at) rf_cancel_set(x->cancel);
    x->seen++;
}

/* If it is set while a layer computes, the next one does not begin. */
static void between_two_layers(void **state)
{
    (void)state;
    setup s = begin(t_ctx(1, NULL), "");
    rf_session *session = rf_pipeline_session(s.p);
    looking x = {.cancel = flag_of(s.ctx), .at = 0};
    const int32_t id[] = {2, 5, 6, 7, 3}, start[] = {0, 5};
    const rf_batch b = {.N = 5, .B = 1, .id = id, .start = start};
    const float *h;
    float before[5 * C];
    if (rf_session_hidden(session, &b, &h, &s.why)) fail_msg("%s", s.why.text);
    memcpy(before, h, sizeof before);
    rf_session_set_cancel(session, x.cancel);
    rf__session_observe(session, set_at_a_layer, &x);
    canceled(rf_session_hidden(session, &b, &h, &s.why), &s.why);
    assert_int_equal(x.seen, 1);
    canceled(rf_session_hidden(session, &b, &h, &s.why), &s.why);
    assert_int_equal(x.seen, 1);                                                 /* at once */
    rf__session_observe(session, NULL, NULL);
    rf_cancel_clear(x.cancel);
    if (rf_session_hidden(session, &b, &h, &s.why)) fail_msg("%s", s.why.text);
    assert_memory_equal(before, h, sizeof before);
    rf_session_set_cancel(session, NULL);
    rf_cancel_set(x.cancel);
    if (rf_session_hidden(session, &b, &h, &s.why)) fail_msg("%s", s.why.text);
    rf_cancel_free(x.cancel);
    end(&s);
}

/* ---- texts that are written -------------------------------------------------------------------------------------- */

typedef struct hearing { rf_cancel *cancel; int64_t at, heard, done; int32_t id[PROMPTS][NEW]; } hearing;

static int hear(void *user, const rf_generated *token)
{
    hearing *x = user;
    if (!token->stops) x->id[token->text][token->index] = token->id;
    if (++x->heard == x->at) rf_cancel_set(x->cancel);
    return 0;
}

static int hear_end(void *user, int64_t text, rf_generate_end end, const rf_error *why)
{
    hearing *x = user;
    (void)text, (void)end;
    x->done += !why;
    return 0;
}

/* Set at every token, greedily and with beams: texts generated in the same batch may finish their step. */
static void while_texts_are_written(void **state)
{
    (void)state;
    setup s = begin(t_ctx(2, NULL), ", \"is_decoder\": true");
    rf_session *session = rf_pipeline_session(s.p);
    static const int32_t first[] = {2, 5, 10}, second[] = {2, 6}, third[] = {2, 7, 8, 9};
    const rf_prompt prompt[PROMPTS] = {{first, 3, 0}, {second, 2, 0}, {third, 4, 0}};
    rf_sequence kept;
    rf_generate_options o;
    rf_generate_defaults(&o);
    o.max_new_tokens = NEW;
    if (rf_sequence_new(session, NULL, &kept, &s.why)) fail_msg("%s", s.why.text);
    const size_t memory = rf_sequence_memory(session);
    for (int beams = 1; beams <= 2; beams++) {
        static hearing whole, x;
        whole = (hearing){.cancel = flag_of(s.ctx), .at = -1};
        o.num_beams = beams;
        o.do_sample = beams == 1;
        if (rf_session_generate_all(session, prompt, PROMPTS, &o, hear, hear_end, &whole, &s.why))
            fail_msg("%s", s.why.text);
        assert_int_equal(whole.done, PROMPTS);
        rf_session_set_cancel(session, whole.cancel);
        for (int64_t at = 1; at < (beams == 1 ? PROMPTS * NEW : NEW); at += 7) {
            x = (hearing){.cancel = whole.cancel, .at = at};
            rf_cancel_clear(whole.cancel);
            const rf_status status =
                rf_session_generate_all(session, prompt, PROMPTS, &o, hear, hear_end, &x, &s.why);
            if (beams == 1) assert_true(x.heard < at + PROMPTS);
            if (status) canceled(status, &s.why);
            else assert_int_equal(x.done, PROMPTS);                              /* it was the last step */
            assert_true(status || beams > 1 || at > PROMPTS * (NEW - 1));
            assert_int_equal(rf_sequence_memory(session), memory);
            assert_int_equal(rf_sequence_length(session, kept), 0);
        }
        x = (hearing){.cancel = whole.cancel, .at = -1};
        looking look = {.cancel = whole.cancel, .at = 1};                        /* the last layer of the first step */
        rf_cancel_clear(whole.cancel);
        rf__session_observe(session, set_at_a_layer, &look);
        canceled(rf_session_generate_all(session, prompt, PROMPTS, &o, hear, hear_end, &x, &s.why), &s.why);
        rf__session_observe(session, NULL, NULL);
        assert_int_equal(x.heard + x.done, 0);
        rf_cancel_clear(whole.cancel);
        x = (hearing){.cancel = whole.cancel, .at = -1};
        if (rf_session_generate_all(session, prompt, PROMPTS, &o, hear, hear_end, &x, &s.why))
            fail_msg("%s", s.why.text);
        assert_memory_equal(x.id, whole.id, sizeof x.id);
        rf_session_set_cancel(session, NULL);
        rf_cancel_free(whole.cancel);
    }
    end(&s);
}

/* ---- sequences that go on ---------------------------------------------------------------------------------------- */

static void sequences_are_as_they_were(void **state)
{
    (void)state;
    setup s = begin(t_ctx(1, NULL), ", \"is_decoder\": true");
    rf_session *session = rf_pipeline_session(s.p);
    rf_cancel *cancel = flag_of(s.ctx);
    const int32_t id[] = {2, 5, 6, 7}, start[] = {0, 2}, last = 1;
    const rf_batch one = {.N = 2, .B = 1, .id = id, .start = start};
    const rf_batch two = {.N = 2, .B = 1, .id = id + 2, .start = start};
    rf_sequence a, b;
    const float *z;
    float expected[34];
    if (rf_sequence_new(session, NULL, &a, &s.why) || rf_session_continue(session, &a, &one, &last, 1, &z, &s.why) ||
        rf_sequence_fork(session, a, &b, &s.why) || rf_session_continue(session, &b, &two, &last, 1, &z, &s.why))
        fail_msg("%s", s.why.text);
    memcpy(expected, z, sizeof expected);
    rf_session_set_cancel(session, cancel);
    looking x = {.cancel = cancel, .at = 1};
    rf__session_observe(session, set_at_a_layer, &x);
    canceled(rf_session_continue(session, &a, &two, &last, 1, &z, &s.why), &s.why);
    rf__session_observe(session, NULL, NULL);
    assert_int_equal(rf_sequence_length(session, a), 2);
    rf_cancel_clear(cancel);
    if (rf_session_continue(session, &a, &two, &last, 1, &z, &s.why)) fail_msg("%s", s.why.text);
    assert_memory_equal(expected, z, sizeof expected);
    rf_session_set_cancel(session, NULL);
    rf_cancel_free(cancel);
    end(&s);
}

/* ---- a pipeline's calls ------------------------------------------------------------------------------------------ */

static void *set_it(void *cancel)
{
    rf_cancel_set(cancel);
    return NULL;
}

static rf_status embed(setup *s, const float **v)
{
    const char *text[TEXTS];
    for (int i = 0; i < TEXTS; i++) text[i] = i % 3 ? "the old river is big and the red cat is shy ." : "the dog";
    rf_embed_options o;
    rf_embed_defaults(&o);
    o.batch_tokens = 12;
    return rf_embed_texts(s->p, text, NULL, TEXTS, &o, v, NULL, &s->why);
}

/* From another thread, at some point of the call, in all workers. */
static void from_another_thread(void **state)
{
    (void)state;
    setup s = begin(t_ctx(3, NULL), "");
    rf_cancel *cancel = flag_of(NULL);
    const float *v;
    static float expected[TEXTS * C];
    if (embed(&s, &v)) fail_msg("%s", s.why.text);
    memcpy(expected, v, sizeof expected);
    rf_pipeline_set_cancel(s.p, cancel);
    rf_cancel_set(cancel);
    canceled(embed(&s, &v), &s.why);
    for (int lap = 0; lap < 20; lap++) {
        pthread_t thread;
        rf_cancel_clear(cancel);
        if (pthread_create(&thread, NULL, set_it, cancel)) fail();
        const rf_status status = embed(&s, &v);
        pthread_join(thread, NULL);
        if (status) canceled(status, &s.why);
        else assert_memory_equal(expected, v, sizeof expected);
    }
    rf_cancel_clear(cancel);
    if (embed(&s, &v)) fail_msg("%s", s.why.text);
    assert_memory_equal(expected, v, sizeof expected);
    rf_pipeline_set_cancel(s.p, NULL);
    rf_cancel_free(cancel);
    rf_cancel_free(NULL);
    end(&s);
}

static void masks(void **state)
{
    (void)state;
    setup s = begin(t_ctx(1, NULL), "");
    rf_cancel *cancel = flag_of(s.ctx);
    const char *text = "the [MASK] cat";
    const rf_mask *mask;
    int64_t n;
    rf_pipeline_set_cancel(s.p, cancel);
    rf_cancel_set(cancel);
    canceled(rf_fill_mask(s.p, &text, NULL, 1, NULL, &mask, &n, NULL, &s.why), &s.why);
    rf_cancel_clear(cancel);
    if (rf_fill_mask(s.p, &text, NULL, 1, NULL, &mask, &n, NULL, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(n, 1);
    rf_pipeline_close(s.p);
    s.p = NULL;
    rf_cancel_free(cancel);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_time),
        cmocka_unit_test(between_two_layers),
        cmocka_unit_test(while_texts_are_written),
        cmocka_unit_test(sequences_are_as_they_were),
        cmocka_unit_test(from_another_thread),
        cmocka_unit_test(masks),
    };
    return cmocka_run_group_tests_name("pipeline/cancel", tests, NULL, NULL);
}
