/* test_subspaces.c — mirrors src/analysis/subspaces.c and src/analysis/position_vectors.c: subspaces with known angles,
 * and vectors by the formulas of their encodings. */
#include "t.h"

#include <float.h>
#include <math.h>

#include "analysis/subspaces.h"
#include "model/model.h"
#include "roformer/context.h"
#include "roformer/inspect/positions.h"

enum { E = 12, N = 40 };

/* Planes (0,1) and (0 rotated by `first` to 4, 1 rotated by `second` to 5) in a rotated coordinate system. */
static void fill(float *a, float *b, double first, double second)
{
    double q[E][E];
    for (int i = 0; i < E; i++)                                     /* a reflection: symmetric and orthogonal */
        for (int j = 0; j < E; j++) q[i][j] = (i == j) - 2.0 * (i + 1) * (j + 1) / (E * (E + 1) * (2 * E + 1) / 6.0);
    for (int r = 0; r < N; r++)
        for (int e = 0; e < E; e++) {
            const double x = sin(r), y = cos(2.0 * r);
            a[r * E + e] = (float)(x * q[0][e] + y * q[1][e]);
            b[r * E + e] = (float)(x * (cos(first) * q[0][e] + sin(first) * q[4][e]) +
                                   y * (cos(second) * q[1][e] + sin(second) * q[5][e]));
        }
}

