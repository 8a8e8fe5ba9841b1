/* test_relative.c — mirrors src/model/positions/relative.c: every relative encoding compared with its formula with
 * explicit [T,T] scores in double: values and the gradient of every parameter, in an encoder and in a causal model. */
#include <float.h>

#include "layer.h"

/* ---- the printed formulas: spec of each encoding, one score after the other ---- */

enum { H = 3, D = 6, C = H * D, TEXTS = 3, N = 19, LONGEST = 13, OFFSETS = 2 * LONGEST - 1 };
static const int32_t start[TEXTS + 1] = {0, 1, 14, 19};
static const int32_t type[N] = {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0};

/* Numbers that the result must not depend on: u of Transformer-XL, TUPE's theta_1. */
static const double u[C] = {0.3,  -0.7, 0.2,  0.9, -0.4, 0.1, -0.8, 0.5,  0.6,
                            -0.2, 0.7,  -0.3, 0.4, -0.9, 0.8, -0.1, -0.6, 0.5};
static const double theta_1[H] = {0.7, -1.1, 0.4};

/* Vectors that one evaluation uses more than once. */
struct projected { double a[64][C], b[64][C]; };

static void times_matrix(double *y, const double *x, const double *w, const double *bias)     /* y = W x + b */
{
    for (int i = 0; i < C; i++) {
        y[i] = bias ? bias[i] : 0;
        for (int j = 0; j < C; j++) y[i] += w[i * C + j] * x[j];
    }
}

static void layer_norm(double *y, const double *x, const double *gamma, const double *beta, double eps)
{
    double mean = 0, square = 0;
    for (int i = 0; i < C; i++) mean += x[i] / C;
    for (int i = 0; i < C; i++) square += (x[i] - mean) * (x[i] - mean) / C;
    for (int i = 0; i < C; i++) y[i] = (x[i] - mean) / sqrt(square + eps) * gamma[i] + beta[i];
}

static int at_least(int x, int low) { return x < low ? low : x; }
static int at_most(int x, int high) { return x > high ? high : x; }
static int cut(int x, int most) { return at_least(at_most(x, most), -most); }

/* Raffel et al.'s function, for the offset r = key - query. */
static int t5_bucket(int r, bool two_sided, int buckets, int farthest)
{
    int behind = 0, n = -r;
    if (two_sided) {
        buckets /= 2;
        if (n < 0) behind = buckets;
        n = abs(n);
    } else {
        n = at_least(n, 0);
    }
    const int exact = buckets / 2;
    if (n < exact) return behind + n;
    return behind + at_most(exact + (int)(log((double)n / exact) / log((double)farthest / exact) * (buckets - exact)),
                            buckets - 1);
}

/* He et al.'s row delta for the distance d = query - key: of version 1, or with buckets of version 2. */
static int deberta_row(int d, int buckets, int farthest)
{
    const int span = buckets > 0 ? buckets : farthest, middle = buckets / 2;
    if (buckets > 0 && abs(d) > middle) {
        const int far =
            (int)ceil(log((double)abs(d) / middle) / log((farthest - 1.0) / middle) * (middle - 1)) + middle;
        d = d < 0 ? -far : far;
    }
    return at_most(at_least(d + span, 0), 2 * span - 1);
}

/* Press et al.'s list of slopes. */
static double alibi_slope(int heads, int h)
{
    int power = 1;
    while (2 * power <= heads) power *= 2;
    if (power == heads) return pow(pow(2, -8.0 / heads), h + 1);
    return h < power ? alibi_slope(power, h) : alibi_slope(2 * power, 2 * (h - power));
}

static double inner(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < D; i++) sum += a[i] * b[i];
    return sum;
}

static bool is(const rf_config *c, const char *name) { return !strcmp(c->position_embedding_type, name); }

