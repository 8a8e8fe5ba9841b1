/* bench_relative.c — attention with each relative encoding, as a multiple of the time without one.
 *
 *     bench_relative [--json] [--threads N] [--rounds N] [--only NAME] [--shape 4x512|8x128|1x2048] [--type f32|bf16]
 *
 * The base shape's heads, 12 of 64 columns, no rotation.  In each round attention is timed without an encoding and then
 * with it: the operation of the tape alone (its tables made before), as a session does it, which keeps tables while it
 * is open (the call of relate included), with the making of the tables in each call, and the step forward and backward,
 * tables included.  Printed are the medians over the rounds of the times and of their ratios.  With --type bf16
 * products are in bf16, with the encoding and without.                                                               */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "median.h"
#include "roformer/inspect/positions.h"
#include "roformer/inspect/steps.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ROUNDS = 101, KINDS = 4 };
static const char *const kind[KINDS] = {"attention", "session", "with tables", "both ways"};

typedef struct shape { const char *name; int32_t B, T; } shape;
static const shape shapes[] = {{"8x128", 8, 128}, {"4x512", 4, 512}, {"1x2048", 1, 2048}};

typedef struct work { const rf_ctx *ctx; const char *name; rf_type type; rf_attention_pass *pass; } work;

static void die(const char *text)
{
    fprintf(stderr, "bench_relative: %s\n", text);
    exit(1);
}

static work open_encoding(const rf_ctx *ctx, const char *name, rf_type type, const shape *s)
{
    char text[512];
    rf_config c;
    rf_error why = {0};
    work w = {ctx, name, type, NULL};
    snprintf(text, sizeof text,
             "{\"vocab_size\":16,\"num_hidden_layers\":1,\"max_position_embeddings\":2048,\"position_embedding_type\":"
             "\"%s\",\"max_relative_positions\":512,\"attention_probs_dropout_prob\":0}",
             name);
    if (rf_config_parse(ctx, text, strlen(text), "bench", &c, &why) ||
        rf_attention_pass_open(ctx, &c, type, s->B, s->T, &w.pass, &why))
        die(why.text);
    return w;
}

/* Seconds of making tables, of attention, of the backward. */
static void pass(work *w, bool keep, bool back, double s[3])
{
    rf_error why = {0};
    if (rf_attention_pass_run(w->pass, keep, back, s, &why)) die(why.text);
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
                   w->name, s->name, kind[k], type, m, x, rf_ctx_threads(w->ctx));
        else
            printf("%-24s %-7s %-4s %-12s %9.3f ms   %5.2f x the time without\n", k ? "" : w->name, s->name, type,
                   kind[k], m, x);
    }
    fflush(stdout);
}

static bool relates(const rf_position *p, const char *only)
{
    return rf_position_flags(p) & RF_POSITION_RELATIVE && (!only || !strcmp(only, rf_position_name(p)));
}

static bool known(const char *only)
{
    const rf_position *p;
    for (int i = 0; (p = rf_position_at(i)); i++)
        if (relates(p, only)) return true;
    return false;
}

static void run(const rf_ctx *ctx, const shape *s, rf_type type, const char *only, int rounds, bool json)
{
    work plain = open_encoding(ctx, "none", type, s);
    const rf_position *p;
    for (int i = 0; (p = rf_position_at(i)); i++) {
        if (!relates(p, only)) continue;
        work w = open_encoding(ctx, rf_position_name(p), type, s);
        measure(&w, &plain, s, rounds, json);
        rf_attention_pass_close(w.pass);
    }
    rf_attention_pass_close(plain.pass);
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
    if (!known(only)) {
        fprintf(stderr, "bench_relative: no relative encoding is called %s; docs/positions.md lists them\n", only);
        return 2;
    }
    rf_ctx *ctx;
    rf_error why = {0};
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = threads}, &ctx, &why)) die(why.text);
    for (size_t i = 0; i < COUNT(shapes); i++)
        if (!shape_name || !strcmp(shape_name, shapes[i].name)) run(ctx, &shapes[i], type, only, rounds, json);
    rf_ctx_free(ctx);
    return 0;
}
