/* test_tape.c — mirrors src/graph/graph.c and work.c: marks, failures, and details that formulas do not show. */
#include "gradient.h"
#include "roformer/kernel/rope.h"

/* ---- marks ------------------------------------------------------------------------------------------------------- */

enum { LAYERS = 40 };

static const float *deep(rf_graph *g, float *x, float *w, int64_t N, int64_t C, bool keep, rf_error *why)
{
    const int64_t xs[] = {N, C}, ws[] = {C, C};
    assert_int_equal(rf__graph_reset(g), RF_OK);
    rf_tensor *weight = rf__parameter(g, w, NULL, 2, ws), *h = rf__constant(g, x, 2, xs);
    const rf_graph_mark mark = rf__graph_here(g);
    for (int l = 0; l < LAYERS; l++) {
        h = rf__add(g, rf__linear(g, h, weight, NULL, RF_ACT_TANH), h);
        if (keep) h = rf__keep(g, mark, h);
    }
    *why = *rf__graph_error(g);
    assert_int_equal(h->rank, 2);
    return h->f32;
}

static void keep_makes_memory_one_layer_deep(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_graph *whole = t_graph(ctx), *kept = t_graph(ctx);
    rf_error why = {0};
    const int64_t N = 200, C = 40;                               /* layers outgrow the arena's first block */
    float *x = t_normal(N * C), *w = t_uniform(C * C, -0.2f, 0.2f);
    for (int lap = 0; lap < 3; lap++) {
        const float *expected = deep(whole, x, w, N, C, false, &why), *got = deep(kept, x, w, N, C, true, &why);
        assert_int_equal(why.code, RF_OK);
        assert_memory_equal(got, expected, (size_t)(N * C) * sizeof *got);
    }
    const size_t layer = (size_t)(N * C) * sizeof(float) + 256;
    assert_true(rf__graph_memory(whole) > 2 * LAYERS * (layer - 256));
    assert_true(rf__graph_memory(kept) < 4 * layer);
    rf__graph_free(whole);
    rf__graph_free(kept);
    rf_ctx_free(ctx);
    t_free_all();
}

static void keep_leaves_alone_what_need_not_move(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_graph *g = t_graph(ctx);
    float v[6] = {1, 2, 3, 4, 5, 6};
    const int64_t dim[] = {2, 3};
    rf_tensor *x = rf__constant(g, v, 2, dim), *old = rf__add(g, x, x);
    const rf_graph_mark mark = rf__graph_here(g);
    rf__add(g, old, x);
    assert_ptr_equal(rf__keep(g, mark, old), old);               /* older than the mark */
    assert_true(old->f32[5] == 12);
    rf_tensor *young = rf__constant(g, v, 2, dim);
    rf_tensor *moved = rf__keep(g, mark, young);                 /* values of the caller's stay there */
    assert_ptr_equal(moved->f32, v);
    rf__graph_record(g, 1, 0, 0);
    rf_tensor *y = rf__add(g, old, old);
    assert_ptr_equal(rf__keep(g, mark, y), y);                   /* recording: nothing may go */
    rf__graph_free(g);
    rf_ctx_free(ctx);
}

/* ---- failing ----------------------------------------------------------------------------------------------------- */

typedef struct bench { rf_graph *g; const rf_rope *rope; rf_tensor *x23, *x46, *v3, *w43, *x3d, *hollow; } bench;

typedef struct wrong { const char *says; rf_status code; rf_tensor *(*call)(const bench *b); } wrong;

