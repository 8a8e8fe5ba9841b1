/* test_steps.c — mirrors src/measure/train_step.c, attention_pass.c and exchange_seconds.c: correctness of the steps
 * that benchmarks time. */
#include "ranks.h"
#include "t.h"

#include "roformer/inspect/positions.h"
#include "roformer/inspect/steps.h"

enum { T = 6, LABELS = 3 };
static const int32_t ids[T] = {2, 7, 9, 11, 5, 3}, starts[2] = {0, T};
static const int32_t rows[LABELS] = {1, 3, 4}, labels[LABELS] = {7, 8, 9};
static const rf_batch batch = {.N = T, .B = 1, .id = ids, .start = starts};

static rf_config small(const rf_ctx *ctx, const char *type)
{
    char text[512];
    rf_config c;
    rf_error why = {0};
    snprintf(text, sizeof text,
             "{\"vocab_size\":31,\"hidden_size\":16,\"num_hidden_layers\":1,\"num_attention_heads\":2,"
             "\"intermediate_size\":32,\"max_position_embeddings\":64,\"hidden_dropout_prob\":0,"
             "\"initializer_range\":0.2,\"attention_probs_dropout_prob\":0,\"position_embedding_type\":\"%s\"}",
             type);
    if (rf_config_parse(ctx, text, strlen(text), "test", &c, &why)) fail_msg("%s", why.text);
    return c;
}

static rf_train_step *open_step(const rf_ctx *ctx, rf_optim optim, double max_norm)
{
    rf_train_options o;
    rf_train_step *s = NULL;
    rf_error why = {0};
    const rf_config c = small(ctx, "rotary");
    rf_train_defaults(&o);
    o.optim = optim;
    o.weight_decay = 0;
    o.momentum = 0;
    o.max_grad_norm = max_norm;
    if (rf_train_step_open(ctx, &c, &o, &s, &why)) fail_msg("%s", why.text);
    return s;
}

static double loss_of(rf_train_step *s)
{
    double loss = 0;
    rf_error why = {0};
    if (rf_train_step_gradient(s, &batch, rows, labels, LABELS, 1.0 / LABELS, &loss, &why)) fail_msg("%s", why.text);
    return loss;
}

/* The gradient is that of the mean loss, by finite differences. */
static void gradients_are_differences(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_train_step *s = open_step(ctx, RF_OPTIM_SGD, 0);
    size_t n, tried = 0;
    float *value = rf_train_step_values(s, &n), *grad = rf_train_step_gradients(s), *first = t_floats((int64_t)n);
    loss_of(s);
    memcpy(first, grad, n * sizeof *first);
    for (size_t i = 0; i < n; i += n / 40 + 1) {
        const float was = value[i];
        double at[2];
        for (int side = 0; side < 2; side++) {
            value[i] = was + (side ? 0x1p-9f : -0x1p-9f);
            at[side] = loss_of(s) / LABELS;
        }
        value[i] = was;
        t_near((double)first[i], (at[1] - at[0]) * 0x1p8, 2e-3);        /* f32 losses near 4: 2^-22 over 2^-8 */
        tried++;
    }
    assert_true(tried >= 30);
    rf_train_step_close(s);
    rf_ctx_free(ctx);
    t_free_all();
}

