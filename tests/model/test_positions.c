/* test_positions.c — mirrors src/model/position.c, src/model/positions.c and src/model/positions: the computation of
 * every row of the registry. */
#include "each_position.h"
#include "work.h"

enum { TEXTS = 6 };
static const int32_t length[TEXTS] = {1, 5, 16, 17, 64, 130};

static void packed_is_alone(void **state)
{
    (void)state;
    EACH(t) {
        const rf_config c = t.c;
        float *alone = t_floats(TEXTS * 32);
        for (int run = 0; run < 4; run++) {
            const int threads = 1 + run % 2;
            struct work w = begin_as(&c, run < 2 ? RF_F32 : RF_BF16, threads, NULL);
            rf_error why = {0};
            const float *v;
            int32_t id[256], start[TEXTS + 1] = {0};
            for (int i = 0; i < TEXTS && threads == 1; i++) {
                const int32_t ends[2] = {0, length[i]};
                fill(i, id, length[i]);
                const rf_batch b = {.N = length[i], .B = 1, .id = id, .start = ends};
                if (rf_session_embed(w.session, &b, RF_POOL_MEAN, &v, &why)) fail_msg("%s: %s", t.name, why.text);
                memcpy(alone + i * 32, v, 32 * sizeof *v);
            }
            for (int i = 0; i < TEXTS; i++) {
                fill(TEXTS - 1 - i, id + start[i], length[TEXTS - 1 - i]);
                start[i + 1] = start[i] + length[TEXTS - 1 - i];
            }
            const rf_batch b = {.N = start[TEXTS], .B = TEXTS, .id = id, .start = start};
            if (rf_session_embed(w.session, &b, RF_POOL_MEAN, &v, &why)) fail_msg("%s: %s", t.name, why.text);
            for (int i = 0; i < TEXTS; i++)
                if (memcmp(v + i * 32, alone + (TEXTS - 1 - i) * 32, 32 * sizeof *v))
                    fail_msg("%s: text %d has other bits in a batch", t.name, TEXTS - 1 - i);
            end(&w);
        }
        t_free_all();
    }
}

/* Changes the parameters of the encoding from their initial values, which are zero for some. */
static void stir(const rf_model *m)
{
    for (size_t i = 0; i < m->params.n; i++)
        for (size_t j = 0; m->params.p[i].position && j < m->params.p[i].count; j++)
            m->value[i][j] += 0.1f * (float)sin(1.7 * (double)j + (double)i);
}

/* The order of tokens changes the result, except for encodings that only use distances, or nothing.  For those the
 * means over a text and over its reverse are sums of the same numbers in another order: 130 terms and two layers, below
 * 1000 roundings. */
static void order_is_seen(void **state)
{
    (void)state;
    EACH(t) {
        const rf_config c = t.c;
        struct work w = begin(&c, 1, NULL);
        stir(w.model);
        rf_error why = {0};
        const float *v;
        int32_t id[64], back[64];
        const int32_t start[2] = {0, 64};
        fill(4, id, 64);
        for (int i = 0; i < 64; i++) back[i] = id[63 - i];
        rf_batch b = {.N = 64, .B = 1, .id = id, .start = start};
        if (rf_session_embed(w.session, &b, RF_POOL_MEAN, &v, &why)) fail_msg("%s: %s", t.name, why.text);
        float *first = memcpy(t_floats(32), v, 32 * sizeof *v);
        b.id = back;
        if (rf_session_embed(w.session, &b, RF_POOL_MEAN, &v, &why)) fail_msg("%s: %s", t.name, why.text);
        double most = 0;
        for (int i = 0; i < 32; i++) most = fmax(most, fabs((double)v[i] - (double)first[i]));
        if (t.is->flags & RF_POSITION_SYMMETRIC) {
            if (!(most < 1e-4))
                fail_msg("%s is RF_POSITION_SYMMETRIC; a text and its reverse differ by %g", t.name, most);
        } else if (most < 1e-3) {
            fail_msg("%s: a text and its reverse differ by %g only (an encoding of |n - m| is RF_POSITION_SYMMETRIC)",
                     t.name, most);
        }
        end(&w);
        t_free_all();
    }
}

