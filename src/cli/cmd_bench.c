/* cmd_bench.c — roformer bench: how fast, and how near to what the machine can do.
 *
 * Operations counted, a multiply-add as two:
 *     encoder, one sequence of T tokens     L (2 T (4 C^2 + 2 C F) + 4 T^2 C) + 2 T E C (when E differs from C)
 *     training step                         3 x forward, and the head 6 n E (C + V) for its n labels
 *     attention                             4 T^2 C                                                                  */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "model/encoder.h"
#include "roformer/rope.h"

struct args {
    const char *model, *config, *text;
    cli_list shapes, cases;
    double seconds;
    int json;
};

/* A batch of given lengths with random tokens. */
typedef struct shape {
    char name[48];
    int32_t *id, *start;
    int64_t B, N;
    double squares;             /* sum of T^2                                                                          */
} shape;

typedef struct job {
    bench b;
    const struct args *a;
    rf_config config;
    shape now;
} job;

/* ---- shapes: "8x128", "1x16", or "32x5-200" (32 texts of 5 to 200 tokens) ------------------------------------------------ */

static void shape_free(shape *s)
{
    free(s->id);
    free(s->start);
    *s = (shape){0};
}

static rf_status shape_make(const char *text, int64_t V, shape *s, rf_error *why)
{
    long long B, low, high;
    int used = 0;
    rf_rng r;
    rf__rng_init(&r, 42, 7);
    *s = (shape){0};
    if (sscanf(text, "%lldx%lld%n", &B, &low, &used) != 2) used = 0;
    high = low;
    if (used && text[used] == '-' && sscanf(text, "%lldx%lld-%lld%n", &B, &low, &high, &used) != 3) used = 0;
    if (!used || text[used] || B < 1 || B > 65536 || low < 2 || high < low || high > 65536 || B * high > 1 << 22)
        return rf_fail(why, RF_EARG, "--shape: '%.40s' is not TEXTSxTOKENS, as 8x128 or 32x5-200", text);
    s->start = malloc((size_t)(B + 1) * sizeof *s->start);
    s->id = malloc((size_t)(B * high) * sizeof *s->id);
    if (!s->start || !s->id) {
        shape_free(s);
        return rf_fail(why, RF_ENOMEM, "out of memory");
    }
    snprintf(s->name, sizeof s->name, "%.40s", text);
    s->B = B;
    s->start[0] = 0;
    for (int64_t b = 0; b < B; b++) {
        const int64_t T = low + rf__rng_below(&r, (uint32_t)(high - low + 1));
        s->start[b + 1] = s->start[b] + (int32_t)T;
        s->squares += (double)T * (double)T;
        for (int64_t i = 0; i < T; i++) s->id[s->N++] = (int32_t)rf__rng_below(&r, (uint32_t)V);
    }
    return RF_OK;
}

static rf_batch batch_of(const shape *s)
{
    return (rf_batch){.N = s->N, .B = s->B, .id = s->id, .start = s->start};
}

static double encoder_flops(const rf_config *c, const shape *s)
{
    const double N = (double)s->N, C = (double)c->hidden_size, F = (double)c->intermediate_size, E = (double)c->embedding_size;
    return (double)c->num_hidden_layers * (2 * N * (4 * C * C + 2 * C * F) + 4 * s->squares * C) + (c->embedding_size != c->hidden_size ? 2 * N * E * C : 0);
}

/* Runs `one` for each --shape, or for each of `usual`. */
static rf_status each_shape(job *j, const char *const usual[], rf_status (*one)(job *))
{
    const int given = j->a->shapes.n;
    rf_status status = RF_OK;
    for (int i = 0; !status && (given ? i < given : usual[i] != NULL); i++) {
        status = shape_make(given ? j->a->shapes.item[i] : usual[i], j->config.vocab_size, &j->now, &j->b.io->why);
        if (!status) status = one(j);
        shape_free(&j->now);
    }
    return status;
}

