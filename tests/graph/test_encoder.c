/* test_encoder.c — mirrors src/graph/graph.c: a small encoder on the tape: its gradient, bits and memory. */
#include <float.h>

#include "gradient.h"
#include "roformer/kernel/rope.h"

/* ---- a small encoder: embed, norm, attention, norm, feed-forward, norm, rows, loss over the vocabulary ----------- */

enum { WORD, TYPE, G0, B0, QKV, QKV_B, OUT, OUT_B, G1, B1, UP, UP_B, DOWN, DOWN_B, G2, B2, BIAS, WEIGHTS };

typedef struct net {
    int64_t N, B, C, H, F, V, n;
    double p;
    int layers;                            /* how often the one layer is applied                                   */
    bool again;                            /* as checkpoints                                                       */
    rf_type products;                      /* their type                                                          */
    int32_t *id, *type, *start, *row, *position, *label;
    const rf_rope *rope;
    t_shape shape[WEIGHTS];
    float *value[WEIGHTS], *grad[WEIGHTS];
} net;

static int64_t count(const net *e, int i)
{
    return e->shape[i].rank == 2 ? e->shape[i].dim[0] * e->shape[i].dim[1] : e->shape[i].dim[0];
}

/* A batch of sequences of growing length, every third token labeled; fenced memory, freed by t_free_all. */
static net make_net(int64_t B, int64_t C, int64_t H, int64_t F, int64_t V, double p)
{
    net e = {.B = B, .C = C, .H = H, .F = F, .V = V, .p = p, .layers = 1};
    e.start = t_bytes((size_t)(B + 1) * sizeof *e.start);
    e.start[0] = 0;
    for (int64_t b = 0; b < B; b++) e.start[b + 1] = e.start[b] + 4 + (int32_t)b;
    e.N = e.start[B];
    int32_t **const list[] = {&e.id, &e.type, &e.row, &e.position, &e.label};
    for (size_t i = 0; i < RF_COUNT(list); i++) *list[i] = t_bytes((size_t)e.N * sizeof **list[i]);
    rf_rng r;
    rf_rng_init(&r, 11, 5);
    for (int64_t b = 0; b < B; b++)
        for (int32_t n = e.start[b]; n < e.start[b + 1]; n++) {
            e.id[n] = (int32_t)rf_rng_below(&r, (uint32_t)V);
            e.type[n] = n % 2;
            e.position[n] = n - e.start[b];
            if (n % 3 == 1) {
                e.row[e.n] = n;
                e.label[e.n++] = (int32_t)rf_rng_below(&r, (uint32_t)V);
            }
        }
    const t_shape shapes[WEIGHTS] = {
        [WORD] = {2, {V, C}}, [TYPE] = {2, {2, C}}, [G0] = {1, {C}}, [B0] = {1, {C}},
        [QKV] = {2, {3 * C, C}}, [QKV_B] = {1, {3 * C}}, [OUT] = {2, {C, C}}, [OUT_B] = {1, {C}},
        [G1] = {1, {C}}, [B1] = {1, {C}}, [UP] = {2, {F, C}}, [UP_B] = {1, {F}}, [DOWN] = {2, {C, F}},
        [DOWN_B] = {1, {C}}, [G2] = {1, {C}}, [B2] = {1, {C}}, [BIAS] = {1, {V}},
    };
    memcpy(e.shape, shapes, sizeof shapes);
    for (int i = 0; i < WEIGHTS; i++) {
        const float size = shapes[i].rank == 2 ? 1.5f / sqrtf((float)shapes[i].dim[1]) : 1;
        e.value[i] = t_uniform(count(&e, i), -size, size);
        e.grad[i] = t_floats(count(&e, i));
    }
    return e;
}

typedef struct layer { const net *e; rf_tensor *w[WEIGHTS]; } layer;