/* m -> m + s changes only roundings, for encodings with that property.  Angles are computed in double, so the size of s
 * does not matter; products of two layers of width 32 stay within a few hundred ulp of values near 1. */
static void check_shifts(const struct config *t, bool causal)
{
    rf_config c = t->c;
    c.is_decoder = causal;
    struct work w = begin(&c, 1, NULL);
    rf_error why = {0};
    int32_t id[64], position[64];
    const int32_t start[2] = {0, 64}, shift[] = {1, 1000, -1000000, 1000000};
    const float *v;
    fill(4, id, 64);
    rf_batch b = {.N = 64, .B = 1, .id = id, .start = start};
    if (rf_session_hidden(w.session, &b, &v, &why)) fail_msg("%s: %s", t->name, why.text);
    float *expected = memcpy(t_floats(64 * 32), v, 64 * 32 * sizeof *v);
    b.position = position;
    for (size_t i = 0; i < RF_COUNT(shift); i++) {
        for (int j = 0; j < 64; j++) position[j] = shift[i] + j;
        const rf_status status = rf_session_hidden(w.session, &b, &v, &why);
        if (t->is == &rf__position_xpos && i > 1) {                  /* powers of its decay end there */
            t_failed(&why, RF_ERANGE, "expected positions at most 30720 from 0 with xpos_scale_base 512");
            why = (rf_error){0};
            continue;
        }
        if (status) fail_msg("%s: %s", t->name, why.text);
        t_close(v, expected, 64 * 32, 5e-5, 0);
    }
    end(&w);
    t_free_all();
}

static void shift_invariant_ones_are(void **state)
{
    (void)state;
    EACH(t)
        for (int causal = t.c.is_decoder; causal < 2 && !t.moves; causal++) check_shifts(&t, causal);
}

/* Products in bf16 round operands with a relative error of 2^-9.  Two layers have some ten products in sequence,
 * including scores of size 3: 3 sqrt(10) 2^-9, 2 % of outputs of size 1, and never more than 8 %.  The bits of a text
 * do not depend on the batch there, either. */
static void check_bf16(const struct config *t, bool causal)
{
    enum { LONG = 64, SHORT = 17 };
    rf_config c = t->c;
    rf_error why = {0};
    const float *v;
    int32_t id[LONG + SHORT];
    const int32_t one[2] = {0, LONG}, both[3] = {0, SHORT, SHORT + LONG};
    c.is_decoder = causal;
    fill(3, id, SHORT);
    fill(4, id + SHORT, LONG);
    float *hidden[2];
    for (int half = 0; half < 2; half++) {
        struct work w = {.ctx = t_ctx(2, NULL)};
        if (rf_model_random_as(w.ctx, &c, 7, half ? RF_BF16 : RF_F32, &w.model, &why) ||
            rf_session_open(w.model, &w.session, &why))
            fail_msg("%s: %s", t->name, why.text);
        const rf_batch alone = {.N = LONG, .B = 1, .id = id + SHORT, .start = one},
                       packed = {.N = SHORT + LONG, .B = 2, .id = id, .start = both};
        if (rf_session_hidden(w.session, &alone, &v, &why)) fail_msg("%s: %s", t->name, why.text);
        hidden[half] = memcpy(t_floats(LONG * 32), v, LONG * 32 * sizeof *v);
        if (rf_session_hidden(w.session, &packed, &v, &why)) fail_msg("%s: %s", t->name, why.text);
        if (memcmp(v + SHORT * 32, hidden[half], LONG * 32 * sizeof *v)) fail_msg("%s: other bits in a batch", t->name);
        end(&w);
    }
    double off = 0, size = 0;
    for (int i = 0; i < LONG * 32; i++) {
        off += pow((double)hidden[1][i] - (double)hidden[0][i], 2);
        size += pow((double)hidden[0][i], 2);
    }
    if (!(off > 1e-8 * size) || !(off < 0.08 * 0.08 * size))
        fail_msg("%s%s: bf16 is off by %g of the outputs", t->name, causal ? ", causal" : "", sqrt(off / size));
    t_free_all();
}