static void project(const rf_config *c, double *const w[], struct projected *p)
{
    if (is(c, "transformer_xl") || is(c, "xlnet"))
        for (int d = -(LONGEST - 1); d < LONGEST; d++) {                               /* W_R R_d */
            const int near = c->clamp_len >= 0 ? cut(d, (int)c->clamp_len) : d;
            double wave[C];
            for (int t = 0; t < C / 2; t++) {
                wave[t] = sin(near * pow(c->sinusoidal_base, -2.0 * t / C));
                wave[C / 2 + t] = cos(near * pow(c->sinusoidal_base, -2.0 * t / C));
            }
            times_matrix(p->a[d + LONGEST], wave, w[0], NULL);
        }
    if (is(c, "tupe"))
        for (int m = 0; m < LONGEST; m++) {
            double x[C];
            layer_norm(x, w[0] + m * C, w[1], w[2], c->layer_norm_eps);
            times_matrix(p->a[m], x, w[3], NULL);
            times_matrix(p->b[m], x, w[4], NULL);
        }
    if (is(c, "deberta")) {
        const int span = (int)(c->position_buckets > 0 ? c->position_buckets : c->max_relative_positions);
        for (int r = 0; r < 2 * span; r++) {
            double x[C];
            const bool share = c->share_att_key, normed = !(c->deberta & RF_DEBERTA_NO_NORM);
            double *const *own = w + (normed ? 3 : 1);                        /* shared: of queries, keys, values     */
            if (normed) layer_norm(x, w[0] + r * C, w[1], w[2], c->layer_norm_eps);
            else memcpy(x, w[0] + r * C, sizeof x);
            if (!(c->deberta & RF_DEBERTA_NO_C2P)) {                                                /* keys of places */
                times_matrix(p->a[r], x, share ? own[0] + C * C : own[0], share ? own[1] + C : own[1]);
                if (!share) own += 2;
            }
            if (!(c->deberta & RF_DEBERTA_NO_P2C)) times_matrix(p->b[r], x, own[0], own[1]);        /* and queries    */
        }
    }
}

/* score_of(m,n) of head h; q and k are the head's columns, `same`: both are in the same segment. */
static double score_of(const rf_config *c, double *const w[], const struct projected *p, const double *q,
                       const double *k, int m, int n, int h, bool same)
{
    const int r = n - m;
    const double root = sqrt(D), plain = inner(q, k) / root;
    const bool two_sided = !c->is_decoder;
    if (is(c, "alibi")) return plain - alibi_slope(H, h) * abs(r);
    if (is(c, "kerple_log")) return plain - exp(w[0][h]) * log(1 + exp(w[1][h]) * abs(r));
    if (is(c, "kerple_power")) return plain - exp(w[0][h]) * (r ? pow(abs(r), exp(w[1][h])) : 0);
    if (is(c, "sandwich")) {
        const int d = (int)c->sandwich_width;
        double sum = 0;
        for (int i = 1; i <= d / 2; i++) sum += cos(r / pow(c->sinusoidal_base, 2.0 * i / d));
        return plain + (sum - d / 2) / (8 * (h + 1.0) / H);
    }
    const int bucket =
        t5_bucket(r, two_sided, (int)c->relative_attention_num_buckets, (int)c->relative_attention_max_distance);
    if (is(c, "t5")) return inner(q, k) + w[0][bucket * H + h];
    if (is(c, "mpnet")) return plain + w[1][bucket * H + h];
    if (is(c, "shaw") || is(c, "nezha")) {
        double key[D];
        const int K = (int)c->max_relative_position, row = cut(r, K) + K;
        for (int i = 0; i < D; i++)
            key[i] = k[i] + (is(c, "shaw") ? w[0][row * D + i]
                             : i % 2       ? cos(row * pow(c->sinusoidal_base, -(i - 1.0) / D))
                                           : sin(row * pow(c->sinusoidal_base, -(double)i / D)));
        return inner(q, key) / root;
    }
    if (is(c, "relative_key") || is(c, "relative_key_query")) {
        const double *a = w[0] + (m - n + c->max_position_embeddings - 1) * D;
        return plain + (inner(q, a) + (is(c, "relative_key") ? 0 : inner(k, a))) / root;
    }
    if (is(c, "tupe")) {
        const double words = inner(q, k) / sqrt(2.0 * D);
        if (m == 0) return words + theta_1[h];
        if (n == 0) return words + w[6][h];
        return words + inner(p->a[m] + h * D, p->b[n] + h * D) / sqrt(2.0 * D) + w[5][bucket * H + h];
    }
    if (is(c, "deberta")) {
        const int row = deberta_row(m - n, (int)c->position_buckets, (int)c->max_relative_positions);
        const bool c2p = !(c->deberta & RF_DEBERTA_NO_C2P), p2c = !(c->deberta & RF_DEBERTA_NO_P2C);
        return (inner(q, k) + (c2p ? inner(q, p->a[row] + h * D) : 0) + (p2c ? inner(k, p->b[row] + h * D) : 0)) /
               sqrt((1.0 + c2p + p2c) * D);
    }
    assert_true(is(c, "transformer_xl") || is(c, "xlnet"));
    double q_u[D], q_v[D], q_s[D], sum;     /* the query's bias here has u, relative_bias v - u, segment_bias s - u */
    for (int i = 0; i < D; i++) {
        const double bare = q[i] - u[h * D + i], v = w[1][h * D + i] + u[h * D + i],
                     s = is(c, "xlnet") ? w[2][h * D + i] + u[h * D + i] : 0;
        q_u[i] = bare + u[h * D + i], q_v[i] = bare + v, q_s[i] = bare + s;
    }
    sum = inner(q_u, k) + inner(q_v, p->a[m - n + LONGEST] + h * D);
    if (is(c, "xlnet")) sum += inner(q_s, w[3] + (same ? 0 : C) + h * D);
    return sum / root;
}

