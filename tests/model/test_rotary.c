/* test_rotary.c — mirrors src/model/positions/rotary.c, rotary_learned.c, xpos.c and rerope.c: each compared with its
 * formula with explicit [T,T] scores in double: values and gradients, in an encoder and in a causal model. */
#include <float.h>

#include "layer.h"

enum { H = 3, D = 8, C = H * D, TEXTS = 3, N = 19, LONGEST = 13 };
static const int32_t start[TEXTS + 1] = {0, 1, 14, 19};

static bool is(const rf_config *c, const char *name) { return !strcmp(c->position_embedding_type, name); }
static double pi(void) { return acos(-1); }

/* ---- the printed formulas, written from the papers ---- */

static double ramp(double i, double low, double high) { return fmin(fmax((i - low) / (high - low), 0), 1); }

/* theta_i of r rotated columns in a text of L tokens. */
static double theta(const rf_config *c, int r, double L, int i)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    const double f = s->factor, P = (double)c->max_position_embeddings,
                 L0 = (double)s->original_max_position_embeddings;
    const double b = c->rope_thetas ? c->rope_theta_per_layer[0] : c->rope_theta, grows = (double)r / (r - 2),
                 x = -2.0 * i / r;
    const double t = pow(b, x), wave = 2 * pi() / t;
    if (s->rope_type == RF_ROPE_LINEAR) return t / f;
    if (s->rope_type == RF_ROPE_NTK) return pow(b * pow(f, grows), x);
    if (s->rope_type == RF_ROPE_DYNAMIC) return L > P ? pow(b * pow(f * L / P - (f - 1), grows), x) : t;
    if (s->rope_type == RF_ROPE_LONGROPE) return t / (L > L0 ? s->long_factor[i] : s->short_factor[i]);
    if (s->rope_type == RF_ROPE_YARN) {                             /* beta_fast 32, beta_slow 1 */
        const double low = fmax(floor(r * log(L0 / (32 * 2 * pi())) / (2 * log(b))), 0),
                     high = ceil(r * log(L0 / (2 * pi())) / (2 * log(b)));
        return t / f * ramp(i, low, high) + t * (1 - ramp(i, low, high));
    }
    if (s->rope_type == RF_ROPE_LLAMA3) {
        if (wave < L0 / s->high_freq_factor) return t;
        if (wave > L0 / s->low_freq_factor) return t / f;
        const double share = (L0 / wave - s->low_freq_factor) / (s->high_freq_factor - s->low_freq_factor);
        return (1 - share) * t / f + share * t;
    }
    return t;
}

/* The angle of plane i at position m. */
static double position_angle(const rf_config *c, int m, int L, int i)
{
    const int r = (int)(D * c->partial_rotary_factor);
    if (is(c, "rotary_axial")) {                                    /* a grid of 4 columns */
        const int j = i % (r / 4);
        return (i < r / 4 ? m / 4 : m % 4) * theta(c, r / 2, L, j);
    }
    if (c->rope_scaling.sections) {              /* images of 3 rows of 2; planes: 1 of time, 1 of height, 2 of width */
        const int coordinate = i == 0 ? m / 6 : i == 1 ? m / 2 % 3 : m % 2;
        return coordinate * theta(c, r, L, i);
    }
    return m * theta(c, r, L, i);
}

/* Computed once for a config, because central differences use them a million times. */
static double made[LONGEST + 1][LONGEST + 1][D / 2];                /* [L][m][i] */
static bool learned;

static void make_angles(const rf_config *c)
{
    learned = is(c, "rotary_learned");
    for (int b = 0; b < TEXTS; b++)
        for (int m = 0, L = start[b + 1] - start[b]; m <= LONGEST; m++)
            for (int i = 0; i < (int)(D * c->partial_rotary_factor) / 2; i++)
                made[L][m][i] = position_angle(c, m, L, i);
}

static double angle(double *const w[], int m, int L, int i) { return made[L][m][i] * (learned ? 1 + w[0][i] : 1); }

/* The angle and the factor of plane i for query m and key n. */
static double rotation(const rf_config *c, double *const w[], int m, int n, int L, int i)
{
    if (!is(c, "rerope")) return angle(w, m, L, i) - angle(w, n, L, i);
    const double far = (double)c->rerope_window, k = c->rerope_leak, d = abs(m - n);
    const double f = d < far ? d : k > 0 ? far + (d - far) / k : far;
    return (m < n ? -f : f) * made[L][1][i];
}

static double gain(const rf_config *c, int m, int n, int i)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    const double P = (double)c->max_position_embeddings, L0 = (double)s->original_max_position_embeddings;
    if (c->is_decoder && is(c, "xpos")) return pow((2.0 * i / D + 0.4) / 1.4, (m - n) / c->xpos_scale_base);
    if (s->rope_type == RF_ROPE_YARN) return pow(0.1 * log(s->factor) + 1, 2);
    if (s->rope_type == RF_ROPE_LONGROPE) return 1 + log(P / L0) / log(L0);
    return 1;
}