static void every_encoding_in_bf16(void **state)
{
    (void)state;
    EACH(t)
        for (int causal = t.c.is_decoder; causal < 2; causal++) check_bf16(&t, causal);
}

/* The value's own rotation shows the position of a text, unless results are rotated back. */
static void rotated_values_leak(void **state)
{
    (void)state;
    const rf_config c = small("\"rotary_value\":true");
    struct work w = begin(&c, 1, NULL);
    rf_error why = {0};
    int32_t id[16], position[16];
    const int32_t start[2] = {0, 16};
    const float *v;
    fill(2, id, 16);
    rf_batch b = {.N = 16, .B = 1, .id = id, .start = start};
    if (rf_session_hidden(w.session, &b, &v, &why)) fail_msg("%s", why.text);
    float *first = memcpy(t_floats(16 * 32), v, 16 * 32 * sizeof *v);
    for (int i = 0; i < 16; i++) position[i] = 100 + i;
    b.position = position;
    if (rf_session_hidden(w.session, &b, &v, &why)) fail_msg("%s", why.text);
    double most = 0;
    for (int i = 0; i < 16 * 32; i++) most = fmax(most, fabs((double)v[i] - (double)first[i]));
    assert_true(most > 1e-3);
    end(&w);
    t_free_all();
}

/* Encodings that extrapolate accept texts longer than max_position_embeddings; the others name the position. */
static void beyond_the_trained_length(void **state)
{
    (void)state;
    enum { T = 700 };
    EACH(t) {
        const rf_config c = t.c;
        struct work w = begin(&c, 1, NULL);
        rf_error why = {0};
        static int32_t id[T];
        const int32_t start[2] = {0, T};
        const float *v;
        fill(1, id, T);
        const rf_batch b = {.N = T, .B = 1, .id = id, .start = start};
        const rf_status status = rf_session_hidden(w.session, &b, &v, &why);
        if (t.is->flags & RF_POSITION_EXTRAPOLATES) {
            if (status) fail_msg("%s: %s", t.name, why.text);
            for (int i = 0; i < T * 32; i++) assert_true(isfinite(v[i]));
        } else {
            t_failed(&why, RF_ERANGE, "position of token 144: expected at least 0 and less than 144");
        }
        end(&w);
        t_free_all();
    }
}

/* ReRoPE without a far key is RoPE; with a leak of 1 its distances are unchanged.  Two layers of width 32 stay within a
 * few hundred ulp of values near 1. */
static void rerope_begins_at_rope(void **state)
{
    (void)state;
    static const char *const keys[] = {"\"rope_theta\":10000",
                                       "\"position_embedding_type\":\"rerope\",\"rerope_window\":64",
                                       "\"position_embedding_type\":\"rerope\",\"rerope_window\":3,\"rerope_leak\":1",
                                       "\"position_embedding_type\":\"rerope\",\"rerope_window\":3"};
    float *expected = NULL;
    for (size_t i = 0; i < RF_COUNT(keys); i++) {
        const rf_config c = small(keys[i]);
        struct work w = begin(&c, 2, NULL);
        rf_error why = {0};
        int32_t id[64];
        const int32_t start[2] = {0, 64};
        const float *v;
        fill(4, id, 64);
        const rf_batch b = {.N = 64, .B = 1, .id = id, .start = start};
        if (rf_session_hidden(w.session, &b, &v, &why)) fail_msg("%s: %s", keys[i], why.text);
        if (!expected) expected = memcpy(t_floats(64 * 32), v, 64 * 32 * sizeof *v);
        if (i < 3) t_close(v, expected, 64 * 32, 5e-5, 0);
        double most = 0;
        for (int j = 0; j < 64 * 32; j++) most = fmax(most, fabs((double)v[j] - (double)expected[j]));
        if (i == 3) assert_true(most > 1e-3);
        end(&w);
    }
    t_free_all();
}