/* ---- forward --------------------------------------------------------------------------------------------------------------- */

static rf_session *session;             /* of the case that runs */

static rf_status forward_body(void *arg, rf_error *why)
{
    const rf_batch batch = batch_of(arg);
    const float *hidden;
    return rf_session_hidden(session, &batch, &hidden, why);
}

static rf_status forward_shape(job *j)
{
    return bench_row(&j->b, "encoder", j->now.name, forward_body, &j->now,
                     (bench_work){.tokens = (double)j->now.N, .flops = encoder_flops(&j->config, &j->now)});
}

static rf_status bench_forward(job *j)
{
    static const char *const usual[] = {"8x128", "4x512", "1x16", "32x5-200", NULL};
    rf_error *why = &j->b.io->why;
    rf_model *model = NULL;
    rf_status status = j->a->model ? rf_model_open(j->b.io->ctx, j->a->model, &model, why)
                                   : rf_model_random(j->b.io->ctx, &j->config, 42, &model, why);
    if (!status) status = rf_session_open(model, &session, why);
    if (!status) status = each_shape(j, usual, forward_shape);
    rf_session_close(session);
    rf_model_close(model);
    return status;
}

/* ---- training step: forward, backward, AdamW; dropout as configured ------------------------------------------------------- */

typedef struct training {
    job *j;
    rf_params params;
    rf_encoder *encoder;
    rf_graph *g;
    float *slab[4];             /* values, gradients, first and second moments                                         */
    int32_t *row, *label;
    int64_t labels;
    uint64_t step;
} training;

static rf_status train_body(void *arg, rf_error *why)
{
    training *t = arg;
    const rfk_table *k = rf_ctx_kernels(t->j->b.io->ctx);
    const rf_batch batch = batch_of(&t->j->now);
    rf_graph_reset(t->g);
    rf_graph_record(t->g, 1, 42, ++t->step);
    memset(t->slab[1], 0, t->params.total * sizeof(float));
    rf_tensor *h = rf__encode(t->g, t->encoder, &batch);
    rf_tensor *loss = rf__mlm_loss(t->g, t->encoder, h, t->row, t->label, t->labels, 1.0 / (double)t->labels, NULL, NULL);
    const rf_status status = rf_backward(t->g, loss, why);
    if (status) return status;
    const double norm = sqrt(k->sumsq(t->slab[1], (int64_t)t->params.total));
    k->adamw(t->slab[0], t->slab[2], t->slab[3], t->slab[1], (int64_t)t->params.total, 1e-6f, 0.9f, 0.999f, 1e-8f, 0.01f, 1, 1,
             norm > 1 ? (float)(1 / norm) : 1);
    return RF_OK;
}

static rf_status train_shape(job *j, training *t)
{
    rf_rng r;
    rf__rng_init(&r, 42, 8);
    const int64_t N = j->now.N;
    t->labels = 0;
    t->row = malloc((size_t)N * sizeof *t->row);
    t->label = malloc((size_t)N * sizeof *t->label);
    if (!t->row || !t->label) return rf_fail(&j->b.io->why, RF_ENOMEM, "out of memory");
    for (int64_t i = 0; i < N; i++)
        if (rf__rng_uniform(&r) < 0.15f || !i) {
            t->row[t->labels] = (int32_t)i;
            t->label[t->labels++] = j->now.id[i];
        }
    const double head = 6 * (double)t->labels * (double)j->config.embedding_size * (double)(j->config.hidden_size + j->config.vocab_size);
    return bench_row(&j->b, "step", j->now.name, train_body, t,
                     (bench_work){.tokens = (double)N, .flops = 3 * encoder_flops(&j->config, &j->now) + head});
}

static training *steps;                 /* of the case that runs */

static rf_status train_one(job *j)
{
    const rf_status status = train_shape(j, steps);
    free(steps->row);
    free(steps->label);
    steps->row = steps->label = NULL;
    return status;
}