#define WRONG(name, call) static rf_tensor *name(const bench *b) { return call; }
static const int32_t ids[] = {0, 1, 2, 9}, minus[] = {0, -1}, cut[] = {0, 2}, gap[] = {0, 2, 1, 4}, hole[] = {0, 0, 2};
WRONG(embed_rank, rf__embed(b->g, b->v3, ids, 1))
WRONG(embed_high, rf__embed(b->g, b->w43, ids, 4))
WRONG(embed_low, rf__embed(b->g, b->w43, minus, 2))
WRONG(embed_count, rf__embed(b->g, b->w43, ids, -1))
WRONG(linear_null, rf__linear(b->g, NULL, b->w43, NULL, RF_ACT_NONE))
WRONG(linear_width, rf__linear(b->g, b->x46, b->w43, NULL, RF_ACT_NONE))
WRONG(linear_bias, rf__linear(b->g, b->x23, b->w43, b->v3, RF_ACT_NONE))
WRONG(linear_bias_rank, rf__linear(b->g, b->x23, b->w43, b->x23, RF_ACT_NONE))
WRONG(linear_hollow, rf__linear(b->g, b->x23, b->hollow, NULL, RF_ACT_NONE))
WRONG(embed_hollow, rf__embed(b->g, b->hollow, ids, 3))
WRONG(linear_act, rf__linear(b->g, b->x23, b->w43, NULL, (rf_act)99))
WRONG(add_rank, rf__add(b->g, b->x23, b->v3))
WRONG(add_shape, rf__add(b->g, b->x23, b->x46))
WRONG(activate_act, rf__activate(b->g, b->x23, (rf_act)-1))
WRONG(dropout_all, rf__dropout(b->g, b->x23, 1))
WRONG(rotate_heads, rf__rotate(b->g, b->rope, b->x46, 4, ids))
WRONG(rotate_width, rf__rotate(b->g, b->rope, b->x46, 3, ids))
WRONG(rotate_row, rf__rotate(b->g, b->rope, b->x46, 1, ids))
WRONG(norm_residual, rf__norm(b->g, b->x23, b->x46, 0, NULL, NULL, 1e-5, RF_NORM_LAYER))
WRONG(norm_gamma, rf__norm(b->g, b->x46, NULL, 0, b->v3, NULL, 1e-5, RF_NORM_LAYER))
WRONG(norm_beta, rf__norm(b->g, b->x23, NULL, 0, NULL, b->v3, 1e-5, RF_NORM_LAYER))
WRONG(norm_kind, rf__norm(b->g, b->x23, NULL, 0, NULL, NULL, 1e-5, (rf_norm_kind)7))
static rf_tensor *itself(rf_graph *g, rf_tensor *x, const void *arg)
{
    (void)arg;
    return g ? x : NULL;
}
WRONG(recompute_none, rf__recompute(b->g, b->x23, NULL, NULL, 0))
WRONG(recompute_argument, rf__recompute(b->g, b->x23, itself, NULL, 8))
#define SPEC(...) &(rf_attention_spec){__VA_ARGS__}
WRONG(attend_heads, rf__attention(b->g, b->x46, SPEC(.heads = 4, .B = 1, .start = cut)))
WRONG(attend_end, rf__attention(b->g, b->x46, SPEC(.heads = 1, .B = 1, .start = cut)))
WRONG(attend_order, rf__attention(b->g, b->x46, SPEC(.heads = 1, .B = 3, .start = gap)))
WRONG(attend_rope, rf__attention(b->g, b->x23, SPEC(.heads = 1, .B = 1, .start = cut, .row = ids)))
WRONG(attend_row,
      rf__attention(b->g, b->x3d, SPEC(.heads = 1, .B = 1, .start = (int32_t[]){0, 4}, .rope = b->rope, .row = ids)))
WRONG(attend_drop, rf__attention(b->g, b->x23, SPEC(.heads = 1, .B = 1, .start = cut, .drop = 1.5)))
static const int32_t below[] = {-1};
WRONG(attend_prefix, rf__attention(b->g, b->x23, SPEC(.heads = 1, .B = 1, .start = cut, .prefixes = below)))
WRONG(attend_window, rf__attention(b->g, b->x23, SPEC(.heads = 1, .B = 1, .start = cut, .window = -3)))
WRONG(rows_high, rf__rows(b->g, b->x23, ids, 3))
WRONG(pool_end, rf__pool(b->g, b->x46, cut, 1, RF_POOL_MEAN))
WRONG(pool_empty, rf__pool(b->g, b->x23, hole, 2, RF_POOL_MEAN))
WRONG(loss_width, rf__vocab_loss(b->g, b->x46, b->w43, NULL, ids, 4, 1, NULL, NULL))
WRONG(loss_count, rf__vocab_loss(b->g, b->x23, b->w43, NULL, ids, 3, 1, NULL, NULL))
WRONG(loss_label, rf__vocab_loss(b->g, b->x23, b->w43, NULL, minus, 2, 1, NULL, NULL))
WRONG(tensor_rank, rf__constant(b->g, b->v3->f32, 5, (int64_t[]){1, 1, 1, 1, 1}))
WRONG(tensor_negative, rf__constant(b->g, b->v3->f32, 1, (int64_t[]){-4}))
WRONG(tensor_huge, rf__constant(b->g, b->v3->f32, 2, (int64_t[]){INT64_MAX / 2, INT64_MAX / 2}))

