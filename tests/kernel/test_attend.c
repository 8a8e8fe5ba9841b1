/* test_attend.c — mirrors src/kernel/attention/attention_api.c: the public function gives the kernels' bits with any
 * scratch, and reports invalid problems. */
#define FORWARD attention
#define BACK attention_back
#include "attention_problem.h"

#include "roformer/kernel/attention.h"

static const shape shapes[] = {
    {.queries = 1, .width = 2},
    {.queries = 37, .width = 64, .rotary = 64},
    {.queries = 5, .keys = 70, .width = 24, .rotary = 8, .layout = RF_ROPE_HALVES, .causal = 1},
    {.queries = 66, .width = 32, .window = 9, .drop = 0.25f, .gap = 3},
};

static void same(const float *x, const float *y, int64_t n) { assert_memory_equal(x, y, (size_t)n * sizeof *x); }

/* All outputs of the kernel, with the library's scratch and with the caller's. */
static void bits_are_the_kernels(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    const rfk_table *k = rf_ctx_kernels(ctx);
    for (size_t i = 0; i < RF_COUNT(shapes); i++)
        for (int bf16 = 0; bf16 < 2; bf16++) {
            const rf_type type = bf16 ? RF_BF16 : RF_F32;
            problem p = make(shapes[i]);
            const int64_t T = p.a.queries, S = p.a.keys, D = p.a.width;
            (bf16 ? k->attention_bf16 : k->attention)(&p.a, 0, T, p.scratch);
            (bf16 ? k->attention_bf16_back : k->attention_back)(&p.a, &p.g, p.back_scratch);
            for (int own = 0; own < 2; own++) {
                problem q = p;
                q.a.out = t_floats((T - 1) * p.a.out_stride + D);
                q.a.lse = t_floats(T);
                q.g.dq = t_floats((T - 1) * p.g.dq_stride + D);
                q.g.dk = t_floats((S - 1) * p.g.dk_stride + D);
                q.g.dv = t_floats((S - 1) * p.g.dv_stride + D);
                assert_int_equal(rf_attend(ctx, type, &q.a, own ? p.scratch : NULL, NULL), RF_OK);
                same(result_of(&q), result_of(&p), T * D);
                same(q.a.lse, p.a.lse, T);
                assert_int_equal(rf_attend_back(ctx, type, &q.a, &q.g, own ? p.back_scratch : NULL, NULL), RF_OK);
                same(dense(q.g.dq, T, q.g.dq_stride, D), dense(p.g.dq, T, p.g.dq_stride, D), T * D);
                same(dense(q.g.dk, S, q.g.dk_stride, D), dense(p.g.dk, S, p.g.dk_stride, D), S * D);
                same(dense(q.g.dv, S, q.g.dv_stride, D), dense(p.g.dv, S, p.g.dv_stride, D), S * D);
            }
            t_check_fences();
            t_free_all();
        }
    rf_ctx_free(ctx);
}

static void refused(const rf_ctx *ctx, const rfk_attention *a, rf_status code, const char *part)
{
    rf_error why = {0};
    assert_int_equal(rf_attend(ctx, RF_F32, a, NULL, &why), code);
    t_failed(&why, code, part);
}

static void problems_that_are_none(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const problem p = make((shape){.queries = 4, .width = 8, .rotary = 4});
    rfk_attention a;
    rf_error why = {0};
#define WITH(change) (a = p.a, a.change, &a)
    refused(ctx, NULL, RF_EARG, "rf_attend: expected pointers, got NULL");
    refused(ctx, WITH(q = NULL), RF_EARG, "attention: q: expected 4 rows, got NULL");
    refused(ctx, WITH(v = NULL), RF_EARG, "attention: v: expected");
    refused(ctx, WITH(out = NULL), RF_EARG, "attention: out: expected");
    refused(ctx, WITH(width2 = 2), RF_EARG, "attention: q2: expected");
    refused(ctx, WITH(k_stride = 7), RF_ESHAPE, "attention: k: expected ... 8 columns, got 7");
    refused(ctx, WITH(queries = -1), RF_ESHAPE, "got -1 queries");
    refused(ctx, WITH(width = 0), RF_ESHAPE, "of width 0");
    refused(ctx, WITH(rotary = 3), RF_ESHAPE, "attention: rotary: expected an even number from 2 to width 8, got 3");
    refused(ctx, WITH(rotary = 10), RF_ESHAPE, "attention: rotary: expected");
    refused(ctx, WITH(layout = 0), RF_EARG, "attention: layout: expected RF_ROPE_PAIRS or RF_ROPE_HALVES, that of");
    refused(ctx, WITH(sin = NULL), RF_EARG, "attention: rotation: expected");
    refused(ctx, WITH(q_row = NULL), RF_EARG, "attention: rotation: expected");
    refused(ctx, WITH(drop = 1), RF_EARG, "attention: drop: expected");
    refused(ctx, WITH(drop = NAN), RF_EARG, "below 1, got nan");
    refused(ctx, WITH(relative = &((rfk_relative){.clip = -1})), RF_EARG, "clip: expected 0 or more, got -1");
    refused(ctx, WITH(relative = &((rfk_relative){.key = p.a.q, .key_stride = 1})), RF_ESHAPE,
            "relative->key: expected a stride");
    assert_int_equal(rf_attend(ctx, RF_I8, &p.a, NULL, &why), RF_EARG);
    assert_int_equal(rf_attend(NULL, RF_F32, &p.a, NULL, NULL), RF_EARG);
    assert_int_equal(rf_attend_back(ctx, RF_F32, &p.a, NULL, NULL, NULL), RF_EARG);
    assert_int_equal(rf_attend_back(ctx, RF_F32, WITH(lse = NULL), &p.g, NULL, NULL), RF_EARG);
    rfk_attention_grad g = p.g;
    g.dv = NULL;
    assert_int_equal(rf_attend_back(ctx, RF_F32, &p.a, &g, NULL, NULL), RF_EARG);
    assert_int_equal(rf_attend(ctx, RF_F32, WITH(queries = 0), NULL, NULL), RF_OK);
    t_check_fences();
    t_free_all();
    rf_ctx_free(ctx);
}

static void memory_that_ends(void **state)
{
    (void)state;
    t_memory memory = {.fail = 1};
    rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
    const problem p = make((shape){.queries = 4, .width = 8});
    rf_error why = {0};
    assert_int_equal(rf_attend(ctx, RF_F32, &p.a, NULL, &why), RF_ENOMEM);
    t_failed(&why, RF_ENOMEM, "bytes of scratch");
    assert_int_equal(rf_attend(ctx, RF_F32, &p.a, NULL, NULL), RF_OK);
    memory.fail = memory.calls + 1;
    assert_int_equal(rf_attend(ctx, RF_F32, &p.a, p.scratch, NULL), RF_OK); /* nothing is asked for */
    assert_int_equal(rf_attend_back(ctx, RF_F32, &p.a, &p.g, p.back_scratch, NULL), RF_OK);
    assert_int_equal(rf_attend_back(ctx, RF_F32, &p.a, &p.g, NULL, NULL), RF_ENOMEM);
    t_free_all();
    rf_ctx_free(ctx);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_the_kernels),
        cmocka_unit_test(problems_that_are_none),
        cmocka_unit_test(memory_that_ends),
    };
    return cmocka_run_group_tests_name("kernel/attend", tests, NULL, NULL);
}