/* ---- what is done to the words, against the formulas at the top of the files, in double with loops --------------- */

enum { N = 11, E = 24, WIDTH = 6 };                              /* WIDTH: of the position next to the word */
static const int32_t at[N] = {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4};

static void slope(double *out, const double *p, double t, const double *a, const double *b)
{
    for (int i = 0; i < E; i++) out[i] = b[i * (E + 1) + E];
    for (int j = 0; j < E; j++) {
        double z = a[j * (E + 2) + E] * t + a[j * (E + 2) + E + 1];
        for (int i = 0; i < E; i++) z += a[j * (E + 2) + i] * p[i];
        for (int i = 0; i < E; i++) out[i] += b[i * (E + 1) + j] * tanh(z);
    }
}

/* p_m of the recurrent encodings. */
static void follow(const char *name, double *p, int32_t m, double *const w[])
{
    memcpy(p, w[0], E * sizeof *p);
    for (int32_t k = 0; k < m; k++) {
        double h[4][E], mid[E];
        if (!strcmp(name, "recursive")) {
            for (int i = 0; i < E; i++) {
                h[0][i] = w[1][i * (E + 1) + E];
                for (int j = 0; j < E; j++) h[0][i] += w[1][i * (E + 1) + j] * p[j];
            }
            for (int i = 0; i < E; i++) p[i] = tanh(h[0][i]);
            continue;
        }
        const bool euler = !strcmp(name, "floater");
        slope(h[0], p, 0.1 * k, w[1], w[2]);
        for (int s = 1; s < 4; s++) {
            for (int i = 0; i < E; i++) mid[i] = p[i] + (s == 3 ? 0.1 : 0.05) * h[s - 1][i];
            slope(h[s], mid, 0.1 * k + (s == 3 ? 0.1 : 0.05), w[1], w[2]);
        }
        for (int i = 0; i < E; i++)
            p[i] += euler ? 0.1 * h[0][i] : 0.1 / 6 * (h[0][i] + 2 * h[1][i] + 2 * h[2][i] + h[3][i]);
    }
}

