/* test_position_table.c — mirrors src/model/params/position_table.c: tables that transformers stores with the weights
 * (tests/golden/models) are the computed ones, or rounded or trained numbers, which are used and written again; a model
 * whose config.json defines another table is refused, and the table is listed. */
#include <math.h>

#include "model/params/params.h"
#include "roformer/inspect/folder.h"
#include "roformer/model.h"
#include "roformer/inspect/positions.h"
#include "t.h"

static const char table[] = "roformer.encoder.embed_positions.weight";

/* The tensors listed as unused for a golden folder with a changed config. */
static bool listed(rf_ctx *ctx, const char *name, void (*change)(rf_config *))
{
    char path[256];
    rf_config c;
    rf_weights *w;
    rf_fit fit;
    rf_error why = {0};
    snprintf(path, sizeof path, "tests/golden/models/%s/config.json", name);
    if (rf_config_read(ctx, path, &c, &why)) fail_msg("%s", why.text);
    snprintf(path, sizeof path, "tests/golden/models/%s", name);
    if (change) change(&c);
    if (rf_weights_open(ctx, path, &w, &why) || rf_weights_fit(ctx, w, &c, &fit, &why)) fail_msg("%s", why.text);
    assert_non_null(rf__weights_find(w, table));
    const bool is = *fit.ignored;
    if (is) assert_string_equal(fit.ignored, table);
    rf_fit_free(&fit);
    rf_weights_close(w);
    return is;
}

static void another_base(rf_config *c) { c->rope_theta = 500; }
static void stretched(rf_config *c) { c->rope_scaling.rope_type = RF_ROPE_LINEAR, c->rope_scaling.factor = 4; }
static void partial(rf_config *c) { c->partial_rotary_factor = 0.5; }
static void without(rf_config *c) { strcpy(c->position_embedding_type, "none"); }

static void tables_of_transformers_are_those_computed(void **state)
{
    (void)state;
    static const char *const folder[] = {"plain", "f16", "bf16", "beyond", "long", "trained"};
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(folder); i++) assert_false(listed(ctx, folder[i], NULL));
    for (size_t i = 0; i < RF_COUNT(folder); i++) assert_true(listed(ctx, folder[i], another_base));
    assert_true(listed(ctx, "plain", stretched));                   /* transformers has no such RoFormer */
    assert_true(listed(ctx, "plain", partial));
    assert_true(listed(ctx, "plain", without));
    rf_ctx_free(ctx);
}

/* The error of reading the parameters of a golden RoFormer, or only those of its encoder, with a changed config. */
static rf_error error_of(rf_ctx *ctx, void (*change)(rf_config *), bool encoder)
{
    rf_config c;
    rf_params p;
    rf_weights *w;
    rf_error why = {0};
    if (rf_config_read(ctx, "tests/golden/models/f16", &c, &why)) fail_msg("%s", why.text);
    if (change) change(&c);
    if (rf_weights_open(ctx, "tests/golden/models/f16", &w, &why) || rf__params_new(ctx, &c, &p, &why))
        fail_msg("%s", why.text);
    float *slab = t_floats((int64_t)p.total);
    if (encoder) rf__params_load_encoder(&p, w, slab, &why);
    else rf__params_load(&p, w, slab, NULL, NULL, &why);
    rf__params_free(&p);
    rf_weights_close(w);
    return why;
}

static void another_table_is_refused(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    static void (*const change[])(rf_config *) = {another_base, stretched, partial, without};
    for (int encoder = 0; encoder < 2; encoder++) {
        const rf_error none = error_of(ctx, NULL, encoder);
        assert_int_equal(none.code, RF_OK);
        for (size_t i = 0; i < RF_COUNT(change); i++) {
            const rf_error why = error_of(ctx, change[i], encoder);
            t_failed(&why, RF_EDATA, "embed_positions.weight: expected the position table that config.json defines, "
                     "got that of rope_theta 10000, which transformers uses; correct the keys of positions in "
                     "config.json, or leave out the table: roformer convert --drop 'roformer.encoder.embed_positions");
        }
    }
    rf_ctx_free(ctx);
    t_free_all();
}

