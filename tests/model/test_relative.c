/* test_relative.c — mirrors src/model/positions/relative.c: every relative encoding against its printed formula with explicit
 * [T,T] scores in double, values and the gradient of every parameter, in an encoder and in a causal model; and against
 * transformers' own layers (tests/golden/relative). */
#include <float.h>

#include "gradient.h"
#include "t.h"

#include "model/encoder.h"
#include "model/position.h"
#include "roformer/model.h"

enum { PARAMETERS = 12 };

/* ---- an attention layer of the library: what `relate` adds, and attention ---- */

struct layer {
    rf_ctx *ctx;
    rf_graph *g;
    rf_params params;
    rf_positions *kept;
    size_t n;                                                    /* the encoding's parameters                          */
    const rf_param *p[PARAMETERS];
    float *value[PARAMETERS], *grad[PARAMETERS];
};

static rf_config config_of(int64_t H, int64_t D, bool causal, const char *keys)
{
    char text[1024];
    rf_config c;
    rf_error why = {0};
    snprintf(text, sizeof text, "{\"vocab_size\":8,\"hidden_size\":%d,\"num_hidden_layers\":1,\"num_attention_heads\":%d,\"type_vocab_size\":2,"
             "\"intermediate_size\":8,\"is_decoder\":%s,%s}", (int)(H * D), (int)H, causal ? "true" : "false", keys);
    if (rf_config_parse(NULL, text, strlen(text), "config.json", &c, &why)) fail_msg("%s: %s", keys, why.text);
    return c;
}

static void open_layer(struct layer *l, const rf_config *c, const char *isa)
{
    rf_error why = {0};
    *l = (struct layer){.ctx = t_ctx(2, isa)};
    if (rf__params_new(l->ctx, c, &l->params, &why) || rf__positions_new(l->ctx, c, &l->kept, &why) || rf_graph_new(l->ctx, &l->g, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < l->params.n; i++) {
        if (!l->params.p[i].looked_up) continue;
        assert_true(l->n < PARAMETERS);
        l->p[l->n] = &l->params.p[i];
        l->value[l->n] = t_normal((int64_t)l->params.p[i].count);
        l->grad[l->n++] = t_bytes(l->params.p[i].count * sizeof(float));
    }
}

static void close_layer(struct layer *l)
{
    rf_graph_free(l->g);
    rf__positions_free(l->kept);
    rf__params_free(&l->params);
    rf_ctx_free(l->ctx);
}

/* What the encoder asks of the row, and then attention; dqkv NULL: without a backward. */
static rf_tensor *attend(struct layer *l, float *qkv, float *dqkv, const rf_batch *b, rf_attention_spec *spec)
{
    const rf_config *c = &l->params.config;
    const rf_position *is = l->params.position;
    const int64_t C = c->hidden_size;
    rf_tensor *shared[PARAMETERS], *own[PARAMETERS];
    size_t n[2] = {0, 0};
    rf_place at;
    assert_int_equal(rf_graph_reset(l->g), RF_OK);
    rf_graph_record(l->g, dqkv != NULL, T_SEED, T_STEP);
    assert_true(rf__positions_place(l->g, l->kept, c, b, &at));
    for (size_t i = 0; i < l->n; i++) {
        rf_tensor *t = rf_parameter(l->g, l->value[i], dqkv ? l->grad[i] : NULL, l->p[i]->rank, l->p[i]->dim);
        if (l->p[i]->layer < 0) shared[n[0]++] = t;
        else own[n[1]++] = t;
    }
    at.layer = 0, at.shared = shared, at.weight = own;
    rf_tensor *x = rf_input(l->g, qkv, dqkv, 2, (int64_t[]){b->N, 3 * C});
    *spec = (rf_attention_spec){.heads = c->num_attention_heads, .B = b->B, .start = at.start, .causal = c->is_decoder};
    is->relate(l->g, &at, x, spec);
    rf_tensor *y = rf_attention(l->g, x, spec);
    if (rf_graph_error(l->g)->code) fail_msg("%s: %s", is->name, rf_graph_error(l->g)->text);
    return y;
}

/* ---- the printed formulas: spec of each encoding, one score after the other ---- */

enum { H = 3, D = 6, C = H * D, TEXTS = 3, N = 19, LONGEST = 13, OFFSETS = 2 * LONGEST - 1 };
static const int32_t start[TEXTS + 1] = {0, 1, 14, 19};
static const int32_t type[N] = {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0};

/* Numbers that the result must not depend on: u of Transformer-XL, TUPE's theta_1. */
static const double u[C] = {0.3, -0.7, 0.2, 0.9, -0.4, 0.1, -0.8, 0.5, 0.6, -0.2, 0.7, -0.3, 0.4, -0.9, 0.8, -0.1, -0.6, 0.5};
static const double theta_1[H] = {0.7, -1.1, 0.4};

/* Vectors that one evaluation needs more than once. */
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
    return behind + at_most(exact + (int)(log((double)n / exact) / log((double)farthest / exact) * (buckets - exact)), buckets - 1);
}