static rf_status bench_train(job *j)
{
    static const char *const usual[] = {"8x128", "2x512", NULL};
    rf_error *why = &j->b.io->why;
    const rf_ctx *ctx = j->b.io->ctx;
    training t = {.j = j};
    if (!j->a->config && !j->a->model) j->config.vocab_size = 30522;
    rf_status status = rf__params_new(ctx, &j->config, &t.params, why);
    if (status) return status;
    for (int i = 0; i < 4 && !status; i++)
        if (!(t.slab[i] = rf__calloc(ctx, t.params.total, sizeof(float))))
            status = rf_fail(why, RF_ENOMEM, "out of memory: %zu parameters four times", t.params.total);
    if (!status) {
        rf__params_init(&t.params, t.slab[0], 42);
        status = rf__encoder_new(&t.params, t.slab[0], t.slab[1], &t.encoder, why);
    }
    if (!status) status = rf_graph_new(ctx, &t.g, why);
    steps = &t;
    if (!status) status = each_shape(j, usual, train_one);
    rf_graph_free(t.g);
    rf__encoder_free(t.encoder);
    for (int i = 0; i < 4; i++) rf__free(ctx, t.slab[i]);
    rf__params_free(&t.params);
    return status;
}

/* ---- fused attention with rotation, as the encoder calls it ----------------------------------------------------------------- */

typedef struct attending {
    const job *j;
    rf_graph *g;
    rf_rope *rope;
    float *qkv;
    int32_t *row;
} attending;
static attending *heads;                /* of the case that runs */

static rf_status attention_body(void *arg, rf_error *why)
{
    attending *t = arg;
    const rf_config *c = &t->j->config;
    const shape *s = &t->j->now;
    rf_graph_reset(t->g);
    rf_tensor *qkv = rf_constant(t->g, t->qkv, 2, (const int64_t[]){s->N, 3 * c->hidden_size});
    rf_attention(t->g, qkv, &(rf_attention_spec){.heads = c->num_attention_heads, .B = s->B, .start = s->start, .rope = t->rope, .row = t->row});
    const rf_error *e = rf_graph_error(t->g);
    return e->code ? rf_fail(why, e->code, "%s", e->text) : RF_OK;
}

static rf_status attention_shape(job *j)
{
    rf_error *why = &j->b.io->why;
    const shape *s = &j->now;
    const int64_t C = j->config.hidden_size, D = C / j->config.num_attention_heads;
    const rf_ctx *ctx = j->b.io->ctx;
    attending t = {.j = j};
    int64_t longest = 1;
    rf_rng r;
    rf__rng_init(&r, 42, 9);
    for (int64_t b = 0; b < s->B; b++) longest = rf__max64(longest, s->start[b + 1] - s->start[b]);
    rf_status status = rf_rope_new(ctx, &(rf_rope_spec){D, j->config.rope_theta, RF_ROPE_PAIRS}, longest, &t.rope, why);
    if (!status) status = rf_graph_new(ctx, &t.g, why);
    t.qkv = rf__alloc(ctx, (size_t)(s->N * 3 * C) * sizeof *t.qkv);
    t.row = rf__alloc(ctx, (size_t)s->N * sizeof *t.row);
    if (!t.qkv || !t.row) status = rf_fail(why, RF_ENOMEM, "out of memory");
    if (!status) {
        for (int64_t i = 0; i < s->N * 3 * C; i++) t.qkv[i] = rf__rng_normal(&r);
        for (int64_t b = 0; b < s->B; b++)
            for (int32_t i = s->start[b]; i < s->start[b + 1]; i++) t.row[i] = i - s->start[b];
        heads = &t;
        status = bench_row(&j->b, "attention", s->name, attention_body, heads,
                           (bench_work){.tokens = (double)s->N, .flops = 4 * s->squares * (double)C});
    }
    rf__free(ctx, t.qkv);
    rf__free(ctx, t.row);
    rf_graph_free(t.g);
    rf_rope_free(t.rope);
    return status;
}