struct encoding { const rf_config *c; double *const *w; const struct projected *p; };

static double pair_score(const void *of, const double *q, const double *k, const struct pair *at)
{
    const struct encoding *e = of;
    const int32_t *const t = type + start[at->b];
    return score_of(e->c, e->w, e->p, q, k, at->m, at->n, at->h, t[at->m] == t[at->n]);
}

static void pair_value(const void *of, double *out, const double *v, const struct pair *at)
{
    const struct encoding *e = of;
    const int K = (int)e->c->max_relative_position, row = cut(at->n - at->m, K) + K;
    for (int i = 0; i < D; i++) {
        out[i] = v[i];
        if (is(e->c, "shaw")) out[i] += e->w[1][row * D + i];
        if (is(e->c, "nezha"))
            out[i] += i % 2 ? cos(row * pow(e->c->sinusoidal_base, -(i - 1.0) / D))
                            : sin(row * pow(e->c->sinusoidal_base, -(double)i / D));
    }
}

static void formula(const rf_config *c, double *y, const double *qkv, double *const w[])
{
    static struct projected p;
    const struct encoding of = {c, w, &p};
    project(c, w, &p);
    attend_as_printed(c, &(struct printed){pair_score, pair_value, &of}, TEXTS, start, y, qkv);
}

/* Distances exceed every limit: texts have 13 tokens. */
static const char *const cases[] = {
    "\"position_embedding_type\":\"alibi\"",
    "\"position_embedding_type\":\"t5\",\"relative_attention_num_buckets\":8,\"relative_attention_max_distance\":9",
    "\"position_embedding_type\":\"t5\",\"relative_attention_num_buckets\":12,\"relative_attention_max_distance\":40",
    "\"position_embedding_type\":\"mpnet\",\"relative_attention_num_buckets\":8,\"relative_attention_max_distance\":9",
    "\"position_embedding_type\":\"shaw\",\"max_relative_position\":4",
    "\"position_embedding_type\":\"shaw\",\"max_relative_position\":30",
    "\"position_embedding_type\":\"nezha\",\"max_relative_position\":4",
    "\"position_embedding_type\":\"relative_key\",\"max_position_embeddings\":15",
    "\"position_embedding_type\":\"relative_key_query\",\"max_position_embeddings\":13",
    "\"position_embedding_type\":\"transformer_xl\"",
    "\"position_embedding_type\":\"transformer_xl\",\"clamp_len\":5",
    "\"position_embedding_type\":\"xlnet\"",
    "\"position_embedding_type\":\"xlnet\",\"clamp_len\":3",
    "\"position_embedding_type\":\"tupe\",\"relative_attention_num_buckets\":8,\"relative_attention_max_distance\":9,"
    "\"max_position_embeddings\":15",
    "\"position_embedding_type\":\"deberta\",\"max_relative_positions\":5",
    "\"position_embedding_type\":\"deberta\",\"max_relative_positions\":15",
    "\"position_embedding_type\":\"deberta\",\"position_buckets\":6,\"max_relative_positions\":10",
    "\"position_embedding_type\":\"deberta\",\"position_buckets\":5,\"max_relative_positions\":5",
    "\"position_embedding_type\":\"deberta\",\"max_relative_positions\":15,\"share_att_key\":true",
    "\"position_embedding_type\":\"deberta\",\"position_buckets\":6,\"max_relative_positions\":10,\"share_att_key\":"
    "true",
    "\"position_embedding_type\":\"kerple_log\"",
    "\"position_embedding_type\":\"kerple_power\"",
    "\"position_embedding_type\":\"sandwich\",\"sandwich_width\":8",
    "\"position_embedding_type\":\"nezha\",\"max_relative_position\":4,\"sinusoidal_base\":30",
    "\"position_embedding_type\":\"transformer_xl\",\"sinusoidal_base\":30",
    "\"position_embedding_type\":\"xlnet\",\"sinusoidal_base\":30",
    "\"position_embedding_type\":\"sandwich\",\"sandwich_width\":8,\"sinusoidal_base\":30",
};