/* He et al.'s row delta for the distance d = query - key: of version 1, or with buckets that of version 2. */
static int deberta_row(int d, int buckets, int farthest)
{
    const int span = buckets > 0 ? buckets : farthest, middle = buckets / 2;
    if (buckets > 0 && abs(d) > middle) {
        const int far = (int)ceil(log((double)abs(d) / middle) / log((farthest - 1.0) / middle) * (middle - 1)) + middle;
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
                wave[t] = sin(near * pow(10000, -2.0 * t / C));
                wave[C / 2 + t] = cos(near * pow(10000, -2.0 * t / C));
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
            layer_norm(x, w[0] + r * C, w[1], w[2], c->layer_norm_eps);
            times_matrix(p->a[r], x, w[3], w[4]);                                      /* keys of places */
            times_matrix(p->b[r], x, w[5], w[6]);                                      /* queries        */
        }
    }
}

/* score(m,n) of head h; q and k are the head's columns, `same` tells whether both are of one segment. */
static double score(const rf_config *c, double *const w[], const struct projected *p, const double *q, const double *k, int m, int n, int h, bool same)
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
        for (int i = 1; i <= d / 2; i++) sum += cos(r / pow(10000, 2.0 * i / d));
        return plain + (sum - d / 2) / (8 * (h + 1.0) / H);
    }
    const int bucket = t5_bucket(r, two_sided, (int)c->relative_attention_num_buckets, (int)c->relative_attention_max_distance);
    if (is(c, "t5")) return inner(q, k) + w[0][bucket * H + h];
    if (is(c, "shaw") || is(c, "nezha")) {
        double key[D];
        const int K = (int)c->max_relative_position, row = cut(r, K) + K;
        for (int i = 0; i < D; i++)
            key[i] = k[i] + (is(c, "shaw") ? w[0][row * D + i] : i % 2 ? cos(row * pow(10000, -(i - 1.0) / D)) : sin(row * pow(10000, -(double)i / D)));
        return inner(q, key) / root;
    }
    if (is(c, "tupe")) {
        const double words = inner(q, k) / sqrt(2.0 * D);
        if (m == 0) return words + theta_1[h];
        if (n == 0) return words + w[6][h];
        return words + inner(p->a[m] + h * D, p->b[n] + h * D) / sqrt(2.0 * D) + w[5][bucket * H + h];
    }
    if (is(c, "deberta")) {
        const int row = deberta_row(m - n, (int)c->position_buckets, (int)c->max_relative_positions);
        return (inner(q, k) + inner(q, p->a[row] + h * D) + inner(k, p->b[row] + h * D)) / sqrt(3.0 * D);
    }
    assert_true(is(c, "transformer_xl") || is(c, "xlnet"));
    double q_u[D], q_v[D], q_s[D], sum;                          /* the query's bias here holds u, relative_bias v - u, segment_bias s - u */
    for (int i = 0; i < D; i++) {
        const double bare = q[i] - u[h * D + i], v = w[1][h * D + i] + u[h * D + i], s = is(c, "xlnet") ? w[2][h * D + i] + u[h * D + i] : 0;
        q_u[i] = bare + u[h * D + i], q_v[i] = bare + v, q_s[i] = bare + s;
    }
    sum = inner(q_u, k) + inner(q_v, p->a[m - n + LONGEST] + h * D);
    if (is(c, "xlnet")) sum += inner(q_s, w[3] + (same ? 0 : C) + h * D);
    return sum / root;
}

