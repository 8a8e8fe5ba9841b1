/* test_encoder.c — mirrors src/model/encoder.c: keys of config.json that change the input embeddings. */
#include "t.h"

#include "model/encoder.h"
#include "model/params/params.h"

/* The last layer of a small model with sinusoidal positions, with words multiplied by `times` in advance. */
static float *hidden(int scale_embedding, float times)
{
    enum { N = 7, C = 16 };
    static const int32_t id[N] = {2, 5, 7, 3, 2, 9, 3}, start[] = {0, 4, N};
    const rf_batch batch = {.N = N, .B = 2, .id = id, .start = start};
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    rf_params p;
    rf_encoder *e;
    rf_graph *g;
    rf_error why = {0};
    char text[512];
    snprintf(text, sizeof text,
             "{\"vocab_size\":11,\"hidden_size\":%d,\"embedding_size\":%d,\"num_hidden_layers\":1,\"num_attention_"
             "heads\":2,\"intermediate_size\":8,\"position_embedding_type\":\"sinusoidal\",\"scale_embedding\":%s}",
             C, C, scale_embedding ? "true" : "false");
    if (rf_config_parse(ctx, text, strlen(text), "config.json", &c, &why) || rf__params_new(ctx, &c, &p, &why))
        fail_msg("%s", why.text);
    float *slab = t_floats((int64_t)p.total), *kept = t_floats(N * C);
    rf__params_init(&p, slab, 4);
    assert_string_equal(p.p[0].name, "roformer.embeddings.word_embeddings.weight");
    for (size_t i = 0; i < p.p[0].count; i++) slab[p.p[0].offset + i] *= times;
    assert_int_equal(rf__encoder_new(&p, slab, NULL, &e, &why), RF_OK);
    assert_int_equal(rf__graph_new(ctx, &g, &why), RF_OK);
    const rf_tensor *h = rf__encoder_forward(g, e, &batch);
    assert_non_null(h->f32);
    memcpy(kept, h->f32, N * C * sizeof *kept);
    rf__graph_free(g);
    rf__encoder_free(e);
    rf__params_free(&p);
    rf_ctx_free(ctx);
    return kept;
}

/* The root of 16 is a power of two: words multiplied in advance or by the encoder have the same bits. */
static void scale_embedding_multiplies_words_by_the_root_of_their_width(void **state)
{
    (void)state;
    const float *within = hidden(1, 1), *before = hidden(0, 4), *neither = hidden(0, 1);
    assert_memory_equal(within, before, 7 * 16 * sizeof *within);
    assert_memory_not_equal(within, neither, 7 * 16 * sizeof *within);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scale_embedding_multiplies_words_by_the_root_of_their_width)};
    return cmocka_run_group_tests_name("model/encoder", tests, NULL, NULL);
}