static double loss(const rf_config *c, double *y, const double *qkv, double *const w[], const float *weight)
{
    double sum = 0;
    formula(c, y, qkv, w);
    for (int i = 0; i < N * C; i++) sum += (double)weight[i] * y[i];
    return sum;
}

/* Central differences of the formula with respect to each of n numbers, and the library's gradient of them: a gradient
 * passes chains of 3 C products and a sum over all pairs of a text, forward and backward: 600 roundings of numbers not
 * larger than the largest.  The error of differences with a step of 1e-5 is 1e-8. */
static void compare(const char *what, const rf_config *c, const float *got, double *at, size_t n, const double *qkv,
                    double *const w[], const float *weight)
{
    static double y[N * C];
    double *expected = t_bytes(n * sizeof *expected), most = 1;
    for (size_t i = 0; i < n; i++) {
        const double x = at[i], h = 1e-5;
        at[i] = x + h;
        const double up = loss(c, y, qkv, w, weight);
        at[i] = x - h;
        expected[i] = (up - loss(c, y, qkv, w, weight)) / (2 * h);
        at[i] = x;
        most = fmax(most, fabs(expected[i]));
    }
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - expected[i]) <= 600 * FLT_EPSILON * most + 1e-8))
            fail_msg("%s%s: gradient %d of %s is %.9g, expected %.9g", c->position_embedding_type,
                     c->is_decoder ? ", causal" : "", (int)i, what, (double)got[i], expected[i]);
}

/* Values depend on scores of size 10, each a sum of up to 3 C products, and on a softmax: 200 roundings of the
 * largest. */
static void check(const rf_config *c)
{
    struct layer l;
    rf_attention_spec spec;
    rf_error why = {0};
    int32_t id[N] = {0}, starts[TEXTS + 1], types[N];
    memcpy(starts, start, sizeof starts);
    memcpy(types, type, sizeof types);
    const rf_batch b = {.N = N, .B = TEXTS, .id = id, .type = types, .start = starts};
    float *x = t_normal(N * 3 * C), *dx = t_floats(N * 3 * C), *weight = t_normal(N * C);
    double *qkv = t_bytes(N * 3 * C * sizeof *qkv), *w[PARAMETERS], y[N * C], most = 1;
    open_layer(&l, c, NULL);
    for (size_t i = 0; i < l.n; i++) {
        w[i] = t_bytes(l.count[i] * sizeof **w);
        for (size_t j = 0; j < l.count[i]; j++) {
            l.value[i][j] *= 0.5f;
            w[i][j] = (double)l.value[i][j];
        }
        memset(l.grad[i], 0, l.count[i] * sizeof(float));
    }
    for (int i = 0; i < N * 3 * C; i++) qkv[i] = (double)x[i], dx[i] = 0;
    formula(c, y, qkv, w);
    for (int i = 0; i < N * C; i++) most = fmax(most, fabs(y[i]));
    rf_tensor *got = attend(&l, x, dx, &b, &spec);
    t_close_to(got->f32, y, N * C, 200 * FLT_EPSILON * most, 0);
    if (rf__backward(l.g, t_weighted(l.g, got, weight), &why)) fail_msg("%s", why.text);
    compare("query, key and value", c, dx, qkv, N * 3 * C, qkv, w, weight);
    for (size_t i = 0; i < l.n; i++) compare(l.p[i]->name, c, l.grad[i], w[i], l.count[i], qkv, w, weight);
    close_layer(&l);
    t_free_all();
}