/* Whether the table of a golden folder, and of what is written from it, is used; transformers' answers for these
 * folders are in test_golden.c. */
static void stored_numbers_are_used_and_written(void **state)
{
    (void)state;
    static const char *const folder[] = {"plain", "f16", "bf16", "trained"};
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(folder); i++) {
        char path[256];
        rf_config c;
        rf_params p;
        rf_weights *w, *back;
        rf_error why = {0};
        snprintf(path, sizeof path, "tests/golden/models/%s", folder[i]);
        if (rf_config_read(ctx, path, &c, &why) || rf_weights_open(ctx, path, &w, &why) ||
            rf__params_new(ctx, &c, &p, &why))
            fail_msg("%s", why.text);
        float *slab = t_floats((int64_t)p.total);
        snprintf(path, sizeof path, "%s/model.safetensors", t_folder());
        if (rf__params_load(&p, w, slab, NULL, NULL, &why) || rf__params_save(&p, slab, RF_BF16, path, &why) ||
            rf_weights_open(ctx, path, &back, &why))
            fail_msg("%s", why.text);
        const rf_weight *t = rf__weights_find(w, table);
        const float *used = p.config.position_table;
        float *stored = t_floats((int64_t)t->count);
        if (rf__weights_read(w, t, stored, 1, &why)) fail_msg("%s", why.text);
        assert_int_equal(p.config.position_table_size, i ? (int64_t)t->count : 0);
        assert_int_equal(used != NULL, i > 0);
        if (used) assert_memory_equal(used, stored, t->count * sizeof *stored);
        assert_int_equal(rf__weights_find(back, table) != NULL, i > 0);
        if (rf__position_tables(&p, back, &why)) fail_msg("%s", why.text);
        assert_ptr_equal(p.config.position_table, used);
        rf__params_free(&p);
        rf_weights_close(back);
        rf_weights_close(w);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

/* Where the table ends, so do the positions. */
static void positions_end_with_the_table(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_model *m;
    rf_session *session;
    rf_error why = {0};
    if (rf_model_open(ctx, "tests/golden/models/trained", &m, &why) || rf_session_open(m, &session, &why))
        fail_msg("%s", why.text);
    for (int32_t T = 32; T <= 33; T++) {
        int32_t id[33];
        const float *h;
        for (int i = 0; i < 33; i++) id[i] = 5 + i;
        const rf_batch b = {.N = T, .B = 1, .id = id, .start = (int32_t[]){0, T}};
        const rf_status status = rf_session_hidden(session, &b, &h, &why);
        assert_int_equal(status, T > 32 ? RF_ERANGE : RF_OK);
    }
    t_failed(&why, RF_ERANGE, "position of token 32: expected at least 0 and less than 32 (rows of embed_positions in "
             "the weights, which `roformer convert --drop` can leave out), got 32");
    rf_session_close(session);
    rf_model_close(m);
    rf_ctx_free(ctx);
    t_free_all();
}

/* 24 positions as in MarianSinusoidalPositionalEmbedding, with `off` added to one number: the first number that is used
 * of the row; computed positions give 2. */
static float first_of_marian(rf_ctx *ctx, float off)
{
    enum { ROWS = 24 };
    char path[4096];
    rf_config c;
    rf_params p;
    rf_weights *w;
    rf_error why = {0};
    if (rf_config_read(ctx, "tests/golden/marian/trained/config.json", &c, &why) || rf__params_new(ctx, &c, &p, &why))
        fail_msg("%s", why.text);
    const int64_t D = c.hidden_size;
    float *x = t_floats(ROWS * D);
    for (int m = 0; m < ROWS; m++)
        for (int64_t j = 0; j < D; j++) {                           /* sines of even, cosines of odd columns j */
            const double angle = m / pow(10000, 2.0 * (double)(j / 2) / (double)D);
            x[m * D + (j % 2 ? D / 2 : 0) + j / 2] = (float)(j % 2 ? cos(angle) : sin(angle));
        }
    x[5 * D + 3] += off;
    const rf_weight_out out = {.name = "model.encoder.embed_positions.weight", .rank = 2, .dim = {ROWS, D}, .data = x};
    snprintf(path, sizeof path, "%s/x.safetensors", t_folder());
    if (rf__weights_write(ctx, path, &out, 1, NULL, &why) || rf_weights_open(ctx, path, &w, &why) ||
        rf__position_tables(&p, w, &why))
        fail_msg("%s", why.text);
    const rf_config *source = &p.stack[0].config;
    const float used = source->position_table ? source->position_table[5 * D + 3] - x[5 * D + 3] : 2;
    assert_null(p.stack[1].config.position_table);
    rf_weights_close(w);
    rf__params_free(&p);
    return used;
}

static void so_are_those_of_marian(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    static const float off[] = {0, 1e-7f, 0.004f, 0.1f, -0.1f};
    for (size_t i = 0; i < RF_COUNT(off); i++) t_near(first_of_marian(ctx, off[i]), i < 2 ? 2 : 0, 0);
    rf_ctx_free(ctx);
    t_free_all();
}

/* Frequencies in ESM-2 files, of each layer in f16 or once in f32 with the name that transformers 5.24 writes, are used
 * unless they are those of rope_theta, and written again. */
static void frequencies_are_those_of_the_file(void **state)
{
    (void)state;
    static const char *const folder[] = {"tests/golden/esm/published", "tests/golden/esm/masked"};
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(folder); i++) {
        rf_config c;
        rf_params p;
        rf_weights *w, *back;
        rf_error why = {0}, shape = {0};
        char path[512];
        if (rf_config_read(ctx, folder[i], &c, &why) || rf_weights_open(ctx, folder[i], &w, &why) ||
            rf__params_new(ctx, &c, &p, &why) || rf__position_frequencies(&p, w, &why))
            fail_msg("%s", why.text);
        assert_int_equal(p.config.rope_frequencies, i ? 0 : 10);
        p.config.rope_theta *= 1.02;
        if (rf__position_frequencies(&p, w, &why)) fail_msg("%s", why.text);
        assert_int_equal(p.stack[0].config.rope_frequencies, 10);
        const double second = rf_rope_frequency(&p.config, 0, 0, 1), exact = pow(10000, -0.1);
        assert_true(fabs(second - exact) < 5e-4 * exact && (!i == (fabs(second - exact) > 1e-6)));

        float *slab = t_floats((int64_t)p.total);
        snprintf(path, sizeof path, "%s/model.safetensors", t_folder());
        if (rf__params_load(&p, w, slab, NULL, NULL, &why) || rf__params_save(&p, slab, RF_BF16, path, &why) ||
            rf_weights_open(ctx, path, &back, &why) || rf__position_frequencies(&p, back, &why))
            fail_msg("%s", why.text);
        assert_true(second >= rf_rope_frequency(&p.config, 0, 0, 1) && second <= rf_rope_frequency(&p.config, 0, 0, 1));
        rf_weights_close(back);

        p.config.num_attention_heads = 4;
        assert_int_equal(rf__position_frequencies(&p, w, &shape), RF_EDATA);
        t_failed(&shape, RF_EDATA, "expected 5 frequencies, half of a head's columns, got another shape");
        rf__params_free(&p);
        rf_weights_close(w);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_transformers_are_those_computed),
        cmocka_unit_test(another_table_is_refused),
        cmocka_unit_test(stored_numbers_are_used_and_written),
        cmocka_unit_test(positions_end_with_the_table),
        cmocka_unit_test(so_are_those_of_marian),
        cmocka_unit_test(frequencies_are_those_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
