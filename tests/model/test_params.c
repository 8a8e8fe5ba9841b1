/* test_params.c — mirrors src/model/params/params.c, params_init.c, params_load.c and params_save.c. */
#include "t.h"

#include "model/params/params.h"
#include "roformer/inspect/folder.h"

static rf_config shape(int64_t V, int64_t E, int64_t C, int64_t L, int64_t H, int64_t F)
{
    rf_config c;
    rf_config_defaults(&c);
    c.vocab_size = V;
    c.embedding_size = E;
    c.hidden_size = C;
    c.num_hidden_layers = L;
    c.num_attention_heads = H;
    c.intermediate_size = F;
    return c;
}

static int64_t count(const rf_config *c)
{
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_params p;
    assert_int_equal(rf__params_new(ctx, c, &p, NULL), RF_OK);
    int64_t n = 0;
    for (size_t i = 0; i < p.n; i++) n += (int64_t)p.p[i].count;
    rf__params_free(&p);
    rf_ctx_free(ctx);
    return n;
}

/* Counts published for the Chinese models (word and character vocabularies, base and small). */
static void counts_of_published_models(void **state)
{
    (void)state;
    rf_config c = shape(50000, 768, 768, 12, 12, 3072);
    assert_int_equal(count(&c), 124099664);
    assert_int_equal(rf_config_parameters(&c), 124099664);
    c = shape(12000, 768, 768, 12, 12, 3072);
    assert_int_equal(count(&c), 94877664);
    c = shape(50000, 384, 384, 6, 6, 1536);
    assert_int_equal(count(&c), 30046928);
    c = shape(12000, 384, 384, 6, 6, 1536);
    assert_int_equal(count(&c), 15416928);
}

static void joined_matrices_lie_side_by_side(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf_config c = shape(11, 6, 10, 2, 5, 14);
    rf_params p;
    assert_int_equal(rf__params_new(ctx, &c, &p, NULL), RF_OK);
    size_t joined = 0;
    for (size_t i = 0; i < p.n; i++) {
        if (!p.p[i].joined) {
            assert_int_equal(p.p[i].offset % 16, 0);
            continue;
        }
        joined++;
        assert_int_equal(p.p[i].offset, p.p[i - 1].offset + p.p[i - 1].count);
    }
    assert_int_equal(joined, 2 * 4);
    rf__params_free(&p);
    rf_ctx_free(ctx);
}

static void initial_values(void **state)
{
    (void)state;
    rf_config c = shape(1000, 64, 64, 1, 2, 128);
    c.initializer_range = 0.02;
    float *slab[2];
    rf_params p;
    for (int threads = 1; threads <= 2; threads++) {
        rf_ctx *ctx = t_ctx(threads, NULL);
        assert_int_equal(rf__params_new(ctx, &c, &p, NULL), RF_OK);
        slab[threads - 1] = t_floats((int64_t)p.total);
        rf__params_init(&p, slab[threads - 1], 3);
        if (threads == 2) assert_memory_equal(slab[0], slab[1], p.total * sizeof(float));
        double sum = 0, squares = 0;
        for (int i = 64; i < 64000; i++) {
            sum += slab[threads - 1][i];
            squares += (double)slab[threads - 1][i] * slab[threads - 1][i];
        }
        t_near(sum / 63936, 0, 5 * 0.02 / sqrt(63936));                 /* five standard errors */
        t_near(sqrt(squares / 63936), 0.02, 5 * 0.02 / sqrt(2 * 63936.));
        for (int i = 0; i < 64; i++) assert_true(slab[threads - 1][i] == 0);     /* the row of [PAD] */
        rf__params_free(&p);
        rf_ctx_free(ctx);
    }
    t_free_all();
}

/* The head initialized alone has the numbers that it has among all, and nothing else changes. */
static void a_head_is_drawn_alone(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c = shape(31, 6, 10, 2, 5, 14);
    static const rf_head heads[] = {RF_HEAD_MLM, RF_HEAD_SEQUENCE, RF_HEAD_TOKEN};
    c.num_labels = 3;
    for (size_t h = 0; h < RF_COUNT(heads); h++) {
        rf_params p;
        size_t drawn = 0;
        assert_int_equal(rf__params_new_head(ctx, &c, heads[h], &p, NULL), RF_OK);
        float *all = t_floats((int64_t)p.total), *head = t_floats((int64_t)p.total);
        rf__params_init(&p, all, 3);
        for (size_t i = 0; i < p.total; i++) head[i] = 7;
        rf__params_init_head(&p, head, 3);
        for (size_t i = 0; i < p.n; i++) {
            const rf_param *q = &p.p[i];
            drawn += q->head;
            for (size_t j = q->offset; j < q->offset + q->count; j++) assert_true(head[j] == (q->head ? all[j] : 7));
        }
        assert_true(drawn > 0 && drawn < p.n);
        rf__params_free(&p);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

static void what_is_saved_is_loaded(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf_config c = shape(31, 6, 10, 2, 5, 14);
    rf_params p;
    rf_error why = {0};
    char path[512];
    assert_int_equal(rf__params_new(ctx, &c, &p, NULL), RF_OK);
    float *a = t_floats((int64_t)p.total), *b = t_floats((int64_t)p.total);
    rf__params_init(&p, a, 3);
    memset(b, 0, p.total * sizeof *b);
    snprintf(path, sizeof path, "%s/model.safetensors", t_folder());
    if (rf__params_save(&p, a, RF_F32, path, &why)) fail_msg("%s", why.text);

    rf_weights *w;
    bool head = false;
    char *ignored = NULL;
    if (rf_weights_open(ctx, path, &w, &why)) fail_msg("%s", why.text);
    if (rf__params_load(&p, w, b, &head, &ignored, &why)) fail_msg("%s", why.text);
    assert_memory_equal(a, b, p.total * sizeof *a);
    assert_true(head);
    assert_string_equal(ignored, "");
    rf__free(ctx, ignored);

    const rf_config other = shape(31, 6, 10, 2, 5, 16);                  /* one message names all wrong shapes */
    rf_params q;
    assert_int_equal(rf__params_new(ctx, &other, &q, NULL), RF_OK);
    float *d = t_floats((int64_t)q.total);
    assert_int_equal(rf__params_load(&q, w, d, &head, NULL, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "layer.0.intermediate.dense.weight: shape: expected [16,10] by config.json, got [14,10]");
    t_failed(&why, RF_EDATA, "more");

    rf_fit fit = {0};                                                    /* the same report without reading values */
    assert_int_equal(rf_weights_fit(ctx, w, &c, &fit, NULL), RF_OK);
    assert_int_equal(fit.head, 1);
    assert_string_equal(fit.ignored, "");
    rf_fit_free(&fit);
    rf_fit_free(&fit);
    why = (rf_error){0};
    assert_int_equal(rf_weights_fit(ctx, w, &other, &fit, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "shape: expected [16,10] by config.json, got [14,10]");
    assert_int_equal(rf_weights_fit(ctx, NULL, &c, &fit, NULL), RF_EARG);
    rf_weights_close(w);
    rf__params_free(&p);
    rf__params_free(&q);
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_published_models),
        cmocka_unit_test(joined_matrices_lie_side_by_side),
        cmocka_unit_test(initial_values),
        cmocka_unit_test(a_head_is_drawn_alone),
        cmocka_unit_test(what_is_saved_is_loaded),
    };
    return cmocka_run_group_tests_name("model/params", tests, NULL, NULL);
}