static rf_tensor *run_layer(rf_graph *g, rf_tensor *h, const void *arg)
{
    const layer *l = arg;
    const net *e = l->e;
    rf_tensor *const *w = l->w;
    const rf_attention_spec spec = {
        .heads = e->H, .B = e->B, .start = e->start, .rope = e->rope, .row = e->position, .drop = e->p};
    const double eps = 1e-5;
    rf_tensor *a = rf__attention(g, rf__linear(g, h, w[QKV], w[QKV_B], RF_ACT_NONE), &spec);
    a = rf__linear(g, a, w[OUT], w[OUT_B], RF_ACT_NONE);
    h = rf__norm(g, rf__spend(a), h, e->p, w[G1], w[B1], eps, RF_NORM_LAYER);
    rf_tensor *f = rf__linear(g, h, w[UP], w[UP_B], RF_ACT_GELU);
    f = rf__linear(g, rf__spend(f), w[DOWN], w[DOWN_B], RF_ACT_NONE);
    return rf__norm(g, rf__spend(f), h, e->p, w[G2], w[B2], eps, RF_NORM_LAYER);
}

static rf_tensor *run_net(rf_graph *g, const net *e, rf_tensor **hidden)
{
    layer l = {.e = e};
    rf__graph_products(g, e->products);
    for (int i = 0; i < WEIGHTS; i++)
        l.w[i] = rf__parameter(g, e->value[i], e->grad[i], e->shape[i].rank, e->shape[i].dim);
    rf_tensor *word = rf__embed(g, l.w[WORD], e->id, e->N), *type = rf__embed(g, l.w[TYPE], e->type, e->N);
    rf_tensor *h = rf__norm(g, rf__spend(word), rf__spend(type), 0, l.w[G0], l.w[B0], 1e-5, RF_NORM_LAYER);
    h = rf__dropout(g, h, e->p);
    for (int i = 0; i < e->layers; i++)
        h = e->again ? rf__recompute(g, h, run_layer, &l, sizeof l) : run_layer(g, h, &l);
    if (hidden) *hidden = h;
    return rf__vocab_loss(g, rf__rows(g, h, e->row, e->n), l.w[WORD], l.w[BIAS], e->label, e->n, 1 / (double)e->n, NULL,
                          NULL);
}

/* Forward and backward from zeroed gradients. */
static rf_status step_net(rf_graph *g, const net *e, float *loss, rf_error *why)
{
    for (int i = 0; i < WEIGHTS; i++) memset(e->grad[i], 0, (size_t)count(e, i) * sizeof(float));
    if (rf__graph_reset(g)) return RF_ENOMEM;
    rf__graph_record(g, 1, T_SEED, T_STEP);
    rf_tensor *l = run_net(g, e, NULL);
    const rf_status status = rf__backward(g, l, why);
    if (!status && loss) *loss = *l->f32;
    return status;
}

/* ---- the same encoder in double, with loops ---- */

static double *doubles(int64_t n) { return t_bytes((size_t)n * sizeof(double)); }

static void product(double *y, const double *x, const double *w, const double *b, int64_t N, int64_t K, int64_t M)
{
    for (int64_t n = 0; n < N; n++)
        for (int64_t m = 0; m < M; m++) {
            y[n * M + m] = b[m];
            for (int64_t k = 0; k < K; k++) y[n * M + m] += x[n * K + k] * w[m * K + k];
        }
}

/* y = norm(dropout number `drop` of x + residual); drop < 0: none */
static void normed(double *y, const double *x, const double *residual, double p, int drop, const double *gamma,
                   const double *beta, int64_t N, int64_t C)
{
    for (int64_t n = 0; n < N; n++) {
        double mean = 0, variance = 0, sum[64];
        for (int64_t c = 0; c < C; c++) {
            const int64_t i = n * C + c;
            sum[c] = x[i] * (drop >= 0 && p > 0 ? t_kept(p, (uint32_t)drop, (uint64_t)i) : 1) + residual[i];
            mean += sum[c] / (double)C;
        }
        for (int64_t c = 0; c < C; c++) variance += (sum[c] - mean) * (sum[c] - mean) / (double)C;
        for (int64_t c = 0; c < C; c++)
            y[n * C + c] = gamma[c] * (sum[c] - mean) / sqrt(variance + (double)1e-5f) + beta[c];
    }
}

static void rotated(double *y, const double *x, int32_t m, int64_t D)
{
    for (int64_t i = 0; i < D; i += 2) {
        const double angle = m * pow(10000, -(double)i / (double)D);
        y[i] = cos(angle) * x[i] - sin(angle) * x[i + 1];
        y[i + 1] = sin(angle) * x[i] + cos(angle) * x[i + 1];
    }
}