/* y[n] from x and the weights; false: this encoding does not change the words. */
static bool formula(const char *name, double b, double *y, const double *x, double *const w[], const int32_t id[])
{
    double state[E] = {0}, p[E];
    for (int n = 0; n < N; n++) {
        const int32_t m = at[n];
        double *out = y + n * E;
        const double *in = x + n * E;
        if (m == 0) memset(state, 0, sizeof state);
        memset(p, 0, sizeof p);
        for (int e = 0; e < E; e++) {
            const double omega = pow(b, -(double)(e - e % 2) / E), half = pow(b, -2.0 * (e % (E / 2)) / E);
            const double a = 0.4, *u = w[0];
            if (!strcmp(name, "sinusoidal") || !strcmp(name, "cape"))
                out[e] = in[e] + (e % 2 ? cos(m * omega) : sin(m * omega));
            else if (!strcmp(name, "sinusoidal_halves")) out[e] = in[e] + (e < E / 2 ? sin(m * half) : cos(m * half));
            else if (!strcmp(name, "sinusoidal_fairseq")) {      /* pad_token_id is 0; of 9 tokens two are padding */
                int32_t row = 0;
                for (int k = n - m; k <= n; k++) row += id[k] != 0;
                const double angle = (row - 0.0) * pow(b, -(double)(e % (E / 2)) / (E / 2 - 1));
                out[e] = in[e] + (!id[n] ? 0 : e < E / 2 ? sin(angle) : cos(angle));
            } else if (!strcmp(name, "bart")) out[e] = in[e] + w[0][(m + 2) * E + e];
            else if (!strcmp(name, "index")) out[e] = in[e] + (e ? 0 : m);
            else if (!strcmp(name, "unit")) out[e] = in[e] + (e ? 0 : m / (n < 6 ? 5.0 : 4.0));
            else if (!strcmp(name, "binary")) out[e] = in[e] + (e < 20 ? m / (1 << e) % 2 : 0);
            else if (!strcmp(name, "concat")) {
                out[e] = w[1][e];
                for (int j = 0; j < E; j++) out[e] += w[0][e * E + j] * in[j];
                for (int j = 0; j < WIDTH; j++) {
                    const double angle = m * pow(b, -(double)(j - j % 2) / WIDTH);
                    out[e] += w[2][e * WIDTH + j] * (j % 2 ? cos(angle) : sin(angle));
                }
            } else if (!strcmp(name, "absolute") || !strcmp(name, "mpnet")) out[e] = in[e] + u[m * E + e];
            else if (strstr(name, "deberta")) out[e] = in[e];               /* without position_biased_input */
            else if (!strcmp(name, "product")) out[e] = in[e] * (1 + u[m * E + e]);
            else if (!strcmp(name, "hierarchical"))        /* max_position_embeddings is 3 here: m = 3 i + j */
                out[e] = in[e] + a * (u[m / 3 * E + e] - a * u[e]) / (1 - a) +
                         (1 - a) * (u[m % 3 * E + e] - a * u[e]) / (1 - a);
            else if (!strcmp(name, "axial")) out[e] = in[e] + u[m / 4 * E + e] + w[1][m % 4 * E + e];
            else if (!strcmp(name, "complex_order")) {
                const double angle = m * omega * (1 + u[id[n] * (E / 2) + e / 2]), re = in[e - e % 2],
                             im = in[e - e % 2 + 1];
                out[e] = e % 2 ? re * sin(angle) + im * cos(angle) : re * cos(angle) - im * sin(angle);
            } else if (!strcmp(name, "recurrent")) {
                double z = w[1][e];
                for (int j = 0; j < E; j++) z += w[0][e * E + j] * in[j] + w[2][e * E + j] * state[j];
                p[e] = tanh(z);
                out[e] = in[e] + p[e];
            } else if (!strcmp(name, "convolution")) {
                out[e] = in[e] + w[1][e];
                for (int j = -1; j <= 1; j++)
                    for (int f = 0; f < E && n + j >= 0 && n + j < N && at[n + j] == m + j; f++)
                        out[e] += w[0][e * 3 * E + (j + 1) * E + f] * x[(n + j) * E + f];
            } else if (!strcmp(name, "recursive") || !strncmp(name, "floater", 7)) {
                if (!e) follow(name, p, m, w);
                out[e] = in[e] + p[e];
            } else {
                return false;
            }
        }
        memcpy(state, p, sizeof state);
    }
    return true;
}