static const int debertas[] = {RF_DEBERTA_NO_C2P, RF_DEBERTA_NO_P2C, RF_DEBERTA_NO_NORM,
                               RF_DEBERTA_NO_P2C | RF_DEBERTA_NO_NORM};

static void formulas_and_gradients(void **state)
{
    (void)state;
    for (const rf_position *const *p = rf__position_list; *p; p++) {
        char name[64];
        bool found = !(*p)->relate;
        snprintf(name, sizeof name, "\"%s\"", (*p)->name);
        for (size_t i = 0; i < RF_COUNT(cases); i++) found = found || strstr(cases[i], name);
        if (!found) fail_msg("%s has no formula here: write it in score_of(), with a row of cases[]", (*p)->name);
    }
    for (size_t i = 0; i < RF_COUNT(cases); i++)
        for (int causal = 0; causal < 2; causal++) {
            rf_config c = config_of(H, D, causal, cases[i]);
            c.hidden_dropout_prob = 0;                                        /* which DeBERTa's offsets have         */
            check(&c);
            for (size_t k = 0; is(&c, "deberta") && k < RF_COUNT(debertas); k++) {
                c.deberta = debertas[k];
                check(&c);
            }
        }
}

/* What a session caches from one batch for the next changes no bit, for any sequence of lengths; and it is cached:
 * parameters that are overwritten (which is not allowed) are not read again. */
static void kept_tables_are_the_same(void **state)
{
    (void)state;
    enum { LONG = 150 };
    static const int32_t length[] = {3, 13, 7, 64, 65, LONG, 5};
    static int32_t id[LONG], types[LONG];
    for (size_t i = 0; i < RF_COUNT(cases); i++)
        for (int causal = 0; causal < 2; causal++) {
            const rf_config c = config_of(H, D, causal, cases[i]);
            struct layer l, session;
            rf_attention_spec spec;
            open_layer(&l, &c, NULL);
            open_layer(&session, &c, NULL);
            session.still = true;
            float *x = t_normal(LONG * 3 * C);
            for (size_t p = 0; p < l.n; p++) memcpy(session.value[p], l.value[p], l.count[p] * sizeof(float));
            for (size_t n = 0; n < RF_COUNT(length); n++) {
                const int32_t T = length[n], ends[2] = {0, T};
                const bool ends_there = is(&c, "tupe") || is(&c, "relative_key") || is(&c, "relative_key_query");
                if (ends_there && T > c.max_position_embeddings) continue;
                const rf_batch b = {.N = T, .B = 1, .id = id, .type = types, .start = ends};
                const rf_tensor *made = attend(&l, x, NULL, &b, &spec), *kept = attend(&session, x, NULL, &b, &spec);
                assert_memory_equal(made->f32, kept->f32, (size_t)(T * C) * sizeof(float));
            }
            if (is(&c, "deberta") || is(&c, "transformer_xl")) {
                const rf_batch b = {.N = 13, .B = 1, .id = id, .type = types, .start = (int32_t[]){0, 13}};
                float first[13 * C];
                memcpy(first, attend(&session, x, NULL, &b, &spec)->f32, sizeof first);
                for (size_t p = 0; p < l.n; p++) memset(session.value[p], 0, l.count[p] * sizeof(float));
                assert_memory_equal(first, attend(&session, x, NULL, &b, &spec)->f32, sizeof first);
            }
            close_layer(&l);
            close_layer(&session);
            t_free_all();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_and_gradients), cmocka_unit_test(kept_tables_are_the_same),
    };
    return cmocka_run_group_tests_name("model/relative", tests, NULL, NULL);
}