/* SGD without momentum: value - rate gradient, the gradient clipped to the allowed norm, and zero afterwards. */
static void updates_are_their_rule(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    for (int clipped = 0; clipped < 2; clipped++) {
        rf_train_step *s = open_step(ctx, RF_OPTIM_SGD, clipped ? 0.01 : 0);
        size_t n;
        float *value = rf_train_step_values(s, &n), *grad = rf_train_step_gradients(s);
        float *before = t_floats((int64_t)n), *g = t_floats((int64_t)n);
        double norm, squares = 0;
        loss_of(s);
        memcpy(before, value, n * sizeof *before);
        memcpy(g, grad, n * sizeof *g);
        for (size_t i = 0; i < n; i++) squares += (double)g[i] * (double)g[i];
        assert_int_equal(rf_train_step_update(s, 0.5, &norm, NULL), RF_OK);
        t_near(norm, sqrt(squares), 1e-6 * sqrt(squares));
        assert_true(norm > 0.01);
        for (size_t i = 0; i < n; i++) {
            t_near((double)value[i], (double)before[i] - 0.5 * (double)g[i] * (clipped ? 0.01 / norm : 1), 1e-6);
            assert_true(grad[i] == 0);
        }
        rf_train_step_close(s);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

static void every_rule_learns(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    for (int optim = RF_OPTIM_ADAMW; optim <= RF_OPTIM_MUON; optim++) {
        rf_train_step *s = open_step(ctx, (rf_optim)optim, 1);
        const double first = loss_of(s);
        double last = first;
        for (int i = 0; i < 30; i++) {
            assert_int_equal(rf_train_step_update(s, optim == RF_OPTIM_SGD ? 0.1 : 3e-3, NULL, NULL), RF_OK);
            last = loss_of(s);
        }
        if (!(last < 0.8 * first)) fail_msg("rule %d: loss %g after %g", optim, last, first);
        assert_int_equal(rf_train_step_apply(s, 1e-3, NULL), RF_OK);
        rf_train_step_close(s);
    }
    rf_ctx_free(ctx);
}

static void every_encoding_is_passed(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    const rf_position *p;
    int relative = 0;
    for (int i = 0; (p = rf_position_at(i)); i++) {
        if (!(rf_position_flags(p) & RF_POSITION_RELATIVE) || rf_position_flags(p) & RF_POSITION_CAUSAL) continue;
        const rf_config c = small(ctx, rf_position_name(p));
        rf_attention_pass *pass = NULL;
        rf_error why = {0};
        double s[3] = {-1, -1, -1};
        if (rf_attention_pass_open(ctx, &c, RF_F32, 2, 20, &pass, &why))
            fail_msg("%s: %s", rf_position_name(p), why.text);
        for (int k = 0; k < 4; k++) {
            if (rf_attention_pass_run(pass, k & 1, k >> 1, s, &why)) fail_msg("%s: %s", rf_position_name(p), why.text);
            assert_true(s[0] >= 0 && s[1] > 0 && (k >> 1 ? s[2] > 0 : s[2] == 0));
        }
        rf_attention_pass_close(pass);
        relative++;
    }
    assert_true(relative > 5);
    rf_ctx_free(ctx);
}

static void doors(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_train_step *s = open_step(ctx, RF_OPTIM_ADAMW, 1);
    const rf_config c = small(ctx, "none");
    const int32_t outside[1] = {T};
    rf_attention_pass *pass = NULL;
    double seconds[3];
    rf_error why = {0};
    assert_int_equal(rf_train_step_open(ctx, NULL, NULL, &s, NULL), RF_EARG);
    assert_int_equal(rf_train_step_gradient(s, &batch, rows, labels, 0, 1, NULL, NULL), RF_EARG);
    assert_int_equal(rf_train_step_gradient(s, &batch, outside, labels, 1, 1, NULL, &why), RF_EARG);
    t_failed(&why, RF_EARG, "row[0]: expected at least 0 and less than N, 6, got 6");
    assert_int_equal(rf_train_step_gradient(s, NULL, rows, labels, 1, 1, NULL, NULL), RF_EARG);
    assert_int_equal(rf_train_step_update(NULL, 1, NULL, NULL), RF_EARG);
    assert_int_equal(rf_train_step_apply(NULL, 1, NULL), RF_EARG);
    assert_null(rf_train_step_values(NULL, NULL));
    assert_int_equal(rf_attention_pass_open(ctx, &c, RF_F32, 0, 4, &pass, NULL), RF_EARG);
    assert_int_equal(rf_attention_pass_run(NULL, 0, 0, seconds, NULL), RF_EARG);
    assert_int_equal(rf_exchange_seconds(ctx, NULL, &c, 1, seconds, NULL, NULL), RF_EARG);
    rf_train_step_close(s);
    rf_train_step_close(NULL);
    rf_attention_pass_close(NULL);
    rf_ctx_free(ctx);
}

typedef struct member { double seconds, numbers; } member;

static rf_status exchange(rf_comm *c, void *arg, rf_error *why)
{
    member *m = arg;
    rf_ctx *ctx = NULL;
    rf_ctx_options o;
    rf_ctx_defaults(&o);
    o.threads = 1;
    o.isa = t_isa();
    rf_status status = rf_ctx_new(&o, &ctx, why);
    if (status) return status;
    const rf_config config = small(ctx, "rotary");
    status = rf_exchange_seconds(ctx, c, &config, 2, &m->seconds, &m->numbers, why);
    rf_ctx_free(ctx);
    return status;
}

static void ranks_exchange(void **state)
{
    (void)state;
    member m[3] = {0};
    ranks_one out[RANKS_MOST];
    if (ranks_run(3, exchange, m, sizeof *m, out)) fail_msg("%s", out[0].why.text);
    for (int i = 0; i < 3; i++) {
        assert_true(m[i].seconds > 0 && m[i].seconds < 60);
        assert_true(m[i].numbers >= 1000 && m[i].numbers == m[0].numbers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_differences), cmocka_unit_test(updates_are_their_rule),
        cmocka_unit_test(every_rule_learns),         cmocka_unit_test(every_encoding_is_passed),
        cmocka_unit_test(doors),                     cmocka_unit_test(ranks_exchange),
    };
    return cmocka_run_group_tests_name("analysis/steps", tests, NULL, NULL);
}
