/* test_smoothing.c — mirrors src/graph/ops/loss/vocab_loss.c and row_loss.c with smoothed labels: the results of torch,
 * in f32 and in bf16; smoothing by 0 changes no bit (tools/golden/golden_smoothing.py). */
#include <float.h>

#include "gradient.h"

enum { MOST = 150 * 37 };

typedef struct golden {
    int n, K, V;
    double share, loss;
    int32_t label[256];
    double weight[16], x[MOST], table[MOST], bias[256], dx[MOST], dtable[MOST], dbias[256];
} golden;

static void numbers(FILE *f, double x[], int n)
{
    for (int i = 0; i < n; i++) assert_int_equal(fscanf(f, "%lf", &x[i]), 1);
}

static float *narrow(const double x[], int n)
{
    float *y = t_floats(n);
    for (int i = 0; i < n; i++) y[i] = (float)x[i];
    return y;
}

static float *zeros(int n) { return memset(t_floats(n), 0, (size_t)n * sizeof(float)); }

static void labels_of(FILE *f, golden *c)
{
    for (int i = 0; i < c->n; i++) assert_int_equal(fscanf(f, "%d", &c->label[i]), 1);
}

static void near_to(const float got[], const double expected[], int n, double slack, const char *what)
{
    for (int i = 0; i < n; i++)
        if (!(fabs((double)got[i] - expected[i]) <= slack))
            fail_msg("%s, number %d: %.9g, expected %.9g, slack %.3g", what, i, (double)got[i], expected[i], slack);
}

/* The sums are in double; logits, loss and gradient are each rounded to f32 once, of numbers below 20. */
static void rows_case(rf_ctx *ctx, const golden *c, bool weighted)
{
    rf_graph *g = t_graph(ctx);
    float *z = narrow(c->x, c->n * c->K), *dz = zeros(c->n * c->K), *weight = narrow(c->weight, c->K);
    double sum = 0;
    rf__graph_smoothing(g, c->share);
    rf__graph_record(g, 1, 1, 1);
    rf_tensor *y = rf__row_loss(g, rf__input(g, z, dz, 2, (int64_t[]){c->n, c->K}), c->label,
                                weighted ? weight : NULL, 1, &sum, NULL);
    t_near(sum, c->loss, 1e-12 * (1 + c->loss));
    assert_int_equal(rf__backward(g, y, NULL), RF_OK);
    near_to(dz, c->dx, c->n * c->K, 4 * FLT_EPSILON, "rows: gradient");
    rf__graph_reset(g);
    rf__graph_record(g, 0, 0, 0);                                    /* an evaluation is not smoothed */
    double plain = 0, hard = 0;
    rf__row_loss(g, rf__input(g, z, dz, 2, (int64_t[]){c->n, c->K}), c->label, weighted ? weight : NULL, 1, &plain,
                 NULL);
    rf__graph_smoothing(g, 0);
    rf__row_loss(g, rf__input(g, z, dz, 2, (int64_t[]){c->n, c->K}), c->label, weighted ? weight : NULL, 1, &hard,
                 NULL);
    t_near(plain, hard, 0);
    rf__graph_free(g);
}

/* Logits below 30 are sums of K products, losses sums of n of them.  In bf16 every product is of two numbers that
 * are off by 2^-9. */
static void vocab_case(rf_ctx *ctx, const golden *c, rf_type type)
{
    rf_graph *g = t_graph(ctx);
    const int nx = c->n * c->K, nt = c->V * c->K;
    float *x = narrow(c->x, nx), *table = narrow(c->table, nt), *bias = narrow(c->bias, c->V);
    float *dx = zeros(nx), *dt = zeros(nt), *db = zeros(c->V);
    const double unit = type == RF_BF16 ? 0x1p-8 : FLT_EPSILON, size = 4.0 * (c->K + 8);
    double sum = 0, largest = 0;
    for (int i = 0; i < nt; i++) largest = fmax(largest, fabs(c->dtable[i]));
    rf__graph_products(g, type);
    rf__graph_smoothing(g, c->share);
    rf__graph_record(g, 1, 1, 1);
    rf_tensor *y = rf__vocab_loss(g, rf__input(g, x, dx, 2, (int64_t[]){c->n, c->K}),
                                  rf__parameter(g, table, dt, 2, (int64_t[]){c->V, c->K}),
                                  rf__parameter(g, bias, db, 1, (int64_t[]){c->V}), c->label, c->n, 1, &sum, NULL);
    t_near(sum, c->loss, unit * size * c->n);
    assert_int_equal(rf__backward(g, y, NULL), RF_OK);
    near_to(dx, c->dx, nx, unit * size * 4, "vocab: gradient of x");
    near_to(dt, c->dtable, nt, unit * size * (4 + largest), "vocab: gradient of the table");
    near_to(db, c->dbias, c->V, unit * size * (4 + largest), "vocab: gradient of the bias");
    rf__graph_free(g);
}