static void attended(const net *e, double *y, const double *qkv, uint32_t drop)
{
    const int64_t D = e->C / e->H;
    for (int64_t b = 0; b < e->B; b++)
        for (int64_t h = 0; h < e->H; h++) {
            const int64_t from = e->start[b], T = e->start[b + 1] - from;
            for (int64_t t = 0; t < T; t++) {
                double q[64], k[64], prob[64], sum = 0, *out = y + (from + t) * e->C + h * D;
                rotated(q, qkv + (from + t) * 3 * e->C + h * D, (int32_t)t, D);
                for (int64_t s = 0; s < T; s++) {
                    double score = 0;
                    rotated(k, qkv + (from + s) * 3 * e->C + e->C + h * D, (int32_t)s, D);
                    for (int64_t d = 0; d < D; d++) score += q[d] * k[d];
                    sum += prob[s] = exp(score / sqrt((double)D));
                }
                for (int64_t d = 0; d < D; d++) out[d] = 0;
                for (int64_t s = 0; s < T; s++) {
                    uint32_t word[4];
                    rf__philox(rf__make_key(T_SEED, T_STEP), (uint64_t)(t * ((T + 3) / 4) + s / 4),
                               ((uint64_t)drop << 32) + (uint64_t)(b * e->H + h), word);
                    const double p = (double)(float)e->p,
                                 keep = word[s % 4] >= (uint32_t)(p * 0x1p32) ? 1 / (1 - p) : 0;
                    const double *v = qkv + (from + s) * 3 * e->C + 2 * e->C + h * D;
                    for (int64_t d = 0; d < D; d++) out[d] += prob[s] / sum * (e->p > 0 ? keep : 1) * v[d];
                }
            }
        }
}

typedef struct space { double *x, *type, *h, *qkv, *a, *o, *f; } space;

static double net_in_double(const net *e, double *const w[WEIGHTS], const space *s)
{
    const int64_t N = e->N, C = e->C, F = e->F;
    double loss = 0;
    for (int64_t n = 0; n < N; n++)
        for (int64_t c = 0; c < C; c++) {
            s->x[n * C + c] = w[WORD][e->id[n] * C + c];
            s->type[n * C + c] = w[TYPE][e->type[n] * C + c];
        }
    normed(s->h, s->x, s->type, 0, -1, w[G0], w[B0], N, C);
    for (int64_t i = 0; i < N * C && e->p > 0; i++) s->h[i] *= t_kept(e->p, 0, (uint64_t)i);
    product(s->qkv, s->h, w[QKV], w[QKV_B], N, C, 3 * C);
    attended(e, s->a, s->qkv, 1);
    product(s->o, s->a, w[OUT], w[OUT_B], N, C, C);
    normed(s->x, s->o, s->h, e->p, 2, w[G1], w[B1], N, C);
    product(s->f, s->x, w[UP], w[UP_B], N, C, F);
    for (int64_t i = 0; i < N * F; i++) s->f[i] *= (1 + erf(s->f[i] / sqrt(2))) / 2;
    product(s->o, s->f, w[DOWN], w[DOWN_B], N, F, C);
    normed(s->h, s->o, s->x, e->p, 3, w[G2], w[B2], N, C);
    for (int64_t i = 0; i < e->n; i++) {
        double sum = 0, z_label = 0;
        for (int64_t v = 0; v < e->V; v++) {
            double z = w[BIAS][v];
            for (int64_t c = 0; c < C; c++) z += s->h[e->row[i] * C + c] * w[WORD][v * C + c];
            sum += exp(z);
            if (v == e->label[i]) z_label = z;
        }
        loss += (log(sum) - z_label) / (double)e->n;
    }
    return loss;
}

/* <dL/dw, u> compared with (L(w + h u) - L(w - h u)) / 2h for one random direction u in each single weight.  The chain
 * has about 40 operations of up to C + F terms; rounding errors of L's gradient are below 1000 roundings of its
 * size. */