static void formula(const rf_config *c, double *y, const double *qkv, double *const w[])
{
    static struct projected p;
    static double s[LONGEST][LONGEST];
    project(c, w, &p);
    memset(y, 0, N * C * sizeof *y);
    for (int b = 0; b < TEXTS; b++)
        for (int h = 0; h < H; h++) {
            const int T = start[b + 1] - start[b];
            const double *x = qkv + start[b] * 3 * C + h * D;
            for (int m = 0; m < T; m++) {
                const int sees = c->is_decoder ? m + 1 : T;
                double all = 0;
                for (int n = 0; n < sees; n++) {
                    s[m][n] = exp(score(c, w, &p, x + m * 3 * C, x + n * 3 * C + C, m, n, h, type[start[b] + m] == type[start[b] + n]));
                    all += s[m][n];
                }
                for (int n = 0; n < sees; n++)
                    for (int i = 0; i < D; i++) {
                        const int K = (int)c->max_relative_position, row = cut(n - m, K) + K;
                        double value = x[n * 3 * C + 2 * C + i];
                        if (is(c, "shaw")) value += w[1][row * D + i];
                        if (is(c, "nezha")) value += i % 2 ? cos(row * pow(10000, -(i - 1.0) / D)) : sin(row * pow(10000, -(double)i / D));
                        y[(start[b] + m) * C + h * D + i] += s[m][n] / all * value;
                    }
            }
        }
}

/* Distances go past every limit: texts have 13 tokens. */
static const char *const cases[] = {
    "\"position_embedding_type\":\"alibi\"",
    "\"position_embedding_type\":\"t5\",\"relative_attention_num_buckets\":8,\"relative_attention_max_distance\":9",
    "\"position_embedding_type\":\"t5\",\"relative_attention_num_buckets\":12,\"relative_attention_max_distance\":40",
    "\"position_embedding_type\":\"shaw\",\"max_relative_position\":4",
    "\"position_embedding_type\":\"shaw\",\"max_relative_position\":30",
    "\"position_embedding_type\":\"nezha\",\"max_relative_position\":4",
    "\"position_embedding_type\":\"transformer_xl\"",
    "\"position_embedding_type\":\"transformer_xl\",\"clamp_len\":5",
    "\"position_embedding_type\":\"xlnet\"",
    "\"position_embedding_type\":\"xlnet\",\"clamp_len\":3",
    "\"position_embedding_type\":\"tupe\",\"relative_attention_num_buckets\":8,\"relative_attention_max_distance\":9,\"max_position_embeddings\":15",
    "\"position_embedding_type\":\"deberta\",\"max_relative_positions\":5",
    "\"position_embedding_type\":\"deberta\",\"max_relative_positions\":15",
    "\"position_embedding_type\":\"deberta\",\"position_buckets\":6,\"max_relative_positions\":10",
    "\"position_embedding_type\":\"kerple_log\"",
    "\"position_embedding_type\":\"kerple_power\"",
    "\"position_embedding_type\":\"sandwich\",\"sandwich_width\":8",
};

static double loss(const rf_config *c, double *y, const double *qkv, double *const w[], const float *weight)
{
    double sum = 0;
    formula(c, y, qkv, w);
    for (int i = 0; i < N * C; i++) sum += (double)weight[i] * y[i];
    return sum;
}

/* Central differences of the formula by each of n numbers, and the library's gradient of them: a gradient passes chains of 3 C products
 * and a sum over all pairs of a text, forwards and backwards: 600 roundings of numbers not larger than the largest.  Differences
 * with a step of 1e-5 are right to 1e-8. */
static void compare(const char *what, const rf_config *c, const float *got, double *at, size_t n, const double *qkv, double *const w[], const float *weight)
{
    static double y[N * C];
    double *want = t_bytes(n * sizeof *want), most = 1;
    for (size_t i = 0; i < n; i++) {
        const double x = at[i], h = 1e-5;
        at[i] = x + h;
        const double up = loss(c, y, qkv, w, weight);
        at[i] = x - h;
        want[i] = (up - loss(c, y, qkv, w, weight)) / (2 * h);
        at[i] = x;
        most = fmax(most, fabs(want[i]));
    }
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want[i]) <= 600 * FLT_EPSILON * most + 1e-8))
            fail_msg("%s%s: gradient %d of %s is %.9g, want %.9g", c->position_embedding_type, c->is_decoder ? ", causal" : "", (int)i, what,
                     (double)got[i], want[i]);
}

