/* bench_text.c — one short text through an encoder of the base shape, compared with the machine's limits.
 *
 *     bench_text [--tokens 16] [--threads N] [--rounds 9] [--seconds 0.5] [--type f32|bf16|int8]
 *
 * The limit is the larger of two times, both measured immediately before each sample: that of the layers' multiply-adds
 * at the peak of their type, and that of reading the layers' weights once.  A sample is the median of consecutive
 * forward passes of that many seconds, and of the layers' products alone (every matrix once, in order, without
 * attention and norms).  Types alternate within a round; the program prints medians over the rounds, with the range of
 * the ratios. Weights are random. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "median.h"
#include "peak.h"
#include "roformer/kernel/kernels.h"
#include "roformer/roformer.h"

enum { TYPES = 3, MOST_ROUNDS = 99, MOST_RUNS = 4000, MOST_TOKENS = 512, PRODUCTS = 4 };

typedef struct settings {
    int threads, tokens, rounds;
    double seconds;
    const char *only;
} settings;

/* An encoder of a type, its matrices once more for products alone, and what the rounds found. */
typedef struct subject {
    const char *name;
    rf_type type;
    rf_model *model;
    rf_session *session;
    rf_packed **matrix;                 /* [layers * PRODUCTS] */
    double ms[2][MOST_ROUNDS], limit[MOST_ROUNDS], ratio[2][MOST_ROUNDS];
} subject;

typedef struct bench {
    settings s;
    rf_ctx *ctx;
    rf_config config;
    float *in, *out;                    /* [tokens][intermediate size] */
    subject subject[TYPES];
    int subjects;
} bench;

static void must(rf_status status, const rf_error *why)
{
    if (!status) return;
    fprintf(stderr, "bench_text: %s\n", why->text);
    exit(1);
}

static float *numbers(const bench *b, int64_t n)
{
    float *x = rf_ctx_alloc(b->ctx, (size_t)n * sizeof *x);
    const rf_error why = {.text = "out of memory"};
    must(x ? RF_OK : RF_ENOMEM, &why);
    uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525U + 1013904223U;
        x[i] = (float)(int32_t)state * 0x1p-35F;
    }
    return x;
}

/* Query, key and value at once, the output, and the two of the feed-forward network: [n, k]. */
static void shape_of(const rf_config *c, int product, int64_t *n, int64_t *k)
{
    const int64_t C = c->hidden_size, F = c->intermediate_size;
    *n = product == 0 ? 3 * C : product == 2 ? F : C;
    *k = product == 3 ? F : C;
}

static void open_subject(bench *b, subject *u)
{
    rf_error why = {0};
    const rf_config *c = &b->config;
    must(rf_model_random_as(b->ctx, c, 7, u->type, &u->model, &why), &why);
    must(rf_session_open(u->model, &u->session, &why), &why);
    float *w = numbers(b, c->hidden_size * c->intermediate_size);
    u->matrix = rf_ctx_alloc(b->ctx, (size_t)(c->num_hidden_layers * PRODUCTS) * sizeof *u->matrix);
    for (int64_t i = 0; i < c->num_hidden_layers * PRODUCTS; i++) {
        int64_t n, k;
        shape_of(c, (int)(i % PRODUCTS), &n, &k);
        must(rf_pack(b->ctx, u->type, n, k, w, &u->matrix[i], &why), &why);
    }
    rf_ctx_release(b->ctx, w);
}

static void forward(bench *b, subject *u)
{
    int32_t id[MOST_TOKENS], start[2] = {0, b->s.tokens};
    const float *hidden;
    rf_error why = {0};
    for (int i = 0; i < b->s.tokens; i++) id[i] = (int32_t)(i * 37 % (b->config.vocab_size - 1) + 1);
    const rf_batch text = {.N = b->s.tokens, .B = 1, .id = id, .start = start};
    must(rf_session_hidden(u->session, &text, &hidden, &why), &why);
}

static void products(bench *b, subject *u)
{
    rf_error why = {0};
    for (int64_t i = 0; i < b->config.num_hidden_layers * PRODUCTS; i++) {
        int64_t n, k;
        const rf_act act = i % PRODUCTS == 2 ? RF_ACT_GELU : RF_ACT_NONE;
        shape_of(&b->config, (int)(i % PRODUCTS), &n, &k);
        must(rf_packed_product(b->ctx, u->matrix[i], b->s.tokens, b->in, k, NULL, act, b->out, n, &why), &why);
    }
}

/* The median of the runs of so many seconds. */
static double typical(bench *b, subject *u, void (*run)(bench *, subject *))
{
    static double took[MOST_RUNS];
    int n = 0;
    run(b, u);
    for (const double begun = seconds(); n < 3 || (n < MOST_RUNS && seconds() - begun < b->s.seconds); n++) {
        const double start = seconds();
        run(b, u);
        took[n] = seconds() - start;
    }
    return median(took, n);
}

