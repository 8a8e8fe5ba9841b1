/* bench_relative.c — attention with each relative encoding, as a multiple of the time without one.
 *
 *     bench_relative [--json] [--threads N] [--rounds N] [--only NAME] [--shape 4x512|8x128|1x2048] [--type f32|bf16]
 *
 * The base shape's heads, 12 of 64 columns, no rotation.  In each round attention is timed without an encoding and then
 * with it: the operation of the tape alone (its tables made before), as a session does it, which keeps tables while it
 * is open (the call of relate included), with the making of the tables in each call, and the step forward and backward,
 * tables included.  Printed are the medians over the rounds of the times and of their ratios.  With --type bf16
 * products are in bf16, with the encoding and without.                                                               */
#include <stdio.h>
#include <stdlib.h>

#include "model/encoder.h"
#include "median.h"
#include "model/position.h"
#include "roformer/model.h"

enum { ROUNDS = 101, PARAMETERS = 16, KINDS = 4 };
static const char *const kind[KINDS] = {"attention", "session", "with tables", "both ways"};

typedef struct shape { const char *name; int32_t B, T; } shape;
static const shape shapes[] = {{"8x128", 8, 128}, {"4x512", 4, 512}, {"1x2048", 1, 2048}};

typedef struct work {
    const rf_ctx *ctx;
    rf_graph *g;
    rf_type type;
    const rf_position *is;
    rf_params params;
    rf_positions *kept;
    float *value, *grad, *qkv, *d_qkv, *weight;
    int32_t *id, *start;
    int32_t B, T;
} work;

static void die(const char *text)
{
    fprintf(stderr, "bench_relative: %s\n", text);
    exit(1);
}

static float *filled(const rf_ctx *ctx, int64_t n)
{
    float *x = rf__alloc(ctx, (size_t)n * sizeof *x);
    if (!x) die("out of memory");
    uint32_t s = 1;
    for (int64_t i = 0; i < n; i++) {
        s = s * 1664525U + 1013904223U;
        x[i] = (float)(int32_t)s * 0x1p-31F;
    }
    return x;
}

static void open_encoding(work *w, const char *name)
{
    char text[512];
    rf_config c;
    rf_error why = {0};
    snprintf(text, sizeof text,
             "{\"vocab_size\":16,\"num_hidden_layers\":1,\"max_position_embeddings\":2048,\"position_embedding_type\":"
             "\"%s\",\"max_relative_positions\":512,\"attention_probs_dropout_prob\":0}",
             name);
    if (rf_config_parse(w->ctx, text, strlen(text), "bench", &c, &why) || rf__params_new(w->ctx, &c, &w->params, &why))
        die(why.text);
    w->is = w->params.position;
    w->value = filled(w->ctx, (int64_t)w->params.total);
    w->grad = filled(w->ctx, (int64_t)w->params.total);
    rf__params_init(&w->params, w->value, 1);
    if (rf__positions_new(w->ctx, &w->params.config, &w->kept, &why)) die(why.text);
}

static void close_encoding(work *w)
{
    rf__positions_free(w->kept);
    rf__free(w->ctx, w->value);
    rf__free(w->ctx, w->grad);
    rf__params_free(&w->params);
}

/* One pass; times of making the tables, of attention, and of the backward. */
static void pass(work *w, bool still, bool record, double s[3])
{
    const rf_config *c = &w->params.config;
    const int64_t N = (int64_t)w->B * w->T, C = c->hidden_size;
    rf_tensor *shared[PARAMETERS], *layer[PARAMETERS];
    size_t n[2] = {0, 0};
    rf_layer_context at;
    rf_error why = {0};
    if (rf_graph_reset(w->g)) die("reset");
    rf_graph_record(w->g, record, 1, 1);
    rf_graph_products(w->g, w->type);
    const rf_batch b = {.N = N, .B = w->B, .id = w->id, .start = w->start};
    if (!rf__positions_bind(w->g, w->kept, c, &b, &at)) die(rf_graph_error(w->g)->text);
    for (size_t i = 0; i < w->params.n; i++) {
        const rf_param *p = &w->params.p[i];
        if (!p->position) continue;
        rf_tensor *t = rf_parameter(w->g, w->value + p->offset, record ? w->grad + p->offset : NULL, p->rank, p->dim);
        if (p->layer < 0) shared[n[0]++] = t;
        else layer[n[1]++] = t;
    }
    at.layer = 0, at.shared = shared, at.weight = layer, at.still = still;
    rf_tensor *qkv = record ? rf_input(w->g, w->qkv, w->d_qkv, 2, (int64_t[]){N, 3 * C})
                            : rf_constant(w->g, w->qkv, 2, (int64_t[]){N, 3 * C});
    rf_attention_spec spec = {.heads = c->num_attention_heads, .B = w->B, .start = at.start};
    const double begin = rf__seconds();
    if (w->is->relate) w->is->relate(w->g, &at, qkv, &spec);
    const double made = rf__seconds();
    rf_tensor *y = rf_attention(w->g, qkv, &spec);
    const double done = rf__seconds();
    s[0] = made - begin, s[1] = done - made, s[2] = 0;
    if (rf_graph_error(w->g)->code) die(rf_graph_error(w->g)->text);
    if (!record) return;
    rf_tensor *loss = rf_linear(w->g, rf_rows(w->g, y, w->start, 1), rf_constant(w->g, w->weight, 2, (int64_t[]){1, C}),
                                NULL, RF_ACT_NONE);
    const double middle = rf__seconds();
    if (rf_backward(w->g, loss, &why)) die(why.text);
    s[2] = rf__seconds() - middle;
}