/* Principal angles of two planes that are rotated against each other by 0.3 and 1.1; identical; orthogonal. */
static void angles_are_those_put_in(void **state)
{
    (void)state;
    static const double rotated[][2] = {{0.3, 1.1}, {0, 0}, {1.5707963267948966, 1.5707963267948966}, {0, 0.7}};
    rf_ctx *ctx = t_ctx(1, NULL);
    float *a = t_floats(N * E), *b = t_floats(N * E);
    for (size_t i = 0; i < RF_COUNT(rotated); i++) {
        rf_subspaces s;
        rf_error why = {0};
        fill(a, b, rotated[i][0], rotated[i][1]);
        if (rf__subspace_angles(ctx, a, N, b, N, E, 1 - 1e-9, &s, &why)) fail_msg("%s", why.text);
        assert_int_equal(s.position_dimensions, 2);
        assert_int_equal(s.word_dimensions, 2);
        assert_int_equal(s.angles, 2);
        double sum = 0;
        for (int k = 0; k < 2; k++) {                               /* float32's rounding of the vectors */
            t_near(s.cosine[k], cos(rotated[i][k]), 1e-6);
            sum += pow(cos(rotated[i][k]), 2) / 2;
        }
        t_near(s.overlap, sum, 1e-6);
        rf_subspaces_free(ctx, &s);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

/* The smallest number of directions with the given share: sums of squares 8, 4, 2, 1, 1 in five columns. */
static void dimensions_hold_their_share(void **state)
{
    (void)state;
    static const struct { double share; int dimensions; } cases[] = {{0.4, 1}, {0.49, 1}, {0.6, 2}, {0.74, 2},
                                                                     {0.8, 3}, {0.9, 4}, {0.99, 5}};
    rf_ctx *ctx = t_ctx(1, NULL);
    float *a = memset(t_floats(5 * E), 0, 5 * E * sizeof(float)), *b = memset(t_floats(E), 0, E * sizeof(float));
    const double square[] = {8, 4, 2, 1, 1};
    for (int i = 0; i < 5; i++) a[i * E + i] = (float)sqrt(square[i]);
    b[0] = b[6] = 1;
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_subspaces s;
        rf_error why = {0};
        if (rf__subspace_angles(ctx, a, 5, b, 1, E, cases[i].share, &s, &why)) fail_msg("%s", why.text);
        assert_int_equal(s.position_dimensions, cases[i].dimensions);
        assert_int_equal(s.word_dimensions, 1);
        t_near(s.cosine[0], sqrt(0.5), 1e-6);                       /* column 0 is in every one of them */
        rf_subspaces_free(ctx, &s);
    }
    memset(b, 0, E * sizeof *b);                                    /* nothing spans nothing */
    rf_subspaces s;
    assert_int_equal(rf__subspace_angles(ctx, a, 5, b, 1, E, 0.9, &s, NULL), RF_OK);
    assert_true(s.word_dimensions == 0 && s.angles == 0 && fabs(s.overlap) <= 0);
    rf_subspaces_free(ctx, &s);
    rf_ctx_free(ctx);
    t_free_all();
}

/* Random subspaces of j and k dimensions of E: the expected overlap is max(j, k) / E, and the mean of 32 draws is
 * within four standard errors of it (a chance of 6e-5, with a fixed seed). */
static void random_ones_overlap_by_dimension(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    float *a = t_floats(E * E), *b = t_floats(E * E);
    memset(a, 0, E * E * sizeof *a);
    memset(b, 0, E * E * sizeof *b);
    for (int j = 1; j <= 9; j += 4)
        for (int k = 2; k <= 8; k += 3) {
            rf_subspaces s;
            rf_error why = {0};
            for (int i = 0; i < E; i++) a[i * E + i] = i < j, b[i * E + i] = i < k;
            if (rf__subspace_angles(ctx, a, E, b, E, E, 0.999, &s, &why)) fail_msg("%s", why.text);
            assert_true(s.position_dimensions == j && s.word_dimensions == k);
            t_near(s.random_overlap, (j > k ? j : k) / (double)E, 4 * s.random_deviation / sqrt(32) + 1e-9);
            for (int i = 0; i < s.angles; i++) {
                assert_true(s.random_cosine[i] <= 1 + 1e-12 && s.random_cosine[i] >= 0);
                if (i) assert_true(s.random_cosine[i] <= s.random_cosine[i - 1] + 1e-12);
            }
            rf_subspaces_free(ctx, &s);
        }
    rf_ctx_free(ctx);
    t_free_all();
}

/* ---- of models --------------------------------------------------------------------------------------------------- */

static rf_model *model_of(const rf_ctx *ctx, const char *type, const char *keys)
{
    char text[512];
    rf_config c;
    rf_model *m = NULL;
    rf_error why = {0};
    snprintf(text, sizeof text,
             "{\"vocab_size\":97,\"embedding_size\":24,\"hidden_size\":32,\"num_hidden_layers\":1,"
             "\"num_attention_heads\":4,\"intermediate_size\":64,\"initializer_range\":0.2,"
             "\"max_position_embeddings\":50,"
             "\"position_embedding_type\":\"%s\"%s}", type, keys);
    if (rf_config_parse(ctx, text, strlen(text), "config.json", &c, &why) || rf_model_random(ctx, &c, 3, &m, &why))
        fail_msg("%s: %s", type, why.text);
    return m;
}

/* Exactly the encodings with that flag have vectors; those of a table are its rows. */
static void vectors_are_what_is_added(void **state)
{
    (void)state;
    enum { WIDTH = 24, T = 20 };
    rf_ctx *ctx = t_ctx(1, NULL);
    float *p = t_floats(50 * WIDTH);
    const rf_position *is;
    int have = 0;
    for (int i = 0; (is = rf_position_at(i)); i++) {
        rf_model *m = model_of(ctx, rf_position_name(is),
                               rf_position_flags(is) & RF_POSITION_CAUSAL ? ",\"is_decoder\":true" : "");
        rf_error why = {0};
        const rf_status status = rf_position_vectors(m, T, p, &why);
        if (rf_position_flags(is) & RF_POSITION_VECTOR) {
            if (status) fail_msg("%s: %s", rf_position_name(is), why.text);
            double differ = 0;
            for (int e = 0; e < WIDTH; e++) differ = fmax(differ, fabs((double)p[19 * WIDTH + e] - (double)p[e]));
            assert_true(differ > 1e-3);
            have++;
        } else {
            char part[200];
            snprintf(part, sizeof part,
                     "to the words, got %s; these do: sinusoidal, sinusoidal_halves, sinusoidal_fairseq, index",
                     rf_position_name(is));
            t_failed(&why, RF_EUNSUPPORTED, part);
        }
        rf_model_close(m);
    }
    assert_true(have >= 13);
    rf_model *m = model_of(ctx, "absolute", "");
    rf_error why = {0};
    if (rf_position_vectors(m, 50, p, &why)) fail_msg("%s", why.text);
    for (size_t i = 0; i < m->params.n; i++)
        if (m->params.p[i].position) assert_memory_equal(p, m->value[i], 50 * WIDTH * sizeof *p);
    assert_int_equal(rf_position_vectors(m, 51, t_floats(51 * WIDTH), &why), RF_ERANGE);
    t_failed(&why, RF_ERANGE, "position of token 50: expected at least 0 and less than 50");
    assert_int_equal(rf_position_vectors(m, 0, p, NULL), RF_EARG);
    rf_model_close(m);
    rf_ctx_free(ctx);
    t_free_all();
}

/* Positions of a model in the columns that its words use, and in the other columns. */
static void a_model_is_measured(void **state)
{
    (void)state;
    enum { WIDTH = 24 };
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_model *m = model_of(ctx, "absolute", "");
    float *words = m->value[m->params.word], *places = NULL;
    for (size_t i = 0; i < m->params.n; i++)
        if (m->params.p[i].position) places = m->value[i];
    for (int shared = 0; shared < 2; shared++) {
        for (int i = 0; i < 97; i++)
            for (int e = 6; e < WIDTH; e++) words[i * WIDTH + e] = 0;
        for (int i = 0; i < 50; i++)
            for (int e = 0; e < WIDTH; e++)
                places[i * WIDTH + e] = (e < 6) == shared ? (float)sin(i * (e % 6 + 1.0)) * (e % 6 < 3) : 0;
        rf_subspaces s;
        rf_error why = {0};
        rf_probe probe;
        rf_probe_defaults(&probe);
        probe.ctx = ctx;
        probe.model = m;
        if (rf_probe_subspaces(&probe, 30, &s, &why)) fail_msg("%s", why.text);
        assert_true(s.positions == 30 && s.words == 97 && s.width == WIDTH && s.angles >= 1);
        assert_true(s.word_dimensions >= 5 && s.word_dimensions <= 6);
        if (shared && s.word_dimensions == 6) t_near(s.overlap, 1, 1e-6);
        else if (!shared) t_near(s.overlap, 0, 1e-6);
        rf_subspaces_free(ctx, &s);
        assert_int_equal(rf_probe_subspaces(&probe, 51, &s, &why), RF_ERANGE);
        why = (rf_error){0};
    }
    rf_model_close(m);
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(angles_are_those_put_in),       cmocka_unit_test(dimensions_hold_their_share),
        cmocka_unit_test(random_ones_overlap_by_dimension), cmocka_unit_test(vectors_are_what_is_added),
        cmocka_unit_test(a_model_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
