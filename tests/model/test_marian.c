/* test_marian.c — mirrors src/model/families/marian.c: logits and folders against transformers' Marian. */
#include "families.h"

#include "model/family.h"
#include "model/model.h"
#include "roformer/sequence.h"

typedef struct pairs { int64_t N[2], B; int32_t id[2][256], start[2][16], row[256]; } pairs;

static rf_batch side_of(const pairs *p, int s)
{
    return (rf_batch){.N = p->N[s], .B = p->B, .id = p->id[s], .start = p->start[s]};
}

static int number(FILE *f)
{
    int x;
    if (fscanf(f, "%d", &x) != 1) fail_msg("a golden file is cut short");
    return x;
}

/* The pairs, and the logits of every token of the targets [N,V]. */
static float *read_golden(const char *folder, int64_t V, pairs *p)
{
    char path[512], word[16];
    snprintf(path, sizeof path, "%s/golden.txt", folder);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("%s", path);
    while (fgetc(f) != '\n') {}
    *p = (pairs){0};
    if (fscanf(f, "%15s", word) != 1) fail_msg("%s", path);
    p->B = number(f);
    for (int64_t i = 0; i < 2 * p->B; i++) {
        const int s = (int)(i % 2);
        if (fscanf(f, "%15s", word) != 1) fail_msg("%s", path);
        for (int n = number(f); n > 0; n--) p->id[s][p->N[s]++] = number(f);
        p->start[s][i / 2 + 1] = (int32_t)p->N[s];
    }
    for (int32_t n = 0; n < p->N[1]; n++) p->row[n] = n;
    float *z = t_floats(p->N[1] * V);
    for (int64_t i = 0; i < p->N[1] * V; i++)
        if (fscanf(f, "%f", &z[i]) != 1) fail_msg("%s", path);
    fclose(f);
    return z;
}

static double differs(const char *folder, const char *isa, rf_type type)
{
    rf_ctx *ctx = t_ctx(2, isa);
    rf_model *m;
    rf_session *s;
    rf_error why = {0};
    static pairs p;
    const float *z;
    double worst = 0;
    if (rf_model_open_as(ctx, folder, type, &m, &why) || rf_session_open(m, &s, &why)) fail_msg("%s", why.text);
    assert_string_equal(rf_model_ignored(m), "");
    const int64_t V = rf_model_config(m)->vocab_size;
    const float *expected = read_golden(folder, V, &p);
    const rf_batch source = side_of(&p, 0), target = side_of(&p, 1);
    if (rf_session_pair_scores(s, &source, &target, p.row, target.N, &z, &why)) fail_msg("%s", why.text);
    for (int64_t i = 0; i < target.N * V; i++) worst = fmax(worst, fabs((double)z[i] - (double)expected[i]));
    rf_session_close(s);
    rf_model_close(m);
    rf_ctx_free(ctx);
    t_free_all();
    return worst;
}

/* 1e-4 as in test_golden.c; bf16 as there. */
static void marian_is_transformers(void **state)
{
    (void)state;
    static t_goldens all;
    all = t_family_goldens("pairs");
    assert_true(all.n >= 4);
    for (int i = 0; i < all.n; i++) {
        const double worst = differs(all.folder[i], NULL, RF_F32);
        print_message("%-36s largest difference %.1e\n", all.folder[i], worst);
        if (!(worst <= 1e-4)) fail_msg("%s differs by %.3g", all.folder[i], worst);
        assert_true(differs(all.folder[i], "ref", RF_F32) <= 1e-4);
        assert_true(differs(all.folder[i], NULL, RF_BF16) <= 0.12);
    }
}

/* config.json comes back with the same meaning, and is written the same the second time. */
static void folders_are_written(void **state)
{
    (void)state;
    static t_goldens all;
    all = t_family_goldens("pairs");
    rf_ctx *ctx = t_ctx(1, NULL);
    for (int i = 0; i < all.n; i++) {
        rf_config c, back;
        rf_error why = {0};
        const char *folder = t_folder();
        if (rf_config_read(ctx, all.folder[i], &c, &why) || rf_config_write(ctx, folder, &c, &why) ||
            rf_config_read(ctx, folder, &back, &why))
            fail_msg("%s", why.text);
        assert_string_equal(back.family, "marian");
        assert_string_equal(back.architecture, "MarianMTModel");
        assert_int_equal(back.decoder_layers, c.decoder_layers);
        assert_int_equal(back.decoder_attention_heads, c.decoder_attention_heads);
        assert_int_equal(back.decoder_ffn_dim, c.decoder_ffn_dim);
        assert_int_equal(back.decoder_start_token_id, 40);
        assert_int_equal(back.share_encoder_decoder_embeddings, c.share_encoder_decoder_embeddings);
        assert_int_equal(back.tie_word_embeddings, c.tie_word_embeddings);
        assert_int_equal(back.hidden_act, c.hidden_act);
        assert_int_equal(back.scale_embedding, c.scale_embedding);
    }
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marian_is_transformers),
        cmocka_unit_test(folders_are_written),
    };
    return cmocka_run_group_tests_name("model/marian", tests, NULL, NULL);
}
