/* bench_parts.c — rotation, matrix products, tokenizing, and single kernels. */
#include <math.h>
#include <string.h>

#include "cli/bench/bench.h"
#include "roformer/context.h"
#include "roformer/kernel/rope.h"
#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"
#include "roformer/kernel/kernels.h"

/* Arrays at the same offset within their pages conflict in the caches (a store delays loads from the same offset of
 * another page). This many numbers between them avoid that. */
enum { APART = 1088 };

/* ---- rotation of q and k ----------------------------------------------------------------------------------------- */

typedef struct rotation {
    const rf_ctx *ctx;
    const rf_rope *rope;
    float *x, *y;
    int64_t N, H, D;
} rotation;

static rf_status rope_body(void *arg, rf_error *why)
{
    const rotation *t = arg;
    return rf_rope_rotate(t->ctx, t->rope, t->y, t->x, NULL, t->N, t->H, t->D, 1, why);
}

rf_status bench_rope(bench_job *j)
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
        for (size_t i = 0; i < CLI_COUNT(tokens) && !status; i++) {
            char name[48];
            const size_t n = (size_t)(tokens[i] * H * D);
            float *memory = rf_ctx_alloc(ctx, (2 * n + APART) * sizeof *memory);
            rotation t = {ctx, rope, memory, memory ? memory + n + APART : NULL, tokens[i], H, D};
            snprintf(name, sizeof name, "%lldx%lldx%lld", (long long)tokens[i], (long long)H, (long long)D);
            if (!memory) status = rf_fail(why, RF_ENOMEM, "out of memory: %zu numbers twice", n);
            for (size_t k = 0; k < 2 * n + APART && memory; k++) memory[k] = (float)(k % 1021) * 1e-3f;
            if (memory)
                status = bench_row(&j->b, layout ? "halves" : "pairs", name, rope_body, &t,
                                   (bench_work){.tokens = (double)tokens[i],
                                                .bytes = 8.0 * (double)n,
                                                .to = t.y,
                                                .from = t.x,
                                                .copy_bytes = 4 * n});
            rf_ctx_release(ctx, memory);
        }
        rf_rope_free(rope);
    }
    return status;
}

/* ---- matrix products --------------------------------------------------------------------------------------------- */

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

rf_status bench_gemm(bench_job *j)
{
    const int64_t C = j->config.hidden_size, F = j->config.intermediate_size;
    const int64_t kn[][2] = {{C, 3 * C}, {C, C}, {C, F}, {F, C}}, m[] = {16, 128, 1024};
    rf_error *why = &j->b.io->why;
    const rf_ctx *ctx = j->b.io->ctx;
    rf_status status = RF_OK;
    for (size_t s = 0; s < CLI_COUNT(kn) && !status; s++) {
        product p = {.ctx = ctx, .k = kn[s][0], .n = kn[s][1]};
        float *w = rf_ctx_alloc(ctx, (size_t)(p.k * p.n) * sizeof *w),
              *x = rf_ctx_alloc(ctx, (size_t)(1024 * p.k) * sizeof *x);
        p.y = rf_ctx_alloc(ctx, (size_t)(1024 * p.n) * sizeof *p.y);
        p.x = x;
        if (!w || !x || !p.y) status = rf_fail(why, RF_ENOMEM, "out of memory");
        if (!status) {
            rf_rng r;
            rf_rng_init(&r, 42, 10);
            for (int64_t i = 0; i < p.k * p.n; i++) w[i] = rf_rng_normal(&r);
            for (int64_t i = 0; i < 1024 * p.k; i++) x[i] = rf_rng_normal(&r);
            status = rf_pack(ctx, j->b.type, p.n, p.k, w, &p.w, why);
        }
        for (size_t i = 0; i < CLI_COUNT(m) && !status; i++) {
            char name[48];
            p.m = m[i];
            snprintf(name, sizeof name, "%lldx%lldx%lld", (long long)p.m, (long long)p.n, (long long)p.k);
            const double flops = 2.0 * (double)(p.m * p.n * p.k);
            status = bench_row(&j->b, "product", name, gemm_body, &p,
                               (bench_work){.tokens = (double)p.m, .flops = flops});
        }
        rf_packed_free(p.w);
        rf_ctx_release(ctx, w);
        rf_ctx_release(ctx, x);
        rf_ctx_release(ctx, p.y);
    }
    return status;
}