/* Values are the end of scores of size 10, each a sum of up to 3 C products, and of a softmax: 200 roundings of the largest. */
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
        w[i] = t_bytes(l.p[i]->count * sizeof **w);
        for (size_t j = 0; j < l.p[i]->count; j++) {
            l.value[i][j] *= 0.5f;
            w[i][j] = (double)l.value[i][j];
        }
        memset(l.grad[i], 0, l.p[i]->count * sizeof(float));
    }
    for (int i = 0; i < N * 3 * C; i++) qkv[i] = (double)x[i], dx[i] = 0;
    formula(c, y, qkv, w);
    for (int i = 0; i < N * C; i++) most = fmax(most, fabs(y[i]));
    rf_tensor *got = attend(&l, x, dx, &b, &spec);
    t_close_to(got->f32, y, N * C, 200 * FLT_EPSILON * most, 0);
    if (rf_backward(l.g, t_weighted(l.g, got, weight), &why)) fail_msg("%s", why.text);
    compare("query, key and value", c, dx, qkv, N * 3 * C, qkv, w, weight);
    for (size_t i = 0; i < l.n; i++) compare(l.p[i]->name, c, l.grad[i], w[i], l.p[i]->count, qkv, w, weight);
    close_layer(&l);
    t_free_all();
}

static void formulas_and_gradients(void **state)
{
    (void)state;
    for (const rf_position *const *p = rf__position_list; *p; p++) {
        char name[64];
        bool found = !(*p)->relate;
        snprintf(name, sizeof name, "\"%s\"", (*p)->name);
        for (size_t i = 0; i < RF_COUNT(cases); i++) found = found || strstr(cases[i], name);
        if (!found) fail_msg("%s has no formula here", (*p)->name);
    }
    for (size_t i = 0; i < RF_COUNT(cases); i++)
        for (int causal = 0; causal < 2; causal++) {
            const rf_config c = config_of(H, D, causal, cases[i]);
            check(&c);
        }
}

/* ---- transformers' layers: tests/golden/relative, see tests/golden/README.md ---- */

struct array { char name[48]; int rank; int64_t dim[4], n; double *x; };
struct arrays { int n; struct array a[32]; };

static void read_arrays(struct arrays *all, const char *file)
{
    char path[256], name[48];
    snprintf(path, sizeof path, "tests/golden/relative/%s.txt", file);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("cannot open %s", path);
    while (fgetc(f) != '\n') {}
    all->n = 0;
    while (fscanf(f, "%47s", name) == 1 && strcmp(name, "end")) {
        assert_true(all->n < (int)RF_COUNT(all->a));
        struct array *a = &all->a[all->n++];
        *a = (struct array){.n = 1};
        memcpy(a->name, name, sizeof name);
        if (fscanf(f, "%d", &a->rank) != 1 || a->rank > 4) fail_msg("%s: rank of %s", path, name);
        for (int i = 0; i < a->rank; i++) {
            int extent;
            if (fscanf(f, "%d", &extent) != 1) fail_msg("%s: extents of %s", path, name);
            a->n *= a->dim[i] = extent;
        }
        a->x = t_bytes((size_t)a->n * sizeof *a->x);
        for (int64_t i = 0; i < a->n; i++)
            if (fscanf(f, "%lf", &a->x[i]) != 1) fail_msg("%s: numbers of %s", path, name);
    }
    assert_string_equal(name, "end");
    fclose(f);
}

static const struct array *optional(const struct arrays *all, const char *name)
{
    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->a[i].name, name)) return &all->a[i];
    return NULL;
}

static const struct array *array(const struct arrays *all, const char *name)
{
    const struct array *a = optional(all, name);
    if (!a) fail_msg("a golden file has no %s", name);
    return a;
}