/* Columns of plane i. */
static int one(const rf_config *c, int i) { return c->rope_interleave ? 2 * i : i; }
static int two(const rf_config *c, int i)
{
    return c->rope_interleave ? 2 * i + 1 : i + (int)(D * c->partial_rotary_factor) / 2;
}

static bool rotated(const rf_config *c, int h) { return !c->rotary_heads || h < c->rotary_heads; }

struct encoding { const rf_config *c; double *const *w; };

static double score_of(const void *of, const double *q, const double *k, const struct pair *at)
{
    const rf_config *const c = ((const struct encoding *)of)->c;
    double *const *const w = ((const struct encoding *)of)->w;
    const int m = at->m, n = at->n, L = at->T, h = at->h;
    const int r = rotated(c, h) ? (int)(D * c->partial_rotary_factor) : 0;
    double sum = 0;
    for (int i = 0; i < r / 2; i++) {
        const double a = rotation(c, w, m, n, L, i), q0 = q[one(c, i)], q1 = q[two(c, i)], k0 = k[one(c, i)],
                     k1 = k[two(c, i)];
        sum += gain(c, m, n, i) * ((q0 * cos(a) - q1 * sin(a)) * k0 + (q0 * sin(a) + q1 * cos(a)) * k1);
    }
    for (int i = r; i < D; i++) sum += q[i] * k[i];
    if (c->use_logn_attn) sum *= fmax(1, log(c->is_decoder ? m + 1 : L) / log((double)c->max_position_embeddings));
    return sum / sqrt(D);
}

/* v_n for query m: rotated to its position, and with rotary_value_inverse back by the query's. */
static void value(const void *of, double *out, const double *v, const struct pair *at)
{
    const rf_config *const c = ((const struct encoding *)of)->c;
    double *const *const w = ((const struct encoding *)of)->w;
    const int m = at->m, n = at->n, L = at->T, h = at->h;
    memcpy(out, v, D * sizeof *v);
    if (!c->rotary_value || !rotated(c, h)) return;
    for (int i = 0; i < (int)(D * c->partial_rotary_factor) / 2; i++) {
        const double a = angle(w, n, L, i) - (c->rotary_value_inverse ? angle(w, m, L, i) : 0);
        out[one(c, i)] = v[one(c, i)] * cos(a) - v[two(c, i)] * sin(a);
        out[two(c, i)] = v[one(c, i)] * sin(a) + v[two(c, i)] * cos(a);
    }
}

static void formula(const rf_config *c, double *y, const double *qkv, double *const w[])
{
    const struct encoding of = {c, w};
    attend_as_printed(c, &(struct printed){score_of, value, &of}, TEXTS, start, y, qkv);
}

/* ---- compared with the library ---- */

enum { BOTH, CAUSAL };
static const struct { const char *keys; int only;
} cases[] = {
    {"\"position_embedding_type\":\"rotary\"", BOTH},
    {"\"rope_theta\":50,\"rope_interleave\":false", BOTH},
    {"\"partial_rotary_factor\":0.5", BOTH},
    {"\"partial_rotary_factor\":0.5,\"rope_interleave\":false", BOTH},
    {"\"rotary_heads\":2", BOTH},
    {"\"rotary_heads\":1,\"partial_rotary_factor\":0.75,\"rotary_value\":true", BOTH},
    {"\"rotary_value\":true", BOTH},
    {"\"rotary_value\":true,\"rotary_value_inverse\":true", BOTH},
    {"\"rotary_value\":true,\"rotary_value_inverse\":true,\"rotary_heads\":2,\"partial_rotary_factor\":0.5,\"rope_"
     "interleave\":false",
     BOTH},
    {"\"rope_theta_per_layer\":[30]", BOTH},
    {"\"use_logn_attn\":true,\"max_position_embeddings\":4", BOTH},
    {"\"use_logn_attn\":true,\"max_position_embeddings\":4,\"rotary_value\":true", BOTH},
    {"\"position_grid_width\":2,\"position_grid_height\":3,\"rope_scaling\":{\"mrope_section\":[1,1,2]}", BOTH},
    {"\"position_embedding_type\":\"rotary_axial\",\"position_grid_width\":4", BOTH},
    {"\"position_embedding_type\":\"rotary_learned\"", BOTH},
    {"\"position_embedding_type\":\"rotary_learned\",\"partial_rotary_factor\":0.5", BOTH},
    {"\"position_embedding_type\":\"rotary_learned\",\"rotary_value\":true", BOTH},
    {"\"position_embedding_type\":\"xpos\"", CAUSAL},
    {"\"position_embedding_type\":\"xpos\",\"xpos_scale_base\":8,\"rope_interleave\":false", CAUSAL},
    {"\"position_embedding_type\":\"rerope\",\"rerope_window\":4", BOTH},
    {"\"position_embedding_type\":\"rerope\",\"rerope_window\":4,\"rerope_leak\":3", BOTH},
    {"\"position_embedding_type\":\"rerope\",\"rerope_window\":1,\"partial_rotary_factor\":0.5,\"rope_interleave\":"
     "false",
     BOTH},
    {"\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":2.5}", BOTH},
    {"\"rope_scaling\":{\"rope_type\":\"ntk\",\"factor\":2.5}", BOTH},
    {"\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":2.5},\"max_position_embeddings\":5", BOTH},
    {"\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":250},\"rope_theta\":"
     "100",
     BOTH},
    {"\"rope_scaling\":{\"rope_type\":\"longrope\",\"original_max_position_embeddings\":5,\"short_factor\":[1,1,2,3],"
     "\"long_factor\":[1,2,4,8]},\"max_position_embeddings\":20",
     BOTH},
    {"\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,\"original_"
     "max_position_embeddings\":64},\"rope_theta\":500",
     BOTH},
};