static rf_status bench_attention(job *j)
{
    static const char *const usual[] = {"8x128", "4x512", "1x1536", NULL};
    return each_shape(j, usual, attention_shape);
}

/* ---- rotation of q and k --------------------------------------------------------------------------------------------------- */

typedef struct turning {
    const rf_ctx *ctx;
    const rf_rope *rope;
    float *x, *y;
    int64_t N, H, D;
} turning;

static rf_status rope_body(void *arg, rf_error *why)
{
    const turning *t = arg;
    return rf_rope_turn(t->ctx, t->rope, t->y, t->x, NULL, t->N, t->H, t->D, 1, why);
}

static rf_status bench_rope(job *j)
{
    static const int64_t tokens[] = {16, 512, 4096};
    rf_error *why = &j->b.io->why;
    const rf_ctx *ctx = j->b.io->ctx;
    const int64_t H = j->config.num_attention_heads, D = j->config.hidden_size / H;
    rf_status status = RF_OK;
    for (int layout = 0; layout < 2; layout++) {
        rf_rope *rope = NULL;
        const rf_rope_spec spec = {D, j->config.rope_theta, layout ? RF_ROPE_HALVES : RF_ROPE_PAIRS};
        status = rf_rope_new(ctx, &spec, 4096, &rope, why);
        for (size_t i = 0; i < RF_COUNT(tokens) && !status; i++) {
            char name[48];
            const size_t n = (size_t)(tokens[i] * H * D);
            turning t = {ctx, rope, rf__calloc(ctx, n, sizeof(float)), rf__calloc(ctx, n, sizeof(float)), tokens[i], H, D};
            snprintf(name, sizeof name, "%lldx%lldx%lld", (long long)tokens[i], (long long)H, (long long)D);
            if (!t.x || !t.y) status = rf_fail(why, RF_ENOMEM, "out of memory");
            else status = bench_row(&j->b, layout ? "halves" : "pairs", name, rope_body, &t,
                                    (bench_work){.tokens = (double)tokens[i], .bytes = 8.0 * (double)n});
            rf__free(ctx, t.x);
            rf__free(ctx, t.y);
        }
        rf_rope_free(rope);
    }
    return status;
}

/* ---- matrix products -------------------------------------------------------------------------------------------------------- */

typedef struct product {
    const rf_ctx *ctx;
    rf_packed *w;
    const float *x;
    float *y;
    int64_t m, n, k;
} product;

static rf_status gemm_body(void *arg, rf_error *why)
{
    const product *p = arg;
    return rf_packed_product(p->ctx, p->w, p->m, p->x, p->k, NULL, RF_ACT_NONE, p->y, p->n, why);
}

static rf_status bench_gemm(job *j)
{
    const int64_t C = j->config.hidden_size, F = j->config.intermediate_size;
    const int64_t kn[][2] = {{C, 3 * C}, {C, C}, {C, F}, {F, C}}, m[] = {16, 128, 1024};
    rf_error *why = &j->b.io->why;
    const rf_ctx *ctx = j->b.io->ctx;
    rf_status status = RF_OK;
    for (size_t s = 0; s < RF_COUNT(kn) && !status; s++) {
        product p = {.ctx = ctx, .k = kn[s][0], .n = kn[s][1]};
        float *w = rf__calloc(ctx, (size_t)(p.k * p.n), sizeof *w), *x = rf__calloc(ctx, (size_t)(1024 * p.k), sizeof *x);
        p.y = rf__calloc(ctx, (size_t)(1024 * p.n), sizeof *p.y);
        p.x = x;
        if (!w || !x || !p.y) status = rf_fail(why, RF_ENOMEM, "out of memory");
        if (!status) {
            rf_rng r;
            rf__rng_init(&r, 42, 10);
            for (int64_t i = 0; i < p.k * p.n; i++) w[i] = rf__rng_normal(&r);
            for (int64_t i = 0; i < 1024 * p.k; i++) x[i] = rf__rng_normal(&r);
            status = rf_pack(ctx, RF_F32, p.n, p.k, w, &p.w, why);
        }
        for (size_t i = 0; i < RF_COUNT(m) && !status; i++) {
            char name[48];
            p.m = m[i];
            snprintf(name, sizeof name, "%lldx%lldx%lld", (long long)p.m, (long long)p.n, (long long)p.k);
            status = bench_row(&j->b, "product", name, gemm_body, &p, (bench_work){.tokens = (double)p.m, .flops = 2.0 * (double)(p.m * p.n * p.k)});
        }
        rf_packed_free(p.w);
        rf__free(ctx, w);
        rf__free(ctx, x);
        rf__free(ctx, p.y);
    }
    return status;
}