static const wrong mistakes[] = {
    {"embed: table: expected rank 2, got 1", RF_ESHAPE, embed_rank},
    {"embed: token 3: expected ... 4 rows, got 9", RF_ERANGE, embed_high},
    {"embed: token 1: expected ... 4 rows, got -1", RF_ERANGE, embed_low},
    {"embed: expected 0 or ... got -1", RF_EARG, embed_count},
    {"linear: x: expected a tensor, got NULL", RF_EARG, linear_null},
    {"linear: x: expected 3 ... got 6", RF_ESHAPE, linear_width},
    {"linear: b: expected 4 elements, got 3", RF_ESHAPE, linear_bias},
    {"linear: b: expected rank 1, got 2", RF_ESHAPE, linear_bias_rank},
    {"linear: w: expected values, got a tensor that is spent", RF_EARG, linear_hollow},
    {"embed: table: expected values, got a tensor that is spent", RF_EARG, embed_hollow},
    {"linear: expected ... got 99", RF_EARG, linear_act},
    {"add: b: expected rank 2, got 1", RF_ESHAPE, add_rank},
    {"add: dimension 0: expected ... 2, got 4 in b", RF_ESHAPE, add_shape},
    {"activate: expected ... got -1", RF_EARG, activate_act},
    {"dropout: p: expected 0 <= p < 1, got 1", RF_ERANGE, dropout_all},
    {"rotate: heads: expected a divisor of the columns of x [4, 6 ...], got 4", RF_ESHAPE, rotate_heads},
    {"rotate: expected ... 4 columns, got 2", RF_ESHAPE, rotate_width},
    {"rotate: token 3: expected ... 0 ... 5, got 9", RF_ERANGE, rotate_row},
    {"norm: residual: expected ... [2, 3], got [4, 6]", RF_ESHAPE, norm_residual},
    {"norm: gamma: expected 6 elements, got 3", RF_ESHAPE, norm_gamma},
    {"norm: beta: expected gamma", RF_EARG, norm_beta},
    {"norm: kind: expected ... got 7", RF_EARG, norm_kind},
    {"attention: columns: expected ... 12 heads, got 6", RF_ESHAPE, attend_heads},
    {"attention: sequences: expected ... 0 to 4, got 0 to 2", RF_ESHAPE, attend_end},
    {"attention: sequence 1: expected at least 0 tokens, got a start at token 2 and an end before 1", RF_ESHAPE,
     attend_order},
    {"attention: expected both rope and row", RF_EARG, attend_rope},
    {"attention: token 3: expected ... 0 ... 5, got 9", RF_ERANGE, attend_row},
    {"attention: drop: expected 0 <= drop < 1, got 1.5", RF_ERANGE, attend_drop},
    {"attention: prefix, window: expected 0 or more, got 0 and -3", RF_ERANGE, attend_window},
    {"attention: prefix of sequence 0: expected 0 or more, got -1", RF_ERANGE, attend_prefix},
    {"recompute: expected a function", RF_EARG, recompute_none},
    {"recompute: expected ... 8 bytes", RF_EARG, recompute_argument},
    {"rows: row[2]: expected ... 2, got 2", RF_ERANGE, rows_high},
    {"pool: sequences: expected ... 0 to 4, got 0 to 2", RF_ESHAPE, pool_end},
    {"pool: sequence 0: expected at least 1 tokens, got a start at token 0 and an end before 0", RF_ESHAPE, pool_empty},
    {"vocab_loss: x: expected 3 ... got 6", RF_ESHAPE, loss_width},
    {"vocab_loss: labels: expected ... 2 rows, got 3", RF_ESHAPE, loss_count},
    {"vocab_loss: row 1: expected ... 4 rows, got -1", RF_ERANGE, loss_label},
    {"tensor: rank: expected 1 to 4, got 5", RF_ESHAPE, tensor_rank},
    {"tensor: dimension 0: expected 0 or ... number of elements, got -4", RF_ESHAPE, tensor_negative},
    {"tensor: dimension 0: expected 0 or ... number of elements, got 4611686018427387903", RF_ESHAPE,
     tensor_huge},
};

/* ---- starts: every operation that takes some, with every wrong list ----------------------------------------- */

typedef rf_tensor *takes_starts(rf_graph *g, rf_tensor *x46, rf_tensor *u66, const int32_t start[], int64_t B);
#define STARTS(name, call) \
    static rf_tensor *name(rf_graph *g, rf_tensor *x, rf_tensor *u, const int32_t start[], int64_t B) \
    { (void)u; return call; }
STARTS(starts_attention, rf__attention(g, x, SPEC(.heads = 1, .B = B, .start = start)))
STARTS(starts_pool, rf__pool(g, x, start, B, RF_POOL_MEAN))
STARTS(starts_recur, rf__recur(g, x, u, start, B))
STARTS(starts_unfold, rf__unfold(g, x, 1, 1, start, B))
STARTS(starts_span, rf__span_loss(g, x, start, B, (int32_t[24]){0}, 1, NULL, NULL))
STARTS(starts_near_far, rf__near_far(g, x, x, x, &(rf_near_far_spec){1, B, 2, start, ids, 0}))