static void check_directions(const net *e, double *const w[WEIGHTS], const space *s)
{
    for (int i = 0; i < WEIGHTS; i++)
        for (int trial = 0; trial < 3; trial++) {
            const int64_t n = count(e, i);
            const float *u = t_normal(n);
            const double h = 1e-5;
            double got = 0, size = 0, side[2];
            for (int64_t j = 0; j < n; j++) {
                got += (double)u[j] * (double)e->grad[i][j];
                size += fabs((double)u[j] * (double)e->grad[i][j]);
            }
            for (int up = 0; up < 2; up++) {
                for (int64_t j = 0; j < n; j++) w[i][j] = (double)e->value[i][j] + (up ? h : -h) * (double)u[j];
                side[up] = net_in_double(e, w, s);
            }
            for (int64_t j = 0; j < n; j++) w[i][j] = (double)e->value[i][j];
            const double expected = (side[1] - side[0]) / (2 * h);
            if (!(fabs(got - expected) <= 1000 * FLT_EPSILON * (size + 0.01)))
                fail_msg("weight %d: directional derivative %.9g, expected %.9g", i, got, expected);
        }
}

static void the_encoder_has_its_gradient(void **state)
{
    (void)state;
    for (int dropped = 0; dropped < 2; dropped++)
        for (int best = 0; best < 3; best++) {
            rf_ctx *ctx = t_ctx(2, best ? NULL : "ref");
            rf_graph *g = t_graph(ctx);
            net e = make_net(3, 12, 2, 20, 23, dropped ? 0.2 : 0);
            e.again = best == 2;
            rf_rope *rope = t_angles(ctx, e.C / e.H, 64);
            e.rope = rope;
            rf_error why = {0};
            float loss = 0;
            if (step_net(g, &e, &loss, &why)) fail_msg("%s", why.text);

            double *w[WEIGHTS];
            for (int i = 0; i < WEIGHTS; i++) {
                w[i] = doubles(count(&e, i));
                for (int64_t j = 0; j < count(&e, i); j++) w[i][j] = (double)e.value[i][j];
            }
            const int64_t NC = e.N * e.C;
            const space s = {doubles(NC), doubles(NC), doubles(NC),       doubles(3 * NC),
                             doubles(NC), doubles(NC), doubles(e.N * e.F)};
            t_near(loss, net_in_double(&e, w, &s), 100 * FLT_EPSILON * loss);
            check_directions(&e, w, &s);
            rf_rope_free(rope);
            rf__graph_free(g);
            rf_ctx_free(ctx);
            t_free_all();
        }
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

static void workers_do_not_change_bits(void **state)
{
    (void)state;
    static const char *const isa[] = {"ref", NULL};
    for (size_t i = 0; i < RF_COUNT(isa); i++) {
        const int64_t B = i ? 20 : 8, C = i ? 96 : 24;
        net e = make_net(B, C, 4, 2 * C, 400, 0.1);
        float first_loss = 0, *first[WEIGHTS];
        for (int threads = 1; threads <= 4; threads *= 2) {
            rf_ctx *ctx = t_ctx(threads, isa[i]);
            rf_graph *g = t_graph(ctx);
            rf_rope *rope = t_angles(ctx, C / 4, 64);
            rf_error why = {0};
            float loss = 0;
            e.rope = rope;
            if (step_net(g, &e, &loss, &why)) fail_msg("%s", why.text);
            for (int w = 0; w < WEIGHTS; w++) {
                const size_t bytes = (size_t)count(&e, w) * sizeof(float);
                if (threads == 1) first[w] = memcpy(t_floats(count(&e, w)), e.grad[w], bytes);
                else if (memcmp(first[w], e.grad[w], bytes))
                    fail_msg("weight %d: other bits with %d workers", w, threads);
            }
            if (threads == 1) first_loss = loss;
            assert_memory_equal(&loss, &first_loss, sizeof loss);
            rf_rope_free(rope);
            rf__graph_free(g);
            rf_ctx_free(ctx);
        }
        t_free_all();
    }
}

/* All gradients, concatenated; *memory gets the arena's peak in bytes. */
static float *gradients(const net *e, int threads, float *loss, size_t *memory)
{
    rf_ctx *ctx = t_ctx(threads, NULL);
    rf_graph *g = t_graph(ctx);
    rf_rope *rope = t_angles(ctx, e->C / e->H, 64);
    rf_error why = {0};
    net with = *e;
    with.rope = rope;
    int64_t n = 0, at = 0;
    for (int w = 0; w < WEIGHTS; w++) n += count(e, w);
    float *all = t_floats(n);
    if (step_net(g, &with, loss, &why)) fail_msg("%s", why.text);
    for (int w = 0; w < WEIGHTS; at += count(e, w++)) memcpy(all + at, e->grad[w], (size_t)count(e, w) * sizeof *all);
    if (memory) *memory = rf__graph_memory(g);
    rf_rope_free(rope);
    rf__graph_free(g);
    rf_ctx_free(ctx);
    return all;
}

static int64_t gradient_size(const net *e)
{
    int64_t n = 0;
    for (int w = 0; w < WEIGHTS; w++) n += count(e, w);
    return n;
}

/* Recomputation gives the same bits: dropout of three kinds, several layers, both types, workers. */
static void recomputation_does_not_change_bits(void **state)
{
    (void)state;
    for (int type = RF_F32; type <= RF_BF16; type++) {
        net e = make_net(20, 96, 4, 192, 400, 0.1);
        e.products = (rf_type)type;
        e.layers = 4;
        float loss[3];
        size_t whole, layered;
        const float *kept = gradients(&e, 1, &loss[0], &whole);
        e.again = true;
        const float *again = gradients(&e, 1, &loss[1], &layered), *three = gradients(&e, 3, &loss[2], NULL);
        const size_t bytes = (size_t)gradient_size(&e) * sizeof(float);
        assert_memory_equal(kept, again, bytes);
        assert_memory_equal(kept, three, bytes);
        assert_memory_equal(&loss[0], &loss[1], sizeof *loss);
        assert_memory_equal(&loss[0], &loss[2], sizeof *loss);
        assert_true(layered < 3 * whole / 5);                     /* of four layers one is there at a time */
        t_free_all();
    }
}

/* Products in bf16 against f32.  Rounding an operand to 8 digits has a relative error of 2^-9 / sqrt 3 = 0.0011
 * (standard deviation), both operands of a product 0.0016.  A gradient has passed at most five products and one
 * rounding forward and five products back: sqrt 11 times that, 0.0053, if all of it arrived.  Norms and softmax may
 * stretch what is left after them; 0.03 allows for a factor of five, and a wrong term in one of the products would be
 * of order 1. */
static void bf16_has_nearly_the_gradient_of_f32(void **state)
{
    (void)state;
    net e = make_net(20, 96, 4, 192, 400, 0.1);
    float loss[2];
    size_t memory[2];
    const float *expected = gradients(&e, 2, &loss[0], &memory[0]);
    e.products = RF_BF16;
    const float *got = gradients(&e, 2, &loss[1], &memory[1]);
    t_near(loss[1], loss[0], 0.01 * (double)loss[0]);
    for (int w = 0, at = 0; w < WEIGHTS; at += (int)count(&e, w++)) {
        double off = 0, size = 0;
        for (int64_t i = at; i < at + count(&e, w); i++) {
            off += pow((double)got[i] - (double)expected[i], 2);
            size += pow((double)expected[i], 2);
        }
        const double share = sqrt(off / size);
        if (!(share > 1e-6 && share < 0.03)) fail_msg("weight %d: %.4f of the gradient is off", w, share);
    }
    assert_true(memory[1] < memory[0]);
    t_free_all();
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void a_step_of_known_shape_allocates_nothing(void **state)
{
    (void)state;
    t_memory memory = {0};
    rf_ctx *ctx = t_counting_ctx(2, "ref", &memory);
    rf_graph *g = t_graph(ctx);
    net e = make_net(6, 16, 2, 32, 50, 0.1);
    rf_rope *rope = t_angles(ctx, 8, 64);
    e.rope = rope;
    rf_error why = {0};
    long calls = 0;
    for (int lap = 0; lap < 8; lap++) {
        e.again = lap >= 4;
        if (lap == 4) calls = 0;
        assert_int_equal(rf__graph_reset(g), RF_OK);             /* the second pass merges the first one's blocks */
        if (lap % 4 == 1) calls = memory.calls;
        assert_int_equal(step_net(g, &e, NULL, &why), RF_OK);
        if (lap % 4 >= 1) assert_int_equal(memory.calls, calls);
    }
    rf_rope_free(rope);
    rf__graph_free(g);
    rf_ctx_free(ctx);
    assert_int_equal(memory.live, 0);
    t_free_all();
}

/* Allocation n of the first two steps fails, alone or with all later ones: a status (or, alone, a smaller block
 * instead), no leak, and the same graph works afterwards. */
static bool fails_cleanly(net *e, long n, bool forever)
{
    t_memory memory = {.forever = forever};
    rf_ctx *ctx = t_counting_ctx(1, "ref", &memory);
    rf_rope *rope = t_angles(ctx, e->C / e->H, 64);
    e->rope = rope;
    rf_error why = {0};
    rf_graph *g = NULL;
    memory.fail = memory.calls + n;
    rf_status status = rf__graph_new(ctx, &g, &why);
    for (int lap = 0; lap < 2 && !status; lap++) status = step_net(g, e, NULL, &why);
    const bool reached = memory.calls >= memory.fail;
    if (status) {
        assert_int_equal(status, RF_ENOMEM);
        if (why.code) t_failed(&why, RF_ENOMEM, "out of memory");
    }
    if (forever) assert_int_equal(reached, status == RF_ENOMEM);
    memory.fail = 0;
    why = (rf_error){0};
    if (g) assert_int_equal(step_net(g, e, NULL, &why), RF_OK);
    rf__graph_free(g);
    rf_rope_free(rope);
    rf_ctx_free(ctx);
    assert_int_equal(memory.live, 0);
    return reached;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    net e = make_net(20, 24, 2, 48, 60, 0.1);
    for (int forever = 0; forever < 4; forever++) {
        e.again = forever > 1;
        long n = 1;
        while (fails_cleanly(&e, n, forever % 2)) n++;
        assert_true(n > 4);                                      /* the graph, blocks, their merging */
    }
    t_free_all();
}

/* ---- inference --------------------------------------------------------------------------------------------------- */

/* Dropout only applies when the graph records, and packed weights give the same product. */
static void inference_is_the_same_network(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_graph *g = t_graph(ctx);
    net e = make_net(5, 16, 2, 32, 40, 0.3), plain;
    rf_rope *rope = t_angles(ctx, 8, 64);
    rf_error why = {0};
    e.rope = rope;
    plain = e;
    plain.p = 0;
    float loss = 0;
    if (step_net(g, &plain, &loss, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf__graph_reset(g), RF_OK);
    rf__graph_record(g, 0, 0, 0);
    rf_tensor *l = run_net(g, &e, NULL);
    assert_int_equal(rf__graph_error(g)->code, RF_OK);
    assert_int_equal(l->tracked, 0);
    t_near(*l->f32, loss, 30 * FLT_EPSILON * loss);             /* bias and activation at the store round differently */

    rf_packed *packed = NULL;
    if (rf_pack(ctx, RF_F32, 32, 16, e.value[UP], &packed, &why)) fail_msg("%s", why.text);
    rf_tensor *x = rf__constant(g, e.value[OUT], 2, (int64_t[]){16, 16}),
              *w = rf__parameter(g, e.value[UP], NULL, 2, (int64_t[]){32, 16});
    rf_tensor *b = rf__parameter(g, e.value[UP_B], NULL, 1, (int64_t[]){32});
    rf_tensor *y = rf__linear(g, x, w, b, RF_ACT_GELU);
    w = rf__parameter(g, NULL, NULL, 2, (int64_t[]){32, 16});    /* the packed form is all there is */
    w->packed = packed;
    rf_tensor *z = rf__linear(g, x, w, b, RF_ACT_GELU);
    assert_int_equal(rf__graph_error(g)->code, RF_OK);
    t_close(z->f32, y->f32, 16 * 32, 40 * FLT_EPSILON, 0);
    rf_packed_free(packed);
    rf_rope_free(rope);
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_encoder_has_its_gradient),
        cmocka_unit_test(workers_do_not_change_bits),
        cmocka_unit_test(recomputation_does_not_change_bits),
        cmocka_unit_test(bf16_has_nearly_the_gradient_of_f32),
        cmocka_unit_test(a_step_of_known_shape_allocates_nothing),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(inference_is_the_same_network),
    };
    return cmocka_run_group_tests_name("graph/encoder", tests, NULL, NULL);
}
