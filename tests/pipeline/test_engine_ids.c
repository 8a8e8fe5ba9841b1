/* test_engine_ids.c — mirrors src/pipeline/engine/submit.c: jobs of token ids have the bits of jobs of texts; invalid
 * ids are reported. */
#define _GNU_SOURCE
#include "roformer/engine.h"
#include "small_pipeline.h"

enum { C = 32 };
static const char *const text[] = {"the old city", "", "a dog is by the river", "unknown zzz"};

static setup begin(rf_engine **e)
{
    setup s = {.ctx = t_ctx(2, NULL), .folder = tiny_model()};
    write_config_of(s.folder, 34, "");
    random_weights(s.ctx, s.folder, 5);
    open_pipeline(&s);
    if (rf_engine_open(s.ctx, s.folder, NULL, e, &s.why)) fail_msg("%s", s.why.text);
    return s;
}

static void ids_have_the_vectors_of_their_texts(void **state)
{
    rf_engine *e;
    rf_engine_job *job;
    rf_encoding all;
    const float *expected;
    int64_t start[RF_COUNT(text) + 1] = {0}, n, D;
    (void)state;
    setup s = begin(&e);
    rf_encoding_init(&all, s.ctx);
    for (size_t i = 0; i < RF_COUNT(text); i++) {
        if (rf_encode(rf_model_tokenizer(rf_engine_model(e)), text[i], strlen(text[i]), NULL, 0, 0, RF_ENCODE_APPEND,
                      &all, NULL, &s.why))
            fail_msg("%s", s.why.text);
        start[i + 1] = (int64_t)all.n;
    }
    if (rf_embed_texts(s.p, text, NULL, RF_COUNT(text), NULL, &expected, NULL, &s.why) ||
        rf_engine_embed_ids(e, all.id, start, RF_COUNT(text), NULL, NULL, &job, &s.why) ||
        rf_engine_wait(job, -1, &s.why))
        fail_msg("%s", s.why.text);
    const float *v = rf_engine_result(job, &n, &D);
    assert_int_equal(n, RF_COUNT(text));
    assert_int_equal(D, C);
    assert_memory_equal(v, expected, RF_COUNT(text) * C * sizeof *v);
    assert_int_equal(rf_engine_report(job)->tokens, start[RF_COUNT(text)]);
    rf_engine_job_free(job);
    rf_encoding_clear(&all);
    rf_engine_close(e);
    end(&s);
}

static void ids_that_cannot_be_are_named(void **state)
{
    static const struct {
        int32_t id[4];
        int64_t start[3], n;
        rf_status status;
        const char *word;
    } rows[] = {
        {{2, 34, 3}, {0, 3}, 1, RF_ERANGE, "text 0: expected ids from 0 to 33, got 34"},
        {{2, -1, 3}, {0, 3}, 1, RF_ERANGE, "got -1"},
        {{2, 3, 2, 3}, {0, 2, 2}, 2, RF_ERANGE, "text 1: expected 1 to "},
        {{2, 3, 2, 3}, {0, 3, 2}, 2, RF_ERANGE, "text 1: expected 1 to "},
        {{2, 3}, {1, 2}, 1, RF_EARG, "start[0]"},
    };
    rf_engine *e;
    rf_engine_job *job = NULL;
    rf_embed_options o;
    (void)state;
    setup s = begin(&e);
    for (size_t i = 0; i < RF_COUNT(rows); i++) {
        rf_error why = {0};
        assert_int_equal(rf_engine_embed_ids(e, rows[i].id, rows[i].start, rows[i].n, NULL, NULL, &job, &why),
                         rows[i].status);
        if (!strstr(why.text, rows[i].word)) fail_msg("%zu: %s", i, why.text);
    }
    rf_embed_defaults(&o);
    o.max_length = 3;
    const int32_t four[] = {2, 5, 5, 3};
    const int64_t start[] = {0, 4};
    assert_int_equal(rf_engine_embed_ids(e, four, start, 1, &o, NULL, &job, NULL), RF_ERANGE);
    assert_int_equal(rf_engine_embed_ids(e, NULL, NULL, 1, NULL, NULL, &job, NULL), RF_EARG);
    assert_null(job);
    rf_engine_close(e);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_have_the_vectors_of_their_texts),
        cmocka_unit_test(ids_that_cannot_be_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
