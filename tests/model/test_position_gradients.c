/* test_position_gradients.c — mirrors src/model/position.c and src/model/positions: gradients of every row of the
 * registry, compared with finite differences and with recomputed layers. */
#include "each_position.h"

/* Every parameter of an encoding has a gradient, and the loss along it changes by the gradient's norm.  The loss is
 * measured in f32 with steps that change it by about 1e-2; rounding (1e-6) and curvature cause up to 5 %. */
static void every_parameter_has_its_gradient(void **state)
{
    (void)state;
    EACH(t) {
        if (!t.is->embedding && !t.is->layer) continue;
        rf_config c = t.c;
        c.hidden_dropout_prob = c.attention_probs_dropout_prob = 0;
        rf_ctx *ctx = t_ctx(2, NULL);
        rf_error why = {0};
        rf_params params;
        rf_encoder *e;
        rf_graph *g;
        if (rf__params_new(ctx, &c, &params, &why)) fail_msg("%s", why.text);
        float *value = t_floats((int64_t)params.total), *grad = t_floats((int64_t)params.total);
        rf__params_init(&params, value, 3);
        for (size_t i = 0; i < params.n; i++)                    /* away from zeros, where gradients may vanish */
            for (size_t j = 0; params.p[i].position && j < params.p[i].count; j++)
                value[params.p[i].offset + j] += 0.1f * (float)sin(1.7 * (double)j + (double)i);
        if (rf__encoder_new(&params, value, grad, &e, &why) || rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
        int32_t id[40], row[6] = {1, 3, 9, 20, 30, 39}, label[6] = {5, 6, 7, 8, 9, 10};
        const int32_t start[3] = {0, 15, 40};
        fill(4, id, 40);
        int32_t type[40];
        for (int i = 0; i < 40; i++) type[i] = i % 15 > 7;
        const rf_batch b = {.N = 40, .B = 2, .id = id, .type = type, .start = start};
        for (size_t i = 0; i < params.n; i++) {
            /* one number for all keys */
            if (!params.p[i].position || strstr(params.p[i].name, "pos_key_proj.bias")) continue;
            double size = 0, loss[3] = {0};
            const rf_param *one = &params.p[i];
            for (int side = 0; side < 3; side++) {
                memset(grad, 0, params.total * sizeof *grad);
                if (rf__graph_reset(g)) fail();
                rf__graph_record(g, 1, 1, 1);
                rf_tensor *l =
                    rf__mlm_loss(g, e, rf__encoder_forward(g, e, &b), row, label, 6, 1.0 / 6, &loss[side], NULL);
                if (rf__backward(g, l, &why)) fail_msg("%s: %s", t.name, why.text);
                loss[side] /= 6;
                static float along[1 << 14];
                if (side == 0) {
                    assert_true(one->count <= RF_COUNT(along));
                    for (size_t j = 0; j < one->count; j++) size += pow((double)(along[j] = grad[one->offset + j]), 2);
                    if (!(size > 1e-12)) fail_msg("%s: %s has no gradient", t.name, one->name);
                }
                const double h = 0.01 / sqrt(size) * (sqrt(size) > 1 ? 1 / sqrt(size) : 1), to = side == 0   ? 1
                                                                                                 : side == 1 ? -2
                                                                                                             : 1;
                for (size_t j = 0; j < one->count; j++) value[one->offset + j] += (float)(to * h * (double)along[j]);
                if (side == 2) {
                    const double slope = (loss[1] - loss[2]) / (2 * h);
                    if (!(fabs(slope - size) <= 0.05 * size + 2e-6 / h))
                        fail_msg("%s: %s: slope along the gradient %g, its square %g", t.name, one->name, slope, size);
                }
            }
        }
        rf__encoder_free(e);
        rf__graph_free(g);
        rf__params_free(&params);
        rf_ctx_free(ctx);
        t_free_all();
    }
}
static float *gradient(const rf_config *c, rf_type type, bool again)
{
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_params p;
    rf_encoder *e = NULL;
    rf_graph *g = NULL;
    rf_error why = {0};
    int32_t id[97], start[] = {0, 1, 6, 23, 40, 97}, row[] = {0, 3, 20, 22, 50, 96}, label[] = {1, 2, 3, 4, 5, 6};
    fill(3, id, 97);
    if (rf__params_new(ctx, c, &p, &why)) fail_msg("%s", why.text);
    float *value = t_floats((int64_t)p.total), *grad = t_floats((int64_t)p.total);
    rf__params_init(&p, value, 3);
    memset(grad, 0, p.total * sizeof *grad);
    if (rf__encoder_new(&p, value, grad, &e, &why) || rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
    rf__encoder_recompute(e, again);
    rf__graph_products(g, type);
    rf__graph_record(g, 1, 1, 1);
    const rf_batch batch = {.N = 97, .B = 5, .id = id, .start = start};
    rf_tensor *h = rf__encoder_forward(g, e, &batch);
    memset(start, 0x7f, sizeof start);                               /* the caller's again */
    if (rf__backward(g, rf__mlm_loss(g, e, h, row, label, 6, 1, NULL, NULL), &why))
        fail_msg("%s: %s", c->position_embedding_type, why.text);
    rf__graph_free(g);
    rf__encoder_free(e);
    rf__params_free(&p);
    rf_ctx_free(ctx);
    return grad;
}

static void layers_computed_again_change_no_bit(void **state)
{
    (void)state;
    EACH(t)
        for (int type = RF_F32; type <= RF_BF16; type++) {
            rf_config c = t.c;
            rf_params params;
            rf_ctx *ctx = t_ctx(1, NULL);
            c.hidden_dropout_prob = 0.1;
            c.attention_probs_dropout_prob = t.is->attend ? 0 : 0.1;
            assert_int_equal(rf__params_new(ctx, &c, &params, NULL), RF_OK);
            const float *kept = gradient(&c, (rf_type)type, false), *again = gradient(&c, (rf_type)type, true);
            if (memcmp(kept, again, params.total * sizeof *kept)) fail_msg("%s: other bits", t.name);
            rf__params_free(&params);
            rf_ctx_free(ctx);
            t_free_all();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_parameter_has_its_gradient),
        cmocka_unit_test(layers_computed_again_change_no_bit),
    };
    return cmocka_run_group_tests_name("model/position_gradients", tests, NULL, NULL);
}
