/* bench_encodings.c — the whole encoder with each position encoding, as a multiple of its time with learned positions.
 *
 *     bench_encodings [--json] [--threads N] [--rounds N] [--layers N] [--only NAME]      all of `roformer positions`;
 *     or one
 *
 * The base shape (width 768, 12 heads, inner width 3072), 4 texts of 512 tokens, random weights, f32.  In each round a
 * forward with learned positions is timed, then one with the encoding; printed are the medians of the times and of the
 * ratios. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "median.h"
#include "roformer/inspect/positions.h"
#include "roformer/model.h"

enum { ROUNDS = 101, B = 4, T = 512, N = B * T, VOCAB = 1000 };

typedef struct net { rf_model *model; rf_session *session; } net;

_Noreturn static void die(const char *text)
{
    fprintf(stderr, "bench_encodings: %s\n", text);
    exit(1);
}

static net begin(const rf_ctx *ctx, const rf_position *is, int layers)
{
    char text[512];
    net n;
    rf_config c;
    rf_error why = {0};
    snprintf(text, sizeof text, "{\"vocab_size\":%d,\"num_hidden_layers\":%d,\"max_position_embeddings\":%d,"
             "\"position_embedding_type\":\"%s\",\"is_decoder\":%s}", VOCAB, layers, T, rf_position_name(is),
             rf_position_flags(is) & RF_POSITION_CAUSAL ? "true" : "false");
    if (rf_config_parse(ctx, text, strlen(text), rf_position_name(is), &c, &why) ||
        rf_model_random(ctx, &c, 1, &n.model, &why) || rf_session_open(n.model, &n.session, &why)) die(why.text);
    return n;
}

static double forward(const net *n)
{
    static int32_t id[N], start[B + 1];
    const float *hidden;
    rf_error why = {0};
    for (int i = 0; i < N; i++) id[i] = (int32_t)((uint32_t)i * 2654435761U % VOCAB);
    for (int b = 0; b <= B; b++) start[b] = b * T;
    const double begun = seconds();
    if (rf_session_hidden(n->session, &(rf_batch){.N = N, .B = B, .id = id, .start = start}, &hidden, &why))
        die(why.text);
    return seconds() - begun;
}

static void measure(const rf_ctx *ctx, const net *learned, const rf_position *is, int layers, int rounds, bool json)
{
    double ms[ROUNDS], ratio[ROUNDS];
    net n = begin(ctx, is, layers);
    forward(&n);
    for (int r = 0; r < rounds; r++) {
        const double before = forward(learned), time = forward(&n), after = forward(learned);
        ms[r] = 1e3 * time, ratio[r] = 2 * time / (before + after);
    }
    rf_session_close(n.session);
    rf_model_close(n.model);
    const double m = median(ms, rounds), x = median(ratio, rounds);
    if (json)
        printf("{\"case\": \"encoder/%s\", \"shape\": \"%dx%d\", \"layers\": %d, \"ms\": %.3f, \"times_learned\": "
               "%.4f, \"least\": %.4f, \"most\": %.4f, \"threads\": %d}\n",
               rf_position_name(is), B, T, layers, m, x, ratio[0], ratio[rounds - 1], rf_ctx_threads(ctx));
    else
        printf("%-20s %9.1f ms   %6.3f x learned positions   (%.3f to %.3f)\n", rf_position_name(is), m, x, ratio[0],
               ratio[rounds - 1]);
    fflush(stdout);
}

static const rf_position *find(const char *name)
{
    const rf_position *p;
    for (int i = 0; (p = rf_position_at(i)) && strcmp(rf_position_name(p), name);) i++;
    return p;
}

int main(int argc, char **argv)
{
    int threads = 2, rounds = 3, layers = 12;
    bool json = false;
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--json")) json = true;
        else if (!strcmp(argv[i], "--threads")) threads = atoi(value), i++;
        else if (!strcmp(argv[i], "--rounds")) rounds = atoi(value), i++;
        else if (!strcmp(argv[i], "--layers")) layers = atoi(value), i++;
        else if (!strcmp(argv[i], "--only")) only = value, i++;
        else {
            fprintf(stderr,
                    "bench_encodings: unknown option %s; there are --json, --threads N, --rounds N, --layers N, --only "
                    "NAME\n",
                    argv[i]);
            return 2;
        }
    }
    if (threads < 1 || rounds < 1 || rounds > ROUNDS || layers < 1) {
        fprintf(stderr, "bench_encodings: expected --threads and --layers >= 1, 1 <= --rounds <= %d\n", ROUNDS);
        return 2;
    }
    if (only && !find(only)) {
        fprintf(stderr, "bench_encodings: no encoding is called %s; `roformer positions` lists all\n", only);
        return 2;
    }
    rf_ctx *ctx;
    rf_error why = {0};
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = threads}, &ctx, &why)) die(why.text);
    net base = begin(ctx, find("absolute"), layers);
    forward(&base);
    const rf_position *p;
    for (int i = 0; (p = rf_position_at(i)); i++)
        if (!only || !strcmp(only, rf_position_name(p))) measure(ctx, &base, p, layers, rounds, json);
    rf_session_close(base.session);
    rf_model_close(base.model);
    rf_ctx_free(ctx);
    return 0;
}