/* Chains of up to 10 steps of sums of 3 E products of size 1: below 500 roundings of numbers below 10. */
static void check_formulas(double base)
{
    int checked = 0;
    rf_ctx *ctx = t_ctx(2, NULL);
    EACH(t) {
        if (!t.is->embed) continue;
        rf_error why = {0};
        rf_graph *g;
        rf_positions *kept;
        rf_layer_context context;
        rf_params params;
        rf_tensor *weight[64];
        double *w[64], *y = t_bytes(N * E * sizeof *y), *x = t_bytes(N * E * sizeof *x);
        size_t n = 0;
        rf_config c = t.c;
        c.position_grid_width = 4;
        c.concat_width = WIDTH;
        c.sinusoidal_base = base;
        if (t.is == &rf__position_hierarchical) c.max_position_embeddings = 3;
        int32_t id[N];
        const int32_t start[] = {0, 6, N};
        fill(3, id, N);
        const rf_batch b = {.N = N, .B = 2, .id = id, .start = start};
        if (rf__graph_new(ctx, &g, &why) || rf__positions_new(ctx, &c, &kept, &why) ||
            rf__params_new(ctx, &c, &params, &why))
            fail_msg("%s: %s", t.name, why.text);
        assert_true(rf__positions_bind(g, kept, &c, &b, &context));
        for (size_t i = 0; i < params.n; i++) {
            if (!params.p[i].position) continue;
            float *value = t_uniform((int64_t)params.p[i].count, -0.3f, 0.3f);
            w[n] = t_bytes(params.p[i].count * sizeof **w);
            for (size_t j = 0; j < params.p[i].count; j++) w[n][j] = (double)value[j];
            weight[n++] = rf__constant(g, value, params.p[i].rank, params.p[i].dim);
        }
        context.weight = weight;
        float *words = t_normal(N * E);
        for (int i = 0; i < N * E; i++) x[i] = (double)words[i];
        rf_tensor *got = t.is->embed(g, &context, rf__constant(g, words, 2, (int64_t[]){N, E}));
        if (rf__graph_error(g)->code) fail_msg("%s: %s", t.name, rf__graph_error(g)->text);
        if (!formula(t.name, c.sinusoidal_base, y, x, w, id))
            fail_msg("%s changes words: write its formula in formula() above", t.name);
        t_close_to(got->f32, y, N * E, 500 * 1.2e-7, 0);
        checked++;
        rf__params_free(&params);
        rf__positions_free(kept);
        rf__graph_free(g);
        t_free_all();
    }
    assert_true(checked >= 16);
    rf_ctx_free(ctx);
}

static void words_are_their_formulas(void **state)
{
    (void)state;
    check_formulas(10000);
    check_formulas(30);
}

/* Positions that end with the bits of 24 columns, or with the existing ones; a text of one token is at 0 of [0,1]. */
static void numbers_have_ends(void **state)
{
    (void)state;
    static const char *const keys[] = {"\"position_embedding_type\":\"index\"",
                                       "\"position_embedding_type\":\"unit\"",
                                       "\"position_embedding_type\":\"binary\""};
    for (size_t i = 0; i < RF_COUNT(keys); i++)
        for (int width = 4; width <= 24; width += 20) {
            rf_config c = small(keys[i]);
            c.embedding_size = width;
            struct work w = begin(&c, 1, NULL);
            rf_error why = {0};
            const float *v;
            const bool narrow = i == 2 && width == 4;
            int32_t id[1] = {5}, position[1] = {narrow ? 15 : 16777215};
            const int32_t start[2] = {0, 1};
            rf_batch b = {.N = 1, .B = 1, .id = id, .start = start};
            if (rf_session_hidden(w.session, &b, &v, &why)) fail_msg("%s: %s", keys[i], why.text);
            b.position = position;
            if (rf_session_hidden(w.session, &b, &v, &why)) fail_msg("%s: %s", keys[i], why.text);
            for (int j = 0; j < 32; j++) assert_true(isfinite(v[j]));
            position[0]++;
            assert_int_equal(rf_session_hidden(w.session, &b, &v, &why), RF_ERANGE);
            t_failed(&why, RF_ERANGE,
                     narrow ? "position of token 0: expected at least 0 and less than 16" : "got 16777216");
            end(&w);
        }
    t_free_all();
}