/* The value of a parameter of ours; XLNet's three biases go together as transformer_xl.c says. */
static double value_of(const struct arrays *all, const char *name, size_t i)
{
    if (!strcmp(name, "relative_bias")) return array(all, "r_r_bias")->x[i] - array(all, "r_w_bias")->x[i];
    if (!strcmp(name, "segment_bias")) return array(all, "r_s_bias")->x[i] - array(all, "r_w_bias")->x[i];
    if (!strcmp(name, "segment_embeddings.weight")) return array(all, "seg_embed")->x[i];
    if (!strcmp(name, "relative_key.weight")) return array(all, "relative.weight")->x[i];
    if (!strcmp(name, "position_norm.weight")) return 1 + array(all, "position_norm.weight-1")->x[i];
    if (!strcmp(name, "relative_values.weight") && !optional(all, name)) return 0;           /* shaw_keys: of keys alone */
    return array(all, name)->x[i];
}

/* q, k or v of all tokens, in double and rounded once. */
static void columns(float *qkv, const struct arrays *all, int part, int64_t T, int64_t width)
{
    static const char *const name[] = {"query", "key", "value"};
    char weight[32], bias[32];
    snprintf(weight, sizeof weight, "%s.weight", name[part]);
    snprintf(bias, sizeof bias, "%s.bias", name[part]);
    const double *x = array(all, "hidden")->x, *w = array(all, weight)->x;
    const struct array *b = optional(all, bias), *u_q = part == 0 ? optional(all, "r_w_bias") : NULL;
    for (int64_t t = 0; t < T; t++)
        for (int64_t i = 0; i < width; i++) {
            double sum = (b ? b->x[i] : 0) + (u_q ? u_q->x[i] : 0);
            for (int64_t j = 0; j < width; j++) sum += w[i * width + j] * x[t * width + j];
            qkv[t * 3 * width + part * width + i] = (float)sum;
        }
}

static const struct { const char *file, *encoding; bool causal; } layers[] = {
    {"t5", "t5", false}, {"t5_causal", "t5", true}, {"alibi", "alibi", false}, {"alibi_causal", "alibi", true},
    {"xlnet", "xlnet", false}, {"xlnet_clamped", "xlnet", false}, {"xlnet_plain", "transformer_xl", false},
    {"transformer_xl_causal", "transformer_xl", true}, {"nezha", "nezha", false}, {"shaw", "shaw", false}, {"shaw_keys", "shaw", false},
    {"deberta", "deberta", false}, {"deberta_far", "deberta", false}, {"deberta_log", "deberta", false}, {"tupe", "tupe", false},
    {"kerple_log", "kerple_log", false}, {"kerple_power", "kerple_power", false}, {"sandwich", "sandwich", false},
};

/* keys of config.json, by the names of the golden files */
static const char *const keys[][2] = {
    {"buckets", "relative_attention_num_buckets"}, {"distance", "relative_attention_max_distance"}, {"clamp_len", "clamp_len"},
    {"max_relative_position", "max_relative_position"}, {"max_relative_positions", "max_relative_positions"},
    {"position_buckets", "position_buckets"}, {"sandwich_width", "sandwich_width"}, {"layer_norm_eps", "layer_norm_eps"},
};

static void layer_of_transformers(const char *file, const char *encoding, bool causal, const char *isa)
{
    enum { HEADS = 3, WIDE = 8, WIDTH = HEADS * WIDE };
    struct arrays all;
    struct layer l;
    rf_attention_spec spec;
    char text[512], one[96];
    read_arrays(&all, file);
    snprintf(text, sizeof text, "\"position_embedding_type\":\"%s\"", encoding);
    for (size_t i = 0; i < RF_COUNT(keys); i++) {
        const struct array *a = optional(&all, keys[i][0]);
        if (!a) continue;
        snprintf(one, sizeof one, ",\"%s\":%.17g", keys[i][1], a->x[0]);
        strncat(text, one, sizeof text - strlen(text) - 1);
    }
    const struct array *want = array(&all, "context"), *types = optional(&all, "types"), *places = optional(&all, "position_embeddings.weight");
    const int64_t T = want->dim[0];
    if (places) {
        snprintf(one, sizeof one, ",\"max_position_embeddings\":%d", (int)places->dim[0]);
        strncat(text, one, sizeof text - strlen(text) - 1);
    }
    const rf_config c = config_of(HEADS, WIDE, causal, text);
    open_layer(&l, &c, isa);
    for (size_t i = 0; i < l.n; i++) {
        const char *name = l.p[i]->name, *self = strstr(name, "attention.self."), *encoder = strstr(name, "roformer.encoder.");
        name = self ? self + strlen("attention.self.") : encoder ? encoder + strlen("roformer.encoder.") : name;
        for (size_t j = 0; j < l.p[i]->count; j++) l.value[i][j] = (float)value_of(&all, name, j);
    }
    float *qkv = t_floats(T * 3 * WIDTH);
    for (int part = 0; part < 3; part++) columns(qkv, &all, part, T, WIDTH);
    int32_t *id = t_bytes((size_t)T * sizeof *id), *type_of = t_bytes((size_t)T * sizeof *type_of), ends[2] = {0, (int32_t)T};
    for (int64_t t = 0; t < T; t++) id[t] = 0, type_of[t] = types ? (int32_t)types->x[t] : 0;
    const rf_batch b = {.N = T, .B = 1, .id = id, .type = type_of, .start = ends};
    rf_tensor *y = attend(&l, qkv, NULL, &b, &spec);
    double worst = 0;
    for (int64_t i = 0; i < want->n; i++) worst = fmax(worst, fabs((double)y->f32[i] - want->x[i]));
    print_message("%-22s largest difference %.1e\n", file, worst);
    if (!(worst <= 2e-5)) fail_msg("%s differs by %.3g", file, worst);
    close_layer(&l);
    t_free_all();
}