/* ---- tokenizing ---------------------------------------------------------------------------------------------------------------- */

typedef struct tokenizing {
    const rf_tokenizer *t;
    rf_encoding e;
    char *text;
    size_t size;
} tokenizing;

/* Line by line, as embed reads. */
static rf_status tokenize_body(void *arg, rf_error *why)
{
    tokenizing *t = arg;
    for (size_t at = 0; at < t->size;) {
        const char *feed = memchr(t->text + at, '\n', t->size - at);
        const size_t end = feed ? (size_t)(feed - t->text) : t->size;
        const rf_status status = rf_encode(t->t, t->text + at, end - at, NULL, 0, 0, at ? RF_ENCODE_APPEND : 0, &t->e, NULL, why);
        if (status) return status;
        at = end + 1;
    }
    return RF_OK;
}

static rf_status bench_tokenize(job *j)
{
    static const char sample[] =
        "The rotary embedding turns each query and key by an angle that grows with its position, so that their product\n"
        "depends on the distance alone. In 1687, Isaac Newton's \"Principia\" was printed in London; it cost nine shillings.\n"
        "Cafés in Zürich, São Paulo and 東京 open early. Prices: $12.50, €9,99 or 1,200 yen (approx.).\n";
    rf_error *why = &j->b.io->why;
    const rf_ctx *ctx = j->b.io->ctx;
    rf_tokenizer *tokenizer = NULL;
    tokenizing t = {0};
    char folder[4096];
    rf_encoding_init(&t.e, ctx);
    rf_status status = cli_model_folder(j->a->model, folder, sizeof folder, why);
    if (!status) status = rf_tokenizer_open(ctx, folder, &tokenizer, why);
    if (!status && j->a->text) status = rf__read_file(ctx, j->a->text, 1 << 26, &t.text, &t.size, why);
    if (!status && !j->a->text) {
        enum { TIMES = 1000 };
        const size_t n = sizeof sample - 1;
        t.size = TIMES * n;
        if (!(t.text = rf__alloc(ctx, t.size))) status = rf_fail(why, RF_ENOMEM, "out of memory");
        for (size_t i = 0; i < TIMES && !status; i++) memcpy(t.text + i * n, sample, n);
    }
    t.t = tokenizer;
    if (!status) status = tokenize_body(&t, why);
    if (!status) {
        char name[48];
        snprintf(name, sizeof name, "%.1f MB, 1 thread", (double)t.size / 1e6);
        const double tokens = (double)t.e.n;
        bench_work work = {.tokens = tokens, .bytes = (double)t.size};
        status = bench_row(&j->b, "tokenize", name, tokenize_body, &t, work);
    }
    rf__free(ctx, t.text);
    rf_encoding_clear(&t.e);
    rf_tokenizer_free(tokenizer);
    return status;
}

/* ---- kernels, every rung ------------------------------------------------------------------------------------------------------- */

typedef struct kernel_case {
    const rfk_table *k;
    void (*call)(const struct kernel_case *c);
    float *x, *y, *z, *w;
    int64_t rows, d;
} kernel_case;