static double loss(const rf_config *c, double *y, const double *qkv, double *const w[], const float *weight)
{
    double sum = 0;
    formula(c, y, qkv, w);
    for (int i = 0; i < N * C; i++) sum += (double)weight[i] * y[i];
    return sum;
}

/* The error of central differences of the formula with a step of 1e-5 is 1e-8; the library's gradient has 600 roundings
 * of numbers not larger than the largest, and those of learned frequencies have the position as a factor.  Every
 * thirteenth number of queries, keys and values is tested: all columns, heads and parts occur. */
static void compare(const char *what, const rf_config *c, const float *got, double *at, int n, int step,
                    const double *qkv, double *const w[], const float *weight)
{
    static double y[N * C];
    double *expected = t_bytes((size_t)n * sizeof *expected), most = 1;
    for (int i = 0; i < n; i += step) {
        const double x = at[i], h = 1e-5;
        at[i] = x + h;
        const double up = loss(c, y, qkv, w, weight);
        at[i] = x - h;
        expected[i] = (up - loss(c, y, qkv, w, weight)) / (2 * h);
        at[i] = x;
        most = fmax(most, fabs(expected[i]));
    }
    for (int i = 0; i < n; i += step)
        if (!(fabs((double)got[i] - expected[i]) <= 600 * FLT_EPSILON * most + 1e-8))
            fail_msg("%s: gradient %d is %.9g, expected %.9g", what, i, (double)got[i], expected[i]);
}

/* Scores of size 10 and a softmax: 200 roundings of the largest value. */
static void check(const char *keys, bool causal)
{
    const rf_config c = config_of(H, D, causal, keys);
    struct layer l;
    rf_attention_spec spec;
    rf_error why = {0};
    char what[512];
    int32_t id[N] = {0}, starts[TEXTS + 1];
    memcpy(starts, start, sizeof starts);
    const rf_batch b = {.N = N, .B = TEXTS, .id = id, .start = starts};
    float *x = t_normal(N * 3 * C), *dx = t_floats(N * 3 * C), *weight = t_normal(N * C);
    double *qkv = t_bytes(N * 3 * C * sizeof *qkv), *w[PARAMETERS], y[N * C], most = 1;
    snprintf(what, sizeof what, "%s%s", keys, causal ? ", causal" : "");
    open_layer(&l, &c, NULL);
    assert_int_equal(l.n, is(&c, "rotary_learned"));
    for (size_t i = 0; i < l.n; i++) {
        w[i] = t_bytes(l.count[i] * sizeof **w);
        for (size_t j = 0; j < l.count[i]; j++) w[i][j] = (double)(l.value[i][j] *= 0.1f);
        memset(l.grad[i], 0, l.count[i] * sizeof(float));
    }
    for (int i = 0; i < N * 3 * C; i++) qkv[i] = (double)x[i], dx[i] = 0;
    make_angles(&c);
    formula(&c, y, qkv, w);
    for (int i = 0; i < N * C; i++) most = fmax(most, fabs(y[i]));
    rf_tensor *got = attend(&l, x, dx, &b, &spec);
    for (int i = 0; i < N * C; i++)
        if (!(fabs((double)got->f32[i] - y[i]) <= 200 * FLT_EPSILON * most))
            fail_msg("%s: column %d of token %d is %.9g, expected %.9g", what, i % C, i / C, (double)got->f32[i], y[i]);
    if (rf__backward(l.g, t_weighted(l.g, got, weight), &why)) fail_msg("%s: %s", what, why.text);
    compare(what, &c, dx, qkv, N * 3 * C, 13, qkv, w, weight);
    for (size_t i = 0; i < l.n; i++) compare(what, &c, l.grad[i], w[i], (int)l.count[i], 1, qkv, w, weight);
    close_layer(&l);
    t_free_all();
}

static void formulas_and_gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(cases); i++)
        for (int causal = cases[i].only == CAUSAL; causal < 2; causal++) check(cases[i].keys, causal);
}

/* What rotates has a formula here. */
static void none_is_missing(void **state)
{
    (void)state;
    for (const rf_position *const *p = rf__position_list; *p; p++) {
        char name[64];
        bool found = !((*p)->flags & RF_POSITION_ROPE);
        snprintf(name, sizeof name, "\"%s\"", (*p)->name);
        for (size_t i = 0; i < RF_COUNT(cases); i++) found = found || strstr(cases[i].keys, name);
        if (!found) fail_msg("%s has no formula here", (*p)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_missing), cmocka_unit_test(formulas_and_gradients),
    };
    return cmocka_run_group_tests_name("model/rotary", tests, NULL, NULL);
}
