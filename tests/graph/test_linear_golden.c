/* test_linear_golden.c — mirrors src/graph/ops/core/linear_attention.c values and gradients are compared with
 * performer-pytorch's attention (tests/golden/performer, tools/golden/golden_performer.py). */
#include "gradient.h"

enum { MOST = 512 };

static void read_numbers(FILE *f, const char *name, float *to, int n)
{
    char word[32];
    if (fscanf(f, "%31s", word) != 1 || strcmp(word, name)) fail_msg("expected %s", name);
    for (int i = 0; i < n; i++)
        if (fscanf(f, "%f", &to[i]) != 1) fail_msg("%s: a number is missing", name);
}

/* Columns `part` of [T, 3C] from [T, C]. */
static void put_part(float *qkv, const float *x, int T, int C, int part)
{
    for (int t = 0; t < T; t++) memcpy(qkv + (3 * t + part) * C, x + t * C, (size_t)C * sizeof *x);
}

static void close(const char *what, const float *got, const float *expected, int n, double tolerance)
{
    double most = 1;
    for (int i = 0; i < n; i++) most = fmax(most, fabs((double)expected[i]));
    for (int i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)expected[i]) <= tolerance * most))
            fail_msg("%s: %g, not %g, at %d", what, (double)got[i], (double)expected[i], i);
}

/* The golden is in double: what is left is rounding, of some hundred operations, and in its gradients those of
 * denominators as small as a tenth. */
static bool one_case(FILE *f, rf_ctx *ctx)
{
    char word[32], map[32], order[32], what[96];
    int causal, H, T, D, F;
    if (fscanf(f, "%31s", word) != 1 || strcmp(word, "case")) return false;
    if (fscanf(f, "%31s %31s %d %d %d %d %d", map, order, &causal, &H, &T, &D, &F) != 7) fail_msg("a case is cut");
    const int C = H * D, n = T * C;
    assert_true(n <= MOST && F * D <= MOST);
    float random[MOST], x[MOST], weight[MOST], out[MOST], qkv[3 * MOST], expected[3 * MOST], d[3 * MOST] = {0};
    static const char *const in[] = {"q", "k", "v"}, *const back[] = {"dq", "dk", "dv"};
    read_numbers(f, "random", random, F * D);
    for (int i = 0; i < 3; i++) read_numbers(f, in[i], x, n), put_part(qkv, x, T, C, i);
    read_numbers(f, "weight", weight, n);
    read_numbers(f, "out", out, n);
    for (int i = 0; i < 3; i++) read_numbers(f, back[i], x, n), put_part(expected, x, T, C, i);

    rf_rope *rope = strcmp(order, "before") ? NULL : t_angles(ctx, D, T);
    int32_t row[MOST];
    for (int t = 0; t < T; t++) row[t] = t;
    const int32_t start[2] = {0, T};
    const rf_linear_attention_spec spec = {.heads = H, .B = 1, .start = start, .rope = rope, .row = rope ? row : NULL,
                                           .causal = causal, .feature_map = map, .features = F, .random = random,
                                           .epsilon = -1};
    rf_graph *g = t_graph(ctx);
    rf_error why = {0};
    snprintf(what, sizeof what, "%s, %s, causal %d", map, order, causal);
    rf__graph_record(g, 1, T_SEED, T_STEP);
    rf_tensor *y = rf__linear_attention(g, rf__input(g, qkv, d, 2, (int64_t[]){T, 3 * C}), &spec);
    if (rf__graph_error(g)->code) fail_msg("%s: %s", what, rf__graph_error(g)->text);
    close(what, y->f32, out, n, 2e-6);
    if (rf__backward(g, t_weighted(g, y, weight), &why)) fail_msg("%s: %s", what, why.text);
    close(what, d, expected, 3 * n, 1e-5);
    rf__graph_free(g);
    rf_rope_free(rope);
    return true;
}

static void as_performer_pytorch_has_it(void **state)
{
    (void)state;
    FILE *f = fopen("tests/golden/performer/attention.txt", "r");
    assert_non_null(f);
    while (fgetc(f) != '\n') {}
    rf_ctx *ctx = t_ctx(2, NULL);
    int cases = 0;
    while (one_case(f, ctx)) cases++;
    assert_int_equal(cases, 10);
    fclose(f);
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_performer_pytorch_has_it)};
    return cmocka_run_group_tests_name("graph/linear_golden", tests, NULL, NULL);
}