static void call_softmax(const kernel_case *c)
{
    for (int64_t i = 0; i < c->rows; i++) c->k->softmax(c->y + i * c->d, c->x + i * c->d, c->d);
}
static void call_gelu(const kernel_case *c) { c->k->gelu(c->y, c->x, c->rows * c->d); }
static void call_gelu_tanh(const kernel_case *c) { c->k->gelu_tanh(c->y, c->x, c->rows * c->d); }
static void call_add(const kernel_case *c) { c->k->add(c->y, c->x, c->z, c->rows * c->d); }
static void call_norm(const kernel_case *c)
{
    c->k->layer_norm(c->y, NULL, NULL, c->x, c->z, c->w, c->w, 1e-12f, c->rows, c->d);
}
static void call_adamw(const kernel_case *c)
{
    c->k->adamw(c->y, c->x, c->w, c->z, c->rows * c->d, 1e-9f, 0.9f, 0.999f, 1e-8f, 0.01f, 1, 1, 1);
}
static void call_dropout(const kernel_case *c)
{
    c->k->dropout(c->y, c->x, c->rows * c->d, 0.1f, (const uint32_t[]){1, 2}, 3, 0);
}

static const struct { const char *name; void (*call)(const kernel_case *); double bytes; } kernel_cases[] = {
    {"softmax", call_softmax, 8},  {"gelu", call_gelu, 8},   {"gelu_tanh", call_gelu_tanh, 8}, {"add", call_add, 12},
    {"norm", call_norm, 12},       {"adamw", call_adamw, 28}, {"dropout", call_dropout, 8},
};

static rf_status kernel_body(void *arg, rf_error *why)
{
    const kernel_case *c = arg;
    (void)why;
    c->call(c);
    return RF_OK;
}

static rf_status bench_kernels(job *j)
{
    const rf_ctx *ctx = j->b.io->ctx;
    const int64_t rows = 64, d = j->config.hidden_size, n = rows * d;
    rf_status status = RF_OK;
    float *memory = rf__calloc(ctx, (size_t)n * 4, sizeof *memory);
    if (!memory) return rf_fail(&j->b.io->why, RF_ENOMEM, "out of memory");
    rf_rng r;
    rf__rng_init(&r, 42, 11);
    for (int64_t i = 0; i < 4 * n; i++) memory[i] = fabsf(rf__rng_normal(&r));
    for (size_t i = 0; i < RF_COUNT(kernel_cases); i++) {
        rfk_table k;
        for (int rung = 0; rfk_rung(rung, &k) && !status; rung++) {
            char name[48];
            kernel_case c = {&k, kernel_cases[i].call, memory, memory + n, memory + 2 * n, memory + 3 * n, rows, d};
            snprintf(name, sizeof name, "%s %lldx%lld", k.isa, (long long)rows, (long long)d);
            status = bench_row(&j->b, kernel_cases[i].name, name, kernel_body, &c, (bench_work){.bytes = kernel_cases[i].bytes * (double)n});
        }
    }
    rf__free(ctx, memory);
    return status;
}

/* ---- the table of cases --------------------------------------------------------------------------------------------------------- */

static const struct bench_case { const char *name, *what; rf_status (*run)(job *j); } cases[] = {
    {"forward", "encoder of a batch", bench_forward},
    {"train", "one update: forward, backward, AdamW", bench_train},
    {"attention", "fused attention with rotation", bench_attention},
    {"rope", "rotation alone, beside a copy", bench_rope},
    {"gemm", "matrix products of the encoder", bench_gemm},
    {"tokenize", "text to tokens", bench_tokenize},
    {"kernels", "single kernels on every rung, one thread", bench_kernels},
};