static double limit_of(const bench *b, rf_type type)
{
    const int64_t C = b->config.hidden_size, F = b->config.intermediate_size;
    const double weights = (double)(b->config.num_hidden_layers * (4 * C * C + 2 * C * F));
    const double width = type == RF_I8 ? 1 : type == RF_BF16 ? 2 : 4;
    const double adding = 2 * b->s.tokens * weights / peak_of_type(b->ctx, type, 0.15);
    const double reading = weights * width / rf_peak_read(b->ctx, (size_t)(weights * width), 0.15);
    return adding > reading ? adding : reading;
}

static void print(subject *u, int rounds)
{
    static const char *const what[] = {"encoder", "products"};
    const double limit = median(u->limit, rounds);
    for (int i = 0; i < 2; i++) {
        const double ratio = median(u->ratio[i], rounds);            /* they are in order now */
        printf("%-5s %-9s %8.2f ms  limit %6.2f ms  %5.2f x the limit  (%.2f .. %.2f)\n", u->name, what[i],
               1e3 * median(u->ms[i], rounds), 1e3 * limit, ratio, u->ratio[i][0], u->ratio[i][rounds - 1]);
    }
}

static void measure(bench *b)
{
    for (int r = 0; r < b->s.rounds; r++) {
        for (int i = 0; i < b->subjects; i++) {
            subject *u = &b->subject[(r + i) % b->subjects];
            u->limit[r] = limit_of(b, u->type);
            u->ms[0][r] = typical(b, u, forward);
            u->ms[1][r] = typical(b, u, products);
            for (int k = 0; k < 2; k++) u->ratio[k][r] = u->ms[k][r] / u->limit[r];
        }
    }
    for (int i = 0; i < b->subjects; i++) print(&b->subject[i], b->s.rounds);
}

static void open_all(bench *b)
{
    static const struct { const char *name; rf_type type; } types[TYPES] = {
        {"f32", RF_F32}, {"bf16", RF_BF16}, {"int8", RF_I8}};
    rf_ctx_options o;
    rf_error why = {0};
    rf_ctx_defaults(&o);
    o.threads = b->s.threads;
    must(rf_ctx_new(&o, &b->ctx, &why), &why);
    rf_config_defaults(&b->config);
    b->config.vocab_size = 2000;                                     /* the embedding of a text is no product */
    b->in = numbers(b, b->s.tokens * b->config.intermediate_size);
    b->out = numbers(b, b->s.tokens * b->config.intermediate_size);
    for (int i = 0; i < TYPES; i++) {
        if (b->s.only && strcmp(b->s.only, types[i].name)) continue;
        subject *u = &b->subject[b->subjects++];
        *u = (subject){.name = types[i].name, .type = types[i].type};
        open_subject(b, u);
    }
}

static void close_all(bench *b)
{
    for (int i = 0; i < b->subjects; i++) {
        subject *u = &b->subject[i];
        for (int64_t k = 0; k < b->config.num_hidden_layers * PRODUCTS; k++) rf_packed_free(u->matrix[k]);
        rf_ctx_release(b->ctx, u->matrix);
        rf_session_close(u->session);
        rf_model_close(u->model);
    }
    rf_ctx_release(b->ctx, b->in);
    rf_ctx_release(b->ctx, b->out);
    rf_ctx_free(b->ctx);
}

static int usage(void)
{
    fputs("bench_text [--tokens 16] [--threads N] [--rounds 9] [--seconds 0.5] [--type f32|bf16|int8]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static bench b = {.s = {.tokens = 16, .rounds = 9, .seconds = 0.5}};
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--tokens")) b.s.tokens = atoi(value);
        else if (!strcmp(name, "--threads")) b.s.threads = atoi(value);
        else if (!strcmp(name, "--rounds")) b.s.rounds = atoi(value);
        else if (!strcmp(name, "--seconds")) b.s.seconds = atof(value);
        else if (!strcmp(name, "--type")) b.s.only = value;
        else return usage();
    }
    if (argc % 2 == 0 || b.s.tokens < 1 || b.s.tokens > MOST_TOKENS || b.s.rounds < 1 || b.s.rounds > MOST_ROUNDS)
        return usage();
    open_all(&b);
    if (!b.subjects) return usage();
    printf("one text of %d tokens, 12 layers of 768, %d threads, %d rounds\n", b.s.tokens, rf_ctx_threads(b.ctx),
           b.s.rounds);
    measure(&b);
    close_all(&b);
    return 0;
}