/* Scores of size 10 with 24 roundings each of f32 are off by at most 3e-5 in the worst case and 4e-6 as a rule; so are the
 * probabilities, relative, and contexts of size 3 by 1.2e-5.  Three of the files have a softmax in float32 themselves. */
static void layers_of_transformers(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(layers); i++) {
        layer_of_transformers(layers[i].file, layers[i].encoding, layers[i].causal, NULL);
        layer_of_transformers(layers[i].file, layers[i].encoding, layers[i].causal, "ref");
    }
}

/* A text of `T` tokens, as far as `relate` looks at it. */
static const float *bias_of(struct layer *l, int64_t T, rf_attention_spec *spec)
{
    static int32_t zeros[1024];
    assert_true(T <= 1024);
    const int64_t width = l->params.config.hidden_size;
    int32_t ends[2] = {0, (int32_t)T};
    float *qkv = t_bytes((size_t)(T * 3 * width) * sizeof *qkv);
    memset(qkv, 0, (size_t)(T * 3 * width) * sizeof *qkv);
    attend(l, qkv, NULL, &(rf_batch){.N = T, .B = 1, .id = zeros, .type = zeros, .start = ends}, spec);
    return spec->relative_bias ? spec->relative_bias->f32 : spec->relative_query->f32;
}

static int64_t clamp(int64_t x, int64_t most) { return x > most ? most : x < -most ? -most : x; }

/* Buckets: the table holds its own row numbers (DeBERTa's, which passes a norm, angles on a circle), so what attention would
 * add tells the row.  Slopes: what it adds at distance 1; they pass through float32 in transformers, over up to 40 products. */