static const struct bench_case *find_case(const char *name, rf_error *why)
{
    cli_nearest near = {name, NULL, 0};
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        if (!strcmp(cases[i].name, name)) return &cases[i];
        cli_consider(&near, cases[i].name);
    }
    rf_fail(why, RF_EARG, "unknown bench %.60s%s%s%s", name, near.best ? "; did you mean " : "", near.best ? near.best : "",
            near.best ? "?" : " (forward, train, attention, rope, gemm, tokenize or kernels)");
    return NULL;
}

/* RoFormer-base; smaller shapes come from --config or -m. */
static rf_status choose_config(job *j)
{
    rf_error *why = &j->b.io->why;
    if (j->a->config) return rf_config_read(j->b.io->ctx, j->a->config, &j->config, why);
    if (j->a->model) return rf_config_read(j->b.io->ctx, j->a->model, &j->config, why);
    rf_config_defaults(&j->config);
    j->config.vocab_size = 50000;
    j->config.embedding_size = j->config.hidden_size = 768;
    j->config.num_hidden_layers = j->config.num_attention_heads = 12;
    j->config.intermediate_size = 3072;
    return RF_OK;
}

static rf_status run_case(job *j, const struct bench_case *c)
{
    const rf_status status = choose_config(j);
    if (status) return status;
    j->b.kind = c->name;
    return c->run(j);
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    job j = {.b = {.io = io, .seconds = a->seconds}, .a = a};
    static const char *const usual[] = {"forward"};
    const int n = a->cases.n ? a->cases.n : 1;
    const char *const *name = a->cases.n ? a->cases.item : usual;
    rf_status status = RF_OK;
    for (int i = 0; i < n && !status; i++)                  /* a typing error is told before anything runs */
        if (!find_case(name[i], &io->why)) status = RF_EARG;
    if (a->json) j.b.rows = json_array();
    else if (!status)
        printf("roformer %s, %d thread%s, rung %s, products by %s\n", rf_version(), rf_ctx_threads(io->ctx),
               rf_ctx_threads(io->ctx) > 1 ? "s" : "", rf_ctx_isa(io->ctx), rf_gemm_backend());
    for (int i = 0; i < n && !status; i++) status = run_case(&j, find_case(name[i], &io->why));
    if (a->json && !status)
        cli_print_json(json_pack("{s:s,s:i,s:s,s:s,s:O}", "version", rf_version(), "threads", rf_ctx_threads(io->ctx), "rung",
                                 rf_ctx_isa(io->ctx), "products", rf_gemm_backend(), "rows", j.b.rows),
                       JSON_INDENT(1), &io->why);
    json_decref(j.b.rows);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    {"model", 'm', CLI_FOLDER, A(model), "DIR", NULL, 0, 0, NULL, "measure this model; random weights of RoFormer-base otherwise", NULL},
    {"config", 'c', CLI_FILE, A(config), "FILE", NULL, 0, 0, NULL, "random weights of this config.json's shape", NULL},
    {"shape", 0, CLI_EACH, A(shapes), "BxT", NULL, 0, 0, NULL, "texts and tokens, as 8x128 or 32x5-200; may be given again", NULL},
    {"text", 0, CLI_FILE, A(text), "FILE", NULL, 0, 0, NULL, "what the tokenizer reads; a sample otherwise", NULL},
    {"seconds", 0, CLI_REAL, A(seconds), "X", "2", 0.01, 3600, NULL, "for each row", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "one JSON object", NULL},
    {"CASE", 0, CLI_OPERANDS, A(cases), NULL, NULL, 0, 16, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer bench",
    "roformer bench forward train --shape 8x128",
    "roformer bench attention --shape 4x512 --threads 1 --json",
    NULL,
};

const cli_command cmd_bench = {
    "bench", "[forward|train|attention|rope|gemm|tokenize|kernels]...", "measure speed, beside what the machine can do",
    "Prints for each shape the median and 95th percentile of the time, tokens a second, operations or bytes a second, and the "
    "share of what a loop of multiply-adds in registers (or a copy) reached in the same moments on the same threads.",
    examples, options, sizeof(struct args), NULL, run,
};