static void starts_that_are_wrong(void **state)
{
    (void)state;
    static takes_starts *const all[] = {starts_attention, starts_pool, starts_recur,
                                        starts_unfold,    starts_span, starts_near_far};
    static const struct { int32_t start[4]; bool given; int64_t B; rf_status code; } lists[] = {
        {{0, 9, 4}, true, 2, RF_ESHAPE},  {{0, 3, 1, 4}, true, 3, RF_ESHAPE}, {{0, -3, 4}, true, 2, RF_ESHAPE},
        {{0, INT32_MAX, INT32_MIN, 4}, true, 3, RF_ESHAPE}, {{1, 4}, true, 1, RF_ESHAPE}, {{0, 3}, true, 1, RF_ESHAPE},
        {{0, 5}, true, 1, RF_ESHAPE},     {{0}, true, 0, RF_ESHAPE},          {{0}, false, 1, RF_EARG},
        {{0, 4}, true, -1, RF_EARG},      {{0, 1, 4}, true, 2, RF_OK},
    };
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_graph *g = NULL;
    assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
    float *x = t_normal(24), *u = t_normal(36);
    for (size_t i = 0; i < RF_COUNT(all); i++)
        for (size_t j = 0; j < RF_COUNT(lists); j++) {
            assert_int_equal(rf__graph_reset(g), RF_OK);
            rf_tensor *x46 = rf__input(g, x, NULL, 2, (int64_t[]){4, 6});
            rf_tensor *u66 = rf__input(g, u, NULL, 2, (int64_t[]){6, 6});
            all[i](g, x46, u66, lists[j].given ? lists[j].start : NULL, lists[j].B);
            if (rf__graph_error(g)->code != lists[j].code)
                fail_msg("operation %zu, list %zu: %s", i, j, rf__graph_error(g)->text);
        }
    t_check_fences();
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

static bench tensors(rf_graph *g, const rf_rope *rope, float *v)
{
    return (bench){
        .g = g, .rope = rope,
        .x23 = rf__input(g, v, NULL, 2, (int64_t[]){2, 3}), .x46 = rf__input(g, v, NULL, 2, (int64_t[]){4, 6}),
        .v3 = rf__input(g, v, NULL, 1, (int64_t[]){3}), .w43 = rf__input(g, v, NULL, 2, (int64_t[]){4, 3}),
        .x3d = rf__input(g, v, NULL, 2, (int64_t[]){4, 12}),
        .hollow = rf__parameter(g, NULL, NULL, 2, (int64_t[]){4, 3}),
    };
}

/* All operations on nil: nil, and the first failure stays. */
static void all_on_nil(rf_graph *g, rf_tensor *nil, const rf_rope *rope)
{
    const rf_attention_spec spec = {.heads = 2, .B = 1, .start = cut, .rope = rope, .row = ids};
    rf_tensor *const got[] = {
        rf__embed(g, nil, ids, 4),
        rf__linear(g, nil, nil, nil, RF_ACT_GELU),
        rf__add(g, nil, nil),
        rf__activate(g, nil, RF_ACT_TANH),
        rf__dropout(g, nil, 0.5),
        rf__rotate(g, rope, nil, 2, ids),
        rf__norm(g, nil, nil, 0.1, nil, nil, 1e-5, RF_NORM_LAYER),
        rf__attention(g, nil, &spec),
        rf__rows(g, nil, ids, 4),
        rf__pool(g, nil, cut, 1, RF_POOL_MAX),
        rf__vocab_loss(g, nil, nil, nil, ids, 4, 1, NULL, NULL),
        rf__recompute(g, nil, itself, NULL, 0),
        rf__spend(nil),
        rf__keep(g, rf__graph_here(g), nil),
        rf__parameter(g, NULL, NULL, 2, (int64_t[]){1, 1}),
    };
    for (size_t i = 0; i < RF_COUNT(got); i++) {
        assert_ptr_equal(got[i], nil);
        assert_int_equal(got[i]->rank, 0);
        assert_int_equal(got[i]->dim[3], 0);
    }
}

static void mistakes_are_named_and_harmless(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_graph *g = t_graph(ctx);
    rf_rope *rope = t_angles(ctx, 4, 5);
    float *v = t_normal(48);
    for (size_t i = 0; i < RF_COUNT(mistakes); i++)
        for (int record = 0; record < 2; record++) {
            assert_int_equal(rf__graph_reset(g), RF_OK);
            rf__graph_record(g, record, 1, 1);
            const bench b = tensors(g, rope, v);
            assert_int_equal(rf__graph_error(g)->code, RF_OK);
            rf_tensor *nil = mistakes[i].call(&b);
            t_failed(rf__graph_error(g), mistakes[i].code, mistakes[i].says);
            assert_int_equal(nil->rank, 0);
            all_on_nil(g, nil, rope);
            t_failed(rf__graph_error(g), mistakes[i].code, mistakes[i].says);
            rf_error why = {0};
            assert_int_equal(rf__backward(g, nil, &why), mistakes[i].code);
            t_failed(&why, mistakes[i].code, mistakes[i].says);
        }

    /* nil of a step that has ended is refused like any wrong shape */
    rf_tensor *nil = embed_rank(&(bench){.g = g, .v3 = NULL});
    assert_int_equal(rf__graph_reset(g), RF_OK);
    rf__linear(g, nil, nil, NULL, RF_ACT_NONE);
    t_failed(rf__graph_error(g), RF_ESHAPE, "linear: x: expected rank 2, got 0");
    rf_rope_free(rope);
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

static void backward_refuses_what_is_no_loss(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_graph *g = t_graph(ctx);
    float v[6] = {1, 2, 3, 4, 5, 6}, d[6] = {0};
    const int64_t two_three[] = {2, 3}, one[] = {1};
    static const struct { int what; rf_status code; const char *says; } cases[] = {
        {0, RF_ESHAPE, "backward: the loss: expected 1 element, got 6"},
        {1, RF_EARG, "expected one that depends on parameters"},
        {2, RF_EARG, "expected one call for each step"},
        {3, RF_EARG, "vocab_loss computes its gradients in the forward pass"},
        {4, RF_ESHAPE, "got 0"},
        {5, RF_EARG, "vocab_loss computes its gradients in the forward pass"},
        {6, RF_EARG, "got another loss or 2 of them"},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_error why = {0};
        assert_int_equal(rf__graph_reset(g), RF_OK);
        rf__graph_record(g, 1, 1, 1);
        rf_tensor *x = rf__input(g, v, d, 2, two_three), *s = rf__input(g, v, d, 1, one),
                  *frozen = rf__constant(g, v, 1, one);
        rf_tensor *loss = NULL;
        switch (cases[i].what) {
        case 0: loss = rf__add(g, x, x); break;
        case 1: loss = rf__add(g, frozen, frozen); break;
        case 2:
            loss = rf__add(g, s, s);
            assert_int_equal(rf__backward(g, loss, &why), RF_OK);
            break;
        case 3: {
            rf_tensor *l = rf__vocab_loss(g, x, x, NULL, ids, 2, 1, NULL, NULL);
            loss = rf__add(g, l, l);
            break;
        }
        case 5: loss = rf__add(g, s, rf__add(g, s, rf__vocab_loss(g, x, x, NULL, ids, 2, 1, NULL, NULL))); break;
        case 6:
            loss = rf__vocab_loss(g, x, x, NULL, ids, 2, 1, NULL, NULL);
            loss = rf__add(g, loss, rf__vocab_loss(g, x, x, NULL, ids, 2, 1, NULL, NULL));
            break;
        default: break;
        }
        assert_int_equal(rf__backward(g, loss, &why), cases[i].code);
        t_failed(&why, cases[i].code, cases[i].says);
    }
    rf__graph_free(g);
    rf_ctx_free(ctx);
}

/* ---- details that the formulas do not show ----------------------------------------------------------------------- */

/* A branch that the loss does not depend on, and frozen weights, change nothing. */
static void dead_branches_and_frozen_weights(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_graph *g = t_graph(ctx);
    const int64_t xs[] = {5, 4}, ws[] = {3, 4};
    float *x = t_normal(20), *w = t_normal(12), *weight = t_normal(15), d[2][20], dw[12];
    for (int lap = 0; lap < 2; lap++) {
        rf_error why = {0};
        memset(d[lap], 0, sizeof d[lap]);
        memset(dw, 0, sizeof dw);
        assert_int_equal(rf__graph_reset(g), RF_OK);
        rf__graph_record(g, 1, 1, 1);
        rf_tensor *in = rf__input(g, x, d[lap], 2, xs);
        rf_tensor *weights = rf__parameter(g, w, lap ? NULL : dw, 2, ws), *other = rf__parameter(g, w, dw, 2, ws);
        rf_tensor *y = rf__linear(g, in, weights, NULL, RF_ACT_GELU);
        if (lap) rf__activate(g, rf__linear(g, in, other, NULL, RF_ACT_TANH), RF_ACT_SILU);
        if (rf__backward(g, t_weighted(g, y, weight), &why)) fail_msg("%s", why.text);
        if (lap)
            for (int i = 0; i < 12; i++) assert_true(dw[i] == 0);
    }
    assert_memory_equal(d[0], d[1], sizeof d[0]);
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

static double *doubles(int64_t n) { return t_bytes((size_t)n * sizeof(double)); }

/* More rows than one chunk; sums and hits; recording changes neither. */
static void vocab_loss_in_chunks(void **state)
{
    (void)state;
    enum { ROWS = 140, WIDTH = 3, WORDS = 66000 };
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_graph *g = t_graph(ctx);
    float *x = t_normal(ROWS * WIDTH), *table = t_normal(WORDS * WIDTH), *bias = t_normal(WORDS),
          *dx = t_floats(ROWS * WIDTH);
    double expected = 0, *expected_dx = doubles(ROWS * WIDTH), *z = doubles(WORDS);
    int32_t label[ROWS];
    int64_t expected_hits = 0;
    for (int32_t i = 0; i < ROWS; i++) {
        double sum = 0;
        int32_t best = 0;
        for (int32_t v = 0; v < WORDS; v++) {
            z[v] = (double)bias[v];
            for (int k = 0; k < WIDTH; k++) z[v] += (double)x[i * WIDTH + k] * (double)table[v * WIDTH + k];
            sum += exp(z[v]);
            if (z[v] > z[best]) best = v;
        }
        label[i] = i % 3 ? i * 7 : best;
        expected_hits += label[i] == best;
        expected += log(sum) - z[label[i]];
        for (int k = 0; k < WIDTH; k++) {
            double d = -(double)table[label[i] * WIDTH + k];
            for (int32_t v = 0; v < WORDS; v++) d += exp(z[v]) / sum * (double)table[v * WIDTH + k];
            expected_dx[i * WIDTH + k] = 0.5 * d;
        }
    }
    for (int record = 0; record < 2; record++) {
        rf_error why = {0};
        double sum = 1000;
        int64_t hits = 10;
        assert_int_equal(rf__graph_reset(g), RF_OK);
        rf__graph_record(g, record, 1, 1);
        memset(dx, 0, ROWS * WIDTH * sizeof *dx);
        rf_tensor *in = rf__input(g, x, dx, 2, (int64_t[]){ROWS, WIDTH});
        rf_tensor *words = rf__constant(g, table, 2, (int64_t[]){WORDS, WIDTH}),
                  *b = rf__constant(g, bias, 1, (int64_t[]){WORDS});
        rf_tensor *loss = rf__vocab_loss(g, in, words, b, label, ROWS, 0.5, &sum, &hits);
        assert_int_equal(rf__graph_error(g)->code, RF_OK);
        t_near(sum - 1000, expected, 1e-5 * expected);        /* logits right to 4 roundings of up to 10, in 140 sums */
        t_near(*loss->f32, 0.5 * expected, 1e-5 * expected);
        assert_int_equal(hits - 10, expected_hits);
        if (!record) continue;
        if (rf__backward(g, loss, &why)) fail_msg("%s", why.text);
        t_close_to(dx, expected_dx, ROWS * WIDTH, 2e-5, 0);      /* 66000 products, summed in vectors of 16 or more */
    }
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

/* No tokens, no labels: an empty computation is not an error. */
static void emptiness(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_graph *g = t_graph(ctx);
    float table[12] = {0}, dtable[12] = {0};
    const int32_t start[] = {0};
    rf_error why = {0};
    rf__graph_record(g, 1, 1, 1);
    rf_tensor *t = rf__parameter(g, table, dtable, 2, (int64_t[]){4, 3}), *x = rf__embed(g, t, NULL, 0);
    x = rf__norm(g, rf__linear(g, x, t, NULL, RF_ACT_GELU), NULL, 0.1, NULL, NULL, 1e-5, RF_NORM_LAYER);
    x = rf__linear(g, x, rf__parameter(g, table, dtable, 2, (int64_t[]){3, 4}), NULL, RF_ACT_NONE);
    x = rf__linear(g, rf__attention(g, x, &(rf_attention_spec){.heads = 1, .B = 0, .start = start}),
                   rf__parameter(g, table, dtable, 2, (int64_t[]){3, 1}), NULL, RF_ACT_NONE);
    rf_tensor *loss = rf__vocab_loss(g, rf__rows(g, x, NULL, 0), t, NULL, NULL, 0, 1, NULL, NULL);
    if (rf__backward(g, loss, &why)) fail_msg("%s", why.text);
    assert_true(*loss->f32 == 0);
    for (int i = 0; i < 12; i++) assert_true(dtable[i] == 0);
    rf__graph_free(g);
    rf_ctx_free(ctx);
}

/* ---- a final gradient is reported once, from the last layer to the first ---- */

enum { TOLD = 8 };
typedef struct told { const float *grad[TOLD]; float first[TOLD], last[TOLD]; int64_t n[TOLD]; int calls; } told;

static void take_note(void *user, const float *grad, int64_t n)
{
    told *t = user;
    if (t->calls < TOLD)
        t->grad[t->calls] = grad, t->n[t->calls] = n, t->first[t->calls] = grad[0], t->last[t->calls] = grad[n - 1];
    t->calls++;
}

static rf_tensor *square(rf_graph *g, rf_tensor *x, const void *arg)
{
    rf_tensor *const *w = arg;
    return rf__linear(g, x, *w, NULL, RF_ACT_GELU);
}

static void final_gradients_are_told(void **state)
{
    (void)state;
    enum { V = 7, C = 4, N = 5 };
    rf_ctx *ctx = t_ctx(1, "ref");
    rf_graph *g = NULL;
    const int32_t id[N] = {1, 2, 6, 2, 0}, label[N] = {0, 1, 2, 3, 4};
    const int64_t table_dim[] = {V, C}, square_dim[] = {C, C}, bias_dim[] = {V};
    assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
    for (int recomputed = 0; recomputed < 2; recomputed++) {
        float *table = t_normal(V * C), *one = t_normal(C * C), *two = t_normal(C * C), *bias = t_normal(V),
              *idle = t_normal(C * C);
        float d_table[V * C] = {0}, d_one[C * C] = {0}, d_two[C * C] = {0}, d_bias[V] = {0}, d_idle[C * C] = {0};
        told t = {.calls = 0};
        rf_error why = {0};
        rf__graph_reset(g);
        rf__graph_record(g, 1, 1, 1);
        rf__graph_ready(g, take_note, &t);
        rf_tensor *word = rf__parameter(g, table, d_table, 2, table_dim),
                  *w[2] = {rf__parameter(g, one, d_one, 2, square_dim), rf__parameter(g, two, d_two, 2, square_dim)};
        rf_tensor *x = rf__embed(g, word, id, N);
        rf__linear(g, x, rf__parameter(g, idle, d_idle, 2, square_dim), NULL, RF_ACT_NONE); /* not seen by the loss */
        for (int i = 0; i < 2; i++)
            x = recomputed ? rf__recompute(g, x, square, &w[i], sizeof w[i]) : square(g, x, &w[i]);
        x = rf__linear(g, x, w[1], NULL, RF_ACT_NONE);                                         /* `two` a second time */
        rf_tensor *loss =
            rf__vocab_loss(g, x, word, rf__parameter(g, bias, d_bias, 1, bias_dim), label, N, 1, NULL, NULL);
        if (rf__backward(g, loss, &why)) fail_msg("%s", why.text);
        const float *const expected[] = {d_bias, d_two, d_one, d_idle, d_table};
        const int64_t size[] = {V, C * C, C * C, C * C, V * C};
        assert_int_equal(t.calls, recomputed ? 6 : 5);             /* `two` is used in a recomputed part, too: twice */
        for (int i = 0, k = 0; i < 5; i++, k++) {
            if (recomputed && i == 1) k++;                           /* the second time counts */
            assert_ptr_equal(t.grad[k], expected[i]);
            assert_int_equal(t.n[k], size[i]);
            assert_memory_equal(&t.first[k], &expected[i][0], sizeof(float));
            assert_memory_equal(&t.last[k], &expected[i][size[i] - 1], sizeof(float));
        }
        rf__graph_ready(g, NULL, NULL);
        t_free_all();
    }
    rf__graph_free(g);
    rf_ctx_free(ctx);
}

/* The norm of a sum, with the sum: the bits of rf__add and rf__norm, recorded and not. */
static void a_norm_with_its_sum(void **state)
{
    (void)state;
    enum { N = 37, C = 45 };
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_graph *g = t_graph(ctx);
    float *x = t_normal(N * C), *h = t_normal(N * C), *scale = t_normal(C), *shift = t_normal(C), *slope = t_floats(C);
    for (int kind = RF_NORM_LAYER; kind <= RF_NORM_RMS_ONE; kind++)
        for (int recorded = 0; recorded < 2; recorded++) {
            assert_int_equal(rf__graph_reset(g), RF_OK);
            rf__graph_record(g, recorded, 1, 1);
            const int64_t rows[] = {N, C}, row[] = {C};
            rf_tensor *a = rf__constant(g, x, 2, rows), *b = rf__constant(g, h, 2, rows), *sum;
            rf_tensor *gamma = rf__parameter(g, scale, recorded ? slope : NULL, 1, row);
            rf_tensor *beta = kind == RF_NORM_LAYER ? rf__parameter(g, shift, NULL, 1, row) : NULL;
            rf_tensor *y = rf__norm_and_sum(g, a, b, gamma, beta, 1e-5, (rf_norm_kind)kind, &sum);
            rf_tensor *apart = rf__add(g, a, b), *normed = rf__norm(g, apart, NULL, 0, gamma, beta, 1e-5,
                                                                    (rf_norm_kind)kind);
            assert_int_equal(rf__graph_error(g)->code, RF_OK);
            assert_int_equal(y->tracked, recorded);
            assert_memory_equal(sum->f32, apart->f32, N * C * sizeof(float));
            assert_memory_equal(y->f32, normed->f32, N * C * sizeof(float));
        }
    rf_tensor *sum, *odd = rf__constant(g, x, 2, (int64_t[]){N, C - 1}), *a = rf__constant(g, x, 2, (int64_t[]){N, C});
    rf__norm_and_sum(g, a, odd, NULL, NULL, 1e-5, RF_NORM_LAYER, &sum);
    t_failed(rf__graph_error(g), RF_ESHAPE, "residual: expected ... [37, 45], got [37, 44]");
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

/* ---- a recomputed part of a dry step ---- */

typedef struct outside { rf_tensor *w, *shared; } outside;

static rf_tensor *with_outside(rf_graph *g, rf_tensor *x, const void *arg)
{
    const outside *o = arg;
    return rf__dropout(g, rf__linear(g, rf__add(g, x, o->shared), o->w, NULL, RF_ACT_GELU), 0.25);
}

/* The peak of a step with two recomputed parts. They read a result of the outer tape; the first one's x needs no
 * gradient. */
static size_t recomputed_peak(rf_ctx *ctx, bool dry, int64_t N, int64_t C, float *v, float *dw)
{
    const int64_t rows[] = {N, C}, square_dim[] = {C, C};
    rf_graph *g = t_graph(ctx);
    rf_error why = {0};
    if (dry) rf__graph_dry(g);
    rf__graph_record(g, 1, 1, 1);
    rf_tensor *w = rf__parameter(g, v, dw, 2, square_dim), *x = rf__constant(g, v, 2, rows);
    const outside o = {w, rf__linear(g, x, w, NULL, RF_ACT_NONE)};
    for (int i = 0; i < 2; i++) x = rf__recompute(g, x, with_outside, &o, sizeof o);
    if (rf__backward(g, t_weighted(g, x, v), &why)) fail_msg("%s", why.text);
    const size_t peak = rf__graph_memory(g);
    rf__graph_free(g);
    return peak;
}

static void a_dry_step_recomputes(void **state)
{
    (void)state;
    enum { N = 61, C = 12 };
    const int64_t much = 1 << 20;                                /* 4 TiB a tensor */
    rf_ctx *ctx = t_ctx(1, NULL);
    float *v = t_normal(N * C), dw[C * C] = {0}, largest = 0, *nowhere = (float *)(uintptr_t)1;
    const size_t peak = recomputed_peak(ctx, false, N, C, v, dw);
    for (int i = 0; i < C * C; i++) largest = fmaxf(largest, fabsf(dw[i]));
    assert_true(largest > 0);
    assert_int_equal(recomputed_peak(ctx, true, N, C, nowhere, nowhere), peak);
    assert_true(recomputed_peak(ctx, true, much, much, nowhere, nowhere) > (size_t)(much * much) * sizeof(float));
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keep_makes_memory_one_layer_deep),
        cmocka_unit_test(keep_leaves_alone_what_need_not_move),
        cmocka_unit_test(mistakes_are_named_and_harmless),
        cmocka_unit_test(starts_that_are_wrong),
        cmocka_unit_test(backward_refuses_what_is_no_loss),
        cmocka_unit_test(dead_branches_and_frozen_weights),
        cmocka_unit_test(vocab_loss_in_chunks),
        cmocka_unit_test(emptiness),
        cmocka_unit_test(final_gradients_are_told),
        cmocka_unit_test(a_norm_with_its_sum),
        cmocka_unit_test(a_dry_step_recomputes),
    };
    return cmocka_run_group_tests_name("graph/tape", tests, NULL, NULL);
}