/* The count of the listing equals that of the table. */
static void parameters_are_counted(void **state)
{
    (void)state;
    const rf_config plain = small("\"position_embedding_type\":\"none\"");
    EACH(t) {
        const rf_config c = t.c;
        rf_ctx *ctx = t_ctx(1, NULL);
        rf_params params;
        int64_t n = 0;
        assert_int_equal(rf__params_new(ctx, &c, &params, NULL), RF_OK);
        for (size_t i = 0; i < params.n; i++) n += (int64_t)params.p[i].count;
        assert_int_equal(n, rf_config_parameters(&c));
        assert_int_equal(n - rf_config_parameters(&plain), rf_position_parameters(t.is, &c));
        rf__params_free(&params);
        rf_ctx_free(ctx);
    }
}

/* With is_decoder, states depend only on the beginning of a text: they have the same bits for any continuation, up to
 * the first token that differs.  Angles of dynamic and longrope are those of the whole text's length. */
static void causal_models_do_not_look_ahead(void **state)
{
    (void)state;
    EACH(t) {
        rf_config c = t.c;
        c.is_decoder = 1;
        const bool by_length = rf__rope_by_length(&c) || t.is->flags & RF_POSITION_LENGTH;
        struct work w = begin(&c, 2, NULL);
        rf_error why = {0};
        const float *v;
        int32_t id[130], start[3] = {0, 130, 130};
        fill(5, id, 130);
        rf_batch b = {.N = 130, .B = 1, .id = id, .start = start};
        if (rf_session_hidden(w.session, &b, &v, &why)) fail_msg("%s: %s", t.name, why.text);
        float *whole = memcpy(t_floats(130 * 32), v, 130 * 32 * sizeof *v);
        for (int32_t i = 1; i < 130; i += 43) {
            id[i] = (id[i] + 1) % 97;
            if (rf_session_hidden(w.session, &b, &v, &why)) fail_msg("%s: %s", t.name, why.text);
            if (memcmp(v, whole, (size_t)i * 32 * sizeof *v))
                fail_msg("%s: token %d is seen before its time", t.name, i);
            for (int32_t n = i; n < 130; n += 64)
                if (!memcmp(v + n * 32, whole + n * 32, 32 * sizeof *v))
                    fail_msg("%s: token %d is not seen at %d", t.name, i, n);
            id[i] = (id[i] + 96) % 97;
            b.N = start[1] = i;
            if (rf_session_hidden(w.session, &b, &v, &why)) fail_msg("%s: %s", t.name, why.text);
            if (!by_length && memcmp(v, whole, (size_t)i * 32 * sizeof *v))
                fail_msg("%s: %d tokens alone have other bits", t.name, i);
            b.N = start[1] = 130;
        }
        end(&w);
        t_free_all();
    }
}

