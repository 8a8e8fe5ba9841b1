/* test_cape.c — mirrors src/model/positions/cape.c: in training the positions of a text are m' = lambda (m + Delta)
 * plus a small random shift of each. */
#include "layer.h"

static void cape_moves_and_stretches(void **state)
{
    (void)state;
    enum { WIDTH = 24, T = 40 };
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_config c = config_of(3, 8, false,
                            "\"position_embedding_type\":\"cape\",\"cape_max_global_shift\":5,\"cape_max_local_shift\":"
                            "0,\"cape_max_global_scaling\":2");
    rf_graph *g;
    rf_positions *kept;
    rf_layer_context at;
    rf_error why = {0};
    int32_t id[2 * T] = {0}, ends[3] = {0, T, 2 * T};
    const rf_batch b = {.N = 2 * T, .B = 2, .id = id, .start = ends};
    float *zero = t_bytes(2 * T * WIDTH * sizeof *zero);
    memset(zero, 0, 2 * T * WIDTH * sizeof *zero);
    if (rf__graph_new(ctx, &g, &why) || rf__positions_new(ctx, &c, &kept, &why)) fail_msg("%s", why.text);
    double first = 0;
    for (int local = 0; local < 2; local++)
        for (uint64_t step = 1; step <= 20; step++) {
            c.cape_max_local_shift = local ? 0.5 : 0;
            assert_int_equal(rf__graph_reset(g), RF_OK);
            rf__graph_record(g, 1, T_SEED, step);
            assert_true(rf__positions_bind(g, kept, &c, &b, &at));
            const rf_tensor *p = rf__position_cape.embed(g, &at, rf__constant(g, zero, 2, (int64_t[]){2 * T, WIDTH}));
            if (rf__graph_error(g)->code) fail_msg("%s", rf__graph_error(g)->text);
            const double slowest = pow(10000, -22.0 / WIDTH);    /* 2 (40 + 5.5) of it are less than pi */
            double m[2 * T];
            for (int n = 0; n < 2 * T; n++) {
                const float *row = p->f32 + n * WIDTH;
                m[n] = atan2((double)row[22], (double)row[23]) / slowest;
                /* the last bit of the slowest angle is 6e-8 / slowest = 3e-4 of a position, which the fastest columns
                 * see whole */
                for (int j = 0; j < WIDTH; j++) {
                    const double angle = m[n] * pow(10000, -(double)(j - j % 2) / WIDTH);
                    t_near((double)row[j], j % 2 ? cos(angle) : sin(angle), 1e-3);
                }
            }
            for (int text = 0; text < 2; text++) {
                const double *x = m + text * T, stretch = (x[T - 1] - x[0]) / (T - 1), moved = x[0] / stretch;
                assert_true(stretch >= (local ? 0.97 : 1) / 2 - 1e-3 && stretch <= (local ? 1.03 : 1) * 2 + 1e-3);
                assert_true(fabs(moved) <= 5 + local + 1e-2);
                double off = 0;
                for (int n = 0; n < T; n++) off = fmax(off, fabs(x[n] / stretch - n - moved));
                if (local) assert_true(off > 0.05 && off < 2);
                else assert_true(off < 5e-3);
                if (step == 1 && !text && !local) first = stretch;
                else if (!local) assert_true(fabs(stretch - first) > 1e-9);
            }
        }
    rf__positions_free(kept);
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cape_moves_and_stretches),
    };
    return cmocka_run_group_tests_name("model/cape", tests, NULL, NULL);
}
