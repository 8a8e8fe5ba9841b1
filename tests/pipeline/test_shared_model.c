/* test_shared_model.c — mirrors src/pipeline/pipeline.c (rf_pipeline_on): pipelines that share one model, each in its
 * own thread at the same time, give the bits of a single pipeline.  Under ThreadSanitizer (make tsan) the test also
 * shows that they share nothing without a lock. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/stat.h>

#include "small_pipeline.h"

enum { THREADS = 4, TEXTS = 24, C = 32, LAPS = 6 };

static const char *const word[] = {"the old river is big .", "a shy dog", "the [MASK] cat is [MASK]", "red"};
static const char *text_of(int i) { return word[i % 4]; }

/* The results of one pipeline: vectors, and words for masks. */
typedef struct said { float vector[TEXTS * C]; int32_t id[10]; float score[10]; } said;

static rf_status ask(rf_pipeline *p, said *s, rf_error *why)
{
    const char *text[TEXTS], *masked = word[2];
    const float *v;
    const rf_mask *mask;
    int64_t masks = 0;
    for (int i = 0; i < TEXTS; i++) text[i] = text_of(i);
    rf_status status = rf_embed_texts(p, text, NULL, TEXTS, NULL, &v, NULL, why);
    if (status) return status;
    memcpy(s->vector, v, sizeof s->vector);
    status = rf_fill_mask(p, &masked, NULL, 1, NULL, &mask, &masks, NULL, why);
    for (int64_t m = 0; m < masks && !status; m++)
        for (int64_t k = 0; k < mask[m].words && m * 5 + k < 10; k++) {
            s->id[m * 5 + k] = mask[m].word[k].id;
            s->score[m * 5 + k] = mask[m].word[k].score;
        }
    return status;
}

typedef struct server { const rf_model *model; const said *expected; int bad; rf_error why; } server;

/* Opens a pipeline, uses it, and closes it, repeatedly. */
static void *serve(void *arg)
{
    server *x = arg;
    for (int lap = 0; lap < LAPS && !x->why.code; lap++) {
        rf_pipeline *p = NULL;
        said own = {.id = {0}};
        rf_status status = rf_pipeline_on(x->model, &p, &x->why);
        for (int k = 0; k < 2 && !status; k++) {
            status = ask(p, &own, &x->why);
            x->bad += memcmp(&own, x->expected, sizeof own) != 0;
        }
        rf_pipeline_close(p);
    }
    return NULL;
}

static void serve_with(int workers, rf_type type)
{
    setup s = {.ctx = t_ctx(workers, NULL), .folder = tiny_model()};
    static said alone;
    rf_model *model;
    random_weights(s.ctx, s.folder, 5);
    if (rf_pipeline_open(s.ctx, s.folder, type, &s.p, &s.why) || ask(s.p, &alone, &s.why) ||
        rf_model_open_as(s.ctx, s.folder, type, &model, &s.why))
        fail_msg("%s", s.why.text);
    pthread_t thread[THREADS];
    server of[THREADS];
    for (int i = 0; i < THREADS; i++) {
        of[i] = (server){.model = model, .expected = &alone};
        if (pthread_create(&thread[i], NULL, serve, &of[i])) fail();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        if (of[i].why.code) fail_msg("%s", of[i].why.text);
        assert_int_equal(of[i].bad, 0);
    }
    rf_model_close(model);
    end(&s);
}

static void all_at_once_is_each_alone(void **state)
{
    (void)state;
    serve_with(1, RF_F32);
    serve_with(2, RF_F32);
    serve_with(2, RF_BF16);
}

/* Pipelines on a model honor modules.json, also if the model is in a subfolder.  The model can still be used after they
 * are closed. */
static void the_folder_is_asked_again(void **state)
{
    (void)state;
    static const char modules[] =
        "[{\"type\": \"sentence_transformers.models.Transformer\", \"path\": \"0_T\"}, "
        "{\"type\": \"sentence_transformers.models.Pooling\", \"path\": \"1_P\"}, "
        "{\"type\": \"sentence_transformers.models.Normalize\", \"path\": \"2_N\"}]",
        pooling[] = "{\"pooling_mode\": \"max\"}";
    static said first, second, after;
    setup s = {.ctx = t_ctx(1, NULL), .folder = tiny_model()};
    random_weights(s.ctx, s.folder, 5);
    const char *above = t_folder();
    char *below = tiny_path(above, "0_T"), *way = tiny_path(above, "1_P");
    if (rename(s.folder, below) || mkdir(way, 0777)) fail();
    t_write(above, "modules.json", modules, sizeof modules - 1);
    t_write(way, "config.json", pooling, sizeof pooling - 1);
    rf_pipeline *on = NULL;
    rf_embed_options o;
    if (rf_pipeline_open(s.ctx, above, RF_F32, &s.p, &s.why) || ask(s.p, &first, &s.why) ||
        rf_pipeline_on(rf_pipeline_model(s.p), &on, &s.why) || rf_embed_defaults_of(on, &o, &s.why) ||
        ask(on, &second, &s.why))
        fail_msg("%s", s.why.text);
    assert_int_equal(o.pooling, RF_POOL_MAX);
    assert_int_equal(o.normalize, 1);
    assert_memory_equal(&first, &second, sizeof first);
    rf_pipeline_close(on);
    if (ask(s.p, &after, &s.why)) fail_msg("%s", s.why.text);
    assert_memory_equal(&first, &after, sizeof first);
    free(below);
    free(way);
    end(&s);
}

static void what_is_refused(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    rf_model *m;
    rf_pipeline *p = NULL;
    rf_error why = {0};
    if (rf_config_read(ctx, "tests/golden/models/plain", &c, &why) || rf_model_random(ctx, &c, 1, &m, &why))
        fail_msg("%s", why.text);
    assert_int_equal(rf_pipeline_on(m, &p, &why), RF_EARG);
    t_failed(&why, RF_EARG, "expected a model that was opened from a folder");
    rf_model_close(m);
    why = (rf_error){0};
    if (rf_model_open(ctx, "tests/golden/models/plain", &m, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_pipeline_on(m, &p, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "expected a tokenizer");
    assert_int_equal(rf_pipeline_on(NULL, &p, NULL), RF_EARG);
    assert_int_equal(rf_pipeline_on(m, NULL, NULL), RF_EARG);
    assert_null(p);
    rf_model_close(m);
    rf_ctx_free(ctx);
}

static rf_status two_on_one(const rf_ctx *ctx, void *folder, rf_error *why)
{
    rf_model *m = NULL;
    rf_pipeline *a = NULL, *b = NULL;
    said s;
    rf_status status = rf_model_open(ctx, folder, &m, why);
    if (!status) status = rf_pipeline_on(m, &a, why);
    if (!status) status = rf_pipeline_on(m, &b, why);
    if (!status) status = ask(b, &s, why);
    rf_pipeline_close(a);
    rf_pipeline_close(b);
    rf_model_close(m);
    return status;
}

static void memory_that_ends(void **state)
{
    (void)state;
    setup s = {.ctx = t_ctx(1, NULL), .folder = tiny_model()};
    random_weights(s.ctx, s.folder, 5);
    t_fail_allocations(1, NULL, two_on_one, s.folder);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_at_once_is_each_alone),
        cmocka_unit_test(the_folder_is_asked_again),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(memory_that_ends),
    };
    return cmocka_run_group_tests_name("pipeline/shared_model", tests, NULL, NULL);
}