static void as_torch_computes(void **state)
{
    (void)state;
    static golden c;
    static const char *const isa[] = {"ref", NULL};
    char line[512], word[16];
    int rows = 0, vocab = 0;
    FILE *f = fopen("tests/golden/train/smoothing.txt", "r");
    assert_non_null(f);
    for (int i = 0; i < 3; i++) assert_non_null(fgets(line, sizeof line, f));
    while (fscanf(f, "%15s", word) == 1 && strcmp(word, "end") != 0) {
        const bool of_rows = !strcmp(word, "rows");
        int weighted = 0;
        if (of_rows) assert_int_equal(fscanf(f, "%d %d %lf %d", &c.n, &c.K, &c.share, &weighted), 4);
        else assert_int_equal(fscanf(f, "%d %d %d %lf", &c.n, &c.K, &c.V, &c.share), 4);
        assert_true(c.n <= 256 && c.n * c.K <= MOST && (of_rows || (c.V <= 256 && c.V * c.K <= MOST)));
        labels_of(f, &c);
        if (of_rows) numbers(f, c.weight, c.K);
        numbers(f, c.x, c.n * c.K);
        if (!of_rows) numbers(f, c.table, c.V * c.K), numbers(f, c.bias, c.V);
        numbers(f, &c.loss, 1);
        numbers(f, c.dx, c.n * c.K);
        if (!of_rows) numbers(f, c.dtable, c.V * c.K), numbers(f, c.dbias, c.V);
        for (int rung = 0; rung < 2; rung++) {
            rf_ctx *ctx = t_ctx(2, isa[rung]);
            if (of_rows) rows_case(ctx, &c, weighted != 0);
            else vocab_case(ctx, &c, RF_F32), vocab_case(ctx, &c, RF_BF16);
            rf_ctx_free(ctx);
            t_free_all();
        }
        rows += of_rows, vocab += !of_rows;
    }
    fclose(f);
    assert_int_equal(rows, 6);
    assert_int_equal(vocab, 3);
}

/* Loss and gradients of a graph with smoothing 0 are those of a graph without smoothing. */
static void a_share_of_0_changes_no_bit(void **state)
{
    (void)state;
    enum { N = 20, K = 12, V = 50 };
    rf_ctx *ctx = t_ctx(2, NULL);
    float *x = t_normal(N * K), *table = t_normal(V * K), *grad[2], loss[2];
    int32_t label[N];
    for (int i = 0; i < N; i++) label[i] = i * 7 % V;
    for (int told = 0; told < 2; told++) {
        rf_graph *g = t_graph(ctx);
        if (told) rf__graph_smoothing(g, 0);
        rf__graph_record(g, 1, 1, 1);
        grad[told] = zeros(N * K + V * K);
        rf_tensor *y = rf__vocab_loss(g, rf__input(g, x, grad[told], 2, (int64_t[]){N, K}),
                                      rf__parameter(g, table, grad[told] + N * K, 2, (int64_t[]){V, K}), NULL,
                                      label, N, 0.5, NULL, NULL);
        loss[told] = *y->f32;
        assert_int_equal(rf__backward(g, y, NULL), RF_OK);
        rf__graph_free(g);
    }
    assert_memory_equal(grad[0], grad[1], (N * K + V * K) * sizeof(float));
    assert_memory_equal(&loss[0], &loss[1], sizeof loss[0]);
    t_free_all();
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_torch_computes),
                                       cmocka_unit_test(a_share_of_0_changes_no_bit)};
    return cmocka_run_group_tests_name("graph/smoothing", tests, NULL, NULL);
}