static void times(work *w, double t[KINDS])
{
    double s[3], best[KINDS] = {1e9, 1e9, 1e9, 1e9};
    for (int again = 0; again < 3; again++) {
        pass(w, true, false, s);
        if (s[0] + s[1] < best[1]) best[1] = s[0] + s[1];
        pass(w, false, false, s);
        if (s[1] < best[0]) best[0] = s[1];
        if (s[0] + s[1] < best[2]) best[2] = s[0] + s[1];
        pass(w, false, true, s);
        if (s[0] + s[1] + s[2] < best[3]) best[3] = s[0] + s[1] + s[2];
    }
    memcpy(t, best, sizeof best);
}

static void measure(work *w, work *plain, const shape *s, int rounds, bool json)
{
    static double ms[KINDS][ROUNDS], ratio[KINDS][ROUNDS];
    for (int r = 0; r < rounds; r++) {
        double without[KINDS], with[KINDS];
        times(plain, without);
        times(w, with);
        for (int k = 0; k < KINDS; k++) ms[k][r] = 1e3 * with[k], ratio[k][r] = with[k] / without[k];
    }
    for (int k = 0; k < KINDS; k++) {
        const double m = median(ms[k], rounds), x = median(ratio[k], rounds);
        const char *const type = w->type == RF_BF16 ? "bf16" : "f32";
        if (json)
            printf("{\"case\": \"relative/%s\", \"shape\": \"%s\", \"what\": \"%s\", \"type\": \"%s\", \"ms\": %.4f, "
                   "\"times_without\": %.3f, \"threads\": %d}\n",
                   w->is->name, s->name, kind[k], type, m, x, rf_ctx_threads(w->ctx));
        else
            printf("%-24s %-7s %-4s %-12s %9.3f ms   %5.2f x the time without\n", k ? "" : w->is->name, s->name, type,
                   kind[k], m, x);
    }
    fflush(stdout);
}

static bool relates(const char *name)
{
    for (const rf_position *const *p = rf__position_list; *p; p++)
        if (!strcmp((*p)->name, name)) return (*p)->relate != NULL;
    return false;
}

static void run(const rf_ctx *ctx, const shape *s, rf_type type, const char *only, int rounds, bool json)
{
    const int64_t N = (int64_t)s->B * s->T;
    rf_error why = {0};
    work plain = {.ctx = ctx, .B = s->B, .T = s->T, .type = type};
    open_encoding(&plain, "none");
    const int64_t C = plain.params.config.hidden_size;
    plain.qkv = filled(ctx, N * 3 * C);
    plain.d_qkv = filled(ctx, N * 3 * C);
    plain.weight = filled(ctx, C);
    plain.id = rf__calloc(ctx, (size_t)N, sizeof *plain.id);
    plain.start = rf__calloc(ctx, (size_t)s->B + 1, sizeof *plain.start);
    if (!plain.id || !plain.start || rf_graph_new(ctx, &plain.g, &why)) die("out of memory");
    for (int32_t b = 0; b <= s->B; b++) plain.start[b] = b * s->T;
    for (const rf_position *const *p = rf__position_list; *p; p++) {
        if (!(*p)->relate || (only && strcmp(only, (*p)->name))) continue;
        work w = plain;
        open_encoding(&w, (*p)->name);
        measure(&w, &plain, s, rounds, json);
        close_encoding(&w);
    }
    rf_graph_free(plain.g);
    float *const all[] = {plain.qkv, plain.d_qkv, plain.weight};
    for (size_t i = 0; i < RF_COUNT(all); i++) rf__free(ctx, all[i]);
    rf__free(ctx, plain.id);
    rf__free(ctx, plain.start);
    close_encoding(&plain);
}

int main(int argc, char **argv)
{
    int threads = 2, rounds = 7;
    bool json = false;
    rf_type type = RF_F32;
    const char *only = NULL, *shape_name = NULL;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--json")) json = true;
        else if (!strcmp(argv[i], "--threads")) threads = atoi(value), i++;
        else if (!strcmp(argv[i], "--rounds")) rounds = atoi(value), i++;
        else if (!strcmp(argv[i], "--only")) only = value, i++;
        else if (!strcmp(argv[i], "--shape")) shape_name = value, i++;
        else if (!strcmp(argv[i], "--type")) type = strcmp(value, "bf16") ? RF_F32 : RF_BF16, i++;
        else {
            fprintf(stderr, "bench_relative: unknown option %s\n", argv[i]);
            return 2;
        }
    }
    if (threads < 1 || rounds < 1 || rounds > ROUNDS) {
        fprintf(stderr, "bench_relative: expected --threads >= 1, 1 <= --rounds <= %d\n", ROUNDS);
        return 2;
    }
    if (only && !relates(only)) {
        fprintf(stderr, "bench_relative: no relative encoding is called %s; docs/positions.md lists them\n", only);
        return 2;
    }
    rf_ctx *ctx;
    rf_error why = {0};
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = threads}, &ctx, &why)) die(why.text);
    for (size_t i = 0; i < RF_COUNT(shapes); i++)
        if (!shape_name || !strcmp(shape_name, shapes[i].name)) run(ctx, &shapes[i], type, only, rounds, json);
    rf_ctx_free(ctx);
    return 0;
}