/* ---- tokenizing -------------------------------------------------------------------------------------------------- */

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
        const rf_status status =
            rf_encode(t->t, t->text + at, end - at, NULL, 0, 0, at ? RF_ENCODE_APPEND : 0, &t->e, NULL, why);
        if (status) return status;
        at = end + 1;
    }
    return RF_OK;
}

/* Reads all of a file, or of standard input, and decompresses it. */
static rf_status read_text(const rf_ctx *ctx, const char *path, tokenizing *t, rf_error *why)
{
    enum { MOST = 1 << 26 };
    rf_source *source;
    size_t got = 1;
    rf_status status = rf_source_open(ctx, path, &source, why);
    if (status) return status;
    if (!(t->text = rf_ctx_alloc(ctx, MOST + 1))) status = rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    while (!status && got && t->size <= MOST) {
        status = rf_source_read(source, t->text + t->size, MOST + 1 - t->size, &got, why);
        if (!status) t->size += got;
    }
    rf_source_close(source);
    if (status || t->size <= MOST) return status;
    return rf_fail(why, RF_EDATA, "%s: expected at most %d bytes of text, got more", path, (int)MOST);
}

rf_status bench_tokenize(bench_job *j)
{
    static const char sample[] =
        "The rotary embedding rotates each query and key by an angle that grows with its position, so that their "
        "product\n"
        "depends on the distance alone. In 1687, Isaac Newton's \"Principia\" was printed in London; it cost nine "
        "shillings.\n"
        "Cafés in Zürich, São Paulo and 東京 open early. Prices: $12.50, €9,99 or 1,200 yen (approx.).\n";
    rf_error *why = &j->b.io->why;
    const rf_ctx *ctx = j->b.io->ctx;
    rf_tokenizer *tokenizer = NULL;
    tokenizing t = {0};
    char folder[4096];
    rf_encoding_init(&t.e, ctx);
    rf_status status = cli_model_folder(j->a->model, folder, sizeof folder, why);
    if (!status) status = rf_tokenizer_open(ctx, folder, &tokenizer, why);
    if (!status && j->a->text) status = read_text(ctx, j->a->text, &t, why);
    if (!status && !j->a->text) {
        enum { TIMES = 1000 };
        const size_t n = sizeof sample - 1;
        t.size = TIMES * n;
        if (!(t.text = rf_ctx_alloc(ctx, t.size))) status = rf_fail(why, RF_ENOMEM, "out of memory");
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
    rf_ctx_release(ctx, t.text);
    rf_encoding_clear(&t.e);
    rf_tokenizer_free(tokenizer);
    return status;
}

/* ---- kernels, every rung ----------------------------------------------------------------------------------------- */

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

rf_status bench_kernels(bench_job *j)
{
    const rf_ctx *ctx = j->b.io->ctx;
    const int64_t rows = 64, d = j->config.hidden_size, n = rows * d;
    rf_status status = RF_OK;
    const int64_t step = n + APART;
    float *memory = rf_ctx_alloc(ctx, (size_t)step * 4 * sizeof *memory);
    if (!memory) return rf_fail(&j->b.io->why, RF_ENOMEM, "out of memory");
    rf_rng r;
    rf_rng_init(&r, 42, 11);
    for (int64_t i = 0; i < 4 * step; i++) memory[i] = fabsf(rf_rng_normal(&r));
    for (size_t i = 0; i < CLI_COUNT(kernel_cases); i++) {
        rfk_table k;
        for (int rung = 0; rfk_rung(rung, &k) && !status && !rfk_rung_emulated(k.isa); rung++) {
            char name[48];
            kernel_case c = {
                &k, kernel_cases[i].call, memory, memory + step, memory + 2 * step, memory + 3 * step, rows, d};
            snprintf(name, sizeof name, "%s %lldx%lld", k.isa, (long long)rows, (long long)d);
            status = bench_row(&j->b, kernel_cases[i].name, name, kernel_body, &c,
                               (bench_work){.bytes = kernel_cases[i].bytes * (double)n, .to = c.y, .from = c.x,
                                            .copy_bytes = (size_t)n * sizeof(float), .alone = true});
        }
    }
    rf_ctx_release(ctx, memory);
    return status;
}