static void buckets_and_slopes_of_transformers(void **state)
{
    (void)state;
    static const char *const files[] = {"t5_buckets", "deberta_buckets", "alibi_slopes"};
    for (int kind = 0; kind < 3; kind++) {
        struct arrays all;
        read_arrays(&all, files[kind]);
        int checked = 0;
        for (int i = 0; i < all.n; i++) {
            const struct array *a = &all.a[i];
            int n = 0, most = 0;
            struct layer l;
            rf_attention_spec spec;
            char text[256];
            const bool past = !strncmp(a->name, "past/", 5);
            if (sscanf(a->name, kind == 2 ? "heads/%d" : past ? "past/%d/%d" : "both/%d/%d", &n, &most) < 1) continue;
            snprintf(text, sizeof text, kind == 0 ? "\"position_embedding_type\":\"t5\",\"relative_attention_num_buckets\":%d,\"relative_attention_max_distance\":%d"
                     : kind == 1 ? "\"position_embedding_type\":\"deberta\",\"position_buckets\":%d,\"max_relative_positions\":%d"
                                 : "\"position_embedding_type\":\"alibi\"", n, most);
            const rf_config c = config_of(kind == 2 ? n : 1, kind == 2 ? 2 : 4, past, text);
            open_layer(&l, &c, NULL);
            for (size_t p = 0; p < l.n; p++)
                for (size_t j = 0; j < l.p[p]->count; j++) {
                    const double angle = 6.283185307179586 * (double)(j / 4) / (2 * n), wave = j % 2 ? sin(angle) : cos(angle);
                    l.value[p][j] = kind == 0 ? (float)j : p == 0 ? (float)(j % 4 < 2 ? wave : -wave) : p == 1 ? 1 : p == 3 ? (float)(j % 5 == 0) : 0;
                }
            const struct array *offset = kind < 2 ? array(&all, "offset") : NULL;
            const int64_t T = offset ? (int64_t)offset->x[offset->n - 1] + 1 : 2;
            const float *got = bias_of(&l, T, &spec);
            for (int64_t j = 0; kind == 0 && j < a->n; j++)
                t_near((double)got[clamp((int64_t)offset->x[j], spec.clip) + spec.clip], a->x[j], 0);
            for (int64_t j = 0; kind == 1 && j < a->n; j++) {           /* offset is query - key */
                const float *row = got + 4 * (clamp(-(int64_t)offset->x[j], spec.clip) + spec.clip);
                const double at = fmod(atan2((double)row[1], (double)row[0]) / 6.283185307179586 * 2 * n + 2 * n, 2 * n);
                const double want = fmin(fmax(a->x[j] + n, 0), 2 * n - 1), apart = fabs(at - want);
                if (!(fmin(apart, 2 * n - apart) < 1e-2)) fail_msg("%s: offset %d is in row %.3f, want %.0f", a->name, (int)offset->x[j], at, want);
            }
            for (int h = 0; kind == 2 && h < n; h++) t_near(-(double)got[2 * n + h], a->x[h], 40 * FLT_EPSILON * a->x[h]);
            checked++;
            close_layer(&l);
        }
        assert_true(checked >= 5);
        t_free_all();
    }
}

/* ---- CAPE: a text's positions in training are m' = lambda (m + Delta), a little off each ---- */

static void cape_moves_and_stretches(void **state)
{
    (void)state;
    enum { WIDTH = 24, T = 40 };
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_config c = config_of(3, 8, false, "\"position_embedding_type\":\"cape\",\"cape_max_global_shift\":5,\"cape_max_local_shift\":0,"
                                         "\"cape_max_global_scaling\":2");
    rf_graph *g;
    rf_positions *kept;
    rf_place at;
    rf_error why = {0};
    int32_t id[2 * T] = {0}, ends[3] = {0, T, 2 * T};
    const rf_batch b = {.N = 2 * T, .B = 2, .id = id, .start = ends};
    float *zero = t_bytes(2 * T * WIDTH * sizeof *zero);
    memset(zero, 0, 2 * T * WIDTH * sizeof *zero);
    if (rf_graph_new(ctx, &g, &why) || rf__positions_new(ctx, &c, &kept, &why)) fail_msg("%s", why.text);
    double first = 0;
    for (int local = 0; local < 2; local++)
        for (uint64_t step = 1; step <= 20; step++) {
            c.cape_max_local_shift = local ? 0.5 : 0;
            assert_int_equal(rf_graph_reset(g), RF_OK);
            rf_graph_record(g, 1, T_SEED, step);
            assert_true(rf__positions_place(g, kept, &c, &b, &at));
            const rf_tensor *p = rf__position_cape.embed(g, &at, rf_constant(g, zero, 2, (int64_t[]){2 * T, WIDTH}));
            if (rf_graph_error(g)->code) fail_msg("%s", rf_graph_error(g)->text);
            const double slowest = pow(10000, -22.0 / WIDTH);    /* 2 (40 + 5.5) of it are less than pi */
            double m[2 * T];
            for (int n = 0; n < 2 * T; n++) {
                const float *row = p->f32 + n * WIDTH;
                m[n] = atan2((double)row[22], (double)row[23]) / slowest;
                /* the last bit of the slowest angle is 6e-8 / slowest = 3e-4 of a position, which the fastest columns see whole */
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
    rf_graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_and_gradients),
        cmocka_unit_test(layers_of_transformers),
        cmocka_unit_test(buckets_and_slopes_of_transformers),
        cmocka_unit_test(cape_moves_and_stretches),
    };
    return cmocka_run_group_tests_name("model/relative", tests, NULL, NULL);
}