static void names(void **state)
{
    (void)state;
    const rf_position *p;
    rf_error why = {0};
    rf_config c = small("\"position_embedding_type\":\"rotery\"");
    assert_int_equal(rf__position_find(&c, &p, &why), RF_EDATA);
    t_failed(&why, RF_EDATA,
             "position_embedding_type: expected ... got \"rotery\"; the nearest is \"rotary\"");
    c = small("\"position_embedding_type\":\"RoPE\"");
    why = (rf_error){0};
    assert_int_equal(rf__position_find(&c, &p, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "got \"RoPE\"; the nearest is \"rotary\"");
    c = small("\"position_embedding_type\":\"xpos\",\"is_decoder\":true");
    c.is_decoder = 0;
    why = (rf_error){0};
    assert_int_equal(rf__position_find(&c, &p, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "\"xpos\": expected causal attention");
    for (const rf_position *const *a = rf__position_list; *a; a++)
        for (const rf_position *const *b = a + 1; *b; b++) assert_string_not_equal((*a)->name, (*b)->name);
}

/* What the config's encoding adds for each of 128 tokens. */
static void added(const rf_ctx *ctx, const rf_config *c, double *flops, double *bytes)
{
    double cost[2][2];
    rf_config none = *c;
    snprintf(none.position_embedding_type, sizeof none.position_embedding_type, "none");
    assert_int_equal(rf_forward_cost(ctx, c, 128, &cost[0][0], &cost[0][1], NULL), RF_OK);
    assert_int_equal(rf_forward_cost(ctx, &none, 128, &cost[1][0], NULL, NULL), RF_OK);
    assert_int_equal(rf_forward_cost(ctx, &none, 128, NULL, &cost[1][1], NULL), RF_OK);
    *flops = (cost[0][0] - cost[1][0]) / 128;
    *bytes = (cost[0][1] - cost[1][1]) / 128;
}

/* Information for tools about the registry: all rows, once each, and the file that names none. */
static void rows_for_tools(void **state)
{
    (void)state;
    const rf_position *p = NULL;
    rf_error why = {0};
    rf_config c = small("\"position_embedding_type\":\"rotery\"");
    double flops = -1, bytes = -1;
    int n = 0, rotary = 0;
    for (; (p = rf_position_at(n)); n++) {
        assert_ptr_equal(p, rf__position_list[n]);
        assert_string_equal(rf_position_name(p), p->name);
        assert_true(*rf_position_equation(p) && *rf_position_source(p));
        rotary += (rf_position_flags(p) & RF_POSITION_ROPE) != 0;
    }
    assert_true(n > 20 && rotary > 1 && rotary < n);
    assert_null(rf__position_list[n]);
    assert_null(rf_position_at(-1));
    assert_int_equal(rf_position_of(&c, "some/file", &p, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "some/file: position_embedding_type: expected ... got \"rotery\"");
    assert_int_equal(rf_position_of(NULL, NULL, &p, NULL), RF_EARG);
    assert_int_equal(rf_position_of(&c, NULL, NULL, NULL), RF_EARG);
    c = small("\"position_embedding_type\":\"none\"");
    assert_int_equal(rf_position_of(&c, NULL, &p, NULL), RF_OK);
    rf_ctx *ctx = t_ctx(1, NULL);
    added(ctx, &c, &flops, &bytes);
    assert_true(flops == 0 && bytes == 0 && rf_position_parameters(p, &c) == 0);
    c = small("\"position_embedding_type\":\"alibi\"");
    assert_int_equal(rf_position_of(&c, NULL, &p, NULL), RF_OK);
    added(ctx, &c, &flops, &bytes);
    t_near(flops, (double)(c.num_hidden_layers * c.num_attention_heads * 128), 1e-9);   /* a number for each pair */
    c = small("\"position_embedding_type\":\"rotary\"");
    added(ctx, &c, &flops, &bytes);
    t_near(flops, (double)(c.num_hidden_layers * 2 * 3 * c.hidden_size), 1e-9);         /* queries and keys       */
    t_near(bytes, 0, 0);                                                        /* rotated where they are packed */
    c = small("\"position_embedding_type\":\"absolute\"");
    added(ctx, &c, &flops, &bytes);
    t_near(flops, (double)c.embedding_size, 1e-9);                                      /* p is read, x + p           */
    t_near(bytes, 16 * (double)c.embedding_size, 1e-9);
    assert_int_equal(rf_forward_cost(ctx, &c, 0, &flops, &bytes, NULL), RF_ERANGE);
    rf_ctx_free(ctx);
    assert_string_equal(rf_position_name(NULL), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_is_alone),
        cmocka_unit_test(order_is_seen),
        cmocka_unit_test(shift_invariant_ones_are),
        cmocka_unit_test(every_encoding_in_bf16),
        cmocka_unit_test(rotated_values_leak),
        cmocka_unit_test(beyond_the_trained_length),
        cmocka_unit_test(causal_models_do_not_look_ahead),
        cmocka_unit_test(words_are_their_formulas), cmocka_unit_test(numbers_have_ends),
        cmocka_unit_test(rerope_begins_at_rope),
        cmocka_unit_test(parameters_are_counted),
        cmocka_unit_test(names),
        cmocka_unit_test(rows_for_tools),
    };
    return cmocka_run_group_tests_name("model/positions", tests, NULL, NULL);
}
