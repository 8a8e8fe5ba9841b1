/* test_pass.c — mirrors src/measure/pass.c: what a pass would hold and compute, compared with formulas. */
#include <math.h>

#include "roformer/checkpoint.h"
#include "roformer/inspect/steps.h"
#include "t.h"

static rf_config base(void)
{
    rf_config c;
    rf_config_defaults(&c);
    c.vocab_size = 30000, c.embedding_size = c.hidden_size = 768, c.num_hidden_layers = 12;
    c.num_attention_heads = 12, c.intermediate_size = 3072;
    return c;
}

/* L (2 T (4 C^2 + 2 C F) + 4 T^2 C) for a text; a step three times as much, and the head for n tokens 6 n C (C + V). */
static void arithmetic_is_that_of_the_equations(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_config c = base();
    const double C = 768, F = 3072, L = 12, V = 30000, B = 4, T = 256;
    const double forward = B * L * (2 * T * (4 * C * C + 2 * C * F) + 4 * T * T * C);
    rf_pass p = {.texts = 4, .tokens = 256};
    assert_int_equal(rf_pass_count(ctx, &c, &p, NULL), RF_OK);
    t_near(p.flops / forward, 1, 1e-12);
    const double bytes = p.bytes;
    p.train = 1;
    assert_int_equal(rf_pass_count(ctx, &c, &p, NULL), RF_OK);
    const double labels = ceil(0.15 * B * T);
    t_near(p.flops / (3 * forward + 6 * labels * C * (C + V)), 1, 1e-12);
    assert_true(p.bytes > 10 * bytes);

    c.is_decoder = 1;                                            /* a token sees half of the others and itself */
    p.train = 0;
    assert_int_equal(rf_pass_count(ctx, &c, &p, NULL), RF_OK);
    t_near(p.flops / (forward - B * L * 4 * C * (T * T - T * (T + 1) / 2)), 1, 1e-12);
    rf_ctx_free(ctx);
}

/* Nothing is allocated that grows with the weights, or with T^2: a step that no machine holds is counted. */
static void a_step_that_no_machine_holds(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c = base();
    c.hidden_size = c.embedding_size = 1 << 16, c.num_attention_heads = 512, c.intermediate_size = 1 << 18;
    rf_pass p = {.texts = 64, .tokens = 512, .train = 1};
    assert_int_equal(rf_pass_count(ctx, &c, &p, NULL), RF_OK);
    assert_true(p.bytes > 1e12);
    rf_ctx_free(ctx);
}

static void refusals(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_error why = {0};
    rf_config c = base();
    rf_pass p = {.texts = 1, .tokens = 0};
    assert_int_equal(rf_pass_count(ctx, &c, &p, &why), RF_ERANGE);
    t_failed(&why, RF_ERANGE, "1 texts of 0");
    p = (rf_pass){.texts = INT64_MAX, .tokens = 2};
    assert_int_equal(rf_pass_count(ctx, &c, &p, NULL), RF_ERANGE);
    assert_int_equal(rf_pass_count(ctx, NULL, &p, NULL), RF_EARG);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_is_that_of_the_equations),
        cmocka_unit_test(a_step_that_no_machine_holds),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
